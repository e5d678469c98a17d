"""What the tool list costs every conversation that carries it: characters, and an estimate of tokens."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

CHARACTERS_A_TOKEN = 4
"""No tokenizer is asked, so that the figure is the same everywhere: four characters are counted as one token."""


class Cost(Struct, frozen=True, kw_only=True):
    """characters: of names, descriptions and input schemas. tokens: estimated from them, rounded up."""

    characters: int
    tokens: int
    tools: int


def cost_of(tools: Sequence[dict[str, Any]]) -> Cost:
    """The cost of tools as they are listed; a schema counts as JSON without blanks."""
    characters = sum(_characters(tool) for tool in tools)
    return Cost(characters=characters, tokens=-(-characters // CHARACTERS_A_TOKEN), tools=len(tools))


def _characters(tool: dict[str, Any]) -> int:
    schema = msgspec.json.encode(tool["inputSchema"]).decode()
    return len(tool["name"]) + len(tool["description"]) + len(schema)
