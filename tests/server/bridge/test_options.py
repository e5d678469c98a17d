"""Whether the launcher may start, and under which id."""

from __future__ import annotations

import pytest

from codesynapse.contracts.requirements import requirement
from codesynapse.server.bridge.options import BridgeOptions, Misconfigured, check, sessions_url

GIVEN = {"url": "http://127.0.0.1:8420/mcp", "api_key": "csk_x", "session_id": "chat-1"}


def options(**changes: object) -> BridgeOptions:
    return BridgeOptions(**{**GIVEN, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "variable"),
    [
        ({"api_key": None}, "CODESYNAPSE_API_KEY"),
        ({"api_key": "two words"}, "CODESYNAPSE_API_KEY"),
        ({"api_key": "csk\nx"}, "CODESYNAPSE_API_KEY"),
        ({"session_id": None}, "CODESYNAPSE_SESSION_ID"),
        ({"session_id": ""}, "CODESYNAPSE_SESSION_ID"),
        ({"session_id": "chat 1"}, "CODESYNAPSE_SESSION_ID"),
        ({"session_id": "chat\n"}, "CODESYNAPSE_SESSION_ID"),
        ({"session_id": "x" * 129}, "CODESYNAPSE_SESSION_ID"),
        ({"parent_session_id": "chat-2"}, "CODESYNAPSE_PARENT_SESSION_ID"),
        ({"session_id": None, "parent_session_id": "chat-2"}, "CODESYNAPSE_PARENT_SESSION_ID"),
        ({"session_id": None, "parent_session_id": "chat-2", "new_thread": True}, "CODESYNAPSE_PARENT_SESSION_ID"),
        ({"url": "127.0.0.1:8420/mcp"}, "--url"),
        ({"url": "file:///mcp"}, "--url"),
    ],
)
def test_what_is_missing_or_wrong_is_named_and_not_repeated(changes: dict[str, object], variable: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        check(options(**changes))
    assert str(caught.value).startswith(variable)
    for value in changes.values():
        assert not isinstance(value, str) or not value or value not in str(caught.value)


def test_the_id_that_the_runtime_gives_is_used_as_it_is() -> None:
    assert check(options()) == "chat-1"
    assert check(options(parent_session_id="chat-1")) == "chat-1"


@requirement("bridge:new-thread")
def test_an_id_is_made_up_only_on_request_and_only_where_the_runtime_gives_none() -> None:
    assert check(options(new_thread=True)) == "chat-1"
    first, second = (check(options(session_id=None, new_thread=True)) for _ in range(2))
    assert first.startswith("thread-")
    assert first != second


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8420/mcp", "http://127.0.0.1:8420/api/v1/execution/sessions"),
        ("http://127.0.0.1:8420/mcp/", "http://127.0.0.1:8420/api/v1/execution/sessions"),
        ("https://h.example/memory/mcp?toolsets=graph", "https://h.example/memory/api/v1/execution/sessions"),
        ("http://[::1]:8420", "http://[::1]:8420/api/v1/execution/sessions"),
    ],
)
def test_sessions_are_registered_beside_the_endpoint(url: str, expected: str) -> None:
    assert sessions_url(url) == expected
