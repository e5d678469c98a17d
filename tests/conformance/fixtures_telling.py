"""Tools that say something on the way: progress, logs, a closed stream, a list that changed."""

from __future__ import annotations

import asyncio
from typing import Any

from codesynapse.contracts.identity import Execution
from codesynapse.server.mcp.catalog import ListKind
from codesynapse.server.tools.registry import Blocks, Tool, Toolbox, ToolContext
from tests.conformance.fixtures_shape import blocks, fixture, text

BETWEEN_S = 0.05
"""The suite asks for this distance, to see that messages arrive one by one."""


async def log_three(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
    context.log("info", "Tool execution started")
    await asyncio.sleep(BETWEEN_S)
    context.log("info", "Tool processing data")
    await asyncio.sleep(BETWEEN_S)
    context.log("info", "Tool execution completed")
    return blocks(text("Three messages were logged."))


async def report_progress(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
    for value in (0, 50, 100):
        context.progress(value, 100, None)
        await asyncio.sleep(BETWEEN_S)
    return blocks(text("Progress was reported three times."))


async def close_the_stream(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
    """The client polls for the answer."""
    context.close_stream()
    await asyncio.sleep(BETWEEN_S)
    return blocks(text("The answer came after the client had come back."))


def telling_tools() -> list[Tool]:
    return [
        fixture("test_tool_with_logging", log_three),
        fixture("test_logging_tool", log_three),
        fixture("test_tool_with_progress", report_progress),
        fixture("test_reconnection", close_the_stream),
    ]


def changing_tools(toolbox: Toolbox) -> list[Tool]:
    """Tools that tell everybody that a list changed."""

    def telling(kind: ListKind) -> Any:
        async def tell(_: Execution, __: dict[str, Any], ___: ToolContext) -> Blocks:
            toolbox.changed(kind)
            return blocks(text("Told."))

        return tell

    return [
        fixture("test_trigger_tool_change", telling("tools")),
        fixture("test_trigger_prompt_change", telling("prompts")),
    ]
