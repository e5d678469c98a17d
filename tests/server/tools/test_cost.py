"""What a tool list costs is counted, not guessed."""

from __future__ import annotations

import json
from typing import Any

from codesynapse.server.tools.cost import Cost, cost_of

TOOL: dict[str, Any] = {
    "name": "recall",
    "title": "Not counted",
    "description": "Facts.",
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
    "outputSchema": {"type": "object", "description": "Not counted."},
    "annotations": {"title": "Not counted"},
}
SCHEMA = json.dumps(TOOL["inputSchema"], separators=(",", ":"))
CHARACTERS = len("recall" + "Facts." + SCHEMA)


def test_name_description_and_input_schema_are_counted_and_nothing_else() -> None:
    assert cost_of([TOOL]).characters == CHARACTERS


def test_four_characters_are_a_token_and_a_rest_is_one_too() -> None:
    for extra in range(8):
        longer = {**TOOL, "description": "Facts." + "x" * extra}
        assert cost_of([longer]).tokens == (CHARACTERS + extra + 3) // 4


def test_the_tokens_of_a_list_are_rounded_once() -> None:
    assert cost_of([TOOL] * 3) == Cost(characters=3 * CHARACTERS, tokens=(3 * CHARACTERS + 3) // 4, tools=3)


def test_characters_are_counted_and_not_bytes() -> None:
    assert cost_of([{**TOOL, "description": "Größe."}]).characters == CHARACTERS


def test_no_tool_costs_nothing() -> None:
    assert cost_of([]) == Cost(characters=0, tokens=0, tools=0)
