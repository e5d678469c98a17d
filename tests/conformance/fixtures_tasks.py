"""Tools that may run as tasks, or must."""

from __future__ import annotations

import asyncio
from typing import Any

from codesynapse.contracts.identity import Execution
from codesynapse.server.mcp.messages import INTERNAL_ERROR, ProtocolError
from codesynapse.server.tools.registry import Blocks, Tool, ToolContext
from tests.conformance.fixtures_asking import ask_one, form, said_name
from tests.conformance.fixtures_shape import blocks, fixture, schema, text

SECONDS_MAX = 60
CONFIRM = form("Delete it?", ("confirm",), confirm={"type": "boolean"})
NAME = form("What is your name?", ("name",), name={"type": "string"})


async def greet(_: Execution, arguments: dict[str, Any], __: ToolContext) -> Blocks:
    return blocks(text(f"Hello, {arguments.get('name', 'nobody')}!"))


async def compute_slowly(_: Execution, arguments: dict[str, Any], __: ToolContext) -> Blocks:
    seconds = min(float(arguments.get("seconds", 0)), SECONDS_MAX)
    await asyncio.sleep(seconds)
    return blocks(text(f"{arguments.get('label', 'It')} took {seconds:g} s."))


async def fail(_: Execution, __: dict[str, Any], ___: ToolContext) -> Blocks:
    await asyncio.sleep(1)
    return blocks(text("This job always fails."), is_error=True)


async def break_the_protocol(_: Execution, __: dict[str, Any], ___: ToolContext) -> Blocks:
    raise ProtocolError(INTERNAL_ERROR, "This job always ends with an error of the protocol.")


async def confirm_delete(_: Execution, arguments: dict[str, Any], context: ToolContext) -> Blocks:
    answer = await ask_one(context, "confirm", CONFIRM)
    done = bool(dict(answer.get("content") or {}).get("confirm"))
    return blocks(text(f"{arguments.get('filename', 'It')} was {'' if done else 'not '}deleted."))


async def ask_both(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
    answers = await context.ask({"first": NAME, "second": CONFIRM})
    return blocks(text(f"{said_name(answers['first'])} was asked twice."))


async def ask_then_work(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
    name = said_name(await ask_one(context, "user_name", NAME))
    return blocks(text(f"Hello, {name}!"))


def task_tools() -> list[Tool]:
    seconds = schema(seconds={"type": "number"}, label={"type": "string"})
    return [
        fixture("greet", greet, takes=schema(name={"type": "string"})),
        fixture("slow_compute", compute_slowly, takes=seconds, task_support="optional"),
        fixture("failing_job", fail, task_support="required"),
        fixture("protocol_error_job", break_the_protocol, task_support="optional"),
        fixture("confirm_delete", confirm_delete, takes=schema(filename={"type": "string"}), task_support="optional"),
        fixture("multi_input", ask_both, task_support="optional"),
        # It asks before its task begins, and hears the answer again within it.
        fixture("test_tool_with_task", ask_then_work, task_support="required", prepare=ask_then_work),
    ]
