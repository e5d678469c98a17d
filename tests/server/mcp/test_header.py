"""Header values against the body: the base64 form, and what a schema declares (mcp.md, N12 to N14)."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from codesynapse.server.mcp.header import check_parameters, check_value, declarations, decoded


def packed(text: str) -> str:
    return "=?base64?" + base64.b64encode(text.encode()).decode() + "?="


@given(st.text())
def test_every_text_survives_its_base64_form(text: str):
    assert decoded(packed(text)) == text


@pytest.mark.parametrize(
    "literal", ["", "say", "a b", "=?base64?", "?=", "=?BASE64?eA==?=", "=?base64?eA==", "=?Base64?eA==?="]
)
def test_a_value_without_both_markers_is_literal(literal: str):
    assert decoded(literal) == literal


@pytest.mark.parametrize(
    "malformed",
    [
        "=?base64?eA?=",  # No padding.
        "=?base64?eA=?=",
        "=?base64?e A==?=",
        "=?base64?eA==\n?=",
        "=?base64?eA-_?=",  # The other alphabet.
        "=?base64?eB==?=",  # Bits beyond the last byte.
        "=?base64?/w==?=",  # Not UTF-8.
        "=?base64?7aCA?=",  # A lone surrogate.
        "sä",
        "a\x00",
        "a\x7f",
        "\udcff",
    ],
)
def test_a_malformed_value_means_nothing(malformed: str):
    assert decoded(malformed) is None
    assert check_value({"mcp-name": [malformed]}, "mcp-name", "x") is not None


def test_values_are_case_sensitive_and_stand_once():
    assert check_value({"mcp-name": ["Say"]}, "mcp-name", "Say") is None
    for values in ([], ["say"], ["Say", "Say"], ["Say "]):
        assert check_value({"mcp-name": values}, "mcp-name", "Say") is not None, values


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def declared(token: Any = "Region", kind: Any = "string", **more: Any) -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": token, **more}


def test_annotations_are_found_by_properties_alone_however_deep():
    nested = schema(a=declared("A"), b={"type": "object", "properties": {"c": declared("C", "integer")}})
    assert declarations(nested) == {("a",): ("A", "string"), ("b", "c"): ("C", "integer")}


@pytest.mark.parametrize(
    "invalid",
    [
        schema(a=declared("")),
        schema(a=declared("a b")),
        schema(a=declared("a:")),
        schema(a=declared("ä")),
        schema(a=declared(5)),
        schema(a=declared(None)),
        schema(a=declared(kind="number")),
        schema(a=declared(kind="object")),
        schema(a=declared(kind=["string", "null"])),
        schema(a={"x-mcp-header": "A"}),
        schema(a=declared("Same"), b=declared("sAME")),
        {"type": "string", "x-mcp-header": "Root"},
        schema(a={"type": "array", "items": declared()}),
        schema(a={"anyOf": [declared()]}),
        schema() | {"$defs": {"d": declared()}},
        schema() | {"if": schema(a=declared())},
        schema() | {"additionalProperties": declared()},
    ],
)
def test_one_annotation_that_is_not_valid_declares_nothing_at_all(invalid: dict[str, Any]):
    invalid.setdefault("properties", {})["fine"] = declared("Fine")
    assert declarations(invalid) == {}


def test_data_within_a_schema_is_no_annotation():
    assert declarations(schema(a=declared(default={"x-mcp-header": "No"}, examples=[declared("No")]))) == {
        ("a",): ("Region", "string")
    }


def fault(kind: str, value: Any, *values: str) -> str | None:
    headers = {"mcp-param-region": list(values)} if values else {}
    return check_parameters(
        declarations(schema(r=declared(kind=kind))), Raw(json.dumps({"r": value}).encode()), headers
    )


@pytest.mark.parametrize(
    ("kind", "value", "header"),
    [
        ("string", "eu", "eu"),
        ("string", "eü", packed("eü")),
        ("string", " eu ", packed(" eu ")),
        ("string", "=?base64?eA==?=", packed("=?base64?eA==?=")),
        ("string", "", ""),
        ("integer", 42, "42"),
        ("integer", 42, "42.0"),
        ("integer", 42.0, "42"),
        ("integer", -1, "-1"),
        ("integer", 2**53 - 1, "9007199254740991"),
        ("boolean", True, "true"),
        ("boolean", False, "false"),
    ],
)
def test_a_header_that_says_the_same_passes(kind: str, value: object, header: str):
    assert fault(kind, value, header) is None


@pytest.mark.parametrize(
    ("kind", "value", "header"),
    [
        ("string", "eu", "EU"),
        ("string", "42", "42.0"),
        ("integer", 42, "43"),
        ("integer", 42, "42.5"),
        ("integer", 42, "4.2e1"),
        ("integer", 42, "0x2a"),
        ("integer", 42, ""),
        ("boolean", True, "True"),
        ("boolean", True, "1"),
        ("boolean", False, "true"),
    ],
)
def test_a_header_that_says_something_else_is_refused(kind: str, value: object, header: str):
    told = fault(kind, value, header)
    assert told is not None
    assert header == "" or header not in told


def test_a_value_and_its_header_come_together_or_not_at_all():
    assert fault("string", "eu") is not None
    assert fault("string", "eu", "eu", "eu") is not None
    assert fault("string", None) is None
    assert fault("string", None, "eu") is not None
    assert check_parameters(declarations(schema(r=declared())), Raw(b"{}"), {"mcp-param-region": ["eu"]}) is not None
    assert check_parameters(declarations(schema(r=declared())), Raw(b"{}"), {"mcp-param-other": ["eu"]}) is None
    assert check_parameters({}, Raw(b"{}"), {"mcp-param-region": ["eu"]}) is None


@pytest.mark.parametrize("number", ["9" * 400, "-" + "9" * 400, "9" * 5_000, "1e999", "1e308"])
def test_a_number_beyond_all_bounds_is_refused_or_compared_as_it_stands(number: str):
    for kind in ("string", "integer", "boolean"):
        found = declarations(schema(r=declared(kind=kind)))
        arguments = Raw(f'{{"r":{number}}}'.encode())
        assert check_parameters(found, arguments, {"mcp-param-region": ["7"]}) is not None


def test_a_nested_argument_is_looked_up_by_its_path():
    nested = schema(a={"type": "object", "properties": {"b": declared()}})
    assert check_parameters(declarations(nested), Raw(b'{"a":{"b":"eu"}}'), {"mcp-param-region": ["eu"]}) is None
    assert check_parameters(declarations(nested), Raw(b'{"a":5}'), {}) is None
    assert check_parameters(declarations(nested), Raw(b'{"a":{"b":"eu"}}'), {}) is not None


@given(st.integers() | st.floats() | st.booleans() | st.text() | st.none(), st.text(max_size=20))
def test_no_value_and_no_header_break_the_comparison(value: Any, header: str):
    for kind in ("string", "integer", "boolean"):
        text = json.dumps({"r": value}).replace("NaN", "0").replace("-Infinity", "0").replace("Infinity", "0")
        check_parameters(
            declarations(schema(r=declared(kind=kind))), Raw(text.encode()), {"mcp-param-region": [header]}
        )
