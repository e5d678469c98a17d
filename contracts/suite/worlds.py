"""Builders for tests: identities, scopes, statements, snapshots, and a chat that writes as the engine would.

Public: whoever tests a store of their own may use them. Every name that a builder makes up is random, so that tests can
share one server; every moment is given, so that none depends on the clock.
"""

import bisect
import secrets
from collections.abc import Awaitable, Iterable, Sequence
from typing import TypeVar

import msgspec
from msgspec import structs

from codesynapse.contracts.change import Applied, apply
from codesynapse.contracts.identity import Identity, Millis
from codesynapse.contracts.memory import (
    CommitId,
    Committed,
    Entity,
    Fact,
    Outcome,
    Revision,
    Scope,
    Snapshot,
    size_bytes,
)
from codesynapse.contracts.ports import RepositoryGraph, SessionMemory
from codesynapse.contracts.quotas import DAY_MS
from codesynapse.contracts.repository import RepositoryChange, RepositoryScope, Slice
from codesynapse.contracts.triples import Triple, normalised

NOW = Millis(1_800_000_000_000)
"""The moment of most tests."""

LIFETIME_MS = 7 * DAY_MS
"""How long a session lives where no quota says otherwise."""

LONG_AGO = Millis(30 * DAY_MS)
"""The moment of tests that sweep: only what expired even earlier is swept, so no other test loses its content."""

T = TypeVar("T")


def later(moment: Millis, by_ms: int) -> Millis:
    """A moment after, or before, another."""
    return Millis(moment + by_ms)


def unique(prefix: str) -> str:
    """An identifier that no other test uses."""
    return f"{prefix}-{secrets.token_hex(8)}"


def new_commit_id() -> CommitId:
    """A commit id that no other commit uses."""
    return CommitId(unique("commit"))


def new_identity(*, tenant: str | None = None, subject: str | None = None, session: str | None = None) -> Identity:
    """An identity; what is not given is made up."""
    session = session or unique("session")
    return Identity(
        tenant_id=tenant or unique("tenant"),
        subject_id=subject or unique("user"),
        session_id=session,
        parent_session_id=session,
    )


def new_scope(*, tenant: str | None = None, session: str | None = None, ns: str = "default") -> Scope:
    """A scope; what is not given is made up."""
    return Scope(tenant_id=tenant or unique("tenant"), session_id=session or unique("session"), ns=ns)


def triple(line: str, *, functional: bool = False, retract: bool = False, valid_from_ms: int | None = None) -> Triple:
    """A triple from `subject predicate object`, where the object may have blanks."""
    subject, predicate, object_ = line.split(" ", 2)
    moment = None if valid_from_ms is None else Millis(valid_from_ms)
    return normalised(
        Triple(
            subject=subject,
            predicate=predicate,
            object=object_,
            functional=functional,
            retract=retract,
            valid_from_ms=moment,
        )
    )


def triples(lines: Iterable[str | Triple]) -> list[Triple]:
    """Triples from lines and from triples."""
    return [triple(line) if isinstance(line, str) else line for line in lines]


def stated(*lines: str | Triple, now_ms: Millis = NOW, origin: str | None = None) -> Applied:
    """A graph that holds these statements alone."""
    return apply((), (), triples(lines), now_ms, origin_session_id=origin)


def new_snapshot(
    scope: Scope, *lines: str | Triple, now_ms: Millis = NOW, expires_at_ms: Millis | None = None
) -> Snapshot:
    """A snapshot to propose as a scope's first: these statements, and a session that was registered just now."""
    graph = stated(*lines, now_ms=now_ms)
    deadline = later(now_ms, LIFETIME_MS) if expires_at_ms is None else expires_at_ms
    return Snapshot(scope=scope, entities=graph.entities, facts=graph.facts, expires_at_ms=deadline)


def numbered(count: int, *, start: int = 0) -> list[str]:
    """As many different statements."""
    return [f"ana knows person{number:05}" for number in range(start, start + count)]


