"""One request of the stateless revisions: run under its own execution, answered in its own words.

The shells bring a request that was checked and an execution that the registry resolved for it; what comes back is the
response, or a ProtocolError that they send in its place. Nothing here knows of the request before.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw, Struct

from codesynapse.contracts.errors import CodeSynapseError, ExecutionMissing, InputUnavailable
from codesynapse.contracts.identity import Execution, Millis
from codesynapse.server.clock import Clock
from codesynapse.server.features.operations import Operations, Result
from codesynapse.server.features.reporting import Reporter
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.capabilities import client_capabilities, lacking, required_of
from codesynapse.server.mcp.connection import LOG_LEVELS, STATIC, ServerInfo
from codesynapse.server.mcp.header import Declared
from codesynapse.server.mcp.messages import INTERNAL_ERROR, ProtocolError, Request, ascii_safe
from codesynapse.server.mcp.request import Asked, checked
from codesynapse.server.mcp.result import Results, capability_missing
from codesynapse.server.mcp.seal import Seal
from codesynapse.server.mcp.state import Rounds, acceptable, opened
from codesynapse.server.telemetry import fault
from codesynapse.server.tools.dispatch import answer_json
from codesynapse.server.tools.registry import (
    Answer,
    Answers,
    Ask,
    InputRequest,
    InputRequired,
    ToolContext,
    cannot_ask,
    no_log,
    no_progress,
)

LISTS: Final = STATIC | {"server/discover"}
"""What answers without execution headers, as before the binding in the session revisions (product.md)."""
ASKING: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
OPERATIONS: Final = LISTS | ASKING | {"resources/list", "completion/complete"}
METHODS: Final = OPERATIONS | {"subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel"}
"""All methods; whatever the session revisions had beside these is gone."""

T = TypeVar("T")
Notify = Callable[[bytes], None]
Toolsets = frozenset[str] | None


class _Call(Struct):
    name: str
    arguments: Raw = Raw(b"{}")


_decode_call = msgspec.json.Decoder(_Call).decode


class Modern:
    """Answers requests."""

    def __init__(self, operations: Operations, info: ServerInfo, seal: Seal, limits: Limits, clock: Clock) -> None:
        self.operations = operations
        self._seal = seal
        self._limits = limits
        self._clock = clock
        self.results = Results(info)

    def checked(self, request: Request, headers: Mapping[str, Sequence[str]] | None, toolsets: Toolsets) -> Asked:
        """The request, if it is sound. Raises ProtocolError. headers: None on stdio."""

        def declared(name: str) -> Declared:
            return self.operations.catalog.declared(name, toolsets)

        return checked(request, headers, methods=METHODS, declared=declared)

    async def answer(self, asked: Asked, execution: Execution | None, toolsets: Toolsets, notify: Notify) -> bytes:
        """The response. Raises ProtocolError, ExecutionMissing for what needs an execution, and a cancellation.

        notify: takes the notifications that come before it.
        """
        if asked.method == "server/discover":
            return self.results.discovered(asked.id, self.operations.catalog.capabilities())
        if execution is None and asked.method not in LISTS:
            raise ExecutionMissing
        if execution is None or asked.method not in ASKING:
            return self.response(asked, await self.run(asked, execution, toolsets, notify, cannot_ask))
        rounds = self.rounds(asked, execution)
        try:
            result = await self.run(asked, execution, toolsets, notify, asking(asked, rounds))
        except InputRequired as needed:
            return self.ask(asked, rounds, needed.requests)
        return self.response(asked, result)

    async def run(
        self, asked: Asked, execution: Execution | None, toolsets: Toolsets, notify: Notify, ask: Ask
    ) -> Result:
        """The bare result. Raises as `answer` does, and InputRequired where `ask` does."""
        run = self.operations.run
        return await self._with_context(
            asked, notify, ask, lambda context: run(execution, asked.method, asked.params, context, toolsets)
        )

    async def prepare(self, asked: Asked, execution: Execution, notify: Notify, ask: Ask) -> Answer | None:
        """What comes before a call's task; an answer where it refuses the call. Raises as `run` does."""
        call, prepare = _decode_call(asked.params), self.operations.dispatcher.prepare
        return await self._with_context(
            asked, notify, ask, lambda context: prepare(execution, call.name, call.arguments, context)
        )

    async def _with_context(
        self, asked: Asked, notify: Notify, ask: Ask, work: Callable[[ToolContext], Awaitable[T]]
    ) -> T:
        """Do some work with what it may say and ask meanwhile."""
        reporter = None
        if asked.progress_token is not None or asked.log_level is not None:
            reporter = Reporter(asked.method, asked.progress_token, notify, _wants(asked.log_level))
        context = ToolContext(
            progress=no_progress if reporter is None else reporter.progress,
            log=no_log if reporter is None else reporter.log,
            ask=ask,
            capabilities=client_capabilities(asked.capabilities),
            shared=asked.shared,
        )
        try:
            return await work(context)
        except InputUnavailable as error:
            raise capability_missing(error.required, asked.id) from None
        finally:
            if reporter is not None:
                reporter.stop()

    def response(self, asked: Asked, result: Result) -> bytes:
        """A result as the response to a request."""
        if not isinstance(result, Answer):
            return self.results.complete(asked.id, asked.method, result)
        return ascii_safe(b'{"jsonrpc":"2.0","id":' + asked.id + b',"result":' + self.tool_result(result) + b"}")

    def tool_result(self, answer: Answer) -> bytes:
        """A tool's answer as the JSON of a result."""
        return answer_json(answer, first=b'"resultType":"complete",', meta=self.results.server)

    def rounds(self, asked: Asked, execution: Execution) -> Rounds:
        """What the client has said before to this very request. Raises ProtocolError."""
        return opened(
            self._seal,
            request_id=asked.id,
            method=asked.method,
            params=asked.params,
            identity=execution.identity,
            now_ms=self._clock(),
        )

    def ask(self, asked: Asked, rounds: Rounds, requests: Mapping[str, InputRequest]) -> bytes:
        """The response that asks for more."""
        expires_at_ms = Millis(self._clock() + self._limits.input_ms)
        state = rounds.sealed(self._seal, tuple(requests), expires_at_ms)
        return self.results.input_required(asked.id, requests, state)


