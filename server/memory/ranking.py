"""Which facts answer a question, by their words alone: pure, so that a ranking never depends on the store.

BM25 (Robertson, Zaragoza, "The Probabilistic Relevance Framework", 2009) over stemmed words without stop words, with
k1 = 0.9 and b = 0.4, which suit short texts, and a bonus for facts about an entity that the question names.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import Stemmer
from msgspec import Struct

from codesynapse.contracts.memory import Entity, EntityId, Fact

K1, B = 0.9, 0.4
NAMED = 0.5
"""The bonus for a fact whose subject or object the question names, on a scale where the best BM25 is 1."""
QUERY_TERMS_MAX = 64
WORD_MAX = 64

_STOP = """
    a about after all also am an and any are as at be because been before being but by can could did do does
    doing for from had has have having he her hers him his how i if in into is it its just me more most my no nor
    not of on or our out over own she should so some such than that the their them then there these they this those
    to too under until up us very was we were what when where which while who whom whose why will with would you
    your
"""
STOP_WORDS = frozenset(_STOP.split())

_words = re.compile(r"\w+").findall
# Without its cache: words of a memory must not outlive it (decision 16).
_stemmer = Stemmer.Stemmer("english", 0)


class Scored(Struct, frozen=True):
    """A fact and what speaks for it. score: lexical + named, in (0, 1.5]."""

    fact: Fact
    lexical: float
    named: float

    @property
    def score(self) -> float:
        return self.lexical + self.named


class Corpus(Struct, frozen=True, kw_only=True):
    """What BM25 must know of all facts: how many, how long on average, and how many carry each term."""

    total: int
    mean_length: float
    frequencies: Mapping[str, int]


def words(text: str) -> list[str]:
    """The words of a text, casefolded, without stop words, stemmed; as often as they occur.

    Compatibility forms fold together (NFKC), and an underscore separates words, as in a predicate.
    """
    return _stems(_words(_folded(text)))


def _folded(text: str) -> str:
    folded = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return folded.casefold().replace("_", " ")


def _stems(spoken: Sequence[str]) -> list[str]:
    stems: list[str] = _stemmer.stemWords([word[:WORD_MAX] for word in spoken if word not in STOP_WORDS])
    return stems


def query_terms(query: str) -> list[str]:
    """The different terms of a question, in its order, at most 64. One of stop words alone keeps them."""
    terms = words(query) or _words(_folded(query))
    return list(dict.fromkeys(terms))[:QUERY_TERMS_MAX]


def terms_of(fact: Fact, entities: Mapping[EntityId, Entity]) -> list[str]:
    """The terms under which a fact is found: names, types and aliases of both ends, and the predicate."""
    texts = (*_texts(entities[fact.subject]), fact.predicate, *_texts(entities[fact.object]))
    return [term for text in texts for term in words(text)]


def _texts(entity: Entity) -> tuple[str, ...]:
    return (entity.name, entity.type, *entity.aliases)


class _Part(NamedTuple):
    """What a ranking needs of one entity or predicate: how many terms, and how often each asked one."""

    length: int
    counts: Mapping[str, int]
    named: bool


def rank(
    query: str, facts: Sequence[Fact], entities: Mapping[EntityId, Entity], corpus: Corpus | None = None
) -> list[Scored]:
    """The facts that share a word with a question, best first; equal ones: the newest recorded, then by id.

    corpus: the figures of all facts where `facts` are only candidates; None where they are all there are.
    """
    terms = query_terms(query)
    parts = _parts(query, terms, facts, entities)
    documents = [(parts[fact.subject], parts[f" {fact.predicate}"], parts[fact.object]) for fact in facts]
    if corpus is None:
        corpus = _corpus(terms, documents)
    weights = {term: _idf(corpus.frequencies.get(term, 0), corpus.total) for term in terms}
    raw = [_bm25(weights, document, corpus.mean_length) for document in documents]
    best = max(raw, default=0.0)
    if best <= 0:
        return []
    scored = [
        Scored(fact, score / best, NAMED if document[0].named or document[2].named else 0.0)
        for fact, document, score in zip(facts, documents, raw, strict=True)
        if score > 0
    ]
    return sorted(scored, key=lambda each: (-round(each.score, 9), -each.fact.recorded_at_ms, each.fact.id))


def _parts(
    query: str, terms: Sequence[str], facts: Sequence[Fact], entities: Mapping[EntityId, Entity]
) -> dict[str, _Part]:
    """The part of each entity by its id, and of each predicate by a blank and its name, which is no id.

    Each is taken apart once, not once a fact.
    """
    asked, named = frozenset(terms), named_entities(query, entities.values())
    parts: dict[str, _Part] = {
        entity.id: _part([term for text in _texts(entity) for term in words(text)], asked, entity.id in named)
        for entity in entities.values()
    }
    for predicate in {fact.predicate for fact in facts}:
        parts[f" {predicate}"] = _part(words(predicate), asked, False)
    return parts


def _part(found: Sequence[str], asked: frozenset[str], named: bool) -> _Part:
    counts: dict[str, int] = {}
    if not asked.isdisjoint(found):
        for term in found:
            if term in asked:
                counts[term] = counts.get(term, 0) + 1
    return _Part(len(found), counts, named)


_Document = tuple[_Part, _Part, _Part]


def _corpus(terms: Sequence[str], documents: Sequence[_Document]) -> Corpus:
    frequencies = {term: sum(any(term in part.counts for part in document) for document in documents) for term in terms}
    lengths = sum(part.length for document in documents for part in document)
    return Corpus(total=len(documents), mean_length=lengths / max(1, len(documents)), frequencies=frequencies)


def named_entities(query: str, entities: Iterable[Entity]) -> set[EntityId]:
    """The entities whose whole name or alias stands in a question, as words."""
    spoken = _words(_folded(query))
    text, first = f" {' '.join(spoken)} ", frozenset(spoken)
    return {
        entity.id
        for entity in entities
        if any(_stands_in(text, first, name) for name in (entity.name, *entity.aliases))
    }


def _stands_in(text: str, spoken: frozenset[str], name: str) -> bool:
    parts = _words(_folded(name))
    return bool(parts) and parts[0] in spoken and f" {' '.join(parts)} " in text


def _idf(frequency: int, total: int) -> float:
    return math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))


def _bm25(weights: Mapping[str, float], document: _Document, mean_length: float) -> float:
    if not any(part.counts for part in document):
        return 0.0
    norm = K1 * (1 - B + B * sum(part.length for part in document) / max(mean_length, 1.0))
    score = 0.0
    for term, weight in weights.items():
        count = sum(part.counts.get(term, 0) for part in document)
        if count:
            score += weight * count * (K1 + 1) / (count + norm)
    return score
