"""The declared key: which bucket it names, and whether it counts as declared."""

from __future__ import annotations

import pytest

from codesynapse.server.hints.session_key import TRANSPORT_KEY, resolve_session_key


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
