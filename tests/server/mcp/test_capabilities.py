"""What a client may be asked follows from what it declared."""

from __future__ import annotations

from typing import Any

import pytest

from codesynapse.server.mcp.capabilities import client_capabilities, lacking, required_of

FORM, URL = ("elicitation/create", {}), ("elicitation/create", {"mode": "url"})
SAMPLE, WITH_TOOLS = ("sampling/createMessage", {}), ("sampling/createMessage", {"tools": []})


@pytest.mark.parametrize(
    ("declared", "kept"),
    [
        ({}, {}),
        ({"elicitation": {}}, {"elicitation": {"form": {}}}),
        ({"elicitation": {"url": {}, "x": {}}}, {"elicitation": {"url": {}}}),
        ({"sampling": {"tools": {}}, "roots": {"listChanged": True}}, {"sampling": {"tools": {}}, "roots": {}}),
        ({"elicitation": True, "experimental": {"a": {}}, "tasks": {}}, {}),
        ([], {}),
        (None, {}),
    ],
)
def test_only_what_decides_anything_is_kept(declared: object, kept: dict[str, Any]):
    assert client_capabilities(declared) == kept


@pytest.mark.parametrize(
    ("declared", "requests", "lacks"),
    [
        ({}, [FORM], {"elicitation": {}}),
        ({}, [FORM, SAMPLE, ("roots/list", {})], {"elicitation": {}, "sampling": {}, "roots": {}}),
        ({"elicitation": {"form": {}}}, [FORM], {}),
        ({"elicitation": {}}, [FORM], {}),
        ({"elicitation": {"form": {}}}, [URL], {"elicitation": {"url": {}}}),
        ({"elicitation": {"url": {}}}, [URL], {}),
        ({"elicitation": {"url": {}}}, [FORM], {"elicitation": {"form": {}}}),
        ({"sampling": {}}, [SAMPLE], {}),
        ({"sampling": {}}, [WITH_TOOLS], {"sampling": {"tools": {}}}),
        ({"sampling": {"tools": {}}, "roots": {}}, [WITH_TOOLS, ("roots/list", {})], {}),
    ],
)
def test_a_question_needs_what_was_declared_for_it(declared: Any, requests: Any, lacks: dict[str, Any]):
    assert lacking(declared, required_of(requests)) == lacks
