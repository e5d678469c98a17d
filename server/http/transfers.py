"""REST: the file of an export, once, and uploads to import from. A credential is enough; no chat session is needed."""

import asyncio
from typing import BinaryIO

import msgspec
from aiohttp import web
from msgspec import Struct

from codesynapse.contracts.accounts import Authority
from codesynapse.contracts.agents import Principal
from codesynapse.contracts.errors import BodyTooLarge, Invalid, NotFound, StoreFault
from codesynapse.server.agents.moving import CHUNK, Mover, owner_of
from codesynapse.server.agents.shelf import Waiting
from codesynapse.server.clock import rfc3339
from codesynapse.server.http.requests import authorize, check_claim
from codesynapse.server.limits import Limits
from codesynapse.server.sessions.registry import Sessions

TOKEN_MAX = 128


class Uploaded(Struct, kw_only=True):
    """An upload. upload_id: for `import_memories`, until expires_at."""

    ok: bool
    upload_id: str
    bytes: int
    expires_at: str


class Transfers:
    """The two routes."""

    def __init__(self, mover: Mover, sessions: Sessions, limits: Limits) -> None:
        self._mover = mover
        self._sessions = sessions
        self._limits = limits

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/api/v1/downloads/{token}", self.download, allow_head=False),
            web.post("/api/v1/uploads", self.upload),
        ]

    async def download(self, request: web.Request) -> web.StreamResponse:
        """Give an export to the credential that made it, for the only time."""
        authority = await self._caller(request)
        principal = _principal(authority)
        owner = owner_of(principal, authority.caller.key_id)
        token = request.match_info["token"]
        waiting = None if len(token) > TOKEN_MAX else await self._mover.fetched(principal, owner, token)
        if waiting is None:
            # Never was, was fetched, is over, or is another's: all look the same.
            raise NotFound(field="link")
        with waiting.file as file:
            return await self._sent(request, waiting, file)

    async def upload(self, request: web.Request) -> web.Response:
        """Take a file in, to import it later."""
        authority = await self._caller(request)
        principal = _principal(authority)
        most = self._mover.size_max
        if request.content_length is not None and request.content_length > most:
            raise BodyTooLarge(limit=most)
        with self._mover.uploads.coming(owner_of(principal)):
            file = await self._mover.nameless()
            try:
                size = await _received(request, file, most)
                # Whoever sends slowly is authorised once more behind it.
                await self._caller(request)
            except BaseException:
                file.close()
                raise
            upload_id, expires_at_ms = await self._mover.uploaded(principal, file, size)
        body = Uploaded(ok=True, upload_id=upload_id, bytes=size, expires_at=rfc3339(expires_at_ms))
        return web.Response(status=201, body=msgspec.json.encode(body), content_type="application/json")

    async def _caller(self, request: web.Request) -> Authority:
        authority, said = await authorize(self._sessions, request)
        check_claim(authority, said)
        return authority

    async def _sent(self, request: web.Request, waiting: Waiting, file: BinaryIO) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={
                "Content-Type": "application/x-ndjson",
                "Content-Length": str(waiting.size),
                "Content-Disposition": 'attachment; filename="agent.jsonl"',
                "Cache-Control": "no-store",
            }
        )
        await response.prepare(request)
        await asyncio.to_thread(file.seek, 0)
        while chunk := await asyncio.to_thread(file.read, CHUNK):
            async with asyncio.timeout(self._limits.send_timeout_ms / 1_000):
                await response.write(chunk)
        await response.write_eof()
        return response


async def _received(request: web.Request, file: BinaryIO, most: int) -> int:
    """Write a body to a file as it comes; its size. Raises BodyTooLarge, Invalid, StoreFault."""
    size = 0
    try:
        async for chunk in request.content.iter_chunked(CHUNK):
            size += len(chunk)
            if size > most:
                raise BodyTooLarge(limit=most)
            await asyncio.to_thread(file.write, chunk)
        await asyncio.to_thread(file.flush)
    except web.RequestPayloadError:
        raise Invalid(field="body", limit="the encoding that its headers name") from None
    except ConnectionError:
        raise
    except OSError as error:
        raise StoreFault from error
    return size


def _principal(authority: Authority) -> Principal:
    return Principal(tenant_id=authority.caller.tenant_id, subject_id=authority.caller.subject_id)
