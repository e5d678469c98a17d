"""What a snapshot may hold, how large it may be, and how a namespace is closed."""

from collections.abc import Callable

import pytest
from msgspec import structs

from codesynapse.contracts.errors import (
    NamespaceClosed,
    QuotaExceeded,
    RevisionConflict,
    SnapshotInvalid,
    SnapshotTooLarge,
)
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import (
    Entity,
    EntityId,
    Fact,
    FactId,
    Interval,
    Snapshot,
    digest,
    entity_id,
    fact_id,
    size_bytes,
)
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.gates import OnSessionMemory
from codesynapse.contracts.suite.worlds import NOW, Chat, filled, later, new_commit_id, numbered, sorted_content
from codesynapse.contracts.triples import YEAR_1_MS, YEAR_9999_MS

__all__ = ["TestClosing", "TestMalformedSnapshots", "TestSize"]

LIMIT = Quotas().snapshot_bytes_max


class TestSize(OnSessionMemory):
    """The size of a snapshot is the bytes of its canonical JSON, at most 24 KiB (decision 13)."""

    @pytest.mark.parametrize("character", ["x", "é", "\U0001f9e0", '"', "\u2028"])
    async def test_exactly_24_kib_fit_and_come_back_whole(self, chat: Chat, character: str) -> None:
        proposed = filled(chat.scope, LIMIT, character=character)
        assert size_bytes(proposed) == LIMIT == 24 * 1024
        await chat.propose(proposed, 0)
        served = await chat.load()
        assert (size_bytes(served), digest(served)) == (LIMIT, digest(proposed))

    @pytest.mark.parametrize("character", ["x", "é", "\U0001f9e0", '"', "\u2028"])
    async def test_one_byte_more_is_refused_with_the_limit_and_the_size(self, chat: Chat, character: str) -> None:
        await chat.remember("ana likes tea")
        before = await chat.load()
        with pytest.raises(SnapshotTooLarge) as refusal:
            await chat.propose(filled(chat.scope, LIMIT + 1, character=character), 1)
        assert (refusal.value.limit, refusal.value.details) == (LIMIT, {"size": LIMIT + 1})
        assert await chat.load() == before

    async def test_the_limit_is_the_one_on_the_tenants_root(self, chat: Chat) -> None:
        await chat.memory.set_quotas(chat.scope.tenant_id, Quotas(snapshot_bytes_max=2_000))
        with pytest.raises(SnapshotTooLarge) as refusal:
            await chat.propose(filled(chat.scope, 2_001), 0)
        assert (refusal.value.limit, refusal.value.details) == (2_000, {"size": 2_001})
        await chat.propose(filled(chat.scope, 2_000), 0)

    async def test_as_many_facts_as_a_namespace_may_hold_fit_by_number(self, chat: Chat) -> None:
        roomy = Quotas(snapshot_bytes_max=100_000)
        await chat.memory.set_quotas(chat.scope.tenant_id, roomy)
        proposed = chat.first(*numbered(512))
        await chat.propose(proposed, 0)
        assert sorted_content(await chat.load()) == sorted_content(proposed)
        with pytest.raises(QuotaExceeded) as refusal:
            await chat.propose(chat.first(*numbered(513)), 1)
        assert (refusal.value.field, refusal.value.limit) == ("namespace_facts", 512)

    async def test_as_many_entities_as_a_namespace_may_hold_fit_by_number(self, chat: Chat) -> None:
        await chat.memory.set_quotas(chat.scope.tenant_id, Quotas(snapshot_bytes_max=200_000, namespace_facts_max=600))
        pairs = [f"giver{number} gives taker{number}" for number in range(512)]
        proposed = chat.first(*pairs)
        await chat.propose(proposed, 0)
        assert len((await chat.load()).entities) == 1_024
        with pytest.raises(QuotaExceeded) as refusal:
            await chat.propose(chat.first(*pairs, "giver0 gives more"), 1)
        assert (refusal.value.field, refusal.value.limit) == ("namespace_entities", 1_024)


