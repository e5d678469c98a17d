"""Which channel a memory is meant for."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from codesynapse.contracts.agents import memory_of
from codesynapse.contracts.suite.keepers import memory
from codesynapse.contracts.suite.worlds import NOW
from codesynapse.server.agents.channels import STAYS, Fate, fate_of, meant_axis


def fate(channel: str = "", *, globalize: bool = False, **attached: Any) -> Fate:
    new = memory("tea", channel=channel)

    held = memory_of(structs.replace(new, **attached), id=1, agent_id="a", now_ms=NOW)
    return fate_of(held, globalize=globalize)


def goes(found: Fate) -> str | None:
    return None if found.move is None else found.move.to_channel


def test_what_has_a_channel_or_names_none_stays() -> None:
    assert fate("c") == fate("c", metadata={"channel": "other"}) == fate() == fate(globalize=True) == STAYS


@pytest.mark.parametrize("name", ["channel", "channel_id"])
@pytest.mark.parametrize("where", ["metadata", "source"])
def test_what_names_its_channel_beside_the_axis_goes_there(name: str, where: str) -> None:
    for held in ("", "null", " "):
        found = fate(held, **{where: {name: " c "}})
        assert (goes(found), found.recovered, found.unrecoverable) == ("c", True, False)


@pytest.mark.parametrize("value", ["", "None", 5, None, ["c"], "x" * 257, "a\x07b"])
def test_what_names_no_channel_that_could_be_is_not_believed(value: object) -> None:
    assert fate(metadata={"channel": value}) == STAYS


def test_a_channel_between_blanks_is_meant_without_them() -> None:
    assert goes(fate(" c ")) == "c"
    assert goes(fate(" c ", metadata={"channel": "other"})) == "c"


def test_a_placeholder_is_left_only_where_that_is_wished() -> None:
    kept, freed = fate("undefined"), fate("undefined", globalize=True)
    assert (goes(kept), kept.unrecoverable) == (None, True)
    assert (goes(freed), freed.recovered, freed.unrecoverable) == ("", False, True)


def test_what_the_value_of_an_axis_means() -> None:
    assert [meant_axis(each) for each in ("c", " c", "NULL", "-", "", "nullable")] == ["c", "c", "", "", "", "nullable"]
