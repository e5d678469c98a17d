"""The shape of what the launcher itself refuses."""

from __future__ import annotations

import pytest

from codesynapse.server.bridge.refusal import Refusal, Unsent, lost, refusal, unreachable


def test_a_refusal_has_the_servers_shape() -> None:
    refused = refusal("kind", "Why.", code=-32600, limit=5)
    assert refused.error == {"code": -32600, "message": "Why.", "data": {"ok": False, "code": "kind", "limit": 5}}
    assert refused.kind == "kind"


@pytest.mark.parametrize("error", [{}, {"data": None}, {"data": "text"}, {"data": {}}])
def test_an_error_without_a_code_of_ours_has_no_kind(error: dict[str, object]) -> None:
    assert Refusal(error).kind is None


def test_a_lost_answer_says_that_the_call_may_have_run() -> None:
    assert "may have run" in lost().error["message"]


def test_what_was_not_sent_knows_what_to_say_in_the_end() -> None:
    assert Unsent(unreachable("Reason"), 2.0).refusal.error["data"]["reason"] == "Reason"
