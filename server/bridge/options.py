"""What whoever starts the launcher decides, and whether it is enough to start."""

import re
import secrets
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_KEY = re.compile(r"[!-~]+")


class Misconfigured(Exception):
    """The launcher cannot start; the text names the variable and never its value."""


class BridgeOptions(Struct, frozen=True, kw_only=True):
    """parent_session_id: equal to session_id where given. new_thread: make up one id for this process where the
    runtime gives none.

    unreachable_s: how long to wait for a server that is away, with pauses that grow from pause_s. silence_s: a line
    that is silent for longer is dead; the server beats every 15 s. finish_s: what is in flight gets this long at the
    end, which with the farewell must stay under the 2 s after which clients kill.
    """

    url: str
    api_key: str | None
    session_id: str | None = None
    parent_session_id: str | None = None
    new_thread: bool = False
    unreachable_s: float = 20.0
    pause_s: float = 0.1
    silence_s: float = 60.0
    finish_s: float = 1.2
    line_max_bytes: int = 4 * 1024 * 1024

    @property
    def mints(self) -> bool:
        """Whether the launcher makes up the id itself, so that nobody else can ever know it."""
        return not self.session_id


def check(options: BridgeOptions) -> str:
    """The session id to execute under. Raises Misconfigured.

    An id that the runtime gives always wins: a made-up one only fills its place (product.md, "Running it").
    """
    if urlsplit(options.url).scheme not in ("http", "https") or not urlsplit(options.url).hostname:
        raise Misconfigured("--url must be the http or https address of the server's MCP endpoint")
    if not options.api_key or not _KEY.fullmatch(options.api_key):
        raise Misconfigured("CODESYNAPSE_API_KEY must hold an API key")
    session_id = options.session_id
    if not session_id:
        if options.parent_session_id:
            raise Misconfigured("CODESYNAPSE_PARENT_SESSION_ID is set without CODESYNAPSE_SESSION_ID")
        if not options.new_thread:
            raise Misconfigured("CODESYNAPSE_SESSION_ID must hold the id of the chat; or start with --thread new")
        return f"thread-{secrets.token_urlsafe(16)}"
    if not _ID.fullmatch(session_id):
        raise Misconfigured("CODESYNAPSE_SESSION_ID must be 1 to 128 letters, digits or ._:-")
    if options.parent_session_id not in (None, "", session_id):
        raise Misconfigured("CODESYNAPSE_PARENT_SESSION_ID must equal CODESYNAPSE_SESSION_ID")
    return session_id


def sessions_url(url: str) -> str:
    """Where sessions are registered, beside the MCP endpoint: a path before `/mcp` is kept, a query is not."""
    parts = urlsplit(url)
    base = parts.path.rstrip("/").removesuffix("/mcp")
    return urlunsplit((parts.scheme, parts.netloc, f"{base}/api/v1/execution/sessions", "", ""))
