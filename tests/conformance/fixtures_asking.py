"""Tools and a prompt that ask the client: its user, its model, its file system."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from codesynapse.contracts.identity import Execution
from codesynapse.server.features.registry import Prompt, PromptResult, text_message
from codesynapse.server.tools.registry import Blocks, InputRequest, Tool, ToolContext
from tests.conformance.fixtures_content import made, prompt
from tests.conformance.fixtures_shape import blocks, fixture, schema, text

STRING = {"type": "string"}
ROOTS = InputRequest("roots/list", {})


def form(message: str, required: tuple[str, ...] = (), **properties: dict[str, Any]) -> InputRequest:
    """A question to the user."""
    asked = {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}
    return InputRequest("elicitation/create", {"message": message, "requestedSchema": asked})


def sampling(prompt_text: str, most: int = 100) -> InputRequest:
    """A question to the client's model."""
    message = {"role": "user", "content": {"type": "text", "text": prompt_text}}
    return InputRequest("sampling/createMessage", {"messages": [message], "maxTokens": most})


NAME = form("What is your name?", ("name",), name=STRING)
DEFAULTS = form(
    "Please review and update the form fields with defaults",
    name={"type": "string", "description": "User name", "default": "John Doe"},
    age={"type": "integer", "description": "User age", "default": 30},
    score={"type": "number", "description": "User score", "default": 95.5},
    status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    verified={"type": "boolean", "description": "Verification status", "default": True},
)


def titled(*names: str, word: str) -> list[dict[str, str]]:
    """Values with titles."""
    return [{"const": f"value{at}", "title": f"{name} {word}"} for at, name in enumerate(names, start=1)]


OPTIONS = ["option1", "option2", "option3"]
ENUMS = form(
    "Please select from the options",
    untitledSingle={"type": "string", "enum": OPTIONS},
    titledSingle={"type": "string", "oneOf": titled("First", "Second", "Third", word="Option")},
    legacyEnum={
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti={"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    titledMulti={"type": "array", "items": {"anyOf": titled("First", "Second", "Third", word="Choice")}},
)


async def ask_one(context: ToolContext, key: str, request: InputRequest) -> dict[str, Any]:
    """The client's answer to one question."""
    return dict((await context.ask({key: request}))[key])


def completed(answer: Mapping[str, Any]) -> str:
    """What the user did with a form."""
    return f"action={answer.get('action')}, content={json.dumps(answer.get('content', {}))}"


def said_name(answer: Mapping[str, Any]) -> str:
    """The name in an answer."""
    return str(dict(answer.get("content") or {}).get("name", "nobody"))


def eliciting(key: str, request: InputRequest, intro: str) -> Any:
    """The work of a tool that puts a form before the user and repeats what came of it."""

    async def work(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
        return blocks(text(f"{intro}: {completed(await ask_one(context, key, request))}"))

    return work


async def sample(_: Execution, arguments: dict[str, Any], context: ToolContext) -> Blocks:
    answer = await ask_one(context, "answer", sampling(str(arguments.get("prompt", ""))))
    return blocks(text(f"LLM response: {answer['content']['text']}"))


async def elicit(_: Execution, arguments: dict[str, Any], context: ToolContext) -> Blocks:
    asked = form(
        str(arguments.get("message", "")),
        ("username", "email"),
        username={"type": "string", "description": "User's response"},
        email={"type": "string", "description": "User's email address"},
    )
    return blocks(text(f"User response: {completed(await ask_one(context, 'user', asked))}"))


async def ask_name(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
    return blocks(text(f"Hello, {said_name(await ask_one(context, 'user_name', NAME))}!"))


async def ask_capital(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
    answer = await ask_one(context, "capital_question", sampling("What is the capital of France?"))
    return blocks(text(f"The model says: {dict(answer['content'])['text']}"))


async def ask_roots(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
    answer = await ask_one(context, "client_roots", ROOTS)
    return blocks(text(f"Roots: {json.dumps(answer['roots'])}"))


async def ask_confirmation(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
    """A state that the server has not sealed itself, or that was changed, never gets here."""
    await ask_one(context, "confirm", form("Please confirm", ("ok",), ok={"type": "boolean"}))
    return blocks(text("state-ok"))


async def ask_all(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
    answers = await context.ask(
        {"user_name": NAME, "greeting": sampling("Generate a greeting", 50), "client_roots": ROOTS}
    )
    return blocks(text(f"{said_name(answers['user_name'])} was asked in {len(answers)} ways."))


async def ask_twice(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
    name = await ask_one(context, "step1", form("Step 1: What is your name?", ("name",), name=STRING))
    colour = form("Step 2: What is your favorite color?", ("color",), color=STRING)
    answer = await ask_one(context, "step2", colour)
    return blocks(text(f"{said_name(name)} likes {dict(answer.get('content') or {}).get('color')}."))


async def need_sampling(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
    await ask_one(context, "needed", sampling("Anything."))
    return blocks(text("The client can sample."))


async def ask_in_the_midst(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
    """Says something on the stream before it asks."""
    context.progress(1, 2, None)
    return blocks(text(f"Hello, {said_name(await ask_one(context, 'user_name', NAME))}!"))


async def ask_what_is_declared(_: Execution, __: dict[str, Any], context: ToolContext) -> Blocks:
    """Asks only in the ways that the client has declared."""
    possible = {"user_name": NAME, "greeting": sampling("Generate a greeting", 50), "client_roots": ROOTS}
    asked = {key: each for key, each in possible.items() if context.can_ask(each.method, each.params)}
    answers = await context.ask(asked) if asked else {}
    return blocks(text(f"Asked in {len(answers)} ways."))


def asking_tools() -> list[Tool]:
    """All of them; those of the second era are named as the suite names them."""
    works = {
        "elicitation": ask_name,
        "sampling": ask_capital,
        "list_roots": ask_roots,
        "request_state": ask_confirmation,
        "multiple_inputs": ask_all,
        "multi_round": ask_twice,
        "tampered_state": ask_confirmation,
        "capabilities": ask_what_is_declared,
    }
    return [
        fixture("test_sampling", sample, takes=schema(prompt=STRING)),
        fixture("test_elicitation", elicit, takes=schema(message=STRING)),
        fixture("test_elicitation_sep1034_defaults", eliciting("form", DEFAULTS, "Elicitation completed")),
        fixture("test_elicitation_sep1330_enums", eliciting("form", ENUMS, "Elicitation completed")),
        fixture("test_missing_capability", need_sampling),
        fixture("test_streaming_elicitation", ask_in_the_midst),
        *(fixture(f"test_input_required_result_{name}", work) for name, work in works.items()),
    ]


async def ask_context(_: Execution, __: Mapping[str, str], context: ToolContext) -> PromptResult:
    asked = form("What context should the prompt use?", ("context",), context=STRING)
    answer = await ask_one(context, "user_context", asked)
    return made(text_message(f"Use this context: {dict(answer.get('content') or {}).get('context')}"))


def asking_prompts() -> list[Prompt]:
    return [prompt("test_input_required_result_prompt", get=ask_context)]
