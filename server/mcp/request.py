"""What a request of the stateless revisions must say, checked in one order. Pure: bytes and headers in, values out.

Source: mcp.md, §0.8: the members of `_meta`, then the headers against the body, then the version, then the method.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from codesynapse.server.mcp.connection import LOG_LEVELS, VERSIONS
from codesynapse.server.mcp.era import MODERN_VERSIONS, VERSION_KEY, named_modern
from codesynapse.server.mcp.header import Declared, check_parameters, check_value, one
from codesynapse.server.mcp.messages import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    NO_ID,
    Notification,
    ProtocolError,
    Request,
    RequestId,
    is_object,
)

HEADER_MISMATCH: Final = -32020
CAPABILITY_MISSING: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
SUPPORTED: Final = (*MODERN_VERSIONS, *VERSIONS)

NAMED: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Which parameter the header `Mcp-Name` repeats."""

STATUS: Final = {METHOD_NOT_FOUND: 404, -32603: 500}
"""The HTTP status of an error's code, where it is not 400."""


class Asked(Struct, frozen=True, kw_only=True):
    """A request that is sound. capabilities: the client's, for this request alone. log_level: None for no logs.

    shared: it came over HTTP, where the process serves several clients.
    """

    id: RequestId
    method: str
    params: Raw
    capabilities: dict[str, Any]
    log_level: str | None
    progress_token: str | int | None
    shared: bool = True

    def extends(self, extension: str) -> bool:
        """Whether the client speaks an extension."""
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, dict) and isinstance(extensions.get(extension), dict)


class _Meta(Struct):
    version: Any = field(default=UNSET, name=VERSION_KEY)
    capabilities: Any = field(default=UNSET, name=CAPABILITIES_KEY)
    log_level: Any = field(default=UNSET, name=LOG_LEVEL_KEY)
    progress_token: str | int | UnsetType = field(default=UNSET, name="progressToken")


class _Params(Struct):
    _meta: _Meta


class _Named(Struct):
    name: Any = None
    uri: Any = None
    taskId: Any = None
    arguments: Raw = Raw(b"{}")


_decode = msgspec.json.Decoder(_Params).decode
_decode_named = msgspec.json.Decoder(_Named).decode


def checked(
    request: Request,
    headers: Mapping[str, Sequence[str]] | None,
    *,
    methods: frozenset[str],
    declared: Callable[[str], Declared],
) -> Asked:
    """A request that may go on to its handler. Raises ProtocolError for the first thing that is wrong with it.

    headers: all values of each header that begins with `mcp-`, by its name in lower case; None on stdio, where there
    are none. methods: what the server answers. declared: the headers of a tool's parameters; none for an unknown tool.
    """
    meta = _meta(request)
    if headers is not None:
        _check_headers(request, str(meta.version), headers, declared)
    check_served(str(meta.version), request.id)
    if request.method not in methods:
        # Whoever tries `initialize` learns by what else it could talk (mcp.md, N28).
        data = {"supported": list(SUPPORTED)} if request.method == "initialize" else None
        text = f"This method does not exist at {MODERN_VERSIONS[0]}."
        raise ProtocolError(METHOD_NOT_FOUND, text, request.id, data=data)
    return Asked(
        id=request.id,
        method=request.method,
        params=request.params,
        capabilities=meta.capabilities,
        log_level=None if meta.log_level is UNSET else meta.log_level,
        progress_token=None if isinstance(meta.progress_token, UnsetType) else meta.progress_token,
        shared=headers is not None,
    )


def check_notification(notification: Notification, version: str | None) -> None:
    """What a header may say of a notification. There is none that the server acts on. Raises ProtocolError."""
    if version is not None and named_modern(version):
        check_served(version)


def check_served(version: str, request_id: RequestId = NO_ID) -> None:
    """Raises ProtocolError with the versions that are served, for one that is not."""
    if version not in MODERN_VERSIONS:
        data = {"supported": list(SUPPORTED), "requested": version}
        raise ProtocolError(UNSUPPORTED_VERSION, "This protocol version is not served.", request_id, data=data)


def status_of_code(code: int) -> int:
    """The HTTP status of a JSON-RPC error in this era."""
    return STATUS.get(code, 400)


def _meta(request: Request) -> _Meta:
    try:
        meta = _decode(request.params)._meta
    except msgspec.DecodeError:
        text = f"params._meta must be an object with {VERSION_KEY} and {CAPABILITIES_KEY}."
        raise ProtocolError(INVALID_PARAMS, text, request.id) from None
    if not isinstance(meta.version, str):
        raise ProtocolError(INVALID_PARAMS, f"params._meta needs {VERSION_KEY}, a string.", request.id)
    if not isinstance(meta.capabilities, dict):
        raise ProtocolError(INVALID_PARAMS, f"params._meta needs {CAPABILITIES_KEY}, an object.", request.id)
    if meta.log_level is not UNSET and meta.log_level not in LOG_LEVELS:
        text = f"{LOG_LEVEL_KEY} must be one of {', '.join(LOG_LEVELS)}."
        raise ProtocolError(INVALID_PARAMS, text, request.id)
    return meta


def _check_headers(
    request: Request, version: str, headers: Mapping[str, Sequence[str]], declared: Callable[[str], Declared]
) -> None:
    fault = _version_fault(version, headers) or _body_fault(request, headers, declared)
    if fault is not None:
        raise ProtocolError(HEADER_MISMATCH, fault, request.id)


def _version_fault(version: str, headers: Mapping[str, Sequence[str]]) -> str | None:
    if one(headers, "mcp-protocol-version") != version:
        return "The header MCP-Protocol-Version must stand once and repeat the version in _meta."
    return None


def _body_fault(
    request: Request, headers: Mapping[str, Sequence[str]], declared: Callable[[str], Declared]
) -> str | None:
    if one(headers, "mcp-method") != request.method:
        return "The header Mcp-Method must stand once and repeat the method."
    member = NAMED.get(request.method)
    if member is None:
        return None
    named = _decode_named(request.params)
    value = getattr(named, member)
    if isinstance(value, str) or "mcp-name" in headers:
        fault = check_value(headers, "mcp-name", value)
        if fault is not None:
            return f"The header Mcp-Name {fault} params.{member}."
    if request.method != "tools/call" or not isinstance(value, str) or not is_object(named.arguments):
        return None
    return check_parameters(declared(value), named.arguments, headers)
