"""What a commit to repository memory reads, and what it writes. Pure."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct, structs

from codesynapse.backends.hugegraph.keys import commit_key, repository_key, tenant_key
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
from codesynapse.contracts.memory import COMMITS_KEPT, Committed, Entity, Fact, Revision
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import RepositoryChange, RepositoryStored

_quotas = msgspec.json.Decoder(Quotas).decode
_figures = msgspec.json.Decoder(Figures).decode
_texts = msgspec.json.Decoder(tuple[str, ...]).decode


class Root(Struct, frozen=True, kw_only=True):
    """A repository's root; commit_ids: oldest first."""

    revision: Revision = Revision(0)
    figures: Figures = Figures()
    commit_ids: tuple[str, ...] = ()


class Part(Struct, frozen=True, kw_only=True):
    """A part of a repository, all of it of one moment. quotas: as they are stored, if
    they are; words: the sum of a fact's term counts."""

    root: Root
    quotas: str
    facts: Mapping[str, Fact]
    words: Mapping[str, int]
    entities: Mapping[str, Entity]


def root_of(row: Sequence[object] | None) -> Root:
    """From (version, figures, commit_ids)."""
    if row is None:
        return Root()
    version, figures, commit_ids = row
    return Root(
        revision=Revision(int(str(version))), figures=_figures(str(figures)), commit_ids=_texts(str(commit_ids))
    )


def stored(part: Part, change: RepositoryChange, earlier: Committed | None) -> RepositoryStored:
    return RepositoryStored(
        revision=part.root.revision,
        earlier=earlier,
        live_before=sum(fact.live for fact in part.facts.values()),
        facts=part.root.figures.live_facts,
        entities=part.root.figures.entities,
        present_entities=frozenset(entity.id for entity in part.entities.values()),
        quotas=_quotas(part.quotas) if part.quotas else Quotas(),
    )


def quotas_key(tenant_id: str) -> str:
    """The vertex of a tenant's caps."""
    return f"q{tenant_key(tenant_id)}"


def planned(part: Part, change: RepositoryChange, committed: Committed, commit_id: str, now_ms: Millis) -> Plan:
    """What an accepted commit writes."""
    scope, repository = change.scope, repository_key(change.scope)
    common = place(scope, repository)
    facts = list({fact.id: fact for fact in change.facts}.values())
    entities: dict[str, Entity] = dict(part.entities)
    entities.update((entity.id, entity) for entity in change.entities)
    rows = [
        (
            "MemoryFact",
            fact_key(repository, fact.id),
            [*common, *fact_properties(repository, fact, _terms(change, fact))],
        )
        for fact in facts
    ]
    return Plan(
        lock=tenant_key(scope.tenant_id),
        guard_label="RepositoryMemory",
        guard=repository,
        expected=part.root.revision,
        unchanged=[("RepositoryMemoryTenant", quotas_key(scope.tenant_id), "quotas", part.quotas)],
        puts=[*_root_puts(part, change, committed, commit_id), *rows],
        vertex_label="MemoryEntity",
        edge_label="FACT",
        common=common,
        vertices=[(entity_key(repository, each.id), entity_properties(repository, each)) for each in entities.values()],
        edges=[
            (*_ends(repository, fact), fact.id, ["predicate", fact.predicate, "doc", text(fact)])
            for fact in facts
            if shows(fact, now_ms)
        ],
        gone_edges=[(*_ends(repository, fact), fact.id) for fact in facts if not shows(fact, now_ms)],
    )


def _root_puts(
    part: Part, change: RepositoryChange, committed: Committed, commit_id: str
) -> list[tuple[str, str, list[object]]]:
    scope, repository = change.scope, repository_key(change.scope)
    commit_ids = (*part.root.commit_ids, commit_id)[-COMMITS_KEPT:]
    named = ["tenant_id", scope.tenant_id, "repository", scope.repository, "version", committed.revision]
    held = ["figures", text(_figures_after(part, change)), "commit_ids", text(commit_ids)]
    commit = ["commit_id", commit_id, "revision", committed.revision, "outcome", text(committed.outcome)]
    origin = ["origin_session_id", change.origin_session_id]
    return [
        ("RepositoryMemory", repository, [*named, *held]),
        ("MemoryCommit", commit_key(repository, committed.revision), [*commit, *origin]),
    ]


def _fact_put(
    common: Sequence[object], repository: str, fact: Fact, terms: Sequence[str]
) -> tuple[str, str, list[object]]:
    return ("MemoryFact", fact_key(repository, fact.id), [*common, *fact_properties(repository, fact, terms)])


def _terms(change: RepositoryChange, fact: Fact) -> Sequence[str]:
    return change.terms.get(fact.id, ())


def _ends(repository: str, fact: Fact) -> tuple[str, str]:
    return entity_key(repository, fact.subject), entity_key(repository, fact.object)


def _figures_after(part: Part, change: RepositoryChange) -> Figures:
    figures = part.root.figures
    facts, terms, live_facts, live_terms = figures.facts, figures.terms, figures.live_facts, figures.live_terms
    for fact in {fact.id: fact for fact in change.facts}.values():
        before = part.facts.get(fact.id)
        had, has = part.words.get(fact.id, 0), len(_terms(change, fact))
        facts += before is None
        terms += has - had
        live_facts += fact.live - (before is not None and before.live)
        live_terms += fact.live * has - (had if before is not None and before.live else 0)
    brought = {entity.id for entity in change.entities}.difference(part.entities)
    return structs.replace(
        figures,
        entities=figures.entities + len(brought),
        facts=facts,
        terms=terms,
        live_facts=live_facts,
        live_terms=live_terms,
    )
