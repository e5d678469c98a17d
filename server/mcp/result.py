"""Results of the stateless revisions: what each must say beside its content (mcp.md, N15 to N19, N23)."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Raw

from codesynapse.server.mcp.connection import ServerInfo
from codesynapse.server.mcp.messages import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    ProtocolError,
    RequestId,
    encode,
    error_bytes,
    result_bytes,
)
from codesynapse.server.mcp.request import CAPABILITY_MISSING, SUPPORTED

SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY: Final = "io.modelcontextprotocol/subscriptionId"
TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"

LIST_TTL_MS: Final = 60_000
CACHED: Final = {
    "server/discover": LIST_TTL_MS,
    "tools/list": LIST_TTL_MS,
    "prompts/list": LIST_TTL_MS,
    "resources/templates/list": LIST_TTL_MS,
    # What there is, and what it holds, may have changed a moment later.
    "resources/list": 0,
    "resources/read": 0,
}
"""For how long a client may answer from its cache, in milliseconds. Never a shared one: all of it is somebody's."""


class Results:
    """Builds responses that say who answers."""

    def __init__(self, info: ServerInfo) -> None:
        self._info = info
        self._server = Raw(encode({"name": info.name, "title": info.title, "version": info.version}))

    @property
    def server(self) -> dict[str, object]:
        """What every result says in its `_meta`."""
        return {SERVER_KEY: self._server}

    def complete(self, request_id: RequestId, method: str, result: Mapping[str, Any]) -> bytes:
        """The final answer to a request, with its cache hints where the method has any."""
        hints = {"ttlMs": CACHED[method], "cacheScope": "private"} if method in CACHED else {}
        return result_bytes(request_id, self.decorated(result, "complete", hints))

    def input_required(self, request_id: RequestId, requests: Mapping[str, Any], state: str) -> bytes:
        """The answer that asks for more."""
        told = {"inputRequests": requests, "requestState": state}
        return result_bytes(request_id, self.decorated(told, "input_required", {}))

    def task(self, request_id: RequestId, task: Mapping[str, Any]) -> bytes:
        """The answer that a call goes on as a task."""
        return result_bytes(request_id, self.decorated(task, "task", {}))

    def ended(self, request_id: RequestId) -> bytes:
        """The last word of a subscription."""
        result = {"_meta": {SUBSCRIPTION_KEY: Raw(request_id)}}
        return result_bytes(request_id, self.decorated(result, "complete", {}))

    def discovered(self, request_id: RequestId, capabilities: Mapping[str, Any]) -> bytes:
        """The answer to `server/discover`."""
        result = {
            "supportedVersions": list(SUPPORTED),
            "capabilities": {**capabilities, "extensions": {TASKS_EXTENSION: {}}},
            "instructions": self._info.instructions,
        }
        return self.complete(request_id, "server/discover", result)

    def decorated(self, result: Mapping[str, Any], kind: str, hints: Mapping[str, Any]) -> dict[str, Any]:
        """The result with its type, its hints and who gave it; its own `_meta` stays."""
        return {"resultType": kind, **result, **hints, "_meta": {**result.get("_meta", {}), **self.server}}


def error_of(error: ProtocolError, request_id: RequestId) -> bytes:
    """An error of this era: there is one code less than in the session revisions."""
    return error_bytes(request_id, modern_code(error.code), error.text, error.data)


def modern_code(code: int) -> int:
    """The code that stands for one of the session revisions."""
    return INVALID_PARAMS if code == RESOURCE_NOT_FOUND else code


def capability_missing(required: Mapping[str, Any], request_id: RequestId) -> ProtocolError:
    """The refusal of a request that its client cannot be asked about."""
    data = {"requiredCapabilities": dict(required)}
    text = "The request needs a capability that the client did not declare with it."
    return ProtocolError(CAPABILITY_MISSING, text, request_id, data=data)
