"""Whether the server lives, and whether it can serve: asked by anybody, without a credential."""

import asyncio

from aiohttp import web

from codesynapse.contracts.errors import Unavailable
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.ports import Accounts, SessionMemory
from codesynapse.server.clock import Clock
from codesynapse.server.http.guard import plain
from codesynapse.server.telemetry import fault

PROBE_MS = 1_000
"""How often a question whether the server is ready writes: anybody may ask it."""


class Health:
    """Answers `/healthz` and `/readyz`."""

    def __init__(self, accounts: Accounts, memory: SessionMemory, clock: Clock) -> None:
        self._accounts = accounts
        self._memory = memory
        self._clock = clock
        self._probed_ms: Millis | None = None

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/healthz", self.lives), web.get("/readyz", self.serves)]

    async def lives(self, _: web.Request) -> web.Response:
        """The process answers."""
        return web.json_response({"ok": True})

    async def serves(self, _: web.Request) -> web.Response:
        """Its stores answer, and take a write; 503 where they do not."""
        try:
            async with asyncio.timeout(5):
                await self._accounts.audit_end()
                await self._memory.quotas("readiness")
                await self._probe()
        except (Unavailable, TimeoutError) as error:
            fault("not_ready", error)
            return plain(503, "unavailable", "A store does not answer.", {"Retry-After": "1"})
        return web.json_response({"ok": True})

    async def _probe(self) -> None:
        """Try a write, unless one has just succeeded. Raises Unavailable."""
        now_ms = self._clock()
        if self._probed_ms is not None and 0 <= now_ms - self._probed_ms < PROBE_MS:
            return
        await self._accounts.probe()
        await self._memory.probe()
        self._probed_ms = now_ms
