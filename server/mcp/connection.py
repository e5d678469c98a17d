"""One protocol session of the session revisions: its version, its write-once binding, and what each message does.

`receive` answers with an effect that the shell carries out; nothing here waits, reads a clock or touches a socket.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from codesynapse.contracts.errors import ExecutionMissing, RebindRefused
from codesynapse.contracts.identity import Identity
from codesynapse.server.mcp.capabilities import client_capabilities
from codesynapse.server.mcp.catalog import Catalog, no_method, no_tool
from codesynapse.server.mcp.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    Message,
    Notification,
    ProtocolError,
    Request,
    RequestId,
    Response,
    result_bytes,
)

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Revisions with sessions, newest first."""

PRIMED = VERSIONS[:1]
"""Revisions whose streams begin with a priming event; older clients read its empty data as JSON and fail."""

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

# product.md, "Who is refused how": what answers before the protocol session is bound.
STATIC = frozenset({"tools/list", "prompts/list", "resources/templates/list"})
UNBOUND = frozenset({"ping", "logging/setLevel", *STATIC})

# What needs a store, and the capability without which it does not exist.
RUN = {
    "tools/call": "tools",
    "resources/list": "resources",
    "resources/read": "resources",
    "resources/subscribe": "resources",
    "resources/unsubscribe": "resources",
    "prompts/get": "prompts",
    "completion/complete": "completions",
}


class Reply(Struct, frozen=True):
    """Answer with these bytes."""

    payload: bytes


class Run(Struct, frozen=True):
    """Run a method that needs a store, such as a tool's call; its answer goes onto a stream.

    name: of the tool or the prompt, for logs; the method's where there is none. toolsets: those that are visible.
    """

    request_id: RequestId
    method: str
    params: Raw
    name: str
    progress_token: str | int | None
    toolsets: frozenset[str] | None = None


class Accepted(Struct, frozen=True):
    """Nothing to answer."""


class Cancel(Struct, frozen=True):
    """Stop the running request of this id, if there is one."""

    request_id: RequestId


Effect = Reply | Run | Accepted | Cancel


class ServerInfo(Struct, frozen=True, kw_only=True):
    """How the server introduces itself."""

    name: str
    title: str
    version: str
    instructions: str


class _Initialize(Struct):
    protocolVersion: str
    capabilities: dict[str, Any]
    clientInfo: dict[str, Any]


class _Meta(Struct):
    progressToken: str | int | None = None


class _Params(Struct):
    name: Any = None
    _meta: _Meta | None = None


class _Level(Struct):
    level: str


class _Cancelled(Struct):
    requestId: Raw


_decode_initialize = msgspec.json.Decoder(_Initialize).decode
_decode_params = msgspec.json.Decoder(_Params).decode
_decode_level = msgspec.json.Decoder(_Level).decode
_decode_cancelled = msgspec.json.Decoder(_Cancelled).decode


