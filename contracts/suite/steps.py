"""What a store and the law are asked: steps and races of them, how they are drawn, and what a commit proposes."""

from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import NamedTuple

from hypothesis import strategies as st
from msgspec import structs

from codesynapse.contracts.change import apply
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import Entity, EntityId, Fact, FactId, Interval, Outcome, Snapshot, entity_id
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.worlds import LONG_AGO, filled, new_scope, stated, triple
from codesynapse.contracts.triples import NAME_MAX, SOURCE_MAX, YEAR_9999_MS, Triple, normalised

LIFETIME_MS = 1_000
STEPS = 30
ROOMY = Quotas(session_lifetime_ms=LIFETIME_MS)
SMALL = Quotas(
    session_lifetime_ms=LIFETIME_MS,
    namespace_facts_max=4,
    session_namespaces_max=2,
    session_facts_max=6,
    tenant_roots_max=5,
    tenant_facts_max=9,
)
NARROW = Quotas(session_lifetime_ms=LIFETIME_MS, snapshot_bytes_max=500, namespace_entities_max=3, tenant_roots_max=2)


class Say(NamedTuple):
    """Statements onto what is held already, as the engine makes them."""

    triples: list[Triple]

    def __repr__(self) -> str:
        return "say " + "; ".join(map(_brief, self.triples))


class Fill(NamedTuple):
    """A snapshot of exactly so many bytes. character: of which most of it is."""

    size: int
    character: str

    def __repr__(self) -> str:
        return f"fill {self.size} bytes with {self.character}"


class Spoil(NamedTuple):
    """A snapshot that no engine makes, by its name in `SPOILT`."""

    how: str

    def __repr__(self) -> str:
        return f"spoil: {self.how}"


Content = Say | Fill | Spoil


class Step(NamedTuple):
    """One call; all but `what` is used as far as the call needs it.

    behind: how far the revision that is named as read lies behind the current one. door: through which opening of the
    store. moved_ms: how far a commit moves the expiry.
    """

    what: str
    tenant: int
    session: int
    ns: int
    content: Content
    behind: int
    commit_id: str
    moved_ms: int
    wait_ms: int
    caps: int
    door: int

    def __repr__(self) -> str:
        named = ("wait_ms",) if self.what == "wait" else _NAMED.get(self.what, ("tenant", "session", "ns"))
        told = [f"{name}={_short(getattr(self, name))}" for name in (*named, "door")]
        return f"{self.what}({', '.join(told)})"


class Race(NamedTuple):
    """Calls that are made at once, each through another opening of the store."""

    calls: list[Step]

    def __repr__(self) -> str:
        return "race(" + ", ".join(map(repr, self.calls)) + ")"


_WRITING = ("tenant", "session", "ns", "content", "behind", "commit_id", "moved_ms")
_NAMED = {"commit": _WRITING, "close": _WRITING, "committed": ("tenant", "session", "ns", "commit_id")}
_NAMED |= {"caps": ("tenant", "caps"), "caps?": ("tenant",), "revoke": ("tenant", "session"), "reopen": ()}


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if isinstance(value, Content) or len(text) <= 20 else f"{text[:3]}…×{len(text)}"


def _brief(said: Triple) -> str:
    told = [_short(getattr(said, name)) for name in ("subject", "predicate", "object")]
    fields = (name for name in said.__struct_fields__[3:] if getattr(said, name) not in ("", (), False, None))
    return " ".join([*told, *(f"{name}={_short(getattr(said, name))}" for name in fields)])


Script = list[Step | Race]

CAPS = (SMALL, ROOMY, NARROW)
# The first is what a failing script shrinks to.
NOTHING = "nothing"
APART = [NOTHING, "look", "read", "committed", "close", "revoke", "wait", "caps", "caps?", "reopen"]
RACING = ["commit", "commit", "commit", "commit", "read", "committed", "close", "revoke"]
NAMES = ["ana", "Ana", "ANA", "tea", "Straße", "STRASSE", "İstanbul", "café", "שלום", "a\u200db", "🧠", "a\u2028b"]
NAMES += ['"${x}"\\', "'); DROP", "n" * NAME_MAX, "🍵" * NAME_MAX]
SOURCES = [None, None, None, "a book", "\u202esource\u202c", "\\u0041", "s" * SOURCE_MAX, "🧠" * SOURCE_MAX]
COMMIT_IDS = [*(f"commit{number}" for number in range(12)), "c" * 128, "no id", ""]


def _statements(count: int) -> list[Triple]:
    """So many, the same in every run: drawing one whole is ten times as fast as drawing its parts."""
    choose = Random(0).choice
    drawn = (
        Triple(
            subject=choose(NAMES),
            predicate=choose(["likes", "lives_in", "p" * 64]),
            object=choose(NAMES),
            subject_type=choose(["", "", "Person", "Straße"]),
            object_aliases=choose([(), (), ("Cup",), ("cup", "Mug")]),
            functional=choose([False, True]),
            retract=choose([False, False, False, True]),
            valid_from_ms=choose([None, None, Millis(0), Millis(-1), YEAR_9999_MS]),
            source=choose(SOURCES),
        )
        for _ in range(count)
    )
    return [triple("ana likes tea"), triple("ana likes tea", retract=True), *map(normalised, drawn)]


STATEMENTS = _statements(600)


def fact_twice(good: Snapshot) -> Snapshot:
    return structs.replace(good, facts=(*good.facts, structs.replace(good.facts[0], source="again")))


