"""From raw arguments to a struct: each refusal names field and limit, and never what was sent."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from codesynapse.contracts.errors import Invalid
from codesynapse.server.tools.arguments import decode_arguments
from codesynapse.server.tools.graph import RecallArguments, SearchArguments, SubgraphArguments, UpsertArguments

MARK = "q7MARKq7"


class Inner(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=3)]


class Outer(Struct, forbid_unknown_fields=True, kw_only=True):
    count: Annotated[int, Meta(ge=1, le=5)]
    kind: Literal["a", "b"] = "a"
    kinds: Annotated[list[Literal["c d", "e"]], Meta(max_length=2)] = []
    more: Annotated[int, Meta(ge=0)] | None = None
    word: Annotated[str, Meta(pattern="^[a-z]+$")] = "x"
    inner: list[Inner] = []
    table: dict[str, int] = {}


def refusal(raw: bytes, kind: type[Struct] = Outer) -> tuple[str | None, str | int | None]:
    with pytest.raises(Invalid) as caught:
        decode_arguments(raw, kind)
    assert MARK not in str(caught.value)
    return caught.value.field, caught.value.limit


@pytest.mark.parametrize("kind", [UpsertArguments, RecallArguments])
def test_a_wrong_memory_scope_is_told_both(kind: type[Struct]):
    field, limit = refusal(b'{"memory_scope":"q7MARKq7"}', kind)
    assert (field, sorted(str(limit).removeprefix("one of ").split(", "))) == (
        "memory_scope",
        ["repository", "session"],
    )


def test_what_is_right_is_decoded():
    assert decode_arguments(b'{"count":1,"inner":[{"name":"x"}]}', Outer) == Outer(count=1, inner=[Inner("x")])


@pytest.mark.parametrize(
    ("raw", "field", "limit"),
    [
        ("{}", "count", "required"),
        ('{"count":0}', "count", ">= 1"),
        ('{"count":6}', "count", "<= 5"),
        ('{"count":"q7MARKq7"}', "count", "int"),
        ('{"count":1.5}', "count", "int"),
        ('{"count":true}', "count", "int"),
        ('{"count":null}', "count", "int"),
        ('{"count":1,"kind":"q7MARKq7"}', "kind", "one of a, b"),
        ('{"count":1,"kinds":["c"]}', "kinds[0]", "one of c d, e"),
        ('{"count":1,"kind":"q7MARKq7\' - at `$.count"}', "kind", "one of a, b"),
        ('{"count":1,"kinds":["e","e","e"]}', "kinds", "<= 2 items"),
        ('{"count":' + "9" * 5_000 + "}", "count", "1 to 5"),
        ('{"count":1e400}', "count", "1 to 5"),
        ('{"count":1,"more":' + "9" * 5_000 + "}", "more", "a number of 64 bits"),
        ('{"count":1,"inner":[{"name":""}]}', "inner[0].name", ">= 1 characters"),
        ('{"count":1,"word":"q7MARKq7"}', "word", "^[a-z]+$"),
        ('{"count":1,"inner":[{"name":"x"},{"name":"q7MARKq7"}]}', "inner[1].name", "<= 3 characters"),
        ('{"count":1,"inner":[{}]}', "inner[0].name", "required"),
        ('{"count":1,"inner":[{"name":"x","q7MARKq7":1}]}', "inner[0]", "only name"),
        ('{"count":1,"inner":{"q7MARKq7":1}}', "inner", "array"),
        ('{"count":1,"q7MARKq7":1}', "arguments", "only count, kind, kinds, more, word, inner, table"),
        ('{"count":1,"table":{"q7MARKq7":"x"}}', "table", "int"),
        ('"q7MARKq7"', "arguments", "object"),
        ("[1]", "arguments", "object"),
    ],
)
def test_a_refusal_names_the_field_and_what_it_may_be(raw: str, field: str, limit: str):
    assert refusal(raw.encode()) == (field, limit)


@pytest.mark.parametrize(
    "name",
    [
        "x` - at `$.q7MARKq7",
        "x` - at `$.inner[0].q7MARKq7",
        "x` - at `$",
        "` - at `$.count",
        "q7MARKq7` - at `$.table[...]",
    ],
)
def test_the_name_of_an_unknown_field_cannot_pose_as_a_path(name: str):
    field, limit = refusal(json.dumps({"count": 1, name: 1}).encode())
    assert field in ("arguments", "count", "table")
    assert str(limit).startswith(("only", "none"))


@pytest.mark.parametrize(
    "raw",
    [b"{", b'{"count":\xff}', b'{"word":"\\ud800","count":1}', b'{"word":"\xff","count":1}', b'{"\\udc00":1}', b""],
)
def test_what_is_not_json_in_utf_8_is_refused_as_a_whole(raw: bytes):
    assert refusal(raw) == ("arguments", "valid JSON in UTF-8 without lone surrogates")


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KINDS = [UpsertArguments, RecallArguments, SearchArguments, SubgraphArguments]
KEYS = sorted({name for kind in KINDS for name in kind.__struct_fields__})


@given(st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), JSON), st.sampled_from(KINDS))
def test_any_arguments_are_decoded_or_refused_by_a_field_of_ours(given_fields: dict[str, Any], kind: type[Struct]):
    try:
        decode_arguments(json.dumps(given_fields).encode(), kind)
    except Invalid as error:
        first = str(error.field).partition("[")[0].partition(".")[0]
        known = {"arguments", *kind.__struct_fields__}
        if first not in known:
            raise AssertionError(f"{error.field} is none of our names") from error


@given(st.binary(max_size=60))
def test_any_bytes_are_decoded_or_refused(raw: bytes):
    with pytest.raises(Invalid):
        decode_arguments(b"\xfe" + raw, RecallArguments)
