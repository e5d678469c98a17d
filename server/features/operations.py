"""The one dispatcher: what each method does that needs a store, for both eras and without any era's decoration."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from codesynapse.contracts.deadlines import within
from codesynapse.contracts.errors import (
    AgentForbidden,
    CodeSynapseError,
    ExecutionMissing,
    NotFound,
    RepositoryForbidden,
)
from codesynapse.contracts.identity import Execution, require
from codesynapse.server.clock import Clock
from codesynapse.server.features.registry import Features, PromptResult, Resource, ResourceTemplate
from codesynapse.server.features.templates import URI_MAX
from codesynapse.server.features.updates import Key
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.catalog import no_method, no_tool, paged
from codesynapse.server.mcp.connection import STATIC
from codesynapse.server.mcp.errors import protocol_error
from codesynapse.server.mcp.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    ProtocolError,
    is_object,
)
from codesynapse.server.telemetry import fault, unanswered
from codesynapse.server.tools.dispatch import PASSING, Dispatcher
from codesynapse.server.tools.registry import Answer, ToolContext

VALUES_MAX = 100
"""How many values a completion holds; the protocol's bound."""

Result = dict[str, Any] | Answer
"""A method's result: an object, or a tool's answer, whose JSON `tools.dispatch.answer_json` writes."""


class _Call(Struct):
    name: str
    arguments: Raw = Raw(b"{}")


class _Uri(Struct):
    uri: str


class _Get(Struct):
    name: str
    arguments: dict[str, str] = {}


class _Argument(Struct):
    name: str
    value: str


class _Chosen(Struct):
    arguments: dict[str, str] = {}


class _Complete(Struct):
    ref: dict[str, Any]
    argument: _Argument
    context: _Chosen | None = None


_decode_call = msgspec.json.Decoder(_Call).decode
_decode_uri = msgspec.json.Decoder(_Uri).decode
_decode_get = msgspec.json.Decoder(_Get).decode
_decode_complete = msgspec.json.Decoder(_Complete).decode


