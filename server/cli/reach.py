"""The part of `doctor` that asks a running server: whether it answers, and what the key and the session are worth."""

import ssl
from typing import Any

import aiohttp
from msgspec import Struct

from codesynapse.contracts.errors import CodeSynapseError, Unauthenticated
from codesynapse.contracts.identity import valid_id
from codesynapse.server.cli.findings import Finding, ok, problem, warning
from codesynapse.server.services import Services
from codesynapse.server.settings import Settings

WAIT_S = 5
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
UNANSWERED = (aiohttp.ClientError, TimeoutError, OSError, ValueError)
ENDED = "this session has ended; start a new chat, whose launcher registers a new one"
SESSION_STATES = {
    "active": ok("session", "is registered to this user and active"),
    "expired": problem("session", f"expired: {ENDED}"),
    "revoked": problem("session", f"revoked: {ENDED}"),
}


class Answered(Struct, frozen=True):
    """What a path answers: a status, and its JSON object, empty where there is none."""

    status: int
    body: dict[str, Any]


def base_url(settings: Settings) -> str:
    """Where a server with these settings answers on this machine."""
    host = EVERYWHERE.get(settings.host, f"[{settings.host}]" if ":" in settings.host else settings.host)
    return f"{'https' if settings.tls_cert_file else 'http'}://{host}:{settings.port}"


async def check_server(settings: Settings) -> tuple[list[Finding], bool]:
    """Whether our server answers on the configured address and can reach its stores."""
    if settings.port == 0:
        text = "CODESYNAPSE_PORT is 0, so each start picks another; name the port of the running server"
        return [warning("server", text)], False
    try:
        alive = await _get(settings, "/healthz")
    except ssl.SSLError:
        return [problem("server", "what answers there shows another certificate than CODESYNAPSE_TLS_CERT_FILE")], False
    except UNANSWERED:
        return [
            warning("server", "none answers on CODESYNAPSE_HOST and CODESYNAPSE_PORT; start codesynapse serve")
        ], False
    if alive != Answered(200, {"ok": True}):
        return [problem("server", "another program answers there; choose another CODESYNAPSE_PORT")], False
    try:
        ready = await _get(settings, "/readyz")
    except UNANSWERED:
        ready = Answered(0, {})
    if ready.status != 200:
        return [problem("server", "answers, but a store does not; its log on standard error says more")], True
    return [ok("server", "answers, and its stores do")], True


async def check_credential(settings: Settings, services: Services | None, *, server: bool) -> list[Finding]:
    """What the key and the session of the environment are worth, to the server if it answers, else to the stores."""
    malformed = list(_malformed(settings))
    if not settings.api_key:
        if settings.session_id:
            return [problem("key", "CODESYNAPSE_SESSION_ID is set without CODESYNAPSE_API_KEY"), *malformed]
        return [ok("key", "CODESYNAPSE_API_KEY is not set, so there is none to check"), *malformed]
    if not server and services is None:
        return [warning("key", "cannot be checked: neither a server nor a store answers"), *malformed]
    try:
        state = await (_asked(settings) if server else _looked_up(settings, services))
    except CodeSynapseError as error:
        hint = "; make one: codesynapse key create" if isinstance(error, Unauthenticated) else ""
        return [problem("key", f"CODESYNAPSE_API_KEY: {error.message.rstrip('.')}{hint}"), *malformed]
    except UNANSWERED:
        return [warning("key", "cannot be checked: the server stopped answering"), *malformed]
    found = [ok("key", "authenticates")]
    if settings.session_id and not malformed:
        unknown = problem("session", "is not registered to this user; its launcher must register it first")
        found.append(SESSION_STATES.get(state, unknown))
        if not settings.parent_session_id:
            found.append(warning("session", "stdio also needs CODESYNAPSE_PARENT_SESSION_ID, the same id again"))
    return [*found, *malformed]


def _malformed(settings: Settings) -> list[Finding]:
    """What is wrong with the ids before anybody is asked."""
    session, parent = settings.session_id, settings.parent_session_id
    if session and not valid_id(session):
        return [problem("session", "CODESYNAPSE_SESSION_ID must be 1 to 128 letters, digits or ._:-")]
    if parent not in ("", session):
        return [problem("session", "CODESYNAPSE_PARENT_SESSION_ID must equal CODESYNAPSE_SESSION_ID")]
    return []


async def _asked(settings: Settings) -> str:
    """The state of the session as the server lists it. Raises the refusal of the key."""
    answer = await _get(settings, "/api/v1/execution/sessions", {"Authorization": f"Bearer {settings.api_key}"})
    if answer.status != 200:
        raise _refusal(answer)
    states = {each["session_id"]: each["state"] for each in answer.body["sessions"]}
    return str(states.get(settings.session_id, "unknown"))


async def _looked_up(settings: Settings, services: Services | None) -> str:
    """The same from the stores."""
    assert services is not None
    authority = await services.sessions.authorize(settings.api_key, None)
    now_ms = services.clock()
    bindings = await services.sessions.listed(authority.caller)
    states = {binding.identity.session_id: binding.state(now_ms).value for binding in bindings}
    return states.get(settings.session_id, "unknown")


def _refusal(answer: Answered) -> CodeSynapseError:
    code = answer.body.get("code")
    kinds = (kind for base in CodeSynapseError.__subclasses__() for kind in base.__subclasses__())
    return next((kind() for kind in kinds if kind.code == code), CodeSynapseError())


async def _get(settings: Settings, path: str, headers: dict[str, str] | None = None) -> Answered:
    timeout = aiohttp.ClientTimeout(total=WAIT_S)
    async with (
        aiohttp.ClientSession(timeout=timeout) as http,
        http.get(base_url(settings) + path, headers=headers, ssl=_trust(settings), allow_redirects=False) as answer,
    ):
        is_json = answer.content_type == "application/json"
        body = await answer.json() if is_json else None
        return Answered(answer.status, body if isinstance(body, dict) else {})


def _trust(settings: Settings) -> ssl.SSLContext | bool:
    """Only the configured certificate: the address is this machine's, so no name needs to match."""
    if not settings.tls_cert_file:
        return True
    context = ssl.create_default_context(cafile=settings.tls_cert_file)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