def asking(asked: Asked, rounds: Rounds) -> Ask:
    """Asks by the answer to a request: what was not answered before ends the run."""

    async def ask(requests: Mapping[str, InputRequest]) -> Answers:
        check_declared(asked, requests)
        answers = answered(rounds, requests)
        if open_ones := {key: each for key, each in requests.items() if key not in answers}:
            raise InputRequired(open_ones)
        return answers

    return ask


def answered(rounds: Rounds, requests: Mapping[str, InputRequest]) -> dict[str, dict[str, Any]]:
    """The answers that are there already and have the form that was asked for."""
    found = {key: rounds.answers[key] for key in requests if key in rounds.answers}
    return {key: each for key, each in found.items() if acceptable(requests[key].method, requests[key].params, each)}


def check_declared(asked: Asked, requests: Mapping[str, InputRequest]) -> None:
    """Raises InputUnavailable for what the client did not declare with this very request."""
    required = required_of((each.method, each.params) for each in requests.values())
    if lacks := lacking(client_capabilities(asked.capabilities), required):
        raise InputUnavailable(lacks)


def broken(error: Exception) -> ProtocolError:
    """The refusal for what broke: logged as our fault, and told without a word of it."""
    fault("request_failed", error)
    return ProtocolError(INTERNAL_ERROR, CodeSynapseError().message)


def _wants(lowest: str | None) -> Callable[[str], bool]:
    """Whether a level is to be heard; without one that was named, none is (mcp.md, N22)."""
    if lowest is None:
        return lambda _: False
    return lambda level: LOG_LEVELS.index(level) >= LOG_LEVELS.index(lowest)
