"""What a commit to session memory may do, and in which order it is refused."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from codesynapse.contracts.change import apply
from codesynapse.contracts.commit import Accepted, Root, Stored, check_commit, check_content, check_readable
from codesynapse.contracts.errors import (
    CodeSynapseError,
    ExpiryChanged,
    Invalid,
    NamespaceClosed,
    QuotaExceeded,
    RevisionConflict,
    SessionExpired,
    SessionRevoked,
    SnapshotInvalid,
    SnapshotTooLarge,
)
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import (
    CommitId,
    Committed,
    Entity,
    EntityId,
    Fact,
    FactId,
    Outcome,
    Revision,
    Scope,
    Snapshot,
    canonical,
    entity_id,
    fact_id,
    size_bytes,
)
from codesynapse.contracts.quotas import DAY_MS, Quotas, Usage
from codesynapse.contracts.triples import YEAR_1_MS, YEAR_9999_MS, Triple

NOW = Millis(1_000_000)
END = Millis(NOW + 7 * DAY_MS)
SCOPE = Scope(tenant_id="acme", session_id="s-1", ns="code")
ROOT = Root(revision=Revision(3), expires_at_ms=END, closed=False, live_facts=1)
OUTCOME = Outcome(added=1, fact_ids=(FactId("f1"),))
EARLIER = Committed(revision=Revision(2), outcome=OUTCOME)


def stored(root: Root | None = ROOT, **changes: Any) -> Stored:
    plain: dict[str, Any] = {
        "root": root,
        "revoked": False,
        "session_expires_at_ms": None,
        "earlier": None,
        "usage": Usage(),
        "quotas": Quotas(),
    }
    return Stored(**plain | changes)


def proposed(*objects: str, **changes: Any) -> Snapshot:
    graph = apply((), (), [Triple(subject="ana", predicate="likes", object=name) for name in objects], NOW)
    return structs.replace(
        Snapshot(scope=SCOPE, entities=graph.entities, facts=graph.facts, expires_at_ms=END), **changes
    )


def check(before: Stored, snapshot: Snapshot, *, read: int = 3, commit_id: str = "c-1", now_ms: int = NOW) -> Accepted:
    return check_commit(
        before,
        snapshot,
        read_revision=Revision(read),
        commit_id=CommitId(commit_id),
        outcome=OUTCOME,
        now_ms=Millis(now_ms),
    )


def test_an_accepted_commit_has_a_new_root_and_the_canonical_document() -> None:
    snapshot = proposed("tea", "milk")
    accepted = check(stored(), snapshot)
    assert accepted.committed == Committed(revision=Revision(4), outcome=OUTCOME)
    assert accepted.root == Root(revision=Revision(4), expires_at_ms=END, closed=False, live_facts=2)
    assert accepted.document == canonical(snapshot.entities, snapshot.facts)


def test_a_first_commit_starts_at_revision_1() -> None:
    accepted = check(stored(None), proposed("tea"), read=0)
    assert accepted.root is not None
    assert accepted.root.revision == 1


def test_a_clearing_closes_the_root() -> None:
    accepted = check(stored(), proposed(closed=True))
    assert accepted.root == Root(revision=Revision(4), expires_at_ms=END, closed=True, live_facts=0)


def test_a_replay_has_nothing_to_write() -> None:
    accepted = check(stored(earlier=EARLIER), proposed("tea"), read=0)
    assert accepted == Accepted(committed=structs.replace(EARLIER, replayed=True))


# Each one broken alone, in the order in which a commit that breaks them all is refused.
FAULTS: dict[type[CodeSynapseError], dict[str, Any]] = {
    SessionRevoked: {"revoked": True},
    SessionExpired: {"now_ms": END},
    NamespaceClosed: {"root": structs.replace(ROOT, closed=True)},
    RevisionConflict: {"read": 2},
    ExpiryChanged: {"expires_at_ms": END + 1},
    SnapshotInvalid: {"facts": proposed("tea").facts * 2},
    QuotaExceeded: {"quotas": Quotas(namespace_facts_max=1, snapshot_bytes_max=10)},
    SnapshotTooLarge: {"quotas": Quotas(snapshot_bytes_max=10)},
}


def faulty(*faults: type[CodeSynapseError]) -> Accepted:
    """Check a commit that breaks these."""
    broken: dict[str, Any] = {}
    for fault in reversed(faults):
        broken |= FAULTS[fault]
    names = ("revoked", "root", "quotas")
    before = stored(**{name: broken[name] for name in names if name in broken})
    changes = {name: broken[name] for name in ("expires_at_ms", "facts") if name in broken}
    snapshot = structs.replace(proposed("tea", "milk"), **changes)
    return check(before, snapshot, read=broken.get("read", 3), now_ms=broken.get("now_ms", NOW))


def test_the_commit_that_the_faults_spoil_is_accepted() -> None:
    assert faulty().root is not None


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_alone_is_refused(fault: type[CodeSynapseError]) -> None:
    with pytest.raises(fault):
        faulty(fault)


@pytest.mark.parametrize("position", range(len(FAULTS)))
def test_of_several_faults_the_first_in_order_is_told(position: int) -> None:
    faults = list(FAULTS)[position:]
    with pytest.raises(faults[0]):
        faulty(*faults)


@pytest.mark.parametrize("bad", ["", "a b", "abc\n", "x" * 129])
def test_a_malformed_commit_id_is_refused_before_all_else(bad: str) -> None:
    with pytest.raises(Invalid) as refusal:
        check(stored(revoked=True), proposed("tea"), commit_id=bad)
    assert refusal.value.field == "commit_id"


def test_a_known_commit_id_is_answered_after_the_session_ended_no_more() -> None:
    with pytest.raises(SessionRevoked):
        check(stored(earlier=EARLIER, revoked=True), proposed("tea"))
    with pytest.raises(SessionExpired):
        check(stored(earlier=EARLIER), proposed("tea"), now_ms=END)


def test_a_known_commit_id_is_answered_in_a_closed_namespace_and_at_any_revision() -> None:
    closed = structs.replace(ROOT, closed=True)
    assert check(stored(closed, earlier=EARLIER), proposed("tea"), read=99).committed.replayed


def test_a_stale_revision_is_told_the_current_one() -> None:
    for root, read, current in ((ROOT, 2, 3), (ROOT, 4, 3), (None, 1, 0)):
        with pytest.raises(RevisionConflict) as refusal:
            check(stored(root), proposed("tea"), read=read)
        assert refusal.value.details == {"revision": current}


def test_the_first_expiry_lies_ahead_and_at_most_a_lifetime() -> None:
    for good in (NOW + 1, END):
        check(stored(None), proposed("tea", expires_at_ms=Millis(good)), read=0)
    for bad in (NOW, NOW - 1, END + 1, 0):
        with pytest.raises(ExpiryChanged):
            check(stored(None), proposed("tea", expires_at_ms=Millis(bad)), read=0)


def test_another_namespace_takes_the_expiry_of_the_session() -> None:
    before = stored(None, session_expires_at_ms=Millis(NOW + 5))
    check(before, proposed("tea", expires_at_ms=Millis(NOW + 5)), read=0)
    for bad in (NOW + 4, NOW + 6, END):
        with pytest.raises(ExpiryChanged):
            check(before, proposed("tea", expires_at_ms=Millis(bad)), read=0)


def test_a_lowered_lifetime_moves_no_expiry() -> None:
    check(stored(quotas=Quotas(session_lifetime_ms=1)), proposed("tea"))


def test_an_expired_session_opens_no_other_namespace() -> None:
    with pytest.raises(SessionExpired):
        check(stored(None, session_expires_at_ms=NOW), proposed("tea"), read=0)


def test_readable_is_what_is_neither_revoked_nor_expired() -> None:
    check_readable(None, revoked=False, expires_at_ms=None, now_ms=NOW)
    check_readable(ROOT, revoked=False, expires_at_ms=None, now_ms=Millis(END - 1))
    check_readable(None, revoked=False, expires_at_ms=END, now_ms=Millis(END - 1))
    for root, deadline in ((ROOT, None), (None, END)):
        with pytest.raises(SessionExpired):
            check_readable(root, revoked=False, expires_at_ms=deadline, now_ms=END)
    with pytest.raises(SessionRevoked):
        check_readable(ROOT, revoked=True, expires_at_ms=None, now_ms=END)


def test_the_size_is_refused_with_the_limit_and_the_figure() -> None:
    snapshot = proposed("tea", "milk")
    size = size_bytes(snapshot)
    check(stored(quotas=Quotas(snapshot_bytes_max=size)), snapshot)
    with pytest.raises(SnapshotTooLarge) as refusal:
        check(stored(quotas=Quotas(snapshot_bytes_max=size - 1)), snapshot)
    assert (refusal.value.limit, refusal.value.details) == (size - 1, {"size": size})


def test_entities_are_counted() -> None:
    check(stored(quotas=Quotas(namespace_entities_max=3)), proposed("tea", "milk"))
    with pytest.raises(QuotaExceeded) as refusal:
        check(stored(quotas=Quotas(namespace_entities_max=2)), proposed("tea", "milk"))
    assert (refusal.value.field, refusal.value.limit) == ("namespace_entities", 2)


def test_what_others_hold_is_counted_and_what_was_here_is_not() -> None:
    quotas = Quotas(session_facts_max=5)
    check(stored(usage=Usage(session_facts=3), quotas=quotas), proposed("tea", "milk"))
    with pytest.raises(QuotaExceeded):
        check(stored(usage=Usage(session_facts=4), quotas=quotas), proposed("tea", "milk"))
    check(stored(usage=Usage(session_facts=99), quotas=quotas), proposed("tea"))


def test_only_a_first_commit_makes_a_root() -> None:
    full = stored(None, usage=Usage(session_namespaces=9), quotas=Quotas(session_namespaces_max=9))
    with pytest.raises(QuotaExceeded) as refusal:
        check(full, proposed("tea"), read=0)
    assert refusal.value.field == "session_namespaces"
    check(structs.replace(full, root=ROOT), proposed("tea"))


def test_a_snapshot_with_facts_cannot_close() -> None:
    with pytest.raises(SnapshotInvalid) as refusal:
        check(stored(), proposed("tea", closed=True))
    assert refusal.value.field == "facts"


# ---- content ----------------------------------------------------------------------------

ANA, TEA = Entity(id=entity_id("ana", ""), name="ana"), Entity(id=entity_id("tea", ""), name="tea")
FACT = proposed("tea").facts[0]


def renamed(**changes: Any) -> tuple[tuple[Entity, ...], tuple[Fact, ...]]:
    """Content whose subject is changed, with ids that follow."""
    subject = structs.replace(ANA, **changes)
    subject = structs.replace(subject, id=entity_id(subject.name, subject.type))
    fact = structs.replace(FACT, subject=subject.id, id=fact_id(subject.id, FACT.predicate, FACT.object))
    return (subject, TEA), (fact,)


def with_fact(**changes: Any) -> tuple[tuple[Entity, ...], tuple[Fact, ...]]:
    fact = structs.replace(FACT, **changes)
    if "predicate" in changes:
        fact = structs.replace(fact, id=fact_id(fact.subject, fact.predicate, fact.object))
    return (ANA, TEA), (fact,)


CONTENTS: dict[str, tuple[tuple[Entity, ...], tuple[Fact, ...]]] = {
    "id": ((ANA, TEA, ANA), (FACT,)),
    "facts": ((ANA,), (FACT,)),
    "entities": (renamed(name=" ana")[0], renamed(name=" ana")[1]),
    "entities.id": ((structs.replace(ANA, id=EntityId("e1")), TEA), (FACT,)),
    "facts.id": with_fact(id=FactId("f1")),
    "name": renamed(name="n" * 257),
    "type": renamed(type="t" * 65),
    "aliases": renamed(aliases=tuple("abcdefghi")),
    "predicate": with_fact(predicate="likes\n"),
    "intervals": with_fact(intervals=((Millis(5), Millis(4)),)),
    "recorded_at_ms": with_fact(recorded_at_ms=Millis(YEAR_9999_MS + 1)),
    "source": with_fact(source=" a letter"),
    "origin_session_id": with_fact(origin_session_id="abc\n"),
}


@pytest.mark.parametrize("field", CONTENTS)
def test_malformed_content_is_refused_with_its_field(field: str) -> None:
    # Also where what it resembles is stored, and would not be looked at again.
    for checked in (((), ()), ((ANA, TEA), (FACT,))):
        with pytest.raises(SnapshotInvalid) as refusal:
            check_content(*CONTENTS[field], checked=checked)
        assert refusal.value.field == field


def test_what_is_stored_already_is_not_checked_again() -> None:
    odd = renamed(name=" ana")
    check_content(*odd, checked=odd)


@pytest.mark.parametrize(
    "content",
    [
        ((ANA, TEA), (FACT, FACT)),
        ((*proposed("tea").entities, Entity(id=entity_id("bo", ""), name="bo")), (FACT,)),
        renamed(name="a\x00"),
        renamed(name="Cafe\u0301"),
        ((structs.replace(ANA, name="a\ud800"), TEA), (FACT,)),
        with_fact(subject=EntityId("e\ud800")),
        with_fact(object=EntityId("e1")),
        with_fact(intervals=()),
        with_fact(intervals=((YEAR_1_MS - 1, None),)),
        with_fact(intervals=((NOW, YEAR_9999_MS + 1),)),
        with_fact(source="a\x1f"),
        with_fact(source=""),
    ],
)
def test_other_malformed_content_is_refused(content: tuple[tuple[Entity, ...], tuple[Fact, ...]]) -> None:
    with pytest.raises(SnapshotInvalid):
        check_content(*content)


def test_well_formed_content_is_accepted() -> None:
    check_content((), ())
    check_content((ANA, TEA), (FACT,))
    check_content(*renamed(name="n" * 256, type="t" * 64, aliases=tuple("abcdefgh")))
    check_content(*with_fact(intervals=((YEAR_1_MS, Millis(0)), (Millis(0), YEAR_9999_MS)), source="s" * 512))
    check_content(*with_fact(origin_session_id="s-1"))
    for moment in (YEAR_1_MS, YEAR_9999_MS):
        check_content(*with_fact(recorded_at_ms=moment))
