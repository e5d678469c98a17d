"""How a tool is declared, and what a client is shown of it."""

from __future__ import annotations

from typing import Annotated

import pytest
from jsonschema import Draft202012Validator
from msgspec import Meta, Struct

from codesynapse.server.tools.registry import SILENT, Tool, Toolbox, listed, schema_of


class Part(Struct, forbid_unknown_fields=True):
    """A part."""

    name: str


class Arguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of a tool."""

    text: Annotated[str, Meta(max_length=5, description="What to say.")]
    parts: list[Part] = []
    note: str | None = None


class Answer(Struct, kw_only=True):
    """An answer."""

    said: str


async def say(_: object, arguments: Arguments, __: object) -> Answer:
    return Answer(said=arguments.text)


TOOL = Tool(
    name="say",
    title="Say",
    description="Says it.",
    toolset="test",
    arguments=Arguments,
    answer=Answer,
    handler=say,
    read_only=True,
    idempotent=True,
)


def test_a_tool_is_registered_once_and_found_by_its_name():
    toolbox = Toolbox()
    toolbox.register(TOOL)
    assert toolbox.tool("say") is TOOL
    with pytest.raises(ValueError, match="say"):
        toolbox.register(TOOL)


def test_a_client_sees_title_description_schemas_and_annotations():
    shown = listed(TOOL)
    assert (shown["title"], shown["description"]) == ("Say", "Says it.")
    assert shown["annotations"] == {
        "title": "Say",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }


def test_the_schemas_are_closed_objects_that_say_what_the_struct_says():
    schema = listed(TOOL)["inputSchema"]
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    assert validator.is_valid({"text": "x", "parts": [{"name": "a"}]})
    for wrong in ({}, {"text": "too long"}, {"text": "x", "other": 1}, {"text": "x", "parts": [{}]}, [], None):
        assert not validator.is_valid(wrong)
    assert schema["type"] == "object"
    assert schema["properties"]["text"]["description"] == "What to say."


def test_a_schema_costs_no_titles_and_no_empty_defaults():
    schema = schema_of(Arguments, closed=True)
    assert "title" not in schema
    assert "description" not in schema
    assert "default" not in schema["properties"]["note"]
    assert schema["properties"]["parts"]["default"] == []


def test_an_answer_may_gain_members():
    schema = schema_of(Answer, closed=False)
    assert "additionalProperties" not in schema
    assert Draft202012Validator(schema).is_valid({"said": "x", "more": 1})


def test_silence_is_a_context_as_well():
    SILENT.progress(1, None, None)
    SILENT.log("info", "x")
