"""Envelopes: what is a message, what is refused and how, and that what goes out is ASCII."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from codesynapse.server.mcp.messages import (
    ID_MAX_BYTES,
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_ID,
    PARSE_ERROR,
    Notification,
    ProtocolError,
    Request,
    RequestId,
    Response,
    ascii_safe,
    check_depth,
    error_bytes,
    is_batch,
    notification_bytes,
    parse,
    parse_batch,
    result_bytes,
)

MARK = "q7MARKq7"


def refused(body: bytes, deepest: int = 64) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        parse(body, deepest=deepest)
    assert MARK not in caught.value.text
    return caught.value


def request(raw_id: str) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + raw_id.encode() + b',"method":"ping"}'


def test_a_request_keeps_method_and_parameters_raw():
    message = parse(b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":[1]}}', deepest=64)
    assert isinstance(message, Request)
    assert (message.id, message.method, bytes(message.params)) == (b"7", "m", b'{"a":[1]}')


@pytest.mark.parametrize("raw_id", ["1", "-1", "0", '"1"', '""', '"a b"', "999999999999999999", '"\\u00e9"', " 1 "])
def test_an_id_that_is_a_string_or_an_integer_keeps_its_very_bytes(raw_id: str):
    message = parse(request(raw_id), deepest=64)
    assert isinstance(message, Request)
    assert message.id == raw_id.strip().encode()


@pytest.mark.parametrize("raw_id", ["null", "1.5", "1e3", "true", "{}", "[]", "01", "1" * 20, '"' + MARK * 200 + '"'])
def test_any_other_id_is_an_invalid_request_without_an_id(raw_id: str):
    error = refused(request(raw_id))
    assert error.request_id == NO_ID
    if raw_id != "01":
        assert error.code == INVALID_REQUEST
        assert str(ID_MAX_BYTES) in error.text
    else:
        assert error.code == PARSE_ERROR


def test_without_an_id_it_is_a_notification():
    assert isinstance(parse(b'{"jsonrpc":"2.0","method":"m"}', deepest=64), Notification)


@pytest.mark.parametrize(
    ("member", "result"), [('"result":{}', Raw(b"{}")), ('"error":{"code":1,"message":"x"}', None)]
)
def test_an_id_with_a_result_or_an_error_is_a_response(member: str, result: Raw | None):
    assert parse(f'{{"jsonrpc":"2.0","id":"a",{member}}}'.encode(), deepest=64) == Response(RequestId(b'"a"'), result)


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
        b'{"jsonrpc":"2.0","result":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":5}',
        b'{"jsonrpc":"2.0","id":1,"method":null}',
        b'{"jsonrpc":"1.0","id":1,"method":"m"}',
        b'{"jsonrpc":2.0,"id":1,"method":"m"}',
        b'{"id":1,"method":"m"}',
    ],
)
def test_an_envelope_that_is_not_of_json_rpc_2_is_an_invalid_request(body: bytes):
    error = refused(body)
    assert error.code == INVALID_REQUEST
    assert error.request_id == (b"1" if b'"id"' in body else NO_ID)


@pytest.mark.parametrize("body", [b"[]", b"1", b'"x"', b"null", b"true", b"[{}]"])
def test_what_is_no_object_is_an_invalid_request(body: bytes):
    assert refused(body).code == INVALID_REQUEST


@pytest.mark.parametrize("params", [b"[1]", b"null", b'"x"', b"3"])
def test_parameters_that_are_no_object_are_invalid_and_the_id_is_kept(params: bytes):
    error = refused(b'{"jsonrpc":"2.0","id":5,"method":"m","params":' + params + b"}")
    assert (error.code, error.request_id) == (INVALID_PARAMS, b"5")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nope",
        b"{'a':1}",
        b'{"jsonrpc":"2.0","id":1,"method":"m"} x',
        request('"\xff"').replace(b"\xc3\xbf", b"\xff"),
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","\xff":1}',
        request('"\\ud800"'),
        b'{"jsonrpc":"2.0","id":1,"method":"\\udc00"}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\\q"}}',
        "{}".encode("utf-16"),
    ],
)
def test_what_is_not_json_in_utf_8_is_a_parse_error(body: bytes):
    error = refused(body)
    assert (error.code, error.request_id) == (PARSE_ERROR, NO_ID)


def nested(depth: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":' + b"[" * depth + b"]" * depth + b"}}"


def test_nesting_up_to_the_limit_passes_and_one_more_is_refused_with_the_limit():
    parse(nested(62), deepest=64)
    error = refused(nested(63))
    assert (error.code, "Limit: 64" in error.text) == (INVALID_REQUEST, True)


def test_brackets_within_strings_do_not_nest():
    body = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"' + b'[{\\"[' * 100 + b'"}}'
    assert isinstance(parse(body, deepest=64), Request)


@pytest.mark.parametrize("ending", [b"", b"\\"])
def test_a_string_without_an_end_is_looked_at_once(ending: bytes):
    # Quadratic work on these two megabytes would be hours, not a matter of the machine.
    check_depth(b"[" * 60 + b'"' + b'\\"[' * 1_000_000 + ending, 64)


@given(st.text(alphabet='[]{}"\\a', max_size=40), st.integers(0, 5))
def test_the_depth_is_that_of_a_slow_reading(text: str, deepest: int):
    depth, most, within, escaped = 0, 0, False, False
    for character in text:
        if within:
            within = escaped or character != '"'
            escaped = not escaped and character == "\\"
        elif character == '"':
            within = True
        elif character in "[{":
            depth += 1
            most = max(most, depth)
        elif character in "]}":
            depth -= 1
    if most > deepest:
        with pytest.raises(ProtocolError):
            check_depth(text.encode(), deepest)
    else:
        check_depth(text.encode(), deepest)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_protocol_error(body: bytes):
    with suppress(ProtocolError):
        parse(body, deepest=8)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("jsonrpc", "id", "method", "params", "result"), JSON)))
def test_any_object_is_a_message_or_an_error_that_can_be_answered(fields: dict[str, Any]):
    try:
        message = parse(json.dumps(fields).encode(), deepest=64)
    except ProtocolError as error:
        answer = json.loads(error_bytes(error.request_id, error.code, error.text))
        assert answer["id"] in (None, fields.get("id"))
    else:
        assert not isinstance(message, Request) or json.loads(message.id) == fields["id"]


def test_of_a_repeated_key_the_last_one_counts():
    message = parse(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}', deepest=64)
    assert isinstance(message, Request)
    assert (message.id, message.method) == (b"2", "b")


def test_a_batch_serves_its_good_messages_and_keeps_the_errors_in_place():
    body = b'[{"jsonrpc":"2.0","id":1,"method":"m"}, 5, {"jsonrpc":"2.0","method":"n"}]'
    first, second, third = parse_batch(body, deepest=64, most=3)
    assert isinstance(first, Request)
    assert isinstance(second, ProtocolError)
    assert isinstance(third, Notification)


@pytest.mark.parametrize("count", [0, 4])
def test_a_batch_is_refused_when_empty_or_too_long_with_the_limit(count: int):
    with pytest.raises(ProtocolError, match="Limit: 3") as caught:
        parse_batch(b"[" + b",".join([b"{}"] * count) + b"]", deepest=64, most=3)
    assert caught.value.code == INVALID_REQUEST


@pytest.mark.parametrize("body", [b'[{"a":"\xff"}]', b"[1", b"[1,]"])
def test_a_batch_that_is_not_json_is_one_parse_error(body: bytes):
    with pytest.raises(ProtocolError) as caught:
        parse_batch(body, deepest=64, most=3)
    assert caught.value.code == PARSE_ERROR


def test_each_message_of_a_batch_may_nest_as_deeply_as_one_alone():
    (message,) = parse_batch(b"[" + nested(62) + b"]", deepest=64, most=3)
    assert isinstance(message, Request)
    with pytest.raises(ProtocolError, match="Limit"):
        parse_batch(b"[" + nested(63) + b"]", deepest=64, most=3)


def test_an_array_is_a_batch_whatever_blanks_precede_it():
    assert is_batch(b" \r\n\t[")
    assert not is_batch(b' {"a":[]}')


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_goes_out_is_ascii_and_says_the_same(text: str):
    raw = result_bytes(RequestId(b'"i"'), {"text": text})
    assert raw.isascii()
    assert json.loads(raw) == {"jsonrpc": "2.0", "id": "i", "result": {"text": text}}


def test_separators_that_end_lines_for_some_are_escaped():
    assert ascii_safe("\u2028\u2029\u0085\U0001f600".encode()) == b"\\u2028\\u2029\\u0085\\ud83d\\ude00"


def test_an_id_beyond_ascii_is_answered_in_ascii():
    assert json.loads(result_bytes(RequestId('"é"'.encode()), {}))["id"] == "é"


def test_an_error_names_its_code_its_text_and_its_data_if_any():
    assert json.loads(error_bytes(NO_ID, -1, "t")) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -1, "message": "t"},
    }
    assert json.loads(error_bytes(NO_ID, -1, "t", {"a": 1}))["error"]["data"] == {"a": 1}


def test_a_notification_has_no_id():
    assert json.loads(notification_bytes("m", {"a": 1})) == {"jsonrpc": "2.0", "method": "m", "params": {"a": 1}}


def test_parameters_that_are_absent_are_an_empty_object():
    message = parse(request("1"), deepest=64)
    assert isinstance(message, Request)
    assert message.params == Raw(b"{}")
