"""A store beside the pure law: whatever is asked of both, in whatever order, they answer the same."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from codesynapse.contracts.commit import Root, Stored, check_commit, check_readable
from codesynapse.contracts.errors import CodeSynapseError
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import (
    COMMITS_KEPT,
    CommitId,
    Committed,
    Fact,
    Outcome,
    Revision,
    Scope,
    Snapshot,
    content_of,
)
from codesynapse.contracts.plugin import examples
from codesynapse.contracts.ports import SessionMemory
from codesynapse.contracts.quotas import Quotas, Usage
from codesynapse.contracts.suite.gates import OnSessionMemory
from codesynapse.contracts.suite.worlds import LONG_AGO, later, new_snapshot, numbered, unique

__all__ = ["TestAgainstTheLaw"]

LIFETIME_MS = 1_000
SMALL = Quotas(
    session_lifetime_ms=LIFETIME_MS,
    namespace_facts_max=3,
    session_namespaces_max=2,
    session_facts_max=4,
    tenant_roots_max=3,
    tenant_facts_max=6,
)


class Held(NamedTuple):
    """What the law keeps of one scope."""

    root: Root
    document: bytes
    commits: dict[CommitId, Committed]

    @property
    def facts(self) -> tuple[Fact, ...]:
        return content_of(self.document)[1]


EMPTY = b"[1,[],[]]"


class Law:
    """The law and a dict: what a store answers to one caller at a time."""

    def __init__(self) -> None:
        self.held: dict[Scope, Held] = {}
        self.revoked: set[str] = set()
        self.caps = Quotas()

    async def load(self, scope: Scope, *, now_ms: Millis) -> Snapshot:
        self._readable(scope, now_ms)
        if scope not in self.held:
            return Snapshot(scope=scope)
        root, document, _ = self.held[scope]
        entities, facts = content_of(document)
        return Snapshot(
            scope=scope,
            revision=root.revision,
            entities=entities,
            facts=facts,
            expires_at_ms=root.expires_at_ms,
            closed=root.closed,
        )

    async def commit(
        self, proposed: Snapshot, *, read_revision: Revision, commit_id: CommitId, outcome: Outcome, now_ms: Millis
    ) -> Committed:
        scope = proposed.scope
        stored = self._stored(scope, commit_id)
        accepted = check_commit(
            stored, proposed, read_revision=read_revision, commit_id=commit_id, outcome=outcome, now_ms=now_ms
        )
        if accepted.root is not None:
            commits = {**(self.held[scope].commits if scope in self.held else {}), commit_id: accepted.committed}
            newest = dict(list(commits.items())[-COMMITS_KEPT:])
            self.held[scope] = Held(accepted.root, accepted.document, newest)
        return accepted.committed

    async def committed(self, scope: Scope, commit_id: CommitId, *, now_ms: Millis) -> Committed | None:
        self._readable(scope, now_ms)
        return self.held[scope].commits.get(commit_id) if scope in self.held else None

    async def revoke(self, tenant_id: str, session_id: str, *, now_ms: Millis) -> int:
        self.revoked.add(session_id)
        return sum(self._empty(scope) for scope in self.held if scope.session_id == session_id)

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        expired = [scope for scope, held in self.held.items() if held.root.expires_at_ms <= now_ms and held.facts]
        for scope in expired[:limit]:
            self._empty(scope)
        return len(expired[:limit])

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        self.caps = quotas

    async def quotas(self, tenant_id: str) -> Quotas:
        return self.caps

    async def probe(self) -> None: ...

    def _empty(self, scope: Scope) -> int:
        root, document, commits = self.held[scope]
        self.held[scope] = Held(structs.replace(root, live_facts=0), EMPTY, commits)
        return len(content_of(document)[1])

    def _deadline(self, scope: Scope) -> Millis | None:
        same = (held.root for other, held in self.held.items() if other.session_id == scope.session_id)
        return next((root.expires_at_ms for root in same), None)

    def _readable(self, scope: Scope, now_ms: Millis) -> None:
        held = self.held.get(scope)
        check_readable(
            None if held is None else held.root,
            revoked=scope.session_id in self.revoked,
            expires_at_ms=self._deadline(scope),
            now_ms=now_ms,
        )

    def _stored(self, scope: Scope, commit_id: CommitId) -> Stored:
        held = self.held.get(scope)
        others = [(other, each.root) for other, each in self.held.items() if other != scope]
        siblings = [root for other, root in others if other.session_id == scope.session_id]
        return Stored(
            root=None if held is None else held.root,
            revoked=scope.session_id in self.revoked,
            session_expires_at_ms=self._deadline(scope),
            earlier=None if held is None else held.commits.get(commit_id),
            usage=Usage(
                session_namespaces=len(siblings),
                session_facts=sum(root.live_facts for root in siblings),
                tenant_roots=len(others),
                tenant_facts=sum(root.live_facts for _, root in others),
            ),
            quotas=self.caps,
        )


class Step(NamedTuple):
    """One call, after which the whole session is read. what: its name; the rest is used as far as it needs it."""

    what: str
    session: int
    ns: int
    facts: int
    behind: int
    commit_id: int
    moved_ms: int


steps = st.builds(
    Step,
    what=st.sampled_from(["commit"] * 7 + ["committed", "close", "close", "revoke", "wait"]),
    session=st.integers(0, 1),
    ns=st.integers(0, 2),
    facts=st.integers(0, 4),
    behind=st.sampled_from([0, 0, 0, 0, 1, -1]),
    commit_id=st.integers(0, 9),
    moved_ms=st.sampled_from([0, 0, 0, 0, 0, 1, -1]),
)


class Machine:
    """The same calls to a store and to the law."""

    def __init__(self, memory: SessionMemory) -> None:
        self.law = Law()
        self.ports: tuple[SessionMemory, ...] = (memory, self.law)
        self.tenant = unique("tenant")
        self.now_ms = LONG_AGO
        self.expires_at_ms: dict[str, Millis] = {}

    async def take(self, step: Step) -> None:
        scope = Scope(tenant_id=self.tenant, session_id=f"session{step.session}", ns=f"repo{step.ns}")
        commit_id = CommitId(f"commit{step.commit_id}")
        match step.what:
            case "committed":
                await self.same(lambda port: port.committed(scope, commit_id, now_ms=self.now_ms))
            case "revoke":
                await self.same(lambda port: port.revoke(self.tenant, scope.session_id, now_ms=self.now_ms))
            case "wait":
                await self.wait()
            case _:
                await self.commit(step, scope, commit_id)
        for ns in range(3):
            await self.read(structs.replace(scope, ns=f"repo{ns}"))

    async def read(self, scope: Scope) -> None:
        await self.same(lambda port: port.load(scope, now_ms=self.now_ms))

    async def commit(self, step: Step, scope: Scope, commit_id: CommitId) -> None:
        ends = self.expires_at_ms.setdefault(scope.session_id, later(self.now_ms, LIFETIME_MS))
        held = self.law.held.get(scope)
        read = (0 if held is None else held.root.revision) - step.behind
        lines = [] if step.what == "close" else numbered(step.facts)
        proposed = new_snapshot(scope, *lines, now_ms=self.now_ms, expires_at_ms=later(ends, step.moved_ms))
        proposed = structs.replace(proposed, closed=step.what == "close")
        await self.same(
            lambda port: port.commit(
                proposed,
                read_revision=Revision(read),
                commit_id=commit_id,
                outcome=Outcome(added=step.facts),
                now_ms=self.now_ms,
            )
        )

    async def wait(self) -> None:
        """Let time pass, and retention run: until then a store may count what has expired, or not."""
        self.now_ms = later(self.now_ms, LIFETIME_MS // 2)
        for port in self.ports:
            while await port.sweep(now_ms=self.now_ms, limit=100):
                pass

    async def same(self, call: Callable[[SessionMemory], Awaitable[object]]) -> None:
        stored, lawful = [await answer(call(port)) for port in self.ports]
        assert stored == lawful


async def answer(call: Awaitable[object]) -> object:
    """What a call answers, in a form in which two can be compared."""
    try:
        result = await call
    except CodeSynapseError as refusal:
        return (type(refusal), refusal.field, refusal.limit, refusal.details)
    if isinstance(result, Snapshot):
        facts, entities = frozenset(result.facts), frozenset(result.entities)
        return (structs.replace(result, facts=(), entities=()), facts, entities)
    return result


class TestAgainstTheLaw(OnSessionMemory):
    """No sequence of calls has another answer than the law's."""

    @settings(
        max_examples=examples(40),
        deadline=None,
        database=None,
        # Each example has a tenant of its own, and each backend an instance of this class, which keeps nothing.
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(script=st.lists(steps, max_size=30))
    async def test_any_calls_are_answered_as_the_law_answers(self, memory: SessionMemory, script: list[Step]) -> None:
        machine = Machine(memory)
        for port in machine.ports:
            await port.set_quotas(machine.tenant, SMALL)
        for step in script:
            await machine.take(step)
