"""What the stores are asked side by side: drawn series of questions about each of their ports."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from hypothesis import strategies as st
from msgspec import structs

from codesynapse.contracts.accounts import Caller, KeyRecord, Level
from codesynapse.contracts.change import apply, apply_to
from codesynapse.contracts.identity import Identity, Millis
from codesynapse.contracts.memory import CommitId, EntityId, Outcome, Revision, Scope, entity_id
from codesynapse.contracts.ports import Accounts, RepositoryGraph, SessionMemory, VectorIndex
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import RepositoryChange, RepositoryScope, node_order
from codesynapse.contracts.triples import Triple
from codesynapse.contracts.vectors import VectorRecord

LIFETIME_MS = 1_000
SMALL = Quotas(
    session_lifetime_ms=LIFETIME_MS,
    sessions_active_max=2,
    sessions_retained_max=4,
    namespace_facts_max=6,
    session_namespaces_max=2,
    session_facts_max=8,
    tenant_roots_max=3,
    tenant_facts_max=10,
    repository_facts_max=9,
    repository_entities_max=9,
)


class Ports(NamedTuple):
    """The four ports of one store; all of them are there.

    own: what begins the names of tenants of repositories, where others use the store as well.
    """

    memory: SessionMemory
    repository: RepositoryGraph
    vectors: VectorIndex
    accounts: Accounts
    own: str = ""

    def of(self, scope: RepositoryScope) -> RepositoryScope:
        return structs.replace(scope, tenant_id=self.own + scope.tenant_id)


class Step(NamedTuple):
    """One question: its name, for a reader of a failing example, and how to ask it at a moment."""

    name: str
    ask: Callable[[Ports, Millis], Awaitable[object]]

    def __repr__(self) -> str:
        return self.name


Played = Sequence[tuple[Step, int]]
"""Steps, each with the milliseconds that pass before it."""

T = TypeVar("T")
tenants = st.sampled_from(["t1", "t2"])
users = st.sampled_from(["ana", "bob", "nobody"])
sessions = st.sampled_from(["s1", "s2", "s3"])
names = st.sampled_from(["Ana", "ANA", "Bob", "Straße", "tea"])
# Most questions meet in a few scopes, and some find the caps.
scopes = st.builds(
    Scope,
    tenant_id=st.sampled_from(["t1", "t1", "t1", "t2"]),
    session_id=st.sampled_from(["s1", "s1", "s1", "s2", "s3"]),
    ns=st.sampled_from(["a", "a", "a", "b", "c"]),
)
repositories = st.builds(RepositoryScope, tenant_id=tenants, repository=st.sampled_from(["r1", "r2"]))
commit_ids = st.integers(0, 60).map(lambda number: CommitId(f"c{number}"))
moments = st.none() | st.sampled_from([Millis(0), Millis(30), Millis(100), Millis(400), Millis(1_500)])
flags = st.booleans()
limits = st.integers(0, 4)
triples = st.builds(
    Triple,
    subject=names,
    predicate=st.sampled_from(["likes", "lives_in"]),
    object=names,
    subject_type=st.sampled_from(["", "Person"]),
    object_aliases=st.sampled_from([(), ("Cup",), ("cup", "Mug")]),
    functional=flags,
    retract=st.sampled_from([False, False, True]),
    valid_from_ms=moments,
)
batches = st.lists(triples, min_size=1, max_size=4)
entities = st.builds(entity_id, names, st.sampled_from(["", "Person"]))
words = st.lists(st.sampled_from(["ana", "bob", "strasse", "tea", "likes", "lives_in", "", "none"]), max_size=4)


async def remember(
    ports: Ports, scope: Scope, batch: Sequence[Triple], commit_id: CommitId, stale: int, now: Millis
) -> object:
    """Write to a session as the engine does; stale: how far behind the revision that it names is."""
    stored = await ports.memory.load(scope, now_ms=now)
    deadline = stored.expires_at_ms or Millis(LIFETIME_MS)
    proposed, applied = apply_to(structs.replace(stored, expires_at_ms=deadline), batch, now, SMALL)
    return await ports.memory.commit(
        proposed,
        read_revision=Revision(stored.revision - stale),
        commit_id=commit_id,
        outcome=applied.outcome,
        now_ms=now,
    )


async def clear(ports: Ports, scope: Scope, commit_id: CommitId, now: Millis) -> object:
    stored = await ports.memory.load(scope, now_ms=now)
    deadline = stored.expires_at_ms or Millis(LIFETIME_MS)
    proposed = structs.replace(stored, entities=(), facts=(), closed=True, expires_at_ms=deadline)
    return await ports.memory.commit(
        proposed, read_revision=stored.revision, commit_id=commit_id, outcome=Outcome(), now_ms=now
    )


async def record(
    ports: Ports, scope: RepositoryScope, batch: Sequence[Triple], commit_id: CommitId, now: Millis
) -> object:
    """Write to a repository as the engine does."""
    scope = ports.of(scope)
    pairs = [(each.subject_id, each.predicate) for each in batch]
    ends = [end for each in batch for end in (each.subject_id, each.object_id)]
    stored = await ports.repository.read(scope, pairs=pairs, entities=ends)
    applied = apply(stored.entities, stored.facts, batch, now, origin_session_id="s1")
    names_of = {entity.id: entity.name for entity in (*stored.entities, *applied.entities)}
    terms = {
        fact.id: (names_of[fact.subject].casefold(), fact.predicate, names_of[fact.object].casefold())
        for fact in applied.changed_facts
    }
    change = RepositoryChange(
        scope=scope,
        entities=applied.changed_entities,
        facts=applied.changed_facts,
        terms=terms,
        origin_session_id="s1",
    )
    return await ports.repository.commit(
        change, read_revision=stored.revision, commit_id=commit_id, outcome=applied.outcome, now_ms=now
    )


async def pages(ports: Ports, scope: RepositoryScope, query: str, limit: int) -> object:
    """All found nodes, page by page."""
    scope = ports.of(scope)
    found = await ports.repository.find_nodes(scope, query, after=None, limit=limit)
    page = found
    while page:
        page = await ports.repository.find_nodes(scope, query, after=node_order(page[-1]), limit=limit)
        found += page
    return found


def put(
    ports: Ports, scope: Scope, entity: EntityId, values: tuple[float, ...], lives: int, now: Millis
) -> Awaitable[object]:
    vector = VectorRecord(scope=scope, entity=entity, model="m", values=values, expires_at_ms=Millis(now + lives))
    return ports.vectors.put([vector], now_ms=now)


def caller(tenant: str, user: str) -> Caller:
    return Caller(tenant_id=tenant, subject_id=user, key_id=f"k-{user}")


def key_record(tenant: str, user: str, now: Millis) -> KeyRecord:
    return KeyRecord(key_id=f"k-{user}", tenant_id=tenant, subject_id=user, created_at_ms=now)


def identity(tenant: str, user: str, session: str) -> Identity:
    return Identity(tenant_id=tenant, subject_id=user, session_id=session, parent_session_id=session)


def step(
    name: str, ask: Callable[..., Awaitable[object]], *arguments: st.SearchStrategy[object]
) -> st.SearchStrategy[Step]:
    """Questions of one kind. ask: takes the ports, the drawn arguments, and the moment."""

    def made(drawn: tuple[object, ...]) -> Step:
        return Step(f"{name}{drawn}", lambda ports, now: ask(ports, *drawn, now))

    return st.tuples(*arguments).map(made)


units = st.sampled_from([(1.0, 0.0), (0.0, 1.0), (0.6, 0.8), (1.0,)])

MEMORY = [
    step("remember", remember, scopes, batches, commit_ids, st.sampled_from([0, 0, 0, 1])),
    step("remember", remember, scopes, batches, commit_ids, st.sampled_from([0, 0, 0, 1])),
    step("clear", clear, scopes, commit_ids),
    step("load", lambda ports, scope, now: ports.memory.load(scope, now_ms=now), scopes),
    step("committed", lambda ports, scope, c, now: ports.memory.committed(scope, c, now_ms=now), scopes, commit_ids),
    step("revoke", lambda ports, t, s, now: ports.memory.revoke(t, s, now_ms=now), tenants, sessions),
    step("sweep", lambda ports, limit, now: ports.memory.sweep(now_ms=now, limit=limit), limits),
    step("caps", lambda ports, t, now: ports.memory.set_quotas(t, SMALL), tenants),
    step("caps?", lambda ports, t, now: ports.memory.quotas(t), tenants),
    step("put", put, scopes, entities, units, st.sampled_from([0, 5, 5_000])),
    step(
        "search",
        lambda ports, scope, query, limit, now: ports.vectors.search(scope, query, model="m", limit=limit, now_ms=now),
        scopes,
        units,
        limits,
    ),
    step(
        "drop",
        lambda ports, t, s, ns, now: ports.vectors.drop(t, s, ns),
        tenants,
        sessions,
        st.sampled_from([None, "a"]),
    ),
    step("sweep vectors", lambda ports, now: ports.vectors.sweep(now_ms=now, limit=100)),
]
REPOSITORY = [
    step("record", record, repositories, batches, commit_ids),
    step("record", record, repositories, batches, commit_ids),
    step("caps", lambda ports, t, now: ports.repository.set_quotas(ports.own + t, SMALL), tenants),
    step(
        "committed",
        lambda ports, scope, c, now: ports.repository.committed(ports.of(scope), c),
        repositories,
        commit_ids,
    ),
    step(
        "candidates",
        lambda ports, scope, terms, limit, at, history, now: ports.repository.candidates(
            ports.of(scope), terms, limit=limit, now_ms=now if at is None else at, history=history
        ),
        repositories,
        words,
        limits,
        moments,
        flags,
    ),
    step(
        "nodes",
        lambda ports, scope, query, limit, now: pages(ports, scope, " ".join(query), limit),
        repositories,
        words,
        limits,
    ),
    step("named", lambda ports, scope, asked, now: ports.repository.named(ports.of(scope), asked), repositories, words),
    step(
        "touching",
        lambda ports, scope, near, limit, at, now: ports.repository.touching(
            ports.of(scope), near, limit=limit, now_ms=now if at is None else at
        ),
        repositories,
        st.lists(entities, max_size=3),
        limits,
        moments,
    ),
]
ACCOUNTS = [
    step("organisation", lambda ports, t, now: ports.accounts.create_organization(t, now_ms=now), tenants),
    step("organisations?", lambda ports, now: ports.accounts.organizations()),
    step(
        "suspend organisation",
        lambda ports, t, suspended, now: ports.accounts.suspend_organization(t, suspended=suspended, now_ms=now),
        tenants,
        flags,
    ),
    step("caps", lambda ports, t, now: ports.accounts.set_quotas(t, SMALL, now_ms=now), tenants),
    step("caps?", lambda ports, t, now: ports.accounts.quotas(t), tenants),
    step(
        "user", lambda ports, user, now: ports.accounts.create_user(user, now_ms=now), st.sampled_from(["ana", "bob"])
    ),
    step(
        "suspend user",
        lambda ports, user, suspended, now: ports.accounts.suspend_user(user, suspended=suspended, now_ms=now),
        users,
        flags,
    ),
    step(
        "member",
        lambda ports, t, user, member, now: ports.accounts.set_member(t, user, member=member, now_ms=now),
        tenants,
        users,
        flags,
    ),
    step("members?", lambda ports, t, now: ports.accounts.members(t), tenants),
    step("repository", lambda ports, t, now: ports.accounts.create_repository(t, "r", now_ms=now), tenants),
    step(
        "grant",
        lambda ports, t, user, level, now: ports.accounts.set_grant(t, "r", user, level, now_ms=now),
        tenants,
        users,
        st.sampled_from([None, *Level]),
    ),
    step("grant?", lambda ports, t, user, now: ports.accounts.grant(t, "r", user), tenants, users),
    step("grants?", lambda ports, t, user, now: ports.accounts.repositories(t, user), tenants, st.none() | users),
    step(
        "key",
        lambda ports, t, user, now: ports.accounts.create_key(key_record(t, user, now), f"{t}{user}", now_ms=now),
        tenants,
        users,
    ),
    step(
        "revoke key", lambda ports, t, user, now: ports.accounts.revoke_key(t, f"k-{user}", now_ms=now), tenants, users
    ),
    step("keys?", lambda ports, t, now: ports.accounts.keys(t), tenants),
    step(
        "authorise",
        lambda ports, t, user, session, now: ports.accounts.authorize(f"{t}{user}", session, now_ms=now),
        tenants,
        users,
        st.none() | sessions,
    ),
    step(
        "recheck",
        lambda ports, t, user, session, key, now: ports.accounts.recheck(
            identity(t, user, session), f"k-{key}", now_ms=now
        ),
        tenants,
        users,
        sessions,
        users,
    ),
    step(
        "register",
        lambda ports, t, user, session, now: ports.accounts.register(caller(t, user), session, now_ms=now),
        tenants,
        users,
        sessions,
    ),
    step("bindings?", lambda ports, t, user, now: ports.accounts.bindings(caller(t, user)), tenants, users),
    step(
        "revoke",
        lambda ports, t, session, user, now: ports.accounts.revoke(t, session, subject_id=user, now_ms=now),
        tenants,
        sessions,
        st.none() | users,
    ),
    step("owed?", lambda ports, limit, now: ports.accounts.cleanups_owed(limit=limit), limits),
    step("cleaned", lambda ports, session, now: ports.accounts.cleaned(session), sessions),
    step("audit?", lambda ports, after, limit, now: ports.accounts.audit(after=after, limit=limit), limits, limits),
]
# An organisation in which most of the steps find somebody; the others still meet what is missing.
FOUNDED = [
    Step("organisation t1", lambda ports, now: ports.accounts.create_organization("t1", now_ms=now)),
    Step("user ana", lambda ports, now: ports.accounts.create_user("ana", now_ms=now)),
    Step("member ana", lambda ports, now: ports.accounts.set_member("t1", "ana", member=True, now_ms=now)),
    Step("key of ana", lambda ports, now: ports.accounts.create_key(key_record("t1", "ana", now), "t1ana", now_ms=now)),
]


def series(steps: list[st.SearchStrategy[Step]]) -> st.SearchStrategy[Played]:
    return st.lists(st.tuples(st.one_of(steps), st.sampled_from([0, 0, 1, 1, 20, 200])), min_size=10, max_size=60)
