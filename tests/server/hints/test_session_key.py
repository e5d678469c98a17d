"""The declared key: which bucket it names, and whether it counts as declared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import codesynapse.server
from codesynapse.contracts.errors import Invalid
from codesynapse.server.hints.session_key import KEY_MAX, TRANSPORT_KEY, bucket_of, resolve_session_key
from tests.server.hints.buckets import identity


@pytest.mark.parametrize("declared", [None, "", " ", "\t\n", "\u2003", "transport", " transport "])
def test_no_key_a_blank_one_and_the_shared_buckets_own_name_are_undeclared(declared: str | None):
    assert resolve_session_key(declared) == (TRANSPORT_KEY, False)


@pytest.mark.parametrize("declared", ["main", " main ", "\nmain\t"])
def test_a_declared_key_counts_without_the_blanks_around_it(declared: str):
    assert resolve_session_key(declared) == ("main", True)


@pytest.mark.parametrize("declared", ["Transport", "transport2", "a transport"])
def test_only_the_literal_name_joins_the_shared_bucket(declared: str):
    assert resolve_session_key(declared) == (declared, True)


def test_the_shared_buckets_name_is_the_seeds():
    assert TRANSPORT_KEY == "transport"


def test_what_is_no_text_is_undeclared():
    assert resolve_session_key(5) == (TRANSPORT_KEY, False)  # type: ignore[arg-type]


def test_a_key_has_256_characters_at_most_counted_before_the_blanks_go():
    assert resolve_session_key("k" * KEY_MAX) == ("k" * KEY_MAX, True)
    assert resolve_session_key("é" * KEY_MAX) == ("é" * KEY_MAX, True)
    for long in ("k" * (KEY_MAX + 1), " " * (KEY_MAX + 1), "k" + " " * KEY_MAX):
        with pytest.raises(Invalid) as refused:
            resolve_session_key(long)
        assert (refused.value.field, refused.value.limit) == ("session_key", "<= 256 characters")
        assert long not in refused.value.message


@pytest.mark.parametrize("declared", ["Main", "main2", "m\u200bain", "\u200b", "m ain", "a/b'; --", "\u202emain"])
def test_a_key_is_compared_as_it_came_and_never_parsed(declared: str):
    assert resolve_session_key(declared) == (declared, True)


def test_a_bucket_lies_inside_its_tenant_and_subject():
    buckets = {
        (each.principal, each.key)
        for each in (bucket_of(identity(tenant, subject), "main") for tenant in "ab" for subject in "xy")
    }
    assert len(buckets) == 4


def test_two_chats_of_one_principal_share_a_bucket_of_one_name():
    assert bucket_of(identity("a", "x", "s1"), "main") == bucket_of(identity("a", "x", "s2"), " main ")


@pytest.mark.parametrize(("declared", "scope"), [("main", "session"), (" ", "process"), (None, "process")])
def test_the_scope_says_whether_a_key_was_declared(declared: str | None, scope: str):
    assert bucket_of(identity("a", "x"), declared).scope == scope


def test_only_the_seam_decides_an_effective_key():
    folder = Path(codesynapse.server.__path__[0])
    defaults = [path.name for path in folder.rglob("*.py") if re.search(r"session_key\S*\.strip", path.read_text())]
    naming = {path.name for path in folder.rglob("*.py") if "TRANSPORT_KEY" in path.read_text()}
    assert (defaults, naming) == ([], {"session_key.py", "attribution.py"})
    assert sum(path.read_text().count("def resolve_session_key") for path in folder.rglob("*.py")) == 1
