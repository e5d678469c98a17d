"""What an HTTP request says of its sender: the credential, the execution headers, the transport session."""

from collections.abc import Mapping
from functools import lru_cache

from aiohttp import web
from multidict import CIMultiDictProxy

from codesynapse.contracts.accounts import Authority
from codesynapse.contracts.errors import BodyTooLarge, ExecutionMissing, HeaderInvalid
from codesynapse.contracts.identity import Cancellation, Execution
from codesynapse.server.sessions.registry import PARENT_HEADER, SESSION_HEADER, Claim, Sessions, claim, execution_of

TRANSPORT_HEADER = "Mcp-Session-Id"
VERSION_HEADER = "MCP-Protocol-Version"
ACCEPT_MAX = 1_024


def bearer(headers: CIMultiDictProxy[str]) -> str | None:
    """The API key; None where there is none, or more than one."""
    values = headers.getall("Authorization", [])
    if len(values) != 1:
        return None
    scheme, _, token = values[0].partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def execution_claim(headers: CIMultiDictProxy[str]) -> Claim:
    """What the two execution headers say."""
    return claim(
        headers.getall(SESSION_HEADER, []), headers.getall(PARENT_HEADER, []), names=(SESSION_HEADER, PARENT_HEADER)
    )


def single(headers: CIMultiDictProxy[str], name: str) -> str | None:
    """A header that may stand at most once. Raises HeaderInvalid."""
    values = headers.getall(name, [])
    if len(values) > 1:
        raise HeaderInvalid(field=name)
    return values[0] if values else None


async def authorize(sessions: Sessions, request: web.Request) -> tuple[Authority, Claim]:
    """Who sends this, and what they claim; the claim's own faults are raised by `resolved`."""
    said = execution_claim(request.headers)
    return await sessions.authorize(bearer(request.headers), said.session_id), said


def check_claim(authority: Authority, said: Claim) -> None:
    """Raises the fault of the headers, or the refusal of the session that they name."""
    if said.fault is not None:
        raise said.fault
    if authority.refusal is not None:
        raise authority.refusal


def execution(authority: Authority, said: Claim) -> Execution:
    """The execution of a REST request. Raises ExecutionMissing without headers."""
    check_claim(authority, said)
    if authority.binding is None:
        raise ExecutionMissing
    return execution_of(authority, authority.binding.identity, Cancellation())


async def body_of(request: web.Request, most: int) -> bytes:
    """The body. Raises BodyTooLarge, before reading where its length is told."""
    if request.content_length is not None and request.content_length > most:
        raise BodyTooLarge(limit=most)
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise BodyTooLarge(limit=most) from None


def accepts_stream(headers: Mapping[str, str]) -> bool:
    """Whether Accept names text/event-stream, other than to refuse it."""
    return _names_stream(headers.get("Accept", "")[:ACCEPT_MAX])


# Clients send the same few values with every request.
@lru_cache(maxsize=64)
def _names_stream(accept: str) -> bool:
    for part in accept.lower().split(","):
        kind, *parameters = (piece.strip() for piece in part.split(";"))
        if kind == "text/event-stream":
            return not any(each.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for each in parameters)
    return False
