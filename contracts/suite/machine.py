"""Plays one script on any number of stores at once, and for each on the law; every answer must be the law's.

Each store has a law of its own: who wins a race is the store's to say, so the law is asked which order of the calls,
one after another, answers as the store did. There must be one, and the store goes on from there.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from itertools import permutations
from typing import Any, TypeVar

from msgspec import structs

from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import CommitId, Revision, Scope, Snapshot
from codesynapse.contracts.ports import SessionMemory
from codesynapse.contracts.suite.law import Law, answer
from codesynapse.contracts.suite.steps import CAPS, LIFETIME_MS, NOTHING, SMALL, Race, Script, Step, proposal
from codesynapse.contracts.suite.worlds import later, unique

Call = Callable[[SessionMemory], Awaitable[object]]
T = TypeVar("T")
NAMESPACES = 3
SWEPT_MAX = 1_000
ANSWER_SHOWN_MAX = 2_000


class Store:
    """A store that is played on.

    doors: one or more openings of it, which see one content. reopen: closes one, by its number, and opens it anew.
    """

    def __init__(
        self,
        name: str,
        doors: Sequence[SessionMemory],
        reopen: Callable[[int], Awaitable[SessionMemory]] | None = None,
    ) -> None:
        self.name = name
        self._doors = list(doors)
        self._reopen = reopen

    def door(self, number: int) -> SessionMemory:
        return self._doors[number % len(self._doors)]

    async def reopen(self, number: int) -> None:
        """Nothing where the store is not durable."""
        if self._reopen is not None:
            place = number % len(self._doors)
            self._doors[place] = await self._reopen(place)


class Disagreement(AssertionError):
    """A store did not answer as the law does."""


class _Twin:
    """A store, and the law that was asked the same."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.law = Law()


def same_told(calls: Sequence[Step], answered: Sequence[object], lawful: Sequence[object]) -> bool:
    """Whether what calls answered at once is what the law answers in some order.

    Two revocations of a session may share the work, namespace by namespace: each tells what it removed.
    """
    return _counted_together(calls, answered) == _counted_together(calls, lawful)


def _counted_together(calls: Sequence[Step], told: Sequence[object]) -> list[object]:
    """Answers, the counts of one session's revocations added up in the place of the first."""
    added, places = list(told), dict[tuple[int, int], int]()
    for number, (call, each) in enumerate(zip(calls, told, strict=True)):
        if call.what == "revoke" and type(each) is int:
            first = places.setdefault((call.tenant, call.session), number)
            if first != number:
                added[first], added[number] = added[first] + each, None  # type: ignore[operator]  # a count, like this
    return added


