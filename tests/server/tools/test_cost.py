"""What a tool list costs is counted, not guessed."""

from __future__ import annotations

import json
from typing import Any

from codesynapse.server.hints.texts import FINDINGS, FULL, SHORT
from codesynapse.server.tools.cost import Cost, Price, arms_of, cost_of, price_of, without
from tests.documents import listed_tools

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


def keyed(name: str, text: str) -> dict[str, Any]:
    """A tool that takes a session key and nothing else."""
    key = {"anyOf": [{"type": "string", "maxLength": 256, "description": text}, {"type": "null"}]}
    return {"name": name, "description": "x", "inputSchema": {"type": "object", "properties": {"session_key": key}}}


LISTED = [
    TOOL,
    keyed("recall_with_context", FULL),
    keyed("pause_persistence", SHORT),
    keyed("store", SHORT),
    keyed("get_session_findings", FINDINGS),
]


def test_a_parameter_costs_what_is_gone_once_it_is_deleted() -> None:
    price = price_of(LISTED, "session_key")
    deleted = [TOOL, *({**each, "inputSchema": {"type": "object", "properties": {}}} for each in LISTED[1:])]
    assert (price.tools, price.without) == (4, cost_of(deleted).characters)
    assert price.characters == cost_of(LISTED).characters - price.without
    assert price.share == price.characters / price.without
    assert price_of(LISTED, "absent") == Price(
        parameter="absent", tools=0, characters=0, without=cost_of(LISTED).characters
    )


def test_a_required_parameter_is_deleted_there_too_and_the_tool_stays_as_it_was() -> None:
    required = {**TOOL, "inputSchema": {**TOOL["inputSchema"], "required": ["query"]}}
    assert without(required, "query")["inputSchema"] == {"type": "object", "properties": {}, "required": []}
    assert required["inputSchema"]["required"] == ["query"]


def test_the_four_arms_come_from_one_list_and_the_findings_keep_their_text() -> None:
    arms = {each.arm: each for each in arms_of(LISTED)}
    more = len(FULL) - len(SHORT)
    shipped = cost_of(LISTED).characters
    assert arms["D"].characters == shipped
    assert arms["A"].characters == shipped + 2 * more
    assert arms["B"].characters == shipped + more
    assert arms["C"].characters == shipped - more
    base = price_of(LISTED, "session_key").without
    assert all(each.added == each.characters - base for each in arms.values())


async def test_arm_d_is_what_a_server_lists_and_the_first_two_texts_draw_the_line() -> None:
    tools = await listed_tools()
    arms = {each.arm: each for each in arms_of(tools)}
    assert arms["D"].characters == cost_of(tools).characters
    assert arms["C"].characters < arms["D"].characters < arms["B"].characters < arms["A"].characters
    assert price_of(tools, "session_key").tools == 24