def filled(scope: Scope, size: int, *, character: str = "x", now_ms: Millis = NOW) -> Snapshot:
    """A snapshot of exactly so many bytes, a kilobyte at least. character: what fills the sources of its facts."""

    def of(lengths: Sequence[int]) -> Snapshot:
        rows = [
            Triple(subject="ana", predicate="knows", object=f"person{number:05}", source=f"({character * length})")
            for number, length in enumerate(lengths)
        ]
        return new_snapshot(scope, *rows, now_ms=now_ms)

    counts = range(1, size // 100)
    lengths = [100] * bisect.bisect_right(counts, size, key=lambda count: size_bytes(of([100] * count)))
    width = len(msgspec.json.encode(character)) - 2
    while (rest := size - size_bytes(of(lengths))) >= width:
        lengths[lengths.index(min(lengths))] += min(rest // width, 300)
    snapshot = of(lengths)
    # What is left is less than one character: ASCII fills it.
    first, *others = snapshot.facts
    padded = structs.replace(first, source=f"{first.source}{'x' * (size - size_bytes(snapshot))}")
    return structs.replace(snapshot, facts=(padded, *others))


def sorted_content(snapshot: Snapshot) -> tuple[list[Entity], list[Fact]]:
    """What a snapshot holds, in an order that does not depend on the store."""
    return (
        sorted(snapshot.entities, key=lambda entity: entity.id),
        sorted(snapshot.facts, key=lambda fact: fact.id),
    )


class Chat:
    """One namespace of one session on a store: reads, applies and commits as the engine does, without its retries."""

    def __init__(
        self, memory: SessionMemory, scope: Scope, *, now_ms: Millis = NOW, expires_at_ms: Millis | None = None
    ) -> None:
        self.memory = memory
        self.scope = scope
        self.now_ms = now_ms
        self.expires_at_ms = later(now_ms, LIFETIME_MS) if expires_at_ms is None else expires_at_ms

    async def load(self, now_ms: Millis | None = None) -> Snapshot:
        """What the store serves."""
        return await self.memory.load(self.scope, now_ms=self.now_ms if now_ms is None else now_ms)

    async def facts(self) -> int:
        """How many facts the store serves."""
        return len((await self.load()).facts)

    async def remember(self, *lines: str | Triple, commit_id: CommitId | None = None) -> Committed:
        """Read the scope, apply these statements, commit the result."""
        stored = await self.load()
        applied = apply(stored.entities, stored.facts, triples(lines), self.now_ms)
        proposed = structs.replace(
            stored, entities=applied.entities, facts=applied.facts, expires_at_ms=self.expires_at_ms
        )
        return await self.propose(proposed, stored.revision, commit_id=commit_id, outcome=applied.outcome)

    async def propose(
        self,
        proposed: Snapshot,
        read_revision: int,
        *,
        commit_id: CommitId | None = None,
        outcome: Outcome | None = None,
        now_ms: Millis | None = None,
    ) -> Committed:
        """Commit a snapshot as it is, naming a revision as read."""
        return await self.memory.commit(
            proposed,
            read_revision=Revision(read_revision),
            commit_id=commit_id or new_commit_id(),
            outcome=outcome or Outcome(),
            now_ms=self.now_ms if now_ms is None else now_ms,
        )

    async def clear(self, *, commit_id: CommitId | None = None) -> Committed:
        """Close the namespace, for good."""
        stored = await self.load()
        return await self.propose(self.closing(stored), stored.revision, commit_id=commit_id)

    def closing(self, stored: Snapshot) -> Snapshot:
        """The snapshot that closes the namespace."""
        return structs.replace(stored, entities=(), facts=(), closed=True, expires_at_ms=self.expires_at_ms)

    def first(self, *lines: str | Triple) -> Snapshot:
        """A snapshot to propose as the scope's first."""
        return new_snapshot(self.scope, *lines, now_ms=self.now_ms, expires_at_ms=self.expires_at_ms)


def new_library(graph: RepositoryGraph, *, tenant: str | None = None) -> "Library":
    """A new repository, of a new tenant unless one is given."""
    scope = RepositoryScope(tenant_id=tenant or unique("tenant"), repository=unique("repo"))
    return Library(graph, scope)


class Library:
    """One repository on a store: reads, applies and commits as the engine does, without its retries.

    The terms of a fact are the words of its subject, predicate and object, in small letters.
    """

    def __init__(self, graph: RepositoryGraph, scope: RepositoryScope, *, now_ms: Millis = NOW) -> None:
        self.graph = graph
        self.scope = scope
        self.now_ms = now_ms
        self.session_id = unique("session")

    async def read(self, *lines: str | Triple) -> Slice:
        """The facts of the subjects and predicates of these statements, with their ends."""
        rows = triples(lines)
        pairs = [(row.subject_id, row.predicate) for row in rows]
        ends = [end for row in rows for end in (row.subject_id, row.object_id)]
        return await self.graph.read(self.scope, pairs=pairs, entities=ends)

    async def remember(self, *lines: str | Triple, commit_id: CommitId | None = None) -> Committed:
        """Read what these statements touch, apply them, commit the rows that differ."""
        stored = await self.read(*lines)
        applied = apply(stored.entities, stored.facts, triples(lines), self.now_ms, origin_session_id=self.session_id)
        change = self._rows(applied.changed_entities, applied.changed_facts, applied.entities)
        return await self.propose(change, stored.revision, commit_id=commit_id, outcome=applied.outcome)

    def change(self, *lines: str | Triple, origin: str | None = "") -> RepositoryChange:
        """The rows of these statements alone. origin: of the facts; the library's session unless another is given."""
        graph = stated(*lines, now_ms=self.now_ms, origin=self.session_id if origin == "" else origin)
        return self._rows(graph.entities, graph.facts, graph.entities)

    async def propose(
        self,
        change: RepositoryChange,
        read_revision: int,
        *,
        commit_id: CommitId | None = None,
        outcome: Outcome | None = None,
    ) -> Committed:
        """Commit rows as they are, naming a revision as read."""
        return await self.graph.commit(
            change,
            read_revision=Revision(read_revision),
            commit_id=commit_id or new_commit_id(),
            outcome=outcome or Outcome(),
            now_ms=self.now_ms,
        )

    def _rows(self, entities: tuple[Entity, ...], facts: tuple[Fact, ...], ends: Iterable[Entity]) -> RepositoryChange:
        names = {entity.id: entity.name for entity in ends}
        terms = {
            fact.id: tuple(f"{names[fact.subject]} {fact.predicate} {names[fact.object]}".lower().split())
            for fact in facts
        }
        return RepositoryChange(
            scope=self.scope, entities=entities, facts=facts, terms=terms, origin_session_id=self.session_id
        )


def names_of(entities: Iterable[Entity]) -> set[str]:
    """The names of entities."""
    return {entity.name for entity in entities}


async def settled(call: Awaitable[T], *refusals: type[Exception]) -> T | Exception:
    """The result of a call, or its refusal, if it is one of these: for calls that race."""
    try:
        return await call
    except refusals as refusal:
        return refusal
