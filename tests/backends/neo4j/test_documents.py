"""Session memory as properties."""

from msgspec import structs

from codesynapse.backends.neo4j import documents
from codesynapse.contracts.commit import Root
from codesynapse.contracts.memory import CommitId, Committed, FactId, Outcome, Revision, canonical
from codesynapse.contracts.suite.worlds import LIFETIME_MS, NOW, later, new_scope, new_snapshot, stated, triple

SCOPE = new_scope()


def test_a_document_names_its_revision_and_holds_the_canonical_content() -> None:
    snapshot = new_snapshot(SCOPE, "ana likes tea", "Straße is 'x\" \\ ${y}")
    content = canonical(snapshot.entities, snapshot.facts)
    root = Root(revision=Revision(7), expires_at_ms=later(NOW, LIFETIME_MS), closed=False, live_facts=2)
    doc = documents.document(root, content)
    assert content.decode() in doc
    revision, closed, (_, facts) = documents.read(doc)
    assert (revision, closed, set(facts)) == (7, False, set(snapshot.facts))


def test_a_kept_commit_comes_back_and_its_slot_comes_round_after_32() -> None:
    commit_id, outcome = CommitId("abc"), Outcome(added=2, fact_ids=(FactId("f1"),))
    first = Committed(revision=Revision(3), outcome=outcome)
    slot, value = documents.kept_slot(commit_id, first)
    assert documents.kept_of([value]) == first
    assert value.startswith(documents.kept_prefix(commit_id))
    assert not value.startswith(documents.kept_prefix(CommitId("ab")))
    assert documents.kept_of([]) is None
    slots = {documents.kept_slot(commit_id, structs.replace(first, revision=Revision(n)))[0] for n in range(3, 35)}
    assert len(slots) == 32
    assert documents.kept_slot(commit_id, structs.replace(first, revision=Revision(35)))[0] == slot


def test_only_what_differs_is_written_and_what_no_longer_holds_is_gone() -> None:
    before = stated("ana likes tea", "ana likes milk")
    kept, gone = before.facts
    after = stated("ana likes tea", "ana likes juice")
    work = documents.changes(
        (before.entities, before.facts),
        NOW,
        (after.entities, (*after.facts, structs.replace(gone, intervals=((0, 5),)))),
        NOW,
    )
    assert work["gone_facts"] == [gone.id]
    assert work["gone_subjects"] == [gone.subject]
    assert [row["object"] for row in work["facts"]] == [after.facts[1].object]  # type: ignore[attr-defined]  # rows
    assert kept.id not in str(work)


def test_an_edge_stands_for_a_fact_that_holds_at_its_moment() -> None:
    ahead = stated(triple("ana visits Rome", valid_from_ms=later(NOW, 10)))
    content = (ahead.entities, ahead.facts)
    assert documents.changes(((), ()), NOW, content, NOW)["facts"] == []
    assert documents.changes(content, NOW, content, later(NOW, 10))["facts"] != []
    assert documents.changes(content, later(NOW, 10), content, later(NOW, 11))["facts"] == []