class TestClosing(OnSessionMemory):
    """A cleared namespace reads empty, refuses writes and never opens again."""

    async def test_a_cleared_namespace_reads_empty_and_closed(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        assert (await chat.clear()).revision == 2
        served = await chat.load()
        assert (served.closed, served.facts, served.entities, served.revision) == (True, (), (), 2)
        assert served.expires_at_ms == chat.expires_at_ms

    async def test_a_closed_namespace_refuses_writes(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        await chat.clear()
        for read in (0, 1, 2):
            with pytest.raises(NamespaceClosed):
                await chat.propose(chat.first("bo likes milk"), read)
        assert (await chat.load()).facts == ()

    async def test_a_closed_namespace_never_opens_again(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        await chat.clear()
        closed = await chat.load()
        for again in (structs.replace(closed, closed=False), closed, chat.first()):
            with pytest.raises(NamespaceClosed):
                await chat.propose(again, closed.revision)
        assert await chat.load() == closed

    async def test_a_namespace_can_be_closed_before_it_was_written(self, chat: Chat) -> None:
        await chat.clear()
        assert (await chat.load()).closed
        with pytest.raises(NamespaceClosed):
            await chat.propose(chat.first("ana likes tea"), 1)

    async def test_closing_names_the_current_revision(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        with pytest.raises(RevisionConflict):
            await chat.propose(chat.closing(await chat.load()), 0)
        assert (await chat.facts(), (await chat.load()).closed) == (1, False)

    async def test_a_snapshot_with_facts_cannot_close(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        with pytest.raises(SnapshotInvalid):
            await chat.propose(structs.replace(await chat.load(), closed=True), 1)
        assert not (await chat.load()).closed

    async def test_the_commit_that_closed_can_be_settled(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        commit_id = new_commit_id()
        closed = await chat.clear(commit_id=commit_id)
        again = await chat.propose(chat.closing(await chat.load()), 1, commit_id=commit_id)
        assert again == structs.replace(closed, replayed=True)
        assert await chat.memory.committed(chat.scope, commit_id, now_ms=NOW) is not None


def one_fact(chat: Chat) -> tuple[Snapshot, Fact]:
    """A good snapshot of one fact, to spoil."""
    proposed = chat.first("ana likes tea")
    return proposed, proposed.facts[0]


def with_fact(chat: Chat, **changes: object) -> Snapshot:
    """The good snapshot with its fact changed."""
    proposed, fact = one_fact(chat)
    return structs.replace(proposed, facts=(structs.replace(fact, **changes),))


def with_subject(chat: Chat, name: str, type_: str = "", aliases: tuple[str, ...] = ()) -> Snapshot:
    """A snapshot whose subject is named so, with ids that follow from the name."""
    proposed, fact = one_fact(chat)
    subject = Entity(id=entity_id(name, type_), name=name, type=type_, aliases=aliases)
    others = tuple(entity for entity in proposed.entities if entity.id == fact.object)
    renamed = structs.replace(fact, id=fact_id(subject.id, fact.predicate, fact.object), subject=subject.id)
    return structs.replace(proposed, entities=(subject, *others), facts=(renamed,))


def with_predicate(chat: Chat, predicate: str) -> Snapshot:
    """The good snapshot with another predicate, and the id that follows."""
    _, fact = one_fact(chat)
    return with_fact(chat, predicate=predicate, id=fact_id(fact.subject, predicate, fact.object))


def with_intervals(*intervals: tuple[int, int | None]) -> Callable[[Chat], Snapshot]:
    """The good snapshot with these intervals."""
    timeline: tuple[Interval, ...] = tuple(
        (Millis(start), None if end is None else Millis(end)) for start, end in intervals
    )
    return lambda chat: with_fact(chat, intervals=timeline)


def with_a_foreign_entity_id(chat: Chat) -> Snapshot:
    proposed, fact = one_fact(chat)
    wrong = EntityId("e" + "0" * 24)
    entities = tuple(
        structs.replace(entity, id=wrong) if entity.id == fact.subject else entity for entity in proposed.entities
    )
    changed = structs.replace(fact, subject=wrong, id=fact_id(wrong, fact.predicate, fact.object))
    return structs.replace(proposed, entities=entities, facts=(changed,))


def with_a_lone_surrogate(chat: Chat) -> Snapshot:
    proposed, _ = one_fact(chat)
    first, *others = proposed.entities
    return structs.replace(proposed, entities=(structs.replace(first, name="a\ud800"), *others))


def with_an_unknown_end(chat: Chat) -> Snapshot:
    proposed, fact = one_fact(chat)
    kept = tuple(entity for entity in proposed.entities if entity.id != fact.object)
    return structs.replace(proposed, entities=kept)


def with_an_orphan(chat: Chat) -> Snapshot:
    proposed, _ = one_fact(chat)
    return structs.replace(proposed, entities=(*proposed.entities, Entity(id=entity_id("bo", ""), name="bo")))


def with_an_entity_twice(chat: Chat) -> Snapshot:
    proposed, _ = one_fact(chat)
    again = structs.replace(proposed.entities[0], name=proposed.entities[0].name.upper())
    return structs.replace(proposed, entities=(*proposed.entities, again))


def with_a_fact_twice(chat: Chat) -> Snapshot:
    proposed, fact = one_fact(chat)
    return structs.replace(proposed, facts=(fact, structs.replace(fact, source="again")))


MALFORMED: dict[str, Callable[[Chat], Snapshot]] = {
    "an entity id that does not follow from its name": with_a_foreign_entity_id,
    "a fact id that does not follow from its parts": lambda chat: with_fact(chat, id=FactId("f" + "0" * 24)),
    "a name with a lone surrogate": with_a_lone_surrogate,
    "an end that is not among the entities": with_an_unknown_end,
    "an end that is no text": lambda chat: with_fact(chat, subject=EntityId("e\ud800")),
    "an entity without a fact": with_an_orphan,
    "an entity twice": with_an_entity_twice,
    "a fact twice": with_a_fact_twice,
    "an empty name": lambda chat: with_subject(chat, ""),
    "a name with blanks around it": lambda chat: with_subject(chat, " ana "),
    "a name that is not NFC": lambda chat: with_subject(chat, "Cafe\u0301"),
    "a name with a line break": lambda chat: with_subject(chat, "a\nb"),
    "a name with a null character": lambda chat: with_subject(chat, "a\x00b"),
    "a name of 257 characters": lambda chat: with_subject(chat, "n" * 257),
    "a type of 65 characters": lambda chat: with_subject(chat, "ana", "t" * 65),
    "an alias of 129 characters": lambda chat: with_subject(chat, "ana", aliases=("a" * 129,)),
    "nine aliases": lambda chat: with_subject(chat, "ana", aliases=tuple("abcdefghi")),
    "an alias twice": lambda chat: with_subject(chat, "ana", aliases=("a", "a")),
    "a predicate in capitals": lambda chat: with_predicate(chat, "Likes"),
    "a predicate with a newline at its end": lambda chat: with_predicate(chat, "likes\n"),
    "a predicate of 65 characters": lambda chat: with_predicate(chat, "p" * 65),
    "an empty predicate": lambda chat: with_predicate(chat, ""),
    "no interval": with_intervals(),
    "an interval that ends before it starts": with_intervals((5, 4)),
    "intervals out of order": with_intervals((5, 6), (1, 2)),
    "intervals that overlap": with_intervals((1, 5), (4, 9)),
    "an open interval before another": with_intervals((1, None), (5, 6)),
    "an interval before the year 1": with_intervals((YEAR_1_MS - 1, None)),
    "an interval after the year 9999": with_intervals((0, YEAR_9999_MS + 1)),
    "a record of no year": lambda chat: with_fact(chat, recorded_at_ms=Millis(1 << 63)),
    "a source with a control character": lambda chat: with_fact(chat, source="a\tb"),
    "a source of 513 characters": lambda chat: with_fact(chat, source="s" * 513),
    "an origin that is no identifier": lambda chat: with_fact(chat, origin_session_id="abc\n"),
}


class TestMalformedSnapshots(OnSessionMemory):
    """A writer that bypasses the engine meets the same law."""

    @pytest.mark.parametrize("spoilt", MALFORMED.values(), ids=MALFORMED.keys())
    async def test_a_malformed_snapshot_is_refused_and_writes_nothing(
        self, chat: Chat, spoilt: Callable[[Chat], Snapshot]
    ) -> None:
        await chat.remember("bo likes milk")
        before = await chat.load()
        with pytest.raises(SnapshotInvalid):
            await chat.propose(spoilt(chat), 1)
        assert await chat.load() == before

    async def test_the_snapshot_that_the_others_spoil_is_accepted(self, chat: Chat) -> None:
        proposed = with_subject(chat, "n" * 256, "t" * 64, tuple("abcdefgh"))
        kept = structs.replace(
            proposed.facts[0], intervals=((Millis(1), Millis(1)), (Millis(1), Millis(5)), (later(NOW, 0), None))
        )
        await chat.propose(structs.replace(proposed, facts=(kept,)), 0)
        assert (await chat.load()).facts == (kept,)
