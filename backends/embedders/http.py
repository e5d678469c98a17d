"""An embedder behind an OpenAI-compatible `/v1/embeddings`, over aiohttp."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import aiohttp
import msgspec
from msgspec import Struct

from codesynapse.backends.embedders.answers import (
    TIMEOUT,
    TLS,
    TOO_LONG,
    UNREACHABLE,
    answer_max,
    down,
    misconfigured,
    refusal,
    vectors_of,
)
from codesynapse.contracts.vectors import Vector

CONNECTIONS_MAX = 16
"""Further texts wait for one of these, inside their own deadline."""
CHUNK = 64 * 1024


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where and what to ask. key: '' for none. deadline_s: of one question, from its
    connection to its last byte."""

    url: str
    model: str
    dimension: int
    key: str = ""
    deadline_s: float = 5.0

    def __repr__(self) -> str:
        """Without the key: whatever prints a value must not print that."""
        return f"Endpoint({self.model!r}, {self.dimension})"


class HttpEmbedder:
    """The port `Embedder`. Nothing of an answer that is not a vector is kept, logged or told."""

    def __init__(self, http: aiohttp.ClientSession, endpoint: Endpoint) -> None:
        self._http = http
        self._endpoint = endpoint
        self.name = endpoint.model
        self.dimension = endpoint.dimension

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors. Raises EmbedderDown, EmbedderMisconfigured, each with its cause."""
        if not texts:
            return []
        asked = {"model": self._endpoint.model, "input": list(texts), "encoding_format": "float"}
        raw = await self._answered(msgspec.json.encode(asked), answer_max(len(texts), self.dimension))
        return vectors_of(raw, len(texts), self.dimension)

    async def _answered(self, body: bytes, most: int) -> bytes:
        try:
            async with asyncio.timeout(self._endpoint.deadline_s):
                try:
                    return await self._once(body, most)
                except aiohttp.ClientConnectorError:
                    raise
                except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                    # A kept connection that has gone meanwhile says nothing of a server that was started again.
                    return await self._once(body, most)
        except aiohttp.ClientSSLError:
            raise misconfigured(TLS) from None
        except TimeoutError:
            raise down(TIMEOUT) from None
        except aiohttp.ClientError:
            raise down(UNREACHABLE) from None

    async def _once(self, body: bytes, most: int) -> bytes:
        async with self._http.post(self._endpoint.url, data=body, allow_redirects=False) as answer:
            error = refusal(answer.status)
            if error is not None:
                # Its text may be long, or never end: the connection is given up instead of read.
                answer.close()
                raise error
            read = bytearray()
            async for chunk in answer.content.iter_chunked(CHUNK):
                read += chunk
                if len(read) > most:
                    answer.close()
                    raise misconfigured(TOO_LONG)
            return bytes(read)


@asynccontextmanager
async def http_embedder(endpoint: Endpoint) -> AsyncIterator[HttpEmbedder]:
    """The embedder with its connections, which end with it. Nothing is asked yet."""
    headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX),
        headers=headers,
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        # What was not asked for is not unpacked: a short answer could be a very long one.
        auto_decompress=False,
    ) as http:
        yield HttpEmbedder(http, endpoint)
