"""Looks for what is wrong with an agent's memory, and repairs what a machine can."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_recall import GATE_MAX, PRECISIONS, QUERY_TERMS_MAX, Question
from codesynapse.contracts.agent_work import StoreCheck
from codesynapse.contracts.agents import AgentScope, Kind, Memory, Tuning
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis
from codesynapse.server.agents.channels import fate_of
from codesynapse.server.agents.checks import DEEP, HEALTH, Check, Found, Repair
from codesynapse.server.agents.inspecting import REFS_MAX, Inspector, Recorded
from codesynapse.server.agents.tuning import Asked, Tuner, kept_calibration
from codesynapse.server.agents.wording import cleaned, terms_of

PAGE = 500
PROBED_MAX = 200
"""How many records the deep check asks for by their own words."""
PROFILE_EXPECTED = 50

ALL: Mapping[str, Check] = {**HEALTH, **DEEP}


class Examined(Struct, frozen=True, kw_only=True):
    """What was found at one agent. found: by check, also where that is nothing."""

    scope: AgentScope
    found: Mapping[str, Found]

    def doomed(self) -> int:
        """How many records a repair would delete."""
        return sum(each.count for name, each in self.found.items() if ALL[name].repair is Repair.DELETE)


class Repaired(Struct, frozen=True, kw_only=True):
    """What a repair did. left: what it could not, since it is locked, has an equal, or changed meanwhile."""

    fixed: int = 0
    left: int = 0
    refs: Sequence[str] = ()


class Doctor:
    """Every check reads under the caller's grants; every repair needs the level write."""

    def __init__(self, agents: AgentMemory, tuner: Tuner) -> None:
        self._agents = agents
        self._tuner = tuner

    async def examine(self, scope: AgentScope, names: Sequence[str], now_ms: Millis) -> Examined:
        """Run these checks. Raises AgentForbidden without the level read."""
        inspector = Inspector(names, terms_of, now_ms)
        found = inspector.found
        if inspector.needed or "unreachable" in names:
            await self._scan(scope, inspector, found.get("unreachable"))
        for name in names:
            store = ALL[name].store
            if store is not None:
                found[name].count = await self._agents.check(scope, store, now_ms=now_ms)
        for name, look in self._whole_agent().items():
            if name in found:
                found[name].count = await look(scope)
        return Examined(scope=scope, found=found)

    async def repair(self, examined: Examined, now_ms: Millis) -> dict[str, Repaired]:
        """Repair whatever was found and can be. Raises AgentForbidden without the level write."""
        done: dict[str, Repaired] = {}
        for name, found in examined.found.items():
            if found.count and ALL[name].repairable:
                done[name] = await self._repair(examined.scope, name, found, now_ms)
        return done

    async def _scan(self, scope: AgentScope, inspector: Inspector, unreachable: Found | None) -> None:
        after = probed = 0
        while True:
            page = await self._agents.scan(scope, after=after, limit=PAGE)
            # Patterns over many texts: other callers must not wait for them.
            await asyncio.to_thread(inspector.look, page)
            if unreachable is not None and probed < PROBED_MAX:
                probed += await self._probe(scope, page[: PROBED_MAX - probed], unreachable)
            if len(page) < PAGE:
                inspector.end()
                return
            after = page[-1].id

    async def _probe(self, scope: AgentScope, records: Sequence[Recorded], unreachable: Found) -> int:
        """Ask for records by their own words; how many were asked for."""
        asked = [each for each in records if each.terms]
        for record in asked:
            terms = tuple(dict.fromkeys(record.terms))[:QUERY_TERMS_MAX]
            candidates = await self._agents.candidates(scope, Question(terms=terms))
            kind = Kind.MEMORY if isinstance(record, Memory) else Kind.EPISODE
            if all((row.kind, row.id) != (kind, record.id) for row in candidates.rows):
                unreachable.count += 1
                if len(unreachable.refs) < REFS_MAX:
                    unreachable.refs.append(record.ref)
        return len(asked)

    def _whole_agent(self) -> Mapping[str, Callable[[AgentScope], Awaitable[int]]]:
        return {
            "profile_missing": self._profile_missing,
            "tuning_invalid": self._tuning_invalid,
            "calibration_old": self._calibration_old,
            "queue_given_up": self._queue_given_up,
        }

    async def _profile_missing(self, scope: AgentScope) -> int:
        tally = await self._agents.tally(scope)
        return int(tally.memories >= PROFILE_EXPECTED and not tally.profiles)

    async def _tuning_invalid(self, scope: AgentScope) -> int:
        return int(_is_invalid(await self._tuner.read(scope)))

    async def _calibration_old(self, scope: AgentScope) -> int:
        kept = kept_calibration(await self._tuner.read(scope))
        if kept is None:
            return 0
        tally = await self._agents.tally(scope)
        return int(tally.memories + tally.episodes > 2 * kept.records)

    async def _queue_given_up(self, scope: AgentScope) -> int:
        return (await self._agents.queue_status(scope)).discarded

    async def _repair(self, scope: AgentScope, name: str, found: Found, now_ms: Millis) -> Repaired:
        match ALL[name].repair:
            case Repair.STORE:
                store = ALL[name].store or StoreCheck.INDEX_MISSING
                mended = await self._agents.mend(scope, store, now_ms=now_ms)
                return Repaired(fixed=mended, left=max(0, found.count - mended))
            case Repair.TUNING:
                await self._tuner.reset(scope)
                return Repaired(fixed=1)
            case Repair.CALIBRATE:
                return await self._recalibrate(scope)
            case Repair.DELETE:
                return await self._each(scope, name, found, now_ms, self._delete)
            case Repair.CLEAN:
                return await self._each(scope, name, found, now_ms, self._clean)
            case Repair.CHANNEL:
                return await self._each(scope, name, found, now_ms, self._rechannel)
            case Repair.NONE:
                return Repaired(left=found.count)

    async def _recalibrate(self, scope: AgentScope) -> Repaired:
        try:
            await self._tuner.calibrate(scope, Asked())
        except Invalid:  # Too little is left to calibrate by.
            return Repaired(left=1)
        return Repaired(fixed=1)

    async def _each(
        self,
        scope: AgentScope,
        name: str,
        found: Found,
        now_ms: Millis,
        mend: Callable[[AgentScope, Recorded, Millis], Awaitable[bool]],
    ) -> Repaired:
        """Repair record by record, each as it is now: it may be another one by then."""
        refs: list[str] = []
        kind = Kind.EPISODE if name == "repeated_episode" else Kind.MEMORY
        for record_id in found.ids:
            now = await self._agents.contents(scope, [(kind, record_id)])
            if now and _still(name, now[0], now_ms) and await mend(scope, now[0], now_ms):
                refs.append(now[0].ref)
        return Repaired(fixed=len(refs), left=found.count - len(refs), refs=refs[:REFS_MAX])

    async def _delete(self, scope: AgentScope, record: Recorded, now_ms: Millis) -> bool:
        if isinstance(record, Memory):
            return (await self._agents.delete_memory(scope, memory_id=record.id, now_ms=now_ms)).done
        return (await self._agents.delete_episode(scope, episode_id=record.id, now_ms=now_ms)).done

    async def _clean(self, scope: AgentScope, record: Recorded, now_ms: Millis) -> bool:
        assert isinstance(record, Memory)
        text, _ = cleaned(record.content, field="content")
        changed = await self._agents.update(
            scope,
            memory_id=record.id,
            content=text,
            terms=terms_of(text),
            read_revision=record.revision,
            now_ms=now_ms,
        )
        return changed.done

    async def _rechannel(self, scope: AgentScope, record: Recorded, now_ms: Millis) -> bool:
        assert isinstance(record, Memory)
        move = None if record.locked else fate_of(record, globalize=True).move
        return move is not None and bool(await self._agents.move_channels(scope, [move], dry_run=False, now_ms=now_ms))


def _still(name: str, record: Recorded, now_ms: Millis) -> bool:
    """Whether a record has the fault that it had when it was looked at. Copies are compared once, when they are found:
    neither the shared pool's nor the first episode changes by what happens to the other."""
    if name in ("duplicate_content", "repeated_episode"):
        return True
    again = Inspector([name], terms_of, now_ms)
    again.look([record])
    return again.found[name].count > 0


def _is_invalid(tuning: Tuning) -> bool:
    unknown = bool(tuning.precision) and tuning.precision not in PRECISIONS and tuning.beta <= 0
    threshold = 0.0 if tuning.threshold is None else tuning.threshold
    return unknown or tuning.beta < 0 or not 0 <= threshold <= GATE_MAX
