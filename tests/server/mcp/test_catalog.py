"""The list of tools: order, pages, cursors and toolsets."""

from __future__ import annotations

import base64

import pytest

from codesynapse.server.mcp.catalog import PAGE, Catalog, chosen_toolsets, page


def catalog(count: int, toolset: str = "a") -> Catalog:
    filled = Catalog()
    for number in range(count):
        filled.add({"name": f"t{number}"}, toolset=toolset)
    return filled


def names(tools: list[dict[str, object]]) -> list[object]:
    return [tool["name"] for tool in tools]


def test_a_name_is_registered_once():
    filled = catalog(1)
    with pytest.raises(ValueError, match="t0"):
        filled.add({"name": "t0"}, toolset="b")


@pytest.mark.parametrize("count", [0, 1, PAGE])
def test_what_fits_on_one_page_has_no_cursor(count: int):
    tools, cursor = page("tools", catalog(count).visible(None), None)
    assert (len(tools), cursor) == (count, None)


def test_pages_hold_every_tool_once_in_the_order_of_registration():
    filled, cursor, seen = catalog(2 * PAGE + 1), None, []
    for _ in range(3):
        tools, cursor = page("tools", filled.visible(None), cursor)
        seen += names(tools)
    assert cursor is None
    assert seen == [f"t{number}" for number in range(2 * PAGE + 1)]


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "é",
        "====",
        encoded("tools:0"),
        encoded("tools:-1"),
        encoded("tools:150"),
        encoded("tools:50"),
        encoded("tools:²"),
        encoded("nodes:100"),
        encoded("tools:"),
        encoded("tools:" + "9" * 30),
        encoded("tools:100") + "\n",
    ],
)
def test_a_cursor_that_we_did_not_give_is_refused(cursor: str):
    with pytest.raises(LookupError):
        page("tools", catalog(150).visible(None), cursor)


def test_a_hidden_tool_is_neither_listed_nor_known():
    filled = catalog(1)
    filled.add({"name": "other"}, toolset="b")
    assert filled.toolsets == {"a", "b"}
    assert names(filled.visible(frozenset({"b"}))) == ["other"]
    assert (filled.shows("t0", frozenset({"b"})), filled.shows("t0", None)) == (False, True)
    assert not filled.shows("nothing", None)


def test_toolsets_are_chosen_by_name_and_all_or_nothing_means_every_one():
    known = frozenset({"a", "b"})
    assert chosen_toolsets(["a ", " b"], known) == {"a", "b"}
    assert chosen_toolsets(["a", "all"], known) is None
    assert chosen_toolsets(["", " "], known) is None
    with pytest.raises(LookupError):
        chosen_toolsets(["a", "c"], known)
