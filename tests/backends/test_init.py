"""Stores are found by the names of their entry points."""

import pytest

from codesynapse.backends import features_of, open_backend
from codesynapse.contracts.errors import Invalid, NotFound


@pytest.mark.parametrize("name", ["memory", "sqlite"])
async def test_a_store_is_opened_by_its_name_and_offers_the_ports_that_its_features_declare(name: str) -> None:
    features = features_of(name)
    async with open_backend(name, {}) as backend:
        for port in ("session_memory", "repository", "vectors", "accounts", "agents"):
            assert (getattr(backend, port) is not None) == getattr(features, port)


def test_only_the_sqlite_store_says_that_it_is_durable() -> None:
    assert (features_of("memory").durable, features_of("sqlite").durable) == (False, True)


def test_an_unknown_name_is_refused_and_names_the_field() -> None:
    with pytest.raises(NotFound) as refusal:
        open_backend("nowhere", {})
    assert refusal.value.field == "backend"
    with pytest.raises(NotFound):
        features_of("nowhere")


@pytest.mark.parametrize(
    ("name", "options", "field"),
    [
        ("memory", {"path": "x"}, "options"),
        ("sqlite", {"colour": "blue"}, "options"),
        ("sqlite", {"deadline_ms": "0"}, "deadline_ms"),
        ("sqlite", {"deadline_ms": "ten"}, "deadline_ms"),
        ("sqlite", {"deadline_ms": "600001"}, "deadline_ms"),
        ("sqlite", {"path": ""}, "path"),
    ],
)
async def test_an_option_that_a_store_cannot_use_is_refused(name: str, options: dict[str, str], field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        async with open_backend(name, options):
            raise AssertionError
    assert refusal.value.field == field
