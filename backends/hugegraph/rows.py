"""Entities and facts of repository memory as vertices, and back; the figures of a repository."""

from collections import Counter
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from codesynapse.backends.hugegraph.keys import key
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import Entity, Fact
from codesynapse.contracts.repository import RepositoryScope, search_text

_entity = msgspec.json.Decoder(Entity).decode
_fact = msgspec.json.Decoder(Fact).decode
words_of = msgspec.json.Decoder(dict[str, int]).decode


class Figures(Struct, frozen=True, kw_only=True):
    """What a repository holds. live_*: of facts whose newest interval is open; terms: the sum of their counts."""

    entities: int = 0
    facts: int = 0
    terms: int = 0
    live_facts: int = 0
    live_terms: int = 0


def text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def entity_of(document: str) -> Entity:
    return _entity(document)


def fact_of(document: str) -> Fact:
    return _fact(document)


def entity_key(repository: str, entity_id: str) -> str:
    """Ids are hashed: a caller may ask for an entity by any text."""
    return key("e", repository, entity_id)


def fact_key(repository: str, fact_id: str) -> str:
    return key("f", repository, fact_id)


def pair_key(repository: str, subject: str, predicate: str) -> str:
    return key("p", repository, subject, predicate)


def term_key(repository: str, term: str) -> str:
    return key("w", repository, term)


def answer_key(repository: str, folded: str) -> str:
    return key("a", repository, folded)


def place(scope: RepositoryScope, repository: str) -> list[object]:
    return ["tenant_id", scope.tenant_id, "repository", scope.repository, "repository_key", repository]


def entity_properties(repository: str, entity: Entity) -> list[object]:
    """Of a MemoryEntity, beside `place`."""
    answers = sorted({answer_key(repository, name.casefold()) for name in (entity.name, *entity.aliases)})
    return ["eid", entity.id, "doc", text(entity), "search_text", search_text(entity), "answers", answers]


def fact_properties(repository: str, fact: Fact, terms: Iterable[str]) -> list[object]:
    """Of a MemoryFact, beside `place`. turns_at: from there on the fact holds if and only if it is live."""
    words = Counter(terms)
    start, end = fact.intervals[-1]
    ends = ["subject", entity_key(repository, fact.subject), "object", entity_key(repository, fact.object)]
    found = ["pair", pair_key(repository, fact.subject, fact.predicate), "turns_at", start if end is None else end]
    said = ["fid", fact.id, "doc", text(fact), "word_counts", text(words)]
    carried = ["terms", sorted(term_key(repository, word) for word in words)] if words else []
    return [*said, *ends, *found, *carried]


def shows(fact: Fact, moment: Millis) -> bool:
    """Whether a fact has its edge: it holds from this moment on, without an end."""
    start, end = fact.intervals[-1]
    return end is None and start <= moment
