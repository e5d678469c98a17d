"""What the tool list costs every conversation that carries it: characters, and an estimate of tokens.

A parameter is priced by deleting it from the list as it is sent, and not by reckoning (seed 1 §6).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from codesynapse.server.hints.gated import FINDINGS_TOOL, PAUSE_TOOLS, RECALL_TOOLS
from codesynapse.server.hints.texts import FULL, SHORT

CHARACTERS_A_TOKEN = 4
"""No tokenizer is asked, so that the figure is the same everywhere: four characters are counted as one token."""
KEY = "session_key"

STAGE_ONE = RECALL_TOOLS | PAUSE_TOOLS
"""Where the seed's first stage had the key, with the full text."""
ARMS: Mapping[str, tuple[str, frozenset[str] | None]] = {
    "A": ("the full text everywhere", None),
    "B": ("the short text, the full one where the first stage had the key", STAGE_ONE),
    "C": ("the short text everywhere", frozenset()),
    "D": ("the short text, the full one on recall and recall_with_context; as shipped", RECALL_TOOLS),
}
"""The four arms of the seed: which tools say the full text; None for all. The findings keep their own in each."""


class Cost(Struct, frozen=True, kw_only=True):
    """characters: of names, descriptions and input schemas. tokens: estimated from them, rounded up."""

    characters: int
    tokens: int
    tools: int


class Price(Struct, frozen=True, kw_only=True):
    """What a parameter adds. tools: how many carry it. without: the list's characters once it is deleted.

    share: of what the list has without it.
    """

    parameter: str
    tools: int
    characters: int
    without: int

    @property
    def share(self) -> float:
        return self.characters / self.without if self.without else 0.0


class Arm(Struct, frozen=True, kw_only=True):
    """One way to describe the key, measured on the list as it is sent. added: beside the list without the key."""

    arm: str
    strategy: str
    characters: int
    added: int
    percent: float


def cost_of(tools: Sequence[dict[str, Any]]) -> Cost:
    """The cost of tools as they are listed; a schema counts as JSON without blanks."""
    characters = sum(map(characters_of, tools))
    return Cost(characters=characters, tokens=tokens_of(characters), tools=len(tools))


def tokens_of(characters: int) -> int:
    """The estimate, rounded up."""
    return -(-characters // CHARACTERS_A_TOKEN)


def characters_of(tool: Mapping[str, Any]) -> int:
    """What one tool costs."""
    schema = msgspec.json.encode(tool["inputSchema"]).decode()
    return len(tool["name"]) + len(tool["description"]) + len(schema)


def price_of(tools: Sequence[dict[str, Any]], parameter: str) -> Price:
    """What a parameter costs in this list; nothing where no tool has it."""
    carrying = [tool for tool in tools if parameter in tool["inputSchema"].get("properties", {})]
    added = sum(characters_of(tool) - characters_of(without(tool, parameter)) for tool in carrying)
    total = cost_of(tools).characters
    return Price(parameter=parameter, tools=len(carrying), characters=added, without=total - added)


def without(tool: Mapping[str, Any], parameter: str) -> dict[str, Any]:
    """A tool with one parameter deleted from its schema."""
    schema = dict(tool["inputSchema"])
    schema["properties"] = {name: each for name, each in schema.get("properties", {}).items() if name != parameter}
    if parameter in schema.get("required", ()):
        schema["required"] = [name for name in schema["required"] if name != parameter]
    return {**tool, "inputSchema": schema}


def arms_of(tools: Sequence[dict[str, Any]]) -> list[Arm]:
    """All four arms, from this one list: each with the key's text edited in it."""
    base = price_of(tools, KEY).without
    arms = []
    for arm, (strategy, full) in ARMS.items():
        characters = cost_of([_told(tool, full) for tool in tools]).characters
        added = characters - base
        percent = round(100 * added / base, 1) if base else 0.0
        arms.append(Arm(arm=arm, strategy=strategy, characters=characters, added=added, percent=percent))
    return arms


def _told(tool: dict[str, Any], full: frozenset[str] | None) -> dict[str, Any]:
    """A tool whose key is described as an arm wants it."""
    properties = tool["inputSchema"].get("properties", {})
    if KEY not in properties or tool["name"] == FINDINGS_TOOL:
        return tool
    text = FULL if full is None or tool["name"] in full else SHORT
    told = {**properties, KEY: _described(properties[KEY], text)}
    return {**tool, "inputSchema": {**tool["inputSchema"], "properties": told}}


def _described(schema: Any, text: str) -> Any:
    """A schema with another text wherever it has one."""
    if isinstance(schema, list):
        return [_described(each, text) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: text if name == "description" else _described(each, text) for name, each in schema.items()}
