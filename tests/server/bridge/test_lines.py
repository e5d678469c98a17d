"""Bytes to lines, lines to messages, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesynapse.server.bridge.lines import LineSplitter, Overlong, envelopes, error_line, id_of, one_line, parse
from codesynapse.server.bridge.refusal import Refusal, refusal

MAX_BYTES = 64
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def split(text: bytes, cuts: list[int]) -> list[bytes]:
    """What the splitter makes of a text that arrives in these pieces."""
    splitter, lines, start = LineSplitter(MAX_BYTES), [], 0
    for end in [*sorted(cut % (len(text) + 1) for cut in cuts), len(text)]:
        lines += list(splitter.feed(text[start:end]))
        start = end
    return lines + list(splitter.end())


@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"x" * 40])).map(b"".join),
    st.lists(st.integers(0, 1_000)),
)
def test_any_chunking_gives_the_same_lines(text: bytes, cuts: list[int]) -> None:
    whole = split(text, [])
    assert split(text, cuts) == whole
    assert [type(line) for line in split(text, cuts)] == [type(line) for line in whole]


def test_a_line_loses_its_carriage_return_and_its_mark_and_a_blank_one_is_none() -> None:
    assert split(b"\xef\xbb\xbf{1}\r\n\r\n  \n{2}\nlast", []) == [b"{1}", b"{2}", b"last"]


def test_a_separator_of_unicode_does_not_end_a_line() -> None:
    text = '{"a":"\u2028\u2029\u0085\x0b\x0c"}'.encode()
    assert split(text + b"\n", []) == [text]


def test_a_line_at_the_limit_is_whole_and_one_beyond_it_does_not_spoil_the_next() -> None:
    longest, beyond = b"a" * MAX_BYTES, b"b" * (MAX_BYTES + 1)
    lines = split(b"\xef\xbb\xbf" + longest + b"\r\n" + beyond + b"\n" + b"c" * 500 + b"\nd\n", [70, 90])
    assert [isinstance(line, Overlong) for line in lines] == [False, True, True, False]
    assert (lines[0], lines[3]) == (longest, b"d")
    assert len(lines[2]) == MAX_BYTES


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b'{"id":1,"method":"\xff"}', -32700),
        (b'{"id":1,"params":{"a":"\\ud800"}}', -32700),
        (b"5", -32600),
        (b"[]", -32600),
        (b"[5]", -32600),
        (b'{"id":1,"method":5}', -32600),
        (Overlong(b"{"), -32600),
    ],
)
def test_a_line_that_is_no_message_is_refused_with_the_code_of_its_fault(line: bytes, code: int) -> None:
    with pytest.raises(Refusal) as caught:
        parse(line)
    assert caught.value.error["code"] == code


def test_a_message_knows_its_requests_and_whether_one_calls_a_tool() -> None:
    call = b'{"id":"\\u0061","method":"tools/call","params":{"name":"x","arguments":{"name":"y"}}}'
    message = parse(call)
    assert (message.ids, message.calls_tool, message.subject) == ({b'"a"': b'"\\u0061"'}, True, "x")
    batch = parse(
        b"[" + call + b',{"id":5,"method":"ping"},{"id":"5","method":"ping"},{"method":"n"},{"id":7,"result":1}]'
    )
    assert (set(batch.ids), batch.calls_tool, batch.method) == ({b'"a"', b"5", b'"5"'}, True, "")
    assert not parse(b'{"id":1,"method":"tools/list"}').calls_tool


def test_a_request_without_session_names_its_revision() -> None:
    modern = {"id": 1, "method": "x", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}
    assert parse(json.dumps(modern).encode()).modern == "2026-07-28"
    assert parse(b'{"id":1,"method":"x","params":{"_meta":5}}').modern == ""


def test_a_cancellation_names_its_request() -> None:
    assert parse(b'{"method":"notifications/cancelled","params":{"requestId":"\\u0061"}}').cancels == b'"a"'


def test_an_answer_is_told_from_a_request() -> None:
    answer, error, ask = envelopes(b'[{"id":1,"result":null},{"id":1,"error":{}},{"id":1,"method":"m"}]')
    assert [each.answers for each in (answer, error, ask)] == [True, True, False]
    assert [each.asks for each in (answer, error, ask)] == [False, False, True]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (Overlong(b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"xxxx'), b"7"),
        (Overlong(b'{"id" : "q-1" ,"params":{"a":"xxxx'), b'"q-1"'),
        (Overlong(b'{"params":{"id":8,"a":"}","b":"{\\"id\\":9,'), b"null"),
        (Overlong(b'{"a":"id","b":["id",{"id":3}],"id":12345678901234567890123,'), b"null"),
        (Overlong(b'["id":3,'), b"null"),
        (Overlong(b'{"id":3'), b"null"),
        (b'{"id":4,"params":{"a":"\\ud800"}}', b"4"),
        (b'{"id":4,"method":5}', b"4"),
        (b'{"id":4,', b"null"),
    ],
)
def test_the_id_of_a_line_that_is_no_message_is_read_only_where_it_is_certain(line: bytes, expected: bytes) -> None:
    assert id_of(line) == expected


@given(JSON, st.sampled_from([None, 2]))
def test_whatever_is_written_is_one_line_of_ascii_with_the_same_meaning(value: Any, indent: int | None) -> None:
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent).encode()
    except UnicodeEncodeError:  # a lone surrogate is no UTF-8
        return
    line = one_line(text.replace(b"\n", b"\r\n"))
    assert line.isascii()
    assert b"\n" not in line
    assert b"\r" not in line
    assert json.loads(line) == value


def test_an_error_carries_the_very_bytes_of_the_id() -> None:
    line = error_line(b'"\\u0061"', refusal("kind", "Té"))
    assert line.startswith(b'{"jsonrpc":"2.0","id":"\\u0061","error":')
    assert json.loads(line)["error"]["data"]["code"] == "kind"
