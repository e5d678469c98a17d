"""Tools, resources and prompts that answer with content of every kind."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from codesynapse.contracts.identity import Execution
from codesynapse.server.features.registry import (
    Prompt,
    PromptArgument,
    PromptResult,
    Resource,
    ResourceContents,
    ResourceTemplate,
    blob_contents,
    text_contents,
    text_message,
)
from codesynapse.server.tools.registry import Blocks, Tool, ToolContext
from tests.conformance.fixtures_shape import blocks, fixture, text

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": DIALECT,
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


RED_PIXEL = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
    + _chunk(b"IEND", b"")
)
SILENCE = b"RIFF" + struct.pack("<I4s4sIHHIIHH4sI", 36, b"WAVE", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8, b"data", 0)
IMAGE = {"type": "image", "data": base64.b64encode(RED_PIXEL).decode(), "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": base64.b64encode(SILENCE).decode(), "mimeType": "audio/wav"}


def embedded(uri: str, mime_type: str, said: str) -> dict[str, Any]:
    """A block that holds a resource."""
    return {"type": "resource", "resource": text_contents(uri, mime_type, said)}


def answering(*content: Mapping[str, Any], is_error: bool = False) -> Any:
    """The work of a tool that always answers the same."""

    async def work(_: Execution, __: dict[str, Any], ___: ToolContext) -> Blocks:
        return blocks(*content, is_error=is_error)

    return work


def tools() -> list[Tool]:
    """Tools that ask for nothing and wait for nothing."""
    mixed = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    region = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    answers = {
        "test_simple_text": answering(text("This is a simple text response for testing.")),
        "test_image_content": answering(IMAGE),
        "test_audio_content": answering(AUDIO),
        "test_embedded_resource": answering(
            embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
        ),
        "test_multiple_content_types": answering(text("Multiple content types test:"), IMAGE, mixed),
        "test_error_handling": answering(text("This tool intentionally returns an error for testing"), is_error=True),
    }
    return [
        *(fixture(name, work) for name, work in answers.items()),
        fixture("json_schema_2020_12_tool", answering(text("ok")), takes=SCHEMA_2020_12),
        fixture("test_x_mcp_header", answering(text("ok")), takes=region),
    ]


def resource(uri: str, mime_type: str, *contents: dict[str, Any]) -> Resource:
    """A resource that is always the same."""

    async def read(_: Execution, __: str, ___: Mapping[str, str], ____: ToolContext) -> ResourceContents:
        return contents

    name = uri.partition("://")[2]
    return Resource(uri=uri, name=name, title=name, description="For the suite.", mime_type=mime_type, read=read)


def resources() -> list[Resource | ResourceTemplate]:
    """Resources, and a template."""
    static, binary, watched = "test://static-text", "test://static-binary", "test://watched-resource"
    said = "This is the content of the static text resource."
    return [
        resource(static, "text/plain", text_contents(static, "text/plain", said)),
        resource(binary, "image/png", blob_contents(binary, "image/png", RED_PIXEL)),
        resource(watched, "text/plain", text_contents(watched, "text/plain", "Watched.")),
        ResourceTemplate(
            uri_template="test://template/{id}/data",
            name="template",
            title="template",
            description="For the suite.",
            mime_type="application/json",
            read=read_template,
        ),
    ]


async def read_template(_: Execution, uri: str, variables: Mapping[str, str], __: ToolContext) -> ResourceContents:
    """What the template makes of its variable."""
    named = variables["id"]
    said = json.dumps({"id": named, "templateTest": True, "data": f"Data for ID: {named}"})
    return [text_contents(uri, "application/json", said)]


def prompt(name: str, *names: str, get: Any) -> Prompt:
    """A prompt. names: of its arguments, all of them required."""
    arguments = tuple(
        PromptArgument(name=each, description="For the suite.", required=True, complete=complete) for each in names
    )
    return Prompt(name=name, title=name, description="For the suite.", arguments=arguments, get=get)


async def complete(_: Execution, typed: str, __: Mapping[str, str]) -> Sequence[str]:
    """Words that begin with what was typed."""
    return [word for word in ("paris", "park", "party") if word.startswith(typed)]


def prompts() -> list[Prompt]:
    """Prompts with messages of every kind."""
    return [
        prompt("test_simple_prompt", get=simple),
        prompt("test_prompt_with_arguments", "arg1", "arg2", get=with_arguments),
        prompt("test_prompt_with_embedded_resource", "resourceUri", get=with_resource),
        prompt("test_prompt_with_image", get=with_image),
    ]


def made(*messages: dict[str, Any]) -> PromptResult:
    """What a prompt becomes."""
    return PromptResult(description="For the suite.", messages=messages)


async def simple(_: Execution, __: Mapping[str, str], ___: ToolContext) -> PromptResult:
    return made(text_message("This is a simple prompt for testing."))


async def with_arguments(_: Execution, arguments: Mapping[str, str], __: ToolContext) -> PromptResult:
    said = f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"
    return made(text_message(said))


async def with_resource(_: Execution, arguments: Mapping[str, str], __: ToolContext) -> PromptResult:
    content = embedded(arguments["resourceUri"], "text/plain", "Embedded resource content for testing.")
    return made({"role": "user", "content": content}, text_message("Please process the embedded resource above."))


async def with_image(_: Execution, __: Mapping[str, str], ___: ToolContext) -> PromptResult:
    return made({"role": "user", "content": IMAGE}, text_message("Please analyze the image above."))
