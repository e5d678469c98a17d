"""What may be restored, and digests that speak of everything a store must keep and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import structs

from codesynapse.contracts.errors import AlreadyExists, ExpiryChanged, Invalid, RevisionConflict, SessionRevoked
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import COMMITS_KEPT, CommitId, Outcome, Revision, canonical
from codesynapse.contracts.portable import (
    EMPTY,
    Caps,
    FoundFact,
    Head,
    HeldScope,
    KeptCommit,
    RepositoryDigest,
    Rows,
    Tombstone,
    check_commits,
    check_unfinished,
    check_whole,
    decide_restore,
    digest_of,
    name_of_item,
    spread,
)
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import RESTORING, RepositoryScope
from codesynapse.contracts.suite.worlds import NOW, later, new_scope, stated

REPOSITORY = RepositoryScope(tenant_id="acme", repository="books")


def commits(*revisions: int) -> tuple[KeptCommit, ...]:
    return tuple(
        KeptCommit(commit_id=CommitId(f"commit{each}"), revision=Revision(each), outcome=Outcome())
        for each in revisions
    )


def scope_item(*lines: str, revision: int = 1) -> HeldScope:
    graph = stated(*lines)
    return HeldScope(
        scope=new_scope(tenant="acme", session="chat"),
        document=canonical(graph.entities, graph.facts),
        revision=Revision(revision),
        expires_at_ms=later(NOW, 1),
        closed=False,
        commits=commits(*range(max(1, revision - COMMITS_KEPT + 1), revision + 1)),
    )


def rows(*lines: str, terms: Sequence[str] = ("ana",)) -> Rows:
    graph = stated(*lines)
    facts = tuple(FoundFact(fact=fact, terms=tuple(terms), occurrences=len(terms)) for fact in graph.facts)
    return Rows(scope=REPOSITORY, revision=Revision(1), entities=graph.entities, facts=facts, ends=graph.entities)


def head(revision: int = 1, *, entities: int = 2, facts: int = 1) -> Head:
    made = commits(*range(1, revision + 1))
    return Head(scope=REPOSITORY, revision=Revision(revision), commits=made, entities=entities, facts=facts)


class TestScopes:
    def restored(
        self, item: HeldScope, *, exists: bool = False, revoked: bool = False, deadline: Millis | None = None
    ) -> int:
        restored = decide_restore(item, exists=exists, revoked=revoked, session_expires_at_ms=deadline)
        return restored.root.live_facts

    def test_a_sound_scope_is_let_in_with_its_root(self) -> None:
        assert self.restored(scope_item("ana likes tea", "ana likes milk", revision=40)) == 2
        assert self.restored(scope_item("ana likes tea"), deadline=later(NOW, 1)) == 1

    def test_one_that_exists_is_refused_first_of_all(self) -> None:
        with pytest.raises(AlreadyExists):
            self.restored(structs.replace(scope_item("ana likes tea"), document=b""), exists=True, revoked=True)

    def test_a_revoked_session_takes_roots_and_no_content(self) -> None:
        assert self.restored(structs.replace(scope_item(), document=EMPTY), revoked=True) == 0
        with pytest.raises(SessionRevoked):
            self.restored(scope_item("ana likes tea"), revoked=True)

    def test_a_session_has_one_deadline(self) -> None:
        with pytest.raises(ExpiryChanged):
            self.restored(scope_item("ana likes tea"), deadline=NOW)

    @pytest.mark.parametrize("document", [b"", b"[]", b'[1,[],[[0,"p",0,0,1,null,null,[[1,null]]]]]', b"[1, [],[]]"])
    def test_a_document_that_is_not_canonical_is_refused(self, document: bytes) -> None:
        with pytest.raises(Invalid):
            self.restored(structs.replace(scope_item(), document=document))

    def test_a_closed_scope_holds_nothing(self) -> None:
        assert self.restored(structs.replace(scope_item(), closed=True)) == 0
        with pytest.raises(Invalid):
            self.restored(structs.replace(scope_item("ana likes tea"), closed=True))


@pytest.mark.parametrize(("kept", "revision"), [(commits(1), 1), (commits(2, 3), 3), (commits(*range(9, 41)), 40)])
def test_kept_commits_end_at_the_revision(kept: tuple[KeptCommit, ...], revision: int) -> None:
    check_commits(kept, Revision(revision))
    with pytest.raises(Invalid):
        check_commits(kept, Revision(revision + 1))


@pytest.mark.parametrize(
    "kept", [(), commits(1, 3), commits(3, 2), commits(*range(8, 41)), commits(0, 1), commits(3, 3)]
)
def test_kept_commits_have_no_gap_and_are_not_too_many(kept: tuple[KeptCommit, ...]) -> None:
    with pytest.raises(Invalid):
        check_commits(kept, kept[-1].revision if kept else Revision(1))


def test_a_commit_id_is_kept_once() -> None:
    first, second = commits(1, 2)
    with pytest.raises(Invalid):
        check_commits((first, structs.replace(second, commit_id=first.commit_id)), Revision(2))


def test_only_a_repository_that_is_not_whole_takes_rows() -> None:
    check_unfinished(None)
    check_unfinished(RESTORING)
    with pytest.raises(AlreadyExists):
        check_unfinished(Revision(1))


def test_a_repository_is_finished_with_all_its_rows_alone() -> None:
    check_whole(head(), entities=2, facts=1)
    for entities, facts in ((1, 1), (2, 0), (3, 1), (2, 2)):
        with pytest.raises(RevisionConflict):
            check_whole(head(), entities=entities, facts=facts)
    with pytest.raises(Invalid):
        check_whole(structs.replace(head(), revision=RESTORING), entities=2, facts=1)
    with pytest.raises(Invalid):
        check_whole(structs.replace(head(), commits=()), entities=2, facts=1)


def test_terms_are_spread_to_their_sum() -> None:
    (fact,) = stated("ana likes tea").facts
    assert spread(FoundFact(fact=fact, terms=("a", "b"), occurrences=4)) == ("a", "a", "a", "b")
    assert spread(FoundFact(fact=fact, terms=("a", "b"), occurrences=2)) == ("a", "b")
    assert spread(FoundFact(fact=fact, terms=(), occurrences=0)) == ()


class TestDigests:
    def test_no_two_things_have_one_name(self) -> None:
        items = [
            Caps(tenant_id="acme", of="sessions", quotas=Quotas()),
            Caps(tenant_id="acme", of="repositories", quotas=Quotas()),
            Tombstone(tenant_id="acme", session_id="chat", revoked_at_ms=NOW),
            scope_item(),
            head(),
        ]
        assert len({name_of_item(item) for item in items}) == len(items)
        assert name_of_item(rows("ana likes tea")) == name_of_item(head())

    def test_every_part_of_a_scope_is_in_its_digest(self) -> None:
        item = scope_item("ana likes tea", revision=2)
        first, second = item.commits
        others = [
            item,
            scope_item("ana likes milk", revision=2),
            structs.replace(item, scope=structs.replace(item.scope, ns="other")),
            structs.replace(item, scope=structs.replace(item.scope, tenant_id="other")),
            structs.replace(item, revision=Revision(3)),
            structs.replace(item, expires_at_ms=NOW),
            structs.replace(item, closed=True),
            structs.replace(item, commits=item.commits[1:]),
            structs.replace(item, commits=(first, structs.replace(second, outcome=Outcome(added=1)))),
        ]
        assert len({digest_of(each) for each in others}) == len(others)

    def test_the_moment_of_a_tombstone_and_every_cap_are_in_theirs(self) -> None:
        tombstone = Tombstone(tenant_id="acme", session_id="chat", revoked_at_ms=NOW)
        assert digest_of(tombstone) != digest_of(structs.replace(tombstone, revoked_at_ms=later(NOW, 1)))
        caps = Caps(tenant_id="acme", of="sessions", quotas=Quotas())
        assert digest_of(caps) != digest_of(structs.replace(caps, quotas=Quotas(tenant_roots_max=1)))

    def of(self, *batches: Rows, root: Head | None = None) -> str:
        digest = RepositoryDigest()
        for batch in batches:
            digest.add(batch)
        return digest.of(root or head())

    def test_the_rows_of_a_repository_come_in_any_order_and_batches(self) -> None:
        whole = rows("ana likes tea", "bo likes milk")
        parts = [structs.replace(whole, facts=(), entities=(each,)) for each in whole.entities]
        parts += [structs.replace(whole, entities=(), facts=(each,)) for each in whole.facts]
        assert self.of(whole) == self.of(*parts) == self.of(*reversed(parts))
        assert self.of(whole) != self.of(*parts[1:])

    def test_every_part_of_a_repository_is_in_its_digest(self) -> None:
        whole = rows("ana likes tea")
        (found,) = whole.facts
        fact = structs.replace(found.fact, origin_session_id="another")
        differing = [
            self.of(whole),
            self.of(structs.replace(whole, facts=(structs.replace(found, terms=("ana", "tea")),))),
            self.of(structs.replace(whole, facts=(structs.replace(found, occurrences=2),))),
            self.of(structs.replace(whole, facts=(structs.replace(found, fact=fact),))),
            self.of(whole, whole),
            self.of(whole, root=head(2)),
            self.of(whole, root=structs.replace(head(), scope=structs.replace(REPOSITORY, repository="songs"))),
            self.of(
                whole,
                root=structs.replace(head(), commits=(structs.replace(head().commits[0], origin_session_id="s"),)),
            ),
        ]
        assert len(set(differing)) == len(differing)

    def test_it_is_whole_with_all_rows_of_one_revision(self) -> None:
        digest = RepositoryDigest()
        assert not digest.whole(head())
        digest.add(rows("ana likes tea"))
        assert digest.whole(head())
        assert not digest.whole(head(2))
        assert not digest.whole(head(entities=3))
