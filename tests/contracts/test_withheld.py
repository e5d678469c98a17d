"""What goes into a report is one harmless line, without what a backend was opened with."""

from __future__ import annotations

import json

import pytest

from codesynapse.contracts.withheld import HIDDEN, TEXT_MAX, plain, without_secrets

URL = "neo4j+s://ana:p%40ss%2Fword@db.example:7687/graph?token=t0ken-1"


@pytest.mark.parametrize(
    "secret", [URL, "ana:p%40ss%2Fword@db.example:7687", "p@ss/word", "p%40ss%2Fword", "db.example", "t0ken-1", "ana"]
)
def test_a_url_is_hidden_whole_and_in_parts(secret: str) -> None:
    told = without_secrets(f"refused: <{secret}> said {secret!r}", {"url": URL})
    assert secret not in told
    assert told.startswith("refused: <")
    assert HIDDEN in told


@pytest.mark.parametrize("write", [str, repr, json.dumps, str.upper])
def test_a_value_is_hidden_however_a_message_writes_it(write: object) -> None:
    assert callable(write)
    value = 'it\'s "s\u00e9cret"\\'
    written = str(write(value)).strip("'\"")
    assert written not in without_secrets(f"login failed with {written}", {"password": value})


def test_a_short_value_is_hidden_where_it_stands_alone() -> None:
    assert without_secrets("assert 7 == 17", {"deadline": "7"}) == f"assert {HIDDEN} == 17"


def test_of_two_values_the_longer_is_hidden_whole() -> None:
    assert without_secrets("secretary", {"a": "secret", "b": "secretary"}) == HIDDEN


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("cannot reach bolt://bo:hidden@elsewhere:1", "hidden"),
        ("login with password=hidden failed", "hidden"),
        ("sent Authorization: Bearer hidden", "hidden"),
        ("{'api_key': 'hidden'}", "hidden"),
    ],
)
def test_credentials_that_are_no_option_are_hidden_too(text: str, secret: str) -> None:
    assert secret not in without_secrets(text, {})


@pytest.mark.parametrize(
    "text", ["assert 3 == 4", "Failed: DID NOT RAISE <class 'RevisionConflict'>", "a / b", "The author: ana"]
)
def test_other_words_are_told_as_they_are(text: str) -> None:
    assert without_secrets(text, {"url": "/", "empty": "", "address": "http://[broken"}) in (
        text,
        f"The author: {HIDDEN}",
    )


def test_a_text_becomes_one_line_that_can_be_written_anywhere() -> None:
    hostile = "a\nb\x00c\u202ed\u2028e\ud800f\x1b[31m"
    line = plain(hostile)
    assert line.encode().decode() == "a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf\ufffd[31m"


def test_a_text_is_bounded() -> None:
    assert plain("x" * TEXT_MAX) == "x" * TEXT_MAX
    assert plain("x" * (TEXT_MAX + 1)) == "x" * (TEXT_MAX - 1) + HIDDEN
