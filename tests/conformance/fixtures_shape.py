"""How a fixture is written down in few words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from codesynapse.contracts.identity import Execution
from codesynapse.server.tools.registry import Blocks, Tool, ToolContext

Work = Callable[[Execution, dict[str, Any], ToolContext], Awaitable[Blocks]]
ANYTHING: dict[str, Any] = {"type": "object"}


def text(said: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": said}


def blocks(*content: Mapping[str, Any], is_error: bool = False) -> Blocks:
    """A tool's answer."""
    return Blocks(content=content, is_error=is_error)


def schema(**properties: dict[str, Any]) -> dict[str, Any]:
    """An input schema, in which nothing is required."""
    return {"type": "object", "properties": properties}


def fixture(
    name: str,
    work: Work,
    *,
    takes: dict[str, Any] = ANYTHING,
    task_support: Literal["forbidden", "optional", "required"] = "forbidden",
    prepare: Work | None = None,
) -> Tool:
    """A tool whose arguments come as they are."""
    return Tool(
        name=name,
        title=name,
        description="Asked for by the conformance suite.",
        toolset="conformance",
        handler=work,
        read_only=True,
        input_schema=takes,
        task_support=task_support,
        prepare=prepare,
    )
