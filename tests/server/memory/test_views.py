"""The shapes of the answers, and statements as they are sent."""

from __future__ import annotations

import msgspec
import pytest

from codesynapse.contracts.change import apply
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis
from codesynapse.server.clock import rfc3339
from codesynapse.server.memory.views import FactView, TripleInput, fact_view, node_view, triples_of, upserted
from tests.server.world import triple

NOW = Millis(1_800_000_000_000)


def view(*, history: bool = False, score: float | None = None, **more: object) -> dict[str, object]:
    """A fact as its JSON says it."""
    applied = apply((), (), [triple("Ana", "likes", "tea", **more)], NOW)
    entities = {entity.id: entity for entity in applied.entities}
    found: dict[str, object] = msgspec.json.decode(
        msgspec.json.encode(fact_view(applied.facts[0], entities, history=history, score=score))
    )
    return found


def test_a_fact_shows_only_what_it_has():
    moment = rfc3339(NOW)
    shown = view()
    assert shown.pop("id")
    assert shown == {
        "subject": "Ana",
        "predicate": "likes",
        "object": "tea",
        "recorded_at": moment,
        "valid_from": moment,
        "valid_to": None,
    }


def test_a_fact_shows_types_aliases_source_and_score_where_there_are_some():
    shown = view(
        score=0.123456789,
        subject_type="Person",
        object_aliases=("chai",),
        functional=True,
        source="notes.md",
        history=True,
    )
    assert (shown["subject_type"], shown["object_aliases"], shown["functional"]) == ("Person", ["chai"], True)
    assert (shown["source"], shown["score"]) == ("notes.md", 0.123457)
    assert shown["intervals"] == [[rfc3339(NOW), None]]
    assert "object_type" not in shown


def test_an_ended_fact_shows_its_newest_interval():
    first = apply((), (), [triple("Ana", "likes", "tea")], NOW)
    ended = apply(first.entities, first.facts, [triple("Ana", "likes", "tea", retract=True)], Millis(NOW + 1_000))
    entities = {entity.id: entity for entity in ended.entities}
    shown = fact_view(ended.facts[0], entities)
    assert isinstance(shown, FactView)
    assert shown.valid_to == rfc3339(NOW + 1_000)


def test_a_node_carries_the_label_of_memory():
    (entity, _) = apply((), (), [triple("Ana", "likes", "tea", subject_aliases=("Anna",))], NOW).entities
    node = node_view(entity)
    assert (node.name, node.type, node.labels, node.aliases) == ("Ana", "", ["MemoryEntity"], ["Anna"])


def test_an_upsert_answers_its_facts_in_the_order_in_which_they_were_sent():
    sent = [triple("Ana", "likes", name) for name in ("tea", "milk", "bread")]
    applied = apply((), (), sent, NOW)
    done = upserted(applied.outcome, reversed(applied.facts), applied.entities, 7)
    assert [fact.object for fact in done.facts] == ["tea", "milk", "bread"]
    assert (done.added, done.unchanged, done.superseded, done.retracted, done.revision) == (3, 0, 0, 0, 7)


def sent(**more: object) -> TripleInput:
    return msgspec.convert({"subject": "Ana", "predicate": "likes", "object": "tea", **more}, TripleInput)


def test_a_statement_becomes_a_normalised_triple():
    (made,) = triples_of([sent(subject="  Andre\u0301 ", valid_from="2027-01-15T08:00:00Z", source="x", retract=True)])
    assert (made.subject, made.valid_from_ms, made.source, made.retract) == ("Andr\u00e9", NOW, "x", True)


@pytest.mark.parametrize("moment", ["", "yesterday", "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z"])
def test_a_moment_that_is_none_is_refused_by_the_place_of_its_field(moment: str):
    with pytest.raises(Invalid) as caught:
        triples_of([sent(), sent(valid_from=moment)])
    assert caught.value.field == "triples[1].valid_from"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("subject", " "),
        ("object", "a\x00b"),
        ("subject", "a\nb"),
        ("object", "\x7f"),
        ("source", "a\x1b"),
    ],
)
def test_blank_names_and_control_characters_are_refused_by_their_field(field: str, value: str):
    with pytest.raises(Invalid) as caught:
        triples_of([sent(**{field: value})])
    assert caught.value.field == f"triples[0].{field}"


def test_the_characters_that_end_lines_for_some_are_kept():
    (made,) = triples_of([sent(object="a\u2028b\u2029c")])
    assert made.object == "a\u2028b\u2029c"
