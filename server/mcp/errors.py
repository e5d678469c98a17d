"""How a refusal looks as a JSON-RPC error."""

from codesynapse.contracts.errors import CodeSynapseError, Refused
from codesynapse.server.mcp.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_ID,
    ProtocolError,
    RequestId,
    error_bytes,
)


def refusal(error: CodeSynapseError) -> dict[str, object]:
    """The object that REST and tools answer: `{ok, code, error, field?, limit?}` and figures."""
    body: dict[str, object] = {"ok": False, "code": error.code, "error": error.message}
    if error.field is not None:
        body["field"] = error.field
    if error.limit is not None:
        body["limit"] = error.limit
    return {**body, **error.details}


def refusal_bytes(error: CodeSynapseError, request_id: RequestId = NO_ID) -> bytes:
    """The body of an HTTP refusal on the MCP endpoint, as the official SDKs expect it."""
    return error_bytes(request_id, INVALID_REQUEST, error.message, refusal(error))


def protocol_error(error: CodeSynapseError) -> ProtocolError:
    """A refusal by a method that has no result for refusals: what the caller can change, or what failed here."""
    code = INVALID_PARAMS if isinstance(error, Refused) else INTERNAL_ERROR
    return ProtocolError(code, error.message, data=refusal(error))
