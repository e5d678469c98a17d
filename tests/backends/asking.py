"""Asks a store everything that takes a text, with a hostile one in each field by turns."""

from __future__ import annotations

from collections.abc import Awaitable

from msgspec import structs

from codesynapse.contracts.errors import CodeSynapseError, Invalid
from codesynapse.contracts.memory import (
    CommitId,
    Committed,
    Entity,
    EntityId,
    FactId,
    Outcome,
    Revision,
    Scope,
    Snapshot,
    entity_id,
    fact_id,
)
from codesynapse.contracts.ports import Backend, RepositoryGraph, SessionMemory, VectorIndex
from codesynapse.contracts.repository import Candidates, RepositoryChange, RepositoryScope, Slice, sought
from codesynapse.contracts.suite.worlds import LIFETIME_MS, NOW, later, new_scope, stated
from codesynapse.contracts.triples import ALIAS_MAX, NAME_MAX, SOURCE_MAX, TYPE_MAX, text_of
from codesynapse.contracts.vectors import VectorRecord

CRASHED = "crashed"
SHOWN_MAX = 200


class Asked:
    """The answers of one store by the names of the questions, in a form in which those of two stores are compared."""

    def __init__(self) -> None:
        self.answers: dict[str, object] = {}

    async def ask(self, question: str, call: Awaitable[object]) -> object:
        """Put down the answer, and hand it back."""
        self.answers[question] = found = await _answer(call)
        return found


async def _answer(call: Awaitable[object]) -> object:
    try:
        result = await call
    except CodeSynapseError as refusal:
        return (type(refusal), refusal.field, refusal.limit)
    except Exception as error:  # What a store raised is its answer.
        return (CRASHED, repr(error)[:SHOWN_MAX])
    if isinstance(result, Candidates):
        return (_content(result.slice), result.total, result.total_terms, dict(result.frequencies))
    return _content(result) if isinstance(result, Slice | Snapshot) else result


def _content(result: Slice | Snapshot) -> tuple[object, ...]:
    """The order is the store's, and a slice may bring more entities than the ends of its facts."""
    return (result.revision, frozenset(result.facts), {each.id: each for each in result.entities})


def spoken(text: str) -> Snapshot:
    """A graph with the text in every field that may hold it, and with an ordinary word in the others."""

    def or_else(longest: int, other: str) -> str:
        try:
            return text_of(text, longest=longest, field="text")
        except Invalid:
            return other

    name, type_, alias = or_else(NAME_MAX, "ana"), or_else(TYPE_MAX, ""), or_else(ALIAS_MAX, "alias")
    subject = Entity(id=entity_id(name, type_), name=name, type=type_, aliases=(alias,))
    object_ = Entity(id=entity_id(name, "no type"), name=name, type="no type")
    (fact,) = stated("ana likes tea").facts
    said = structs.replace(
        fact,
        id=fact_id(subject.id, "likes", object_.id),
        subject=subject.id,
        object=object_.id,
        source=or_else(SOURCE_MAX, "source"),
    )
    return Snapshot(scope=new_scope(), entities=(subject, object_), facts=(said,))


def spoilt(text: str) -> dict[str, Snapshot]:
    """Graphs with the text in one field as it is, whether that may hold it or not. Ids follow where they can."""
    good = spoken("good")
    (subject, object_), (fact,) = good.entities, good.facts

    def entity(**changes: object) -> Snapshot:
        changed: Entity = structs.replace(subject, **changes)
        linked = structs.replace(fact, id=fact_id(changed.id, fact.predicate, object_.id), subject=changed.id)
        return structs.replace(good, entities=(changed, object_), facts=(linked,))

    def said(**changes: object) -> Snapshot:
        return structs.replace(good, facts=(structs.replace(fact, **changes),))

    clean = text.encode(errors="replace").decode()
    return {
        "name": entity(name=text, id=entity_id(clean, subject.type)),
        "type": entity(type=text, id=entity_id(subject.name, clean)),
        "alias": entity(aliases=(text,)),
        "predicate": said(predicate=text, id=fact_id(fact.subject, clean, fact.object)),
        "source": said(source=text),
        "origin": said(origin_session_id=text),
        "fact id": said(id=FactId(text)),
        "subject": said(subject=EntityId(text)),
        "object": said(object=EntityId(text)),
        "entity id": structs.replace(good, entities=(structs.replace(subject, id=EntityId(text)), object_)),
    }


