"""Entities and facts of repository memory as rows, and back."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from codesynapse.backends.sqlite.faults import decoding
from codesynapse.contracts.accounts import Level
from codesynapse.contracts.memory import Entity, Fact, Interval, Outcome, content_of
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import search_text
from codesynapse.contracts.triples import is_storable

_aliases = msgspec.json.Decoder(tuple[str, ...]).decode
_intervals = msgspec.json.Decoder(tuple[Interval, ...]).decode

level_of = decoding(Level)
content_of_row = decoding(content_of)
outcome_of = decoding(msgspec.json.Decoder(Outcome).decode)
_quotas = decoding(msgspec.json.Decoder(Quotas).decode)


def quotas_of(text: str | None) -> Quotas:
    """The caps of a column; the defaults where there are none."""
    return Quotas() if text is None else _quotas(text)


@decoding
def entity_of(row: Sequence[Any]) -> Entity:
    """The entity of a row (entity_id, name, type, aliases)."""
    identifier, name, type_, aliases = row
    return Entity(id=identifier, name=name, type=type_, aliases=_aliases(aliases))


@decoding
def fact_of(row: Sequence[Any]) -> Fact:
    """The fact of a row (fact_id, subject, predicate, object, functional, recorded_at_ms, source, origin, intervals).

    A row without an origin is served without one: no session is made up for it.
    """
    identifier, subject, predicate, object_, functional, recorded_at_ms, source, origin, intervals = row
    return Fact(
        id=identifier,
        subject=subject,
        predicate=predicate,
        object=object_,
        functional=bool(functional),
        recorded_at_ms=recorded_at_ms,
        source=source,
        origin_session_id=origin,
        intervals=_intervals(intervals),
    )


def entity_row(entity: Entity) -> tuple[str, str, str, str, str, str]:
    """(entity_id, name, type, aliases, folded, search_text)."""
    aliases = msgspec.json.encode(entity.aliases).decode()
    return (entity.id, entity.name, entity.type, aliases, entity.name.casefold(), search_text(entity))


def fact_row(fact: Fact, terms: int) -> tuple[object, ...]:
    """The row that `fact_of` reads, then (live, turns_ms, terms)."""
    start, end = fact.intervals[-1]
    return (
        fact.id,
        fact.subject,
        fact.predicate,
        fact.object,
        fact.functional,
        fact.recorded_at_ms,
        fact.source,
        fact.origin_session_id,
        msgspec.json.encode(fact.intervals).decode(),
        fact.live,
        start if end is None else end,
        terms,
    )


def json_array(texts: Iterable[str]) -> str:
    """Texts as a JSON array for `json_each`, without those that cannot be stored: they would find nothing."""
    return msgspec.json.encode([text for text in texts if is_storable(text)]).decode()
