"""One request of the stateless revisions: run under its own execution, answered in its own words.

The shells bring a request that was checked and an execution that the registry resolved for it; what comes back is the
response, or a ProtocolError that they send in its place. Nothing here knows of the request before.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from codesynapse.contracts.errors import ExecutionMissing, InputUnavailable
from codesynapse.contracts.identity import Execution, Millis
from codesynapse.server.clock import Clock
from codesynapse.server.features.operations import Operations, Result
from codesynapse.server.features.reporting import Reporter
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.capabilities import client_capabilities, lacking, required_of
from codesynapse.server.mcp.connection import LOG_LEVELS, STATIC, ServerInfo
from codesynapse.server.mcp.messages import Request, ascii_safe
from codesynapse.server.mcp.request import Asked, checked
from codesynapse.server.mcp.result import Results, capability_missing
from codesynapse.server.mcp.seal import Seal
from codesynapse.server.mcp.state import Rounds, acceptable, opened
from codesynapse.server.tools.dispatch import answer_json
from codesynapse.server.tools.registry import (
    Answer,
    Answers,
    Ask,
    InputRequest,
    InputRequired,
    ToolContext,
    no_log,
    no_progress,
)

LISTS: Final = STATIC | {"server/discover"}
"""What answers without execution headers, as before the binding in the session revisions (product.md)."""
ASKING: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
OPERATIONS: Final = LISTS | ASKING | {"resources/list", "completion/complete"}
METHODS: Final = OPERATIONS | {"subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel"}
"""All methods; whatever the session revisions had beside these is gone."""

Notify = Callable[[bytes], None]
Toolsets = frozenset[str] | None


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

        def schema_of(name: str) -> Mapping[str, Any] | None:
            return self.operations.catalog.schema(name, toolsets)

        return checked(request, headers, methods=METHODS, schema_of=schema_of)

    async def answer(self, asked: Asked, execution: Execution | None, toolsets: Toolsets, notify: Notify) -> bytes:
        """The response. Raises ProtocolError, ExecutionMissing for what needs an execution, and a cancellation.

        notify: takes the notifications that come before it.
        """
        if asked.method == "server/discover":
            return self.results.discovered(asked.id, self.operations.catalog.capabilities())
        if execution is None and asked.method not in LISTS:
            raise ExecutionMissing
        rounds = None if execution is None or asked.method not in ASKING else self._rounds(asked, execution)
        try:
            result = await self.run(asked, execution, toolsets, notify, self._asking(asked, rounds))
        except InputRequired as needed:
            assert rounds is not None
            return self._ask(asked, rounds, needed.requests)
        return self.response(asked, result)

    async def run(
        self, asked: Asked, execution: Execution | None, toolsets: Toolsets, notify: Notify, ask: Ask
    ) -> Result:
        """The bare result. Raises as `answer` does, and InputRequired where `ask` does."""
        if asked.progress_token is None and asked.log_level is None:
            reporter = None
        else:
            reporter = Reporter(asked.method, asked.progress_token, notify, _wants(asked.log_level))
        context = ToolContext(
            progress=no_progress if reporter is None else reporter.progress,
            log=no_log if reporter is None else reporter.log,
            ask=ask,
            capabilities=client_capabilities(asked.capabilities),
            shared=asked.shared,
        )
        try:
            return await self.operations.run(execution, asked.method, asked.params, context, toolsets)
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

    def _asking(self, asked: Asked, rounds: Rounds | None) -> Ask:
        async def ask(requests: Mapping[str, InputRequest]) -> Answers:
            if rounds is None:
                raise InputUnavailable
            check_declared(asked, requests)
            open_ones = {key: each for key, each in requests.items() if not _answered(rounds, key, each)}
            if open_ones:
                raise InputRequired(open_ones)
            return {key: rounds.answers[key] for key in requests}

        return ask

    def _rounds(self, asked: Asked, execution: Execution) -> Rounds:
        return opened(
            self._seal,
            request_id=asked.id,
            method=asked.method,
            params=asked.params,
            identity=execution.identity,
            now_ms=self._clock(),
        )

    def _ask(self, asked: Asked, rounds: Rounds, requests: Mapping[str, InputRequest]) -> bytes:
        expires_at_ms = Millis(self._clock() + self._limits.input_ms)
        state = rounds.sealed(self._seal, tuple(requests), expires_at_ms)
        return self.results.input_required(asked.id, requests, state)


def check_declared(asked: Asked, requests: Mapping[str, InputRequest]) -> None:
    """Raises InputUnavailable for what the client did not declare with this very request."""
    required = required_of((each.method, each.params) for each in requests.values())
    if lacks := lacking(client_capabilities(asked.capabilities), required):
        raise InputUnavailable(lacks)


def _answered(rounds: Rounds, key: str, request: InputRequest) -> bool:
    answer = rounds.answers.get(key)
    return answer is not None and acceptable(request.method, request.params, answer)


def _wants(lowest: str | None) -> Callable[[str], bool]:
    """Whether a level is to be heard; without one that was named, none is (mcp.md, N22)."""
    if lowest is None:
        return lambda _: False
    return lambda level: LOG_LEVELS.index(level) >= LOG_LEVELS.index(lowest)