class Connection:
    """The state of one protocol session.

    identity: None until the first request with both execution headers, then fixed for good.
    capabilities: what the client declared, as far as it decides whether it may be asked.
    asked: who waits for the client's answers, by the ids of our requests.
    """

    def __init__(self, catalog: Catalog, info: ServerInfo) -> None:
        self._catalog = catalog
        self._info = info
        self.version = ""
        self.initialized = False
        self.identity: Identity | None = None
        self.log_level = "info"
        self.capabilities: dict[str, dict[str, Any]] = {}
        self.asked: dict[RequestId, Callable[[Response], None]] = {}

    @property
    def primed(self) -> bool:
        """Whether this client understands a priming event."""
        return self.version in PRIMED

    def bind(self, identity: Identity | None) -> None:
        """Bind, or check against the binding. Raises RebindRefused for another identity, ExecutionMissing for none."""
        if self.identity is None:
            self.identity = identity
        elif identity is None:
            raise ExecutionMissing
        elif identity != self.identity:
            raise RebindRefused

    def open(self, request: Request) -> Reply:
        """Answer `initialize`. Raises ProtocolError for malformed parameters."""
        if self.version:
            raise ProtocolError(INVALID_REQUEST, "This session is initialized already.", request.id)
        try:
            asked = _decode_initialize(request.params)
        except msgspec.DecodeError:
            text = "initialize needs protocolVersion, capabilities and clientInfo."
            raise ProtocolError(INVALID_PARAMS, text, request.id) from None
        self.version = asked.protocolVersion if asked.protocolVersion in VERSIONS else VERSIONS[0]
        self.capabilities = client_capabilities(asked.capabilities)
        if self.version == "2025-03-26":  # It knows no elicitation.
            self.capabilities.pop("elicitation", None)
        result = {
            "protocolVersion": self.version,
            "capabilities": {**self._catalog.capabilities(), "logging": {}},
            "serverInfo": self._server_info(),
            "instructions": self._info.instructions,
        }
        return Reply(result_bytes(request.id, result))

    def receive(self, message: Message, toolsets: frozenset[str] | None = None) -> Effect:
        """What a message of an open session does.

        Raises ExecutionMissing for what needs a bound session, ProtocolError for what the protocol refuses.
        toolsets: which are visible; None for all.
        """
        match message:
            case Request():
                return self._request(message, toolsets)
            case Notification():
                return self._notification(message)
            case Response():
                # A response to nothing of ours, or of another session, is ignored.
                if (waiting := self.asked.pop(message.id, None)) is not None:
                    waiting(message)
                return Accepted()

    def logs(self, level: str) -> bool:
        """Whether the client wants messages of this level."""
        return LOG_LEVELS.index(level) >= LOG_LEVELS.index(self.log_level)

    def _server_info(self) -> dict[str, str]:
        info = {"name": self._info.name, "version": self._info.version}
        if self.version != "2025-03-26":
            info["title"] = self._info.title
        return info

    def _request(self, request: Request, toolsets: frozenset[str] | None) -> Effect:
        method = request.method
        if method in RUN and not self.version:  # Over HTTP there is no session before it.
            raise ProtocolError(INVALID_REQUEST, "The session is not open: initialize first.", request.id)
        if self.identity is None and method not in UNBOUND and method != "initialize":
            raise ExecutionMissing
        if method in RUN:
            return self._run(request, toolsets)
        if method in STATIC:
            return Reply(result_bytes(request.id, self._list(request, toolsets)))
        match method:
            case "ping":
                return Reply(result_bytes(request.id, {}))
            case "logging/setLevel":
                return self._set_level(request)
            case "initialize":
                return self.open(request)
        raise _named(no_method(), request)

    def _notification(self, notification: Notification) -> Effect:
        if notification.method == "notifications/initialized":
            self.initialized = True
        elif notification.method == "notifications/cancelled":
            try:
                return Cancel(RequestId(bytes(_decode_cancelled(notification.params).requestId)))
            except msgspec.DecodeError:
                pass  # A malformed cancellation is ignored (mcp.md, L10).
        return Accepted()

    def _run(self, request: Request, toolsets: frozenset[str] | None) -> Run:
        if request.method != "tools/call" and RUN[request.method] not in self._catalog.capabilities():
            raise _named(no_method(), request)
        try:
            params = _decode_params(request.params)
        except msgspec.DecodeError:
            text = "The member _meta must be an object, its progressToken a string or an integer."
            raise ProtocolError(INVALID_PARAMS, text, request.id) from None
        name = params.name if isinstance(params.name, str) else request.method
        if request.method == "tools/call" and not self._catalog.shows(name, toolsets):
            # Told at once, without a stream and without a place among the calls in flight.
            raise _named(no_tool(), request)
        token = None if params._meta is None else params._meta.progressToken
        return Run(request.id, request.method, request.params, name, token, toolsets)

    def _list(self, request: Request, toolsets: frozenset[str] | None) -> dict[str, Any]:
        try:
            result = self._catalog.listing(request.method, request.params, toolsets)
        except ProtocolError as error:
            raise _named(error, request) from None
        return for_version(result, self.version)

    def _set_level(self, request: Request) -> Reply:
        try:
            level = _decode_level(request.params).level
        except msgspec.DecodeError:
            level = ""
        if level not in LOG_LEVELS:
            raise ProtocolError(INVALID_PARAMS, "The level must be one of " + ", ".join(LOG_LEVELS) + ".", request.id)
        self.log_level = level
        return Reply(result_bytes(request.id, {}))


def _named(error: ProtocolError, request: Request) -> ProtocolError:
    return ProtocolError(error.code, error.text, request.id, data=error.data)


# What a revision does not know yet is not shown to it.
_YOUNGER = {"2025-03-26": ("title", "outputSchema")}
_LISTS = ("tools", "prompts", "resources", "resourceTemplates")


def for_version(result: dict[str, Any], version: str) -> dict[str, Any]:
    """A method's result as a client of this revision may see it: lists without members that came later."""
    younger: Sequence[str] = _YOUNGER.get(version, ())
    if not younger:
        return result
    return {
        name: [{key: value for key, value in item.items() if key not in younger} for item in member]
        if name in _LISTS
        else member
        for name, member in result.items()
    }


def has_structured_content(version: str) -> bool:
    """Whether a tool's result may carry `structuredContent`."""
    return version != "2025-03-26"
