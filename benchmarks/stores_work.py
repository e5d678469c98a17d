"""What is asked of a store: the same operations of ours and of the floor beside it, and the contents they carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from msgspec import structs

from codesynapse.contracts.errors import RevisionConflict
from codesynapse.contracts.memory import Entity, EntityId, Fact, Outcome, Revision, Scope
from codesynapse.contracts.ports import RepositoryGraph, SessionMemory
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.worlds import (
    NOW,
    filled,
    new_commit_id,
    new_library,
    new_scope,
    new_snapshot,
    unique,
)
from codesynapse.contracts.triples import Triple

SIZES = {"half-full": 12 * 1024, "24 KiB": 24 * 1024}
PEOPLE = 40
"""In the repository of the neighbourhood: each knows four others."""
HOP_LIMIT = 101


@dataclass(frozen=True)
class Content:
    """What a scope holds. The two variants of one size differ in a single fact, which stands first."""

    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]


def contents() -> dict[str, tuple[Content, Content]]:
    """Two variants of each size, of which a commit makes the other: a fact gets another source of the same length."""
    found: dict[str, tuple[Content, Content]] = {}
    scope = new_scope()
    snapshots = {"empty": new_snapshot(scope, "ana knows bo")}
    snapshots |= {name: filled(scope, size) for name, size in SIZES.items()}
    for name, snapshot in snapshots.items():
        first, *others = snapshot.facts
        changed = structs.replace(first, source=(first.source or "x").replace("x", "y"))
        found[name] = tuple(Content(snapshot.entities, (each, *others)) for each in (first, changed))  # type: ignore[assignment]  # a pair
    return found


class Side(Protocol):
    """Ours, or the floor. place: a scope by a name of the benchmark; what is not there yet has revision 0."""

    async def load(self, place: str) -> int:
        """Read what a place holds; its revision."""
        ...

    async def commit(self, place: str, revision: int, content: Content) -> bool:
        """Replace what a place holds if it still has this revision; whether it had."""
        ...

    async def around(self, number: int) -> int:
        """The facts within two hops of a person of the repository; how many."""
        ...


class Ours:
    """The ports of a store, called as the engine calls them."""

    def __init__(self, memory: SessionMemory, graph: RepositoryGraph) -> None:
        self._memory = memory
        self._graph = graph
        self._tenant = unique("tenant")
        self._scopes: dict[str, Scope] = {}
        self.library = new_library(graph)
        self.people: list[EntityId] = []

    async def prepare(self) -> None:
        """Room for all that is going to be written, and the repository of the neighbourhood."""
        await self._memory.set_quotas(self._tenant, Quotas(tenant_roots_max=1_000_000, tenant_facts_max=10_000_000))
        for start in range(0, PEOPLE, 10):
            await self.library.remember(*(row for number in range(start, start + 10) for row in knows(number)))
        self.people = [knows(number)[0].subject_id for number in range(PEOPLE)]

    async def load(self, place: str) -> int:
        return (await self._memory.load(self._scope(place), now_ms=NOW)).revision

    async def commit(self, place: str, revision: int, content: Content) -> bool:
        proposed = structs.replace(new_snapshot(self._scope(place)), entities=content.entities, facts=content.facts)
        try:
            await self._memory.commit(
                proposed,
                read_revision=Revision(revision),
                commit_id=new_commit_id(),
                outcome=Outcome(added=1),
                now_ms=NOW,
            )
        except RevisionConflict:
            return False
        return True

    async def around(self, number: int) -> int:
        border, seen = [self.people[number % PEOPLE]], set[str]()
        for _ in range(2):
            found = await self._graph.touching(self.library.scope, border, limit=HOP_LIMIT, now_ms=NOW)
            seen.update(fact.id for fact in found.facts)
            border = list({end for fact in found.facts for end in (fact.subject, fact.object)} - set(border))
        return len(seen)

    def _scope(self, place: str) -> Scope:
        known = self._scopes.get(place)
        if known is None:
            known = self._scopes[place] = new_scope(tenant=self._tenant)
        return known


def knows(number: int) -> list[Triple]:
    """Whom a person knows."""
    others = [f"person{(number * 3 + step) % PEOPLE:03}" for step in (1, 7, 11, 17)]
    return [Triple(subject=f"person{number:03}", predicate="knows", object=other) for other in others]
