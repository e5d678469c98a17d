"""What an HTTP request says of its sender: the credential, the execution headers, the transport session."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache

from aiohttp import web
from multidict import CIMultiDictProxy

from codesynapse.contracts.accounts import Authority
from codesynapse.contracts.errors import BodiesFull, BodyTooLarge, ExecutionMissing, HeaderInvalid, Invalid
from codesynapse.contracts.identity import Cancellation, Execution
from codesynapse.server.limits import Limits
from codesynapse.server.sessions.registry import PARENT_HEADER, SESSION_HEADER, Claim, Sessions, claim, execution_of

TRANSPORT_HEADER = "Mcp-Session-Id"
VERSION_HEADER = "MCP-Protocol-Version"
ACCEPT_MAX = 1_024
Principal = tuple[str, str]
SMALL_BODY = 64 * 1_024
"""A body of so many bytes is not counted; how many of these there are, the connections bound."""
BODY_SHARES = 8
"""One principal may send one of so many parts of all bodies at a time, so that none can use up everybody's."""


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


class Bodies:
    """The bodies that are being read: how many bytes they may come to, in all and for one principal.

    Counted by the length that is told, for as long as they are on their way: a sender may take its time.
    """

    def __init__(self, limits: Limits) -> None:
        self.most = limits.body_max_bytes
        self._limit = limits.bodies_bytes_max
        self._share = limits.bodies_bytes_max // BODY_SHARES
        self._all = 0
        self._own: dict[Principal, int] = {}

    @contextmanager
    def reading(self, principal: Principal, size: int) -> Iterator[None]:
        """While a body of so many bytes is read. Raises BodiesFull; a principal's only one is always let in."""
        if size <= SMALL_BODY:
            yield
            return
        own = self._own.get(principal, 0)
        if own and own + size > self._share:
            raise BodiesFull(limit=self._share)
        if self._all and self._all + size > self._limit:
            raise BodiesFull(limit=self._limit)
        self._count(principal, size)
        try:
            yield
        finally:
            self._count(principal, -size)

    def _count(self, principal: Principal, size: int) -> None:
        self._all += size
        self._own[principal] = self._own.get(principal, 0) + size
        if not self._own[principal]:
            del self._own[principal]


async def body_of(sessions: Sessions, bodies: Bodies, request: web.Request, principal: Principal) -> bytes:
    """The body of a request that was authorised. Raises BodyTooLarge, before reading where its length is told.

    Who sends it slowly is authorised once more behind it: what was withdrawn meanwhile must not be used.
    """
    most, told = bodies.most, request.content_length
    if told is not None and told > most:
        raise BodyTooLarge(limit=most)
    late = not request.content.is_eof()
    try:
        # Without a length, or packed, it may become as large as any.
        large = told is None or "Content-Encoding" in request.headers
        with bodies.reading(principal, most if large and late else told or 0):
            body = await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise BodyTooLarge(limit=most) from None
    except web.RequestPayloadError:
        raise Invalid(field="body", limit="the encoding that its headers name") from None
    if late:
        check_claim(*await authorize(sessions, request))
    return body


def accepts_stream(headers: Mapping[str, str]) -> bool:
    """Whether Accept names text/event-stream, other than to refuse it."""
    return _accepted(headers.get("Accept", "")[:ACCEPT_MAX]).get("text/event-stream", False)


def may_stream(headers: Mapping[str, str]) -> bool:
    """Whether Accept lets a stream through where nothing else could be the answer: by name, by range, by silence."""
    named = _accepted(headers.get("Accept", "*/*")[:ACCEPT_MAX])
    return next((named[kind] for kind in ("text/event-stream", "text/*", "*/*") if kind in named), False)


# Clients send the same few values with every request.
@lru_cache(maxsize=64)
def _accepted(accept: str) -> dict[str, bool]:
    """The kinds that Accept names; False where it refuses them with q=0."""
    named = {}
    for part in accept.lower().split(","):
        kind, *parameters = (piece.strip() for piece in part.split(";"))
        named[kind] = not any(_is_refusal(each.replace(" ", "")) for each in parameters)
    return named


_is_refusal = re.compile(r"q=0(?:\.0{0,3})?").fullmatch
