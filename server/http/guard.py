"""Before anything else: Origin and Host of every request, and a JSON answer for every refusal."""

import asyncio
import re
from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web
from aiohttp.typedefs import Middleware

from codesynapse.contracts.errors import CodeSynapseError, HostRefused, OriginRefused
from codesynapse.server.http.errors import headers_of, status_of
from codesynapse.server.mcp.errors import refusal, refusal_bytes
from codesynapse.server.settings import Settings
from codesynapse.server.telemetry import Metrics, fault, unanswered

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
MCP_PATHS = ("/mcp", "/mcp/")
OLD_PATHS = ("/sse", "/sse/", "/messages", "/messages/")
"""Where clients of revision 2024-11-05 look for its two endpoints, beside a GET of ours without a session."""
OLD_TRANSPORT = (
    "The HTTP+SSE transport of revision 2024-11-05, with its two endpoints, is not served. Use Streamable HTTP: POST "
    "initialize to /mcp; a GET needs the header Mcp-Session-Id that it gives."
)
EXPOSED = "Mcp-Session-Id, Retry-After, X-CodeSynapse-Session-Expires"
# Strict, and no parser of URLs: those find a host in what no browser sends, behind user names and before paths.
_NAME = r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?"
_host = re.compile(_NAME, re.ASCII).fullmatch
_origin = re.compile("https?://" + _NAME, re.ASCII).fullmatch


class Guard:
    """Which hosts and origins are served."""

    def __init__(self, settings: Settings) -> None:
        named = {name.strip().lower() for name in settings.allowed_hosts.split(",") if name.strip()}
        self._any_host = "*" in named or (not settings.loopback and not named)
        self._hosts = LOOPBACK | named
        self._origins = {each.strip().lower() for each in settings.allowed_origins.split(",") if each.strip()}

    def check(self, request: web.Request) -> None:
        """Raises OriginRefused and HostRefused."""
        origins = request.headers.getall("Origin", ())
        if len(origins) > 1 or not all(self.allows_origin(each) for each in origins):
            raise OriginRefused(field="Origin")
        if not self._any_host and _host_name(request.headers.get("Host", "")) not in self._hosts:
            raise HostRefused(field="Host")

    def allows_origin(self, origin: str) -> bool:
        """Whether a browser's page of this origin may ask; `null` never may."""
        if origin.lower() in self._origins:
            return True
        found = _origin(origin.lower())
        return found is not None and (found[1] or found[2]) in LOOPBACK


def _host_name(host: str) -> str:
    """A Host header without its port, in lower case; empty where it is not a name and a port alone."""
    found = _host(host.lower())
    return "" if found is None else found[1] or found[2]


def refused(error: CodeSynapseError, *, protocol: bool) -> web.Response:
    """The answer to a refusal. protocol: as a JSON-RPC error, for the MCP endpoint."""
    status = status_of(error)
    body = refusal_bytes(error) if protocol else msgspec.json.encode(refusal(error))
    return web.Response(status=status, body=body, content_type="application/json", headers=headers_of(status))


def plain(status: int, code: str, text: str, headers: dict[str, str] | None = None) -> web.Response:
    """A refusal by HTTP alone: an unknown path, a method that is not there."""
    body = msgspec.json.encode({"ok": False, "code": code, "error": text})
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)


def middleware(guard: Guard, metrics: Metrics) -> Middleware:
    """Checks each request and turns each failure into JSON."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        allowed = False
        try:
            guard.check(request)
            allowed = True
            if request.method == "OPTIONS" and "Origin" in request.headers:
                return _preflight(request)
            response = await handler(request)
        except CodeSynapseError as error:
            unanswered("request_unanswered", error)
            response = refused(error, protocol=request.path in MCP_PATHS)
        except web.HTTPException as error:
            response = _http(error, request)
        except (asyncio.CancelledError, ConnectionError):
            raise
        except Exception as error:  # The edge of a request: what broke is ours, and the server goes on.
            fault("request_failed", error)
            response = plain(500, "internal", CodeSynapseError().message)
        metrics.request(_known(request.method), response.status)
        if allowed and not response.prepared:  # A stream has sent its headers by then, and set them itself.
            response.headers.update(readable(request))
        return response

    return guarded


def _http(error: web.HTTPException, request: web.Request) -> web.Response:
    if error.status == 404:
        text = OLD_TRANSPORT if request.path in OLD_PATHS else "There is nothing at this path."
        return plain(404, "not_found", text)
    headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else None
    text = error.reason
    if error.status == 405 and request.method == "GET" and headers == {"Allow": "POST"}:
        text = OLD_TRANSPORT
    return plain(error.status, f"http_{error.status}", text, headers)


def _known(method: str) -> str:
    return method if method in ("GET", "POST", "DELETE", "OPTIONS", "HEAD") else "other"


def _preflight(request: web.Request) -> web.Response:
    """An allowed origin's question what it may send, answered before any credential."""
    return web.Response(
        status=204,
        headers={
            "Access-Control-Allow-Origin": request.headers["Origin"],
            "Access-Control-Allow-Methods": "GET, POST, DELETE",
            "Access-Control-Allow-Headers": request.headers.get("Access-Control-Request-Headers", "*"),
            "Access-Control-Max-Age": "600",
            "Vary": "Origin",
        },
    )


def readable(request: web.Request) -> dict[str, str]:
    """The headers that let an allowed origin's page read the answer, whatever it says."""
    if "Origin" not in request.headers:
        return {}
    return {
        "Access-Control-Allow-Origin": request.headers["Origin"],
        "Access-Control-Expose-Headers": EXPOSED,
        "Vary": "Origin",
    }
