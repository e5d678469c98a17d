"""What the adapter can be told."""

import pytest

from codesynapse.backends.neo4j.options import DEADLINE_MS, options_of
from codesynapse.contracts.errors import Invalid


def test_user_and_password_are_percent_decoded_and_left_out_of_the_address() -> None:
    options = options_of({"url": "neo4j+s://an%40a:p%3A%2F%40%25@graph.example:7999"})
    assert (options.user, options.password) == ("an@a", "p:/@%")
    assert options.address == "neo4j+s://graph.example:7999"
    assert (options.database, options.deadline_ms) == ("neo4j", DEADLINE_MS)


def test_the_usual_port_and_no_credentials_are_the_defaults() -> None:
    options = options_of({"url": "bolt://127.0.0.1"})
    assert (options.address, options.user, options.password) == ("bolt://127.0.0.1:7687", None, "")
    assert not options.routed
    assert options_of({"url": "neo4j://127.0.0.1"}).routed


def test_an_address_of_ipv6_keeps_its_brackets() -> None:
    assert options_of({"url": "bolt://u:p@[::1]:7"}).address == "bolt://[::1]:7"


@pytest.mark.parametrize(
    "given",
    [{"url": "bolt://h/memo"}, {"url": "bolt://h", "database": "memo"}, {"url": "bolt://h/x", "database": "memo"}],
)
def test_the_database_is_named_in_the_path_or_apart(given: dict[str, str]) -> None:
    assert options_of(given).database == "memo"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "bolt://",
        "http://h",
        "neo4j+x://h",
        "bolt://h:99999",
        "bolt://h:a",
        "bolt://:secret@h",
        "bolt://h/a/b",
        "bolt://[x",
    ],
)
def test_another_url_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(Invalid) as refusal:
        options_of({"url": url})
    assert refusal.value.field == "url"
    assert "secret" not in refusal.value.message
    assert refusal.value.__cause__ is None


@pytest.mark.parametrize("text", ["", "0", "-1", "600001", "1e3", "٣"])
def test_a_deadline_out_of_bounds_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refusal:
        options_of({"url": "bolt://h", "deadline_ms": text})
    assert refusal.value.field == "deadline_ms"
