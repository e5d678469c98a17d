"""Requests and answers as bytes."""

from __future__ import annotations

import msgspec
import pytest

from codesynapse.backends.hugegraph import wire
from codesynapse.contracts.errors import Invalid


def test_a_request_is_untyped_json_behind_its_media_type() -> None:
    sent = wire.request("id-1", "eval", {"gremlin": "1", "bindings": {"n": [1, None, "x"]}})
    assert sent[:17] == b"\x10application/json"
    assert msgspec.json.decode(sent[17:]) == {
        "requestId": "id-1",
        "processor": "",
        "op": "eval",
        "args": {"gremlin": "1", "bindings": {"n": [1, None, "x"]}},
    }


@pytest.mark.parametrize("text", ["é" * 100, "\u2028" * 100, "\U0001f9e0" * 100])
def test_no_character_is_longer_than_in_utf_8(text: str) -> None:
    empty = wire.request("id-1", "eval", {"bindings": {"text": ""}})
    assert len(wire.request("id-1", "eval", {"bindings": {"text": text}})) - len(empty) == len(text.encode())


def test_a_lone_surrogate_cannot_be_sent() -> None:
    with pytest.raises(Invalid):
        wire.request("id-1", "eval", {"bindings": {"text": "\ud800"}})


def test_an_answer_is_read_with_what_it_says_beside_left_out() -> None:
    frame = b'{"requestId":"a","status":{"message":"","code":206,"attributes":{}},"result":{"data":[1,"x"],"meta":{}}}'
    found = wire.answer(frame)
    assert (found.request_id, found.status.code, found.result.data) == ("a", 206, [1, "x"])


@pytest.mark.parametrize("frame", [b"", b"{}", b'{"status":{"code":"x"},"result":{}}', b"\xff"])
def test_what_is_no_answer_is_an_error(frame: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        wire.answer(frame)
