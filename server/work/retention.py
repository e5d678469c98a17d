"""Cleaning up behind revoked and expired sessions, in bounded batches. Access ended before; only their copies go."""

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.errors import Unavailable
from codesynapse.contracts.ports import Accounts, SessionMemory, VectorIndex
from codesynapse.server.clock import Clock
from codesynapse.server.sessions.registry import Sessions
from codesynapse.server.telemetry import fault

BATCH = 200


class Retention:
    """One round is `run`; the application calls it every minute."""

    def __init__(
        self,
        accounts: Accounts,
        memory: SessionMemory,
        vectors: VectorIndex | None,
        sessions: Sessions,
        clock: Clock,
        agents: AgentMemory | None = None,
    ) -> None:
        self._accounts = accounts
        self._memory = memory
        self._vectors = vectors
        self._sessions = sessions
        self._clock = clock
        self._agents = agents

    async def run(self) -> int:
        """Remove what expired scopes and sessions with an owed cleanup hold, and old idempotency keys; how many."""
        try:
            return await self._expired() + await self._owed() + await self._old_keys()
        except Unavailable as error:
            fault("retention_failed", error)  # The next round tries again.
            return 0

    async def _expired(self) -> int:
        cleaned = 0
        while True:
            emptied = await self._memory.sweep(now_ms=self._clock(), limit=BATCH)
            if self._vectors is not None:
                emptied = max(emptied, await self._vectors.sweep(now_ms=self._clock(), limit=BATCH))
            cleaned += emptied
            if emptied < BATCH:
                return cleaned

    async def _owed(self) -> int:
        cleaned = 0
        for identity in await self._accounts.cleanups_owed(limit=BATCH):
            cleaned += await self._sessions.clean(identity.tenant_id, identity.session_id)
        return cleaned

    async def _old_keys(self) -> int:
        removed = 0
        while self._agents is not None:
            swept = await self._agents.sweep(now_ms=self._clock(), limit=BATCH)
            removed += swept
            if swept < BATCH:
                break
        return removed
