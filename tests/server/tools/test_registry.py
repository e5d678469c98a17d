"""How a tool is declared, and what a client is shown of it."""

from __future__ import annotations

from typing import Annotated

import pytest
from jsonschema import Draft202012Validator
from msgspec import Meta, Struct, structs

from codesynapse.contracts.errors import InputUnavailable
from codesynapse.server.tools.registry import (
    SILENT,
    InputRequest,
    Tool,
    Toolbox,
    ToolContext,
    listed,
    no_log,
    no_progress,
    schema_of,
)


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


SCHEMA = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "if": {}, "$anchor": "a"}


def test_a_schema_of_ones_own_is_listed_as_it_is_and_blocks_have_none():
    shown = listed(structs.replace(TOOL, arguments=None, answer=None, input_schema=SCHEMA))
    assert shown["inputSchema"] is SCHEMA
    assert "outputSchema" not in shown


def test_a_tool_without_any_schema_of_its_arguments_is_refused():
    with pytest.raises(ValueError, match="say"):
        Toolbox().register(structs.replace(TOOL, arguments=None))


def test_who_listens_is_told_which_list_changed_until_it_stops():
    toolbox, heard = Toolbox(), list[str]()
    stop = toolbox.listen(heard.append)
    toolbox.changed()
    toolbox.changed("prompts")
    stop()
    toolbox.changed()
    assert heard == ["tools", "prompts"]


async def test_in_silence_nobody_can_be_asked():
    assert not SILENT.can_ask("roots/list")
    with pytest.raises(InputUnavailable) as caught:
        await SILENT.ask({"k": InputRequest("elicitation/create", {"mode": "url"})})
    assert caught.value.required == {"elicitation": {"url": {}}}
    SILENT.close_stream()


def test_a_context_knows_what_its_client_can_be_asked():
    context = ToolContext(progress=no_progress, log=no_log, capabilities={"elicitation": {"form": {}}})
    assert context.can_ask("elicitation/create")
    assert not context.can_ask("elicitation/create", {"mode": "url"})
    assert not context.can_ask("sampling/createMessage")