class Machine:
    """One script's tenants and clock.

    began_ms: the moment at the start. sweeps: whether waiting ends with counted sweeps, for which the stores must be
    this machine's alone; without them what expired is read instead, which empties it as well.
    """

    def __init__(self, stores: Sequence[Store], *, began_ms: Millis, sweeps: bool) -> None:
        self._twins = [_Twin(store) for store in stores]
        self._tenants = (unique("tenant"), unique("tenant"))
        self._now_ms = began_ms
        self._sweeps = sweeps
        self._expires_at_ms: dict[tuple[str, str], Millis] = {}
        self.played: Script = []

    async def play(self, script: Script) -> None:
        """Play a script to its end and compare what is left. Raises Disagreement, which tells what was played."""
        await self._each(lambda twin: self._same(twin, lambda port: port.set_quotas(self._tenants[0], SMALL)))
        for step in script:
            if isinstance(step, Step) and step.what == NOTHING:
                continue
            self.played.append(step)
            await self._take(step)
        await self._each(self._left)
        if self._sweeps:
            # Leave nothing that the next script would sweep.
            self._now_ms = later(self._now_ms, 2 * LIFETIME_MS)
            await self._each(self._forget)

    async def _take(self, step: Step | Race) -> None:
        if isinstance(step, Race):
            await self._each(lambda twin: self._raced(twin, step))
        elif step.what == "wait":
            self._now_ms = later(self._now_ms, step.wait_ms)
            await self._each(self._forget)
        elif step.what == "reopen":
            await self._each(lambda twin: twin.store.reopen(step.door))
        else:
            await self._each(lambda twin: self._same(twin, self._call(step, twin.law), step.door))

    async def _each(self, act: Callable[[_Twin], Coroutine[Any, Any, None]]) -> None:
        """Act on all stores at once; what fails on one is told once all are done."""
        for twin, failed in zip(
            self._twins, await asyncio.gather(*map(act, self._twins), return_exceptions=True), strict=True
        ):
            if failed is not None:
                raise self._told(twin, repr(failed)[:ANSWER_SHOWN_MAX]) from failed

    def _told(self, twin: _Twin, what: str) -> Disagreement:
        lines = [f"{twin.store.name}: {what}", f"tenants {self._tenants}, played so far:", *map(str, self.played)]
        return Disagreement("\n".join(lines))

    async def _same(self, twin: _Twin, call: Call, door: int = 0) -> None:
        answered = await answer(call(twin.store.door(door)))
        lawful = await answer(call(twin.law))
        if answered != lawful:
            raise Disagreement(f"answers\n{answered}\nand the law\n{lawful}")

    async def _raced(self, twin: _Twin, race: Race) -> None:
        """Make the calls at once, and look for an order in which the law answers the same and leaves the same."""
        calls = [self._call(step, twin.law) for step in race.calls]
        answered = await asyncio.gather(*(answer(call(twin.store.door(number))) for number, call in enumerate(calls)))
        look = self._look(self._scope(race.calls[0]))
        seen = await answer(look(twin.store.door(0)))
        for order in permutations(range(len(calls))):
            law = twin.law.copy()
            lawful = {number: await answer(calls[number](law)) for number in order}
            told = [lawful[number] for number in range(len(calls))]
            if same_told(race.calls, answered, told) and await answer(look(law)) == seen:
                twin.law = law
                return
        raise Disagreement(f"answers\n{answered}\nand leaves\n{seen}\nwhich no order explains")

    def _scope(self, step: Step) -> Scope:
        return Scope(tenant_id=self._tenants[step.tenant], session_id=f"session{step.session}", ns=f"repo{step.ns}")

    def _call(self, step: Step, law: Law) -> Call:
        """The call of a step, as somebody makes it who read what this law holds."""
        scope, now_ms = self._scope(step), self._now_ms
        match step.what:
            case "look":
                return self._look(scope)
            case "read":
                return lambda port: port.load(scope, now_ms=now_ms)
            case "committed":
                return lambda port: port.committed(scope, CommitId(step.commit_id), now_ms=now_ms)
            case "revoke":
                return lambda port: port.revoke(scope.tenant_id, scope.session_id, now_ms=now_ms)
            case "caps":
                return lambda port: port.set_quotas(scope.tenant_id, CAPS[step.caps])
            case "caps?":
                return lambda port: port.quotas(scope.tenant_id)
            case "close" | "commit":
                return self._commit(step, scope, law)
        raise AssertionError(step)

    def _look(self, scope: Scope) -> Call:
        """Read all namespaces of a session."""
        now_ms = self._now_ms

        async def look(port: SessionMemory) -> object:
            scopes = [structs.replace(scope, ns=f"repo{number}") for number in range(NAMESPACES)]
            return await asyncio.gather(*(answer(port.load(each, now_ms=now_ms)) for each in scopes))

        return look

    def _commit(self, step: Step, scope: Scope, law: Law) -> Call:
        now_ms, held = self._now_ms, law.held.get(scope)
        session = (scope.tenant_id, scope.session_id)
        ends = self._expires_at_ms.setdefault(session, later(now_ms, LIFETIME_MS))
        entities, facts = ((), ()) if held is None else held.content
        stored = Snapshot(scope=scope, entities=entities, facts=facts, expires_at_ms=later(ends, step.moved_ms))
        proposed, outcome = proposal(stored, step.content, now_ms)
        if step.what == "close":
            proposed = structs.replace(stored, entities=(), facts=(), closed=True)
        read = (0 if held is None else held.root.revision) - step.behind
        return lambda port: port.commit(
            proposed,
            read_revision=Revision(read),
            commit_id=CommitId(step.commit_id),
            outcome=outcome,
            now_ms=now_ms,
        )

    async def _forget(self, twin: _Twin) -> None:
        """Have what expired emptied: until then a store may count it or not."""
        now_ms = self._now_ms
        if self._sweeps:
            # Which one goes first is the store's to say.
            for limit in (1, SWEPT_MAX):
                await self._same(twin, lambda port, limit=limit: port.sweep(now_ms=now_ms, limit=limit))  # type: ignore[misc]  # bound now
        for scope in twin.law.due(now_ms):
            await self._same(twin, lambda port, scope=scope: port.load(scope, now_ms=now_ms))  # type: ignore[misc]  # bound now

    async def _left(self, twin: _Twin) -> None:
        """Compare all that is held in the end, as another opening sees it."""
        now_ms, held, tenants = self._now_ms, list(twin.law.held.items()), self._tenants

        async def left(port: SessionMemory) -> object:
            loads = (answer(port.load(scope, now_ms=now_ms)) for scope, _ in held)
            kept = (
                answer(port.committed(scope, commit_id, now_ms=now_ms))
                for scope, each in held
                for commit_id in list(each.commits)[-1:]
            )
            return await asyncio.gather(*loads, *kept, *(port.quotas(tenant) for tenant in tenants))

        await self._same(twin, left, door=1)
