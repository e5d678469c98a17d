"""Which era a message belongs to: by its `_meta`, by the header, and by nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesynapse.server.mcp.era import MODERN_VERSIONS, VERSION_KEY, is_modern, named_modern
from codesynapse.server.mcp.messages import Message, parse

DEEPEST = 64


def message(method: str = "tools/list", **params: Any) -> Message:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return parse(json.dumps(body).encode(), deepest=DEEPEST)


@pytest.mark.parametrize(
    ("version", "modern"),
    [
        (None, False),
        ("", False),
        ("2025-03-26", False),
        ("2025-06-18", False),
        ("2025-11-25", False),
        ("2026-07-27", False),
        ("2026-07-28", True),
        ("2026-07-29", True),
        ("2099-01-01", True),
        ("v999.0.0", False),
        ("2026-07-28 ", False),
        ("2026-07-28\n", False),
        ("\u0662026-07-28", False),
        ("DRAFT", False),
    ],
)
def test_a_header_alone_is_modern_from_the_first_stateless_revision_on(version: str | None, modern: bool):
    assert named_modern(version) is modern
    assert is_modern(message(), version) is modern


@pytest.mark.parametrize("version", ["2026-07-28", "1900-01-01", "v999", "", 5, None, {}])
def test_a_version_in_meta_makes_a_message_modern_whatever_it_is(version: object):
    assert is_modern(message(_meta={VERSION_KEY: version}), None)
    assert is_modern(message("initialize", _meta={VERSION_KEY: version}), "2025-11-25")


@pytest.mark.parametrize("meta", [{}, {"progressToken": 1}, "x", 5, None, [VERSION_KEY], {"other": {VERSION_KEY: 1}}])
def test_a_meta_without_a_version_is_not_modern(meta: object):
    assert not is_modern(message(_meta=meta), None)
    assert not is_modern(message("initialize", protocolVersion=MODERN_VERSIONS[0], _meta=meta), "2025-06-18")


def test_an_escaped_key_is_the_same_key():
    key = VERSION_KEY.replace("/", "\\/").replace("v", "\\u0076")
    body = f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{{"{key}":"2026-07-28"}}}}}}'
    assert is_modern(parse(body.encode(), deepest=DEEPEST), None)


def test_notifications_are_told_apart_as_requests_are_and_responses_by_the_header_alone():
    body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"_meta": {VERSION_KEY: "2026-07-28"}}}
    assert is_modern(parse(json.dumps(body).encode(), deepest=DEEPEST), None)
    response = parse(b'{"jsonrpc":"2.0","id":1,"result":{}}', deepest=DEEPEST)
    assert not is_modern(response, None)
    assert is_modern(response, "2026-07-28")


@given(st.recursive(st.none() | st.booleans() | st.text() | st.integers(), lambda inner: st.lists(inner)))
def test_no_meta_breaks_the_decision(meta: object):
    assert not is_modern(message(_meta=meta), None)
