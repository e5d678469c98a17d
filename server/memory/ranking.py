"""Which facts answer a question, by their words alone: pure, so that a ranking never depends on the store.

BM25 (Robertson, Zaragoza, "The Probabilistic Relevance Framework", 2009) over stemmed words without stop words, with
k1 = 0.9 and b = 0.4, which suit short texts, and a bonus for facts about an entity that the question names.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

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
_stemmer = Stemmer.Stemmer("english", 10_000)


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
    folded = unicodedata.normalize("NFKC", text).casefold().replace("_", " ")
    kept = [word[:WORD_MAX] for word in _words(folded) if word not in STOP_WORDS]
    stems: list[str] = _stemmer.stemWords(kept)
    return stems


def query_terms(query: str) -> list[str]:
    """The different terms of a question, in its order, at most 64. One of stop words alone keeps them."""
    terms = words(query) or _words(unicodedata.normalize("NFKC", query).casefold())
    return list(dict.fromkeys(terms))[:QUERY_TERMS_MAX]


def terms_of(fact: Fact, entities: Mapping[EntityId, Entity]) -> list[str]:
    """The terms under which a fact is found: names, types and aliases of both ends, and the predicate."""
    subject, object_ = entities[fact.subject], entities[fact.object]
    return words(f"{_described(subject)} {fact.predicate} {_described(object_)}")


def _described(entity: Entity) -> str:
    return " ".join((entity.name, entity.type, *entity.aliases))


def corpus_of(documents: Sequence[Sequence[str]]) -> Corpus:
    """The figures of a whole set of documents, each given by its terms."""
    frequencies = Counter(term for document in documents for term in set(document))
    lengths = sum(len(document) for document in documents)
    return Corpus(total=len(documents), mean_length=lengths / max(1, len(documents)), frequencies=frequencies)


def rank(
    query: str, facts: Sequence[Fact], entities: Mapping[EntityId, Entity], corpus: Corpus | None = None
) -> list[Scored]:
    """The facts that share a word with a question, best first; equal ones: the newest recorded, then by id.

    corpus: the figures of all facts where `facts` are only candidates; None where they are all there are.
    """
    terms = query_terms(query)
    documents = [Counter(terms_of(fact, entities)) for fact in facts]
    if corpus is None:
        corpus = corpus_of([list(document.elements()) for document in documents])
    weights = {term: _idf(corpus.frequencies.get(term, 0), corpus.total) for term in terms}
    raw = [_bm25(weights, document, corpus.mean_length) for document in documents]
    best = max(raw, default=0.0)
    if best <= 0:
        return []
    named = named_entities(query, entities.values())
    scored = [
        Scored(fact, score / best, NAMED if fact.subject in named or fact.object in named else 0.0)
        for fact, score in zip(facts, raw, strict=True)
        if score > 0
    ]
    return sorted(scored, key=lambda each: (-round(each.score, 9), -each.fact.recorded_at_ms, each.fact.id))


def named_entities(query: str, entities: Iterable[Entity]) -> set[EntityId]:
    """The entities whose whole name or alias stands in a question, as words."""
    text = " " + " ".join(_words(query.casefold())) + " "
    return {
        entity.id
        for entity in entities
        if any(f" {' '.join(_words(name.casefold()))} " in text for name in (entity.name, *entity.aliases) if name)
    }


def _idf(frequency: int, total: int) -> float:
    return math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))


def _bm25(weights: Mapping[str, float], document: Mapping[str, int], mean_length: float) -> float:
    length = sum(document.values())
    norm = K1 * (1 - B + B * length / max(mean_length, 1.0))
    score = 0.0
    for term, weight in weights.items():
        count = document.get(term, 0)
        if count:
            score += weight * count * (K1 + 1) / (count + norm)
    return score