def entity_twice(good: Snapshot) -> Snapshot:
    again = structs.replace(good.entities[0], name=good.entities[0].name.upper())
    return structs.replace(good, entities=(*good.entities, again))


def orphaned(good: Snapshot) -> Snapshot:
    return structs.replace(good, entities=(*good.entities, Entity(id=entity_id("orphan", ""), name="orphan")))


def unknown_end(good: Snapshot) -> Snapshot:
    return structs.replace(good, entities=good.entities[1:])


def renamed(name: str) -> Callable[[Snapshot], Snapshot]:
    def spoil(good: Snapshot) -> Snapshot:
        first, *others = good.entities
        return structs.replace(good, entities=(structs.replace(first, name=name), *others))

    return spoil


def with_fact(**changes: object) -> Callable[[Snapshot], Snapshot]:
    def spoil(good: Snapshot) -> Snapshot:
        first, *others = good.facts
        changed: Fact = structs.replace(first, **changes)
        return structs.replace(good, facts=(changed, *others))

    return spoil


BACKWARDS: tuple[Interval, ...] = ((Millis(5), Millis(4)),)
SPOILT: dict[str, Callable[[Snapshot], Snapshot]] = {
    "a fact twice": fact_twice,
    "an entity twice, in capitals": entity_twice,
    "an entity without a fact": orphaned,
    "an end that is not among the entities": unknown_end,
    "a lone surrogate in a name": renamed("a\ud800"),
    "a null character in a name": renamed("a\x00b"),
    "a name in NFD": renamed("cafe\u0301"),
    "a name of 900,000 characters": renamed("n" * 900_000),
    "a lone surrogate in a source": with_fact(source="\udfff"),
    "an end that is a lone surrogate": with_fact(subject=EntityId("e\ud800")),
    "a fact's id of another": with_fact(id=FactId("f" + "0" * 24)),
    "a predicate in capitals": with_fact(predicate="LIKES"),
    "a moment of 65 bits": with_fact(recorded_at_ms=Millis(1 << 64)),
    "an interval that goes backwards": with_fact(intervals=BACKWARDS),
    "an origin that is no id": with_fact(origin_session_id="a b"),
    "facts in what closes": lambda good: structs.replace(good, closed=True),
}

LIMIT = Quotas().snapshot_bytes_max
contents: st.SearchStrategy[Content] = st.one_of(
    *(st.builds(Say, st.lists(st.sampled_from(STATEMENTS), max_size=4)) for _ in range(6)),
    st.builds(Fill, st.sampled_from([LIMIT, LIMIT + 1]), st.sampled_from(["x", "é", '"'])),
    st.builds(Spoil, st.sampled_from(list(SPOILT))),
)


def steps_of(kinds: list[str], content: st.SearchStrategy[Content]) -> st.SearchStrategy[Step]:
    """Steps of these kinds; most meet in a few scopes of one tenant."""
    return st.builds(
        Step,
        what=st.sampled_from(kinds),
        tenant=st.sampled_from([0, 0, 0, 1]),
        session=st.sampled_from([0, 0, 0, 1, 1, 2]),
        ns=st.sampled_from([0, 0, 1, 2]),
        content=content,
        behind=st.sampled_from([0, 0, 0, 0, 0, 1, -1]),
        commit_id=st.sampled_from(COMMIT_IDS),
        moved_ms=st.sampled_from([0, 0, 0, 0, 0, 0, 0, 1, -1]),
        wait_ms=st.sampled_from([LIFETIME_MS // 2, 1, LIFETIME_MS // 2 - 1, LIFETIME_MS]),
        caps=st.integers(0, len(CAPS) - 1),
        door=st.integers(0, 1),
    )


def _at_one_place(calls: list[Step]) -> Race:
    """Rivals name one session and one revision, so that at most one of those who name one namespace can win."""
    first = calls[0]
    return Race([each._replace(tenant=first.tenant, session=first.session, behind=0) for each in calls])


races = st.lists(steps_of(RACING, contents), min_size=2, max_size=3).map(_at_one_place)
# Of a fixed length, since lists of a free one are mostly short; a shorter failing script is one that does NOTHING.
scripts: st.SearchStrategy[Script] = st.lists(
    st.one_of(
        *(steps_of(APART, st.just(Say([]))) for _ in range(5)),
        *(steps_of(["commit"], contents) for _ in range(6)),
        races,
    ),
    min_size=STEPS,
    max_size=STEPS,
)


def proposal(held: Snapshot, content: Content, now_ms: Millis) -> tuple[Snapshot, Outcome]:
    """What a commit of this content proposes onto what is held, and the outcome that it claims."""
    if isinstance(content, Say):
        applied = apply(held.entities, held.facts, content.triples, now_ms)
        return structs.replace(held, entities=applied.entities, facts=applied.facts), applied.outcome
    if isinstance(content, Fill):
        large = _filled(content.size, content.character)
        return structs.replace(held, entities=large.entities, facts=large.facts), Outcome(added=len(large.facts))
    graph = stated("ana likes tea", "bo likes milk", now_ms=LONG_AGO)
    good = structs.replace(held, entities=graph.entities, facts=graph.facts)
    return SPOILT[content.how](good), Outcome(added=2)


@lru_cache(maxsize=16)
def _filled(size: int, character: str) -> Snapshot:
    return filled(new_scope(), size, character=character)