async def ask_sessions(asked: Asked, memory: SessionMemory, text: str, tenant: str) -> None:
    """Session memory. tenant: nobody else's."""
    scope = Scope(tenant_id=tenant, session_id="session", ns="default")
    revision = 0

    async def commit(question: str, graph: Snapshot, commit_id: str) -> None:
        nonlocal revision
        proposed = structs.replace(graph, scope=scope, expires_at_ms=later(NOW, LIFETIME_MS))
        committed = memory.commit(
            proposed,
            read_revision=Revision(revision),
            commit_id=CommitId(commit_id),
            outcome=Outcome(),
            now_ms=NOW,
        )
        found = await asked.ask(f"session commit, {question}", committed)
        if isinstance(found, Committed):
            revision += 1
            await asked.ask(f"session load, {question}", memory.load(scope, now_ms=NOW))

    await commit("all fields", spoken(text), "first")
    for number, (field, graph) in enumerate(spoilt(text).items()):
        await commit(field, graph, f"commit{number}")
    await commit("commit id", spoken("good"), text)
    await asked.ask("session committed", memory.committed(scope, CommitId(text), now_ms=NOW))
    await asked.ask("session quotas", memory.quotas(text))
    await asked.ask("session revoke, tenant", memory.revoke(text, scope.session_id, now_ms=NOW))
    await asked.ask("session revoke, session", memory.revoke(tenant, text, now_ms=NOW))
    await asked.ask("session load, in the end", memory.load(scope, now_ms=NOW))


async def ask_repository(asked: Asked, graph: RepositoryGraph, text: str, tenant: str) -> None:
    """Repository memory. tenant: nobody else's."""
    scope = RepositoryScope(tenant_id=tenant, repository="repo")
    revision = 0

    async def commit(question: str, said: Snapshot, commit_id: str, term: str = "term", origin: str = "origin") -> None:
        nonlocal revision
        change = RepositoryChange(
            scope=scope,
            entities=said.entities,
            facts=said.facts,
            terms={each.id: (term, term) for each in said.facts},
            origin_session_id=origin,
        )
        committed = graph.commit(
            change, read_revision=Revision(revision), commit_id=CommitId(commit_id), outcome=Outcome(), now_ms=NOW
        )
        revision += isinstance(await asked.ask(f"repository commit, {question}", committed), Committed)

    await commit("all fields", spoken(text), "first")
    for number, (field, said) in enumerate(spoilt(text).items()):
        await commit(field, said, f"commit{number}")
    await commit("term", spoken("term"), "term", term=text)
    await commit("origin of the commit", spoken("good"), "origin", origin=text)
    await commit("commit id", spoken("good"), text)
    await asked.ask("repository committed", graph.committed(scope, CommitId(text)))
    await _ask_search(asked, graph, text, scope)


async def _ask_search(asked: Asked, graph: RepositoryGraph, text: str, scope: RepositoryScope) -> None:
    said, words = spoken(text), sought(text)
    ends = [entity.id for entity in said.entities]
    own, foreign = [(ends[0], "likes")], [(EntityId(text), text)]
    await asked.ask("repository read", graph.read(scope, pairs=own, entities=ends))
    await asked.ask("repository read, id", graph.read(scope, pairs=foreign, entities=[EntityId(text)]))
    found = graph.candidates(scope, [text, "term"], limit=9, now_ms=NOW, history=False)
    await asked.ask("repository candidates", found)
    await asked.ask("repository nodes", graph.find_nodes(scope, words, after=None, limit=9))
    await asked.ask("repository nodes behind", graph.find_nodes(scope, "", after=(text, text), limit=9))
    await asked.ask("repository named", graph.named(scope, [words]))
    await asked.ask("repository touching", graph.touching(scope, ends, limit=9, now_ms=NOW))
    await asked.ask("repository touching, id", graph.touching(scope, [EntityId(text)], limit=9, now_ms=NOW))


async def ask_vectors(asked: Asked, index: VectorIndex, text: str, tenant: str) -> None:
    """Vectors. tenant: nobody else's."""
    scope = Scope(tenant_id=tenant, session_id="vectors", ns="default")
    good = VectorRecord(
        scope=scope, entity=EntityId("e"), model="model", values=(1.0,), expires_at_ms=later(NOW, LIFETIME_MS)
    )
    await asked.ask("vectors put, entity", index.put([structs.replace(good, entity=EntityId(text))], now_ms=NOW))
    await asked.ask("vectors put, model", index.put([structs.replace(good, model=text)], now_ms=NOW))
    for model in ("model", text):
        found = index.search(scope, (1.0,), model=model, limit=9, now_ms=NOW)
        await asked.ask(f"vectors search, {'a' if model == 'model' else 'hostile'} model", found)
    await asked.ask("vectors drop, namespace", index.drop(tenant, "vectors", text))
    await asked.ask("vectors drop, session", index.drop(tenant, text))
    await asked.ask("vectors drop, tenant", index.drop(text, "vectors"))
    await asked.ask("vectors drop", index.drop(tenant, "vectors"))


async def ask_all(backend: Backend, text: str, tenant: str) -> dict[str, object]:
    """All that a store answers. tenant: nobody else's."""
    assert backend.session_memory is not None
    assert backend.repository is not None
    assert backend.vectors is not None
    asked = Asked()
    await ask_sessions(asked, backend.session_memory, text, tenant)
    await ask_repository(asked, backend.repository, text, tenant)
    await ask_vectors(asked, backend.vectors, text, tenant)
    return asked.answers
