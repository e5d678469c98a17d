"""One protocol session of the session revisions: its version, its write-once binding, and what each message does.

`receive` answers with an effect that the shell carries out; nothing here waits, reads a clock or touches a socket.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from codesynapse.contracts.errors import ExecutionMissing, RebindRefused
from codesynapse.contracts.identity import Identity
from codesynapse.server.mcp.catalog import Catalog
from codesynapse.server.mcp.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Message,
    Notification,
    ProtocolError,
    Request,
    RequestId,
    is_object,
    result_bytes,
)

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Revisions with sessions, newest first."""

PRIMED = VERSIONS[:1]
"""Revisions whose streams begin with a priming event; older clients read its empty data as JSON and fail."""

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

# product.md, "Who is refused how": what answers before the protocol session is bound.
UNBOUND = frozenset({"ping", "logging/setLevel", "tools/list"})


class Reply(Struct, frozen=True):
    """Answer with these bytes."""

    payload: bytes


class RunTool(Struct, frozen=True):
    """Run a tool; its answer goes onto a stream."""

    request_id: RequestId
    name: str
    arguments: Raw
    progress_token: str | int | None


class Accepted(Struct, frozen=True):
    """Nothing to answer."""


class Cancel(Struct, frozen=True):
    """Stop the running request of this id, if there is one."""

    request_id: RequestId


Effect = Reply | RunTool | Accepted | Cancel


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


class _Call(Struct):
    name: str
    arguments: Raw = Raw(b"{}")
    _meta: _Meta | None = None


class _Level(Struct):
    level: str


class _Cancelled(Struct):
    requestId: Raw


class _Page(Struct):
    cursor: str | None = None


_decode_initialize = msgspec.json.Decoder(_Initialize).decode
_decode_call = msgspec.json.Decoder(_Call).decode
_decode_level = msgspec.json.Decoder(_Level).decode
_decode_cancelled = msgspec.json.Decoder(_Cancelled).decode
_decode_page = msgspec.json.Decoder(_Page).decode


class Connection:
    """The state of one protocol session.

    identity: None until the first request with both execution headers, then fixed for good.
    """

    def __init__(self, catalog: Catalog, info: ServerInfo) -> None:
        self._catalog = catalog
        self._info = info
        self.version = ""
        self.initialized = False
        self.identity: Identity | None = None
        self.log_level = "info"

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
        result = {
            "protocolVersion": self.version,
            "capabilities": {"tools": {}, "logging": {}},
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
            case _:
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
        if request.method == "tools/call":
            return self._call(request, toolsets)
        if self.identity is None and request.method not in UNBOUND and request.method != "initialize":
            raise ExecutionMissing
        match request.method:
            case "ping":
                return Reply(result_bytes(request.id, {}))
            case "tools/list":
                return Reply(result_bytes(request.id, self._list(request, toolsets)))
            case "logging/setLevel":
                return self._set_level(request)
            case "initialize":
                return self.open(request)
        raise ProtocolError(METHOD_NOT_FOUND, "The server has no such method.", request.id)

    def _notification(self, notification: Notification) -> Effect:
        if notification.method == "notifications/initialized":
            self.initialized = True
        elif notification.method == "notifications/cancelled":
            try:
                return Cancel(RequestId(bytes(_decode_cancelled(notification.params).requestId)))
            except msgspec.DecodeError:
                pass  # A malformed cancellation is ignored (mcp.md, L10).
        return Accepted()

    def _call(self, request: Request, toolsets: frozenset[str] | None) -> RunTool:
        if not self.version:  # Over HTTP there is no session before it.
            raise ProtocolError(INVALID_REQUEST, "The session is not open: initialize first.", request.id)
        if self.identity is None:
            raise ExecutionMissing
        try:
            call = _decode_call(request.params)
        except msgspec.DecodeError:
            text = "tools/call needs a name, and arguments that are an object."
            raise ProtocolError(INVALID_PARAMS, text, request.id) from None
        if not self._catalog.shows(call.name, toolsets):
            raise ProtocolError(INVALID_PARAMS, "The server has no such tool.", request.id)
        if not is_object(call.arguments):
            raise ProtocolError(INVALID_PARAMS, "The arguments of a tool must be an object.", request.id)
        token = call._meta.progressToken if call._meta is not None else None
        return RunTool(request.id, call.name, call.arguments, token)

    def _list(self, request: Request, toolsets: frozenset[str] | None) -> dict[str, object]:
        try:
            cursor = _decode_page(request.params).cursor
            tools, following = self._catalog.page(cursor, toolsets)
        except (msgspec.DecodeError, LookupError):
            raise ProtocolError(INVALID_PARAMS, "The cursor is not one that this server gave.", request.id) from None
        listed = [_for_version(tool, self.version) for tool in tools]
        return {"tools": listed} if following is None else {"tools": listed, "nextCursor": following}

    def _set_level(self, request: Request) -> Reply:
        try:
            level = _decode_level(request.params).level
        except msgspec.DecodeError:
            level = ""
        if level not in LOG_LEVELS:
            raise ProtocolError(INVALID_PARAMS, "The level must be one of " + ", ".join(LOG_LEVELS) + ".", request.id)
        self.log_level = level
        return Reply(result_bytes(request.id, {}))


# What a revision does not know yet is not shown to it.
_YOUNGER = {"2025-03-26": ("title", "outputSchema")}


def _for_version(tool: dict[str, Any], version: str) -> dict[str, Any]:
    younger: Sequence[str] = _YOUNGER.get(version, ())
    return {key: value for key, value in tool.items() if key not in younger} if younger else tool


def has_structured_content(version: str) -> bool:
    """Whether a tool's result may carry `structuredContent`."""
    return version != "2025-03-26"
