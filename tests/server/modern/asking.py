"""Tools of tests that ask before they act."""

from __future__ import annotations

from typing import Any

from codesynapse.contracts.errors import CodeSynapseError
from codesynapse.contracts.identity import Execution
from codesynapse.server.mcp.messages import ProtocolError
from codesynapse.server.tools.registry import InputRequest, Tool, ToolContext
from tests.integration.harness import Product
from tests.integration.tools import Gate, Words, register_tools

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ELICITATION: dict[str, Any] = {"elicitation": {}}


def question(text: str) -> InputRequest:
    return InputRequest(method="elicitation/create", params={"message": text, "requestedSchema": FORM})


def accepted(name: str) -> dict[str, Any]:
    return {"action": "accept", "content": {"name": name}}


def register(running: Product, support: Any = "forbidden") -> Gate:
    """`greet` asks for a name and then for a colour, `both` for two names at once, `sample` asks a model.

    Beside those of `register_tools`: `slow` waits for the gate, and so does `broken`, which then fails by the
    protocol; `fail` fails as a tool.
    """
    gate = register_tools(running.services)
    for handler in (*_asking(), *_ending(gate)):
        running.services.toolbox.register(
            Tool(
                name=handler.__name__,
                title="T",
                description="For tests.",
                toolset="test",
                arguments=Words,
                answer=Words,
                handler=handler,
                read_only=True,
                task_support=support,
            )
        )
    return gate


def _asking() -> tuple[Any, ...]:
    async def greet(_: Execution, words: Words, context: ToolContext) -> Words:
        who = (await context.ask({"who": question("Who?")}))["who"]
        colour = (await context.ask({"colour": question("Colour?")}))["colour"]
        return Words(text=f"{who['content']['name']} {colour['content']['name']} {words.text}")

    async def both(_: Execution, __: Words, context: ToolContext) -> Words:
        answers = await context.ask({"a": question("A?"), "b": question("B?")})
        return Words(text=answers["a"]["content"]["name"] + answers["b"]["content"]["name"])

    async def sample(_: Execution, __: Words, context: ToolContext) -> Words:
        await context.ask({"s": InputRequest(method="sampling/createMessage", params={"maxTokens": 1, "messages": []})})
        return Words()

    return greet, both, sample


def _ending(gate: Gate) -> tuple[Any, ...]:
    async def slow(_: Execution, words: Words, __: ToolContext) -> Words:
        await gate.wait()
        return words

    async def fail(_: Execution, __: Words, ___: ToolContext) -> Words:
        raise CodeSynapseError

    async def broken(_: Execution, __: Words, ___: ToolContext) -> Words:
        await gate.wait()
        raise ProtocolError(-32603, "It broke.")

    return slow, fail, broken
