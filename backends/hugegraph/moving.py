"""What restoring writes: caps, kept commits, and the rows of a repository in requests that the server takes. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import structs

from codesynapse.backends.hugegraph.keys import commit_key, repository_key, tenant_key
from codesynapse.backends.hugegraph.plans import Put
from codesynapse.backends.hugegraph.planting import Root, quotas_key
from codesynapse.backends.hugegraph.rows import (
    Figures,
    entity_key,
    entity_properties,
    fact_key,
    fact_properties,
    place,
    shows,
    text,
)
from codesynapse.backends.hugegraph.session import Plan
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import Entity, EntityId, Fact
from codesynapse.contracts.portable import Caps, FoundFact, Head, Rows, spread
from codesynapse.contracts.repository import RESTORING, RepositoryScope

BATCH_CHARACTERS_MAX = 30_000
"""Of rows in one request: it must fit where the server's maxContentLength is its default."""


def unguarded(tenant_id: str, puts: Sequence[Put]) -> Plan:
    """A plan of vertices that nobody looks at before another one is written."""
    return Plan(lock=tenant_key(tenant_id), guard_label="RepositoryMemory", guard="", expected=0, puts=puts)


def caps_plan(item: Caps, before: str) -> Plan:
    """The caps of a tenant's repositories. before: as they are stored, empty where they are not."""
    where = quotas_key(item.tenant_id)
    puts = [("RepositoryMemoryTenant", where, ["tenant_id", item.tenant_id, "quotas", text(item.quotas)])]
    unchanged = [("RepositoryMemoryTenant", where, "quotas", before)]
    return structs.replace(unguarded(item.tenant_id, puts), unchanged=unchanged)


def batches(puts: Sequence[Put]) -> Iterator[list[Put]]:
    """Vertices in as many requests as they need."""
    batch: list[Put] = []
    size = 0
    for put in puts:
        length = len(text(put))
        if batch and size + length > BATCH_CHARACTERS_MAX:
            yield batch
            batch, size = [], 0
        batch.append(put)
        size += length
    if batch:
        yield batch


def parts(item: Rows, now_ms: Millis) -> Iterator[Plan]:
    """Rows of a repository in as many requests as they need, and one at least. Their guard's version is not set."""
    repository = repository_key(item.scope)
    known = {entity.id: entity for entity in (*item.ends, *item.entities)}
    entities: dict[EntityId, Entity] = {}
    facts: list[FoundFact] = []
    size = 0
    rows: tuple[Entity | FoundFact, ...] = (*item.entities, *item.facts)
    for row in rows:
        ends = (row.fact.subject, row.fact.object) if isinstance(row, FoundFact) else (row.id,)
        length = len(text(row)) * 2 + sum(len(text(entity_properties(repository, known[each]))) for each in ends)
        if size and size + length > BATCH_CHARACTERS_MAX:
            yield _part(item.scope, entities, facts, now_ms)
            entities, facts, size = {}, [], 0
        entities.update((each, known[each]) for each in ends)
        if isinstance(row, FoundFact):
            facts.append(row)
        size += length
    yield _part(item.scope, entities, facts, now_ms)


def _part(scope: RepositoryScope, entities: dict[EntityId, Entity], facts: Sequence[FoundFact], now_ms: Millis) -> Plan:
    repository = repository_key(scope)
    common = place(scope, repository)
    rows = [
        (
            "MemoryFact",
            fact_key(repository, found.fact.id),
            [*common, *fact_properties(repository, found.fact, spread(found))],
        )
        for found in facts
    ]
    showing = [found.fact for found in facts if shows(found.fact, now_ms)]
    return Plan(
        lock=tenant_key(scope.tenant_id),
        guard_label="RepositoryMemory",
        guard=repository,
        expected=0,
        puts=[_root_put(scope, RESTORING, Figures(), ()), *rows],
        vertex_label="MemoryEntity",
        edge_label="FACT",
        common=common,
        vertices=[(entity_key(repository, each.id), entity_properties(repository, each)) for each in entities.values()],
        edges=[
            (*_ends(repository, fact), fact.id, ["predicate", fact.predicate, "doc", text(fact)]) for fact in showing
        ],
        gone_edges=[
            (*_ends(repository, found.fact), found.fact.id) for found in facts if not shows(found.fact, now_ms)
        ],
    )


def commit_puts(repository: str, item: Head) -> list[Put]:
    """What keeps the commits of a repository."""
    return [
        (
            "MemoryCommit",
            commit_key(repository, each.revision),
            [
                *("commit_id", each.commit_id, "revision", each.revision, "outcome", text(each.outcome)),
                *("origin_session_id", each.origin_session_id or ""),
            ],
        )
        for each in item.commits
    ]


def finishing(item: Head, root: Root, figures: Figures) -> Plan:
    """The root that makes a repository whole."""
    repository = repository_key(item.scope)
    commit_ids = tuple(each.commit_id for each in item.commits)
    return Plan(
        lock=tenant_key(item.scope.tenant_id),
        guard_label="RepositoryMemory",
        guard=repository,
        expected=root.revision,
        puts=[_root_put(item.scope, item.revision, figures, commit_ids)],
    )


def figures_of(facts: Iterable[tuple[Fact, int]], entities: int) -> Figures:
    """What a repository holds. facts: each with the sum of its term counts."""
    rows = list(facts)
    live = [terms for fact, terms in rows if fact.live]
    return Figures(
        entities=entities,
        facts=len(rows),
        terms=sum(terms for _, terms in rows),
        live_facts=len(live),
        live_terms=sum(live),
    )


def _root_put(scope: RepositoryScope, version: int, figures: Figures, commit_ids: Sequence[str]) -> Put:
    named = ["tenant_id", scope.tenant_id, "repository", scope.repository, "version", version]
    return (
        "RepositoryMemory",
        repository_key(scope),
        [*named, "figures", text(figures), "commit_ids", text(tuple(commit_ids))],
    )


def _ends(repository: str, fact: Fact) -> tuple[str, str]:
    return entity_key(repository, fact.subject), entity_key(repository, fact.object)
