"""An embeddings endpoint on loopback for tests: it answers, fails, hangs, dies and comes back on the same port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

from aiohttp import web

from codesynapse.backends.embedders.hashing import HashingEmbedder

MODEL, DIMENSION = "test-model", 8
KEY = "sk-of-the-endpoint"
Mode = Literal["answer", "fail", "hang", "drop", "redirect", "other dimension", "too few", "a page", "endless"]


class EmbeddingEndpoint:
    """OpenAI-compatible. mode: what becomes of the next request. asked: the texts of each that was let in."""

    def __init__(self, *, key: str = "") -> None:
        self.mode: Mode = "answer"
        self.key = key
        self.asked: list[list[str]] = []
        self.requests = 0
        self._port = 0
        self._runner: web.AppRunner | None = None
        self._ended = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1/embeddings"

    @property
    def settings(self) -> dict[str, object]:
        """What the product must be told."""
        return {
            "embedder": "http",
            "embedder_url": self.url,
            "embedder_model": MODEL,
            "embedder_dimension": DIMENSION,
        }

    async def start(self) -> None:
        """Listen; again on the same port after an end."""
        app = web.Application()
        app.router.add_post("/v1/embeddings", self._answer)
        self._ended = asyncio.Event()
        self._runner = web.AppRunner(app, shutdown_timeout=0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self._port = self._runner.addresses[0][1]

    async def die(self) -> None:
        """Close the port and every connection."""
        self._ended.set()
        if self._runner is not None:
            await self._runner.cleanup()
        self._runner = None

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        body = await request.json()
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            # As real ones do: the answer repeats what it was sent.
            return web.json_response({"error": request.headers.get("Authorization")}, status=401)
        assert body["model"] == MODEL
        self.asked.append(body["input"])
        match self.mode:
            case "fail":
                return web.json_response({"error": body["input"]}, status=500)
            case "hang":
                await self._ended.wait()
            case "drop":
                assert request.transport is not None
                request.transport.abort()
            case "redirect":
                return web.Response(status=307, headers={"Location": "http://127.0.0.1:1/v1/embeddings"})
            case "a page":
                return web.Response(text="<html>a login page</html>", content_type="text/html")
            case "endless":
                return await self._endless(request)
        return web.json_response(await self._vectors(body["input"]))

    async def _vectors(self, texts: list[str]) -> dict[str, Any]:
        dimension = DIMENSION + 1 if self.mode == "other dimension" else DIMENSION
        vectors = await HashingEmbedder(dimension).embed(texts)
        # Not of unit length, and not in order: neither is promised.
        rows = [{"index": place, "embedding": [3 * each for each in vector]} for place, vector in enumerate(vectors)]
        return {"data": rows[:0:-1] if self.mode == "too few" else rows[::-1], "model": MODEL}

    async def _endless(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        try:
            while not self._ended.is_set():
                await answer.write(b" " * 65_536)
        except ConnectionError:
            pass  # Whom it answers had enough.
        return answer


@asynccontextmanager
async def embedding_endpoint(*, key: str = "") -> AsyncIterator[EmbeddingEndpoint]:
    """One that listens."""
    endpoint = EmbeddingEndpoint(key=key)
    await endpoint.start()
    try:
        yield endpoint
    finally:
        await endpoint.die()