class Operations:
    """Performs methods. Each may keep the stores busy for `store_deadline_ms` of the limits."""

    def __init__(self, features: Features, dispatcher: Dispatcher, clock: Clock, limits: Limits) -> None:
        self.features = features
        self.dispatcher = dispatcher
        self.catalog = features.toolbox.catalog
        self._clock = clock
        self._deadline_s = limits.store_deadline_ms / 1000

    async def run(
        self,
        execution: Execution | None,
        method: str,
        params: Raw,
        context: ToolContext,
        toolsets: frozenset[str] | None = None,
    ) -> Result:
        """Perform one method under an execution; the static lists need none.

        Raises ProtocolError (its code for a missing resource is RESOURCE_NOT_FOUND, its data `{"uri": …}`, which an
        era may change or leave out), ExecutionMissing, InputRequired and InputUnavailable from `context.ask`, and a
        cancellation.
        toolsets: which tools exist for this client; None for all.
        """
        if execution is None:
            if method in STATIC:
                return self.catalog.listing(method, params, toolsets)
            raise ExecutionMissing
        if method == "tools/call":
            call = self._call(params, toolsets)
            with within(self._deadline_s):
                return await self.dispatcher.call(execution, call.name, call.arguments, context)
        if method in STATIC:
            return self.catalog.listing(method, params, toolsets)
        try:
            require(execution, self._clock())
            with within(self._deadline_s):
                return await self._other(execution, method, params, context)
        except PASSING:
            raise
        except CodeSynapseError as error:
            unanswered("method_unanswered", error)
            raise protocol_error(error) from None
        except Exception as error:  # The edge of a task: one request's fault must not end the session.
            fault("method_failed", error)
            raise ProtocolError(INTERNAL_ERROR, CodeSynapseError().message) from None

    async def watch(self, execution: Execution, uri: str) -> Key:
        """What to listen to for changes of a resource that the caller may read. Raises ProtocolError as `run` does."""
        try:
            require(execution, self._clock())
            resource, variables = self._found(uri)
            if resource.watch is None:
                return ("resource", uri)
            return await resource.watch(execution, uri, variables)
        except (NotFound, RepositoryForbidden, AgentForbidden):
            raise _missing(uri) from None
        except CodeSynapseError as error:
            unanswered("method_unanswered", error)
            raise protocol_error(error) from None

    def _call(self, params: Raw, toolsets: frozenset[str] | None) -> _Call:
        try:
            call = _decode_call(params)
        except msgspec.DecodeError:
            raise ProtocolError(INVALID_PARAMS, "tools/call needs a name, and arguments that are an object.") from None
        if not self.catalog.shows(call.name, toolsets):
            raise no_tool()
        if not is_object(call.arguments):
            raise ProtocolError(INVALID_PARAMS, "The arguments of a tool must be an object.")
        return call

    async def _other(self, execution: Execution, method: str, params: Raw, context: ToolContext) -> dict[str, Any]:
        match method:
            case "resources/list" if self.catalog.resources:
                return paged("resources", await self._resources(execution), params)
            case "resources/read" if self.catalog.resources:
                return await self._read(execution, params, context)
            case "prompts/get" if self.features.prompts:
                return await self._get(execution, params, context)
            case "completion/complete" if self.catalog.completes:
                return await self._complete(execution, params)
        raise no_method()

    async def _resources(self, execution: Execution) -> list[dict[str, Any]]:
        """The fixed ones, then those of each template that the caller may read."""
        listed = [_listed(each, each.mime_type) for each in self.features.resources.values()]
        for _, template in self.features.templates:
            if template.instances is not None:
                found = await template.instances(execution)
                listed += [_listed(each, template.mime_type) for each in found]
        return listed

    async def _read(self, execution: Execution, params: Raw, context: ToolContext) -> dict[str, Any]:
        try:
            uri = _decode_uri(params).uri
        except msgspec.DecodeError:
            raise ProtocolError(INVALID_PARAMS, "resources/read needs a uri.") from None
        resource, variables = self._found(uri)
        try:
            return {"contents": list(await resource.read(execution, uri, variables, context))}
        except (NotFound, RepositoryForbidden, AgentForbidden):
            # What is there without a grant answers as what does not exist.
            raise _missing(uri) from None

    def _found(self, uri: str) -> tuple[Resource | ResourceTemplate, dict[str, str]]:
        found = self.features.find(uri)
        if found is None:
            raise _missing(uri)
        return found

    async def _get(self, execution: Execution, params: Raw, context: ToolContext) -> dict[str, Any]:
        try:
            asked = _decode_get(params)
        except msgspec.DecodeError:
            raise ProtocolError(INVALID_PARAMS, "prompts/get needs a name, and arguments that are strings.") from None
        prompt = self.features.prompts.get(asked.name)
        if prompt is None:
            raise ProtocolError(INVALID_PARAMS, "The server has no such prompt.")
        for each in prompt.arguments:
            if each.required and not asked.arguments.get(each.name):
                raise ProtocolError(INVALID_PARAMS, f"The prompt needs the argument {each.name}.")
        known = {each.name for each in prompt.arguments}
        if not asked.arguments.keys() <= known:
            raise ProtocolError(INVALID_PARAMS, "The prompt has no such argument.")
        made: PromptResult = await prompt.get(execution, asked.arguments, context)
        return {"description": made.description, "messages": list(made.messages)}

    async def _complete(self, execution: Execution, params: Raw) -> dict[str, Any]:
        try:
            asked = _decode_complete(params)
            completer = self.features.completer(asked.ref, asked.argument.name)
        except (msgspec.DecodeError, LookupError):
            text = "completion/complete needs a ref to a prompt or a resource template, and an argument of it."
            raise ProtocolError(INVALID_PARAMS, text) from None
        chosen: Mapping[str, str] = {} if asked.context is None else asked.context.arguments
        found: Sequence[str] = []
        if completer is not None:
            found = await completer(execution, asked.argument.value, chosen)
        values = list(found[:VALUES_MAX])
        return {"completion": {"values": values, "total": len(found), "hasMore": len(found) > len(values)}}


def _missing(uri: str) -> ProtocolError:
    # One that is too long to be one of ours is not repeated.
    data = {"uri": uri} if len(uri) <= URI_MAX else None
    return ProtocolError(RESOURCE_NOT_FOUND, "There is no such resource.", data=data)


def _listed(each: Any, mime_type: str) -> dict[str, Any]:
    return {
        "uri": each.uri,
        "name": each.name,
        "title": each.title,
        "description": each.description,
        "mimeType": mime_type,
    }
