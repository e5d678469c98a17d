"""Ids of vertices."""

from codesynapse.backends.hugegraph.keys import commit_key, key, repository_key, scope_key, session_key, tenant_key
from codesynapse.contracts.memory import COMMITS_KEPT, Scope
from codesynapse.contracts.repository import RepositoryScope


def test_parts_that_join_to_the_same_text_have_different_ids() -> None:
    pairs = [("a", "bc"), ("ab", "c"), ("abc", ""), ("", "abc"), ("A", "bc")]
    assert len({session_key(*pair) for pair in pairs}) == len(pairs)


def test_ids_of_different_kinds_never_meet() -> None:
    scope = Scope(tenant_id="a", session_id="b", ns="c")
    repository = RepositoryScope(tenant_id="a", repository="b")
    ids = [tenant_key("a"), session_key("a", "b"), scope_key(scope), repository_key(repository), key("e", "a", "b")]
    assert len({each[0] for each in ids}) == len(ids)
    assert {len(each) for each in ids} == {33}


def test_any_text_has_an_id() -> None:
    assert key("e", "\ud800") != key("e", "\udfff")


def test_as_many_commits_have_places_of_their_own_as_are_kept() -> None:
    assert len({commit_key("n1", revision) for revision in range(1, COMMITS_KEPT + 1)}) == COMMITS_KEPT
    assert commit_key("n1", 1) == commit_key("n1", 1 + COMMITS_KEPT)
