"""What a request says of its sender, header by header."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from codesynapse.contracts.accounts import Authority, Caller
from codesynapse.contracts.errors import ExecutionMissing, HeaderInvalid, SessionRevoked
from codesynapse.server.http.requests import (
    accepts_stream,
    bearer,
    check_claim,
    execution,
    execution_claim,
    may_stream,
    single,
)
from codesynapse.server.sessions.registry import PARENT_HEADER, SESSION_HEADER, Claim

CALLER = Caller(tenant_id="t", subject_id="u", key_id="k")


def headers(*pairs: tuple[str, str]) -> CIMultiDictProxy[str]:
    return CIMultiDictProxy(CIMultiDict(pairs))


@pytest.mark.parametrize("value", ["Bearer x", "bearer x", "BEARER  x "])
def test_a_bearer_token_is_read_whatever_the_case_of_its_scheme(value: str):
    assert bearer(headers(("authorization", value))) == "x"


@pytest.mark.parametrize("values", [[], ["Basic x"], ["x"], ["Bearer x", "Bearer x"], ["Bearer x", "Bearer y"]])
def test_no_bearer_token_or_two_are_none(values: list[str]):
    assert not bearer(headers(*(("Authorization", value) for value in values)))


def test_a_header_stands_at_most_once():
    assert single(headers(), "A") is None
    assert single(headers(("a", "1")), "A") == "1"
    with pytest.raises(HeaderInvalid, match="Field: A"):
        single(headers(("a", "1"), ("A", "1")), "A")


def test_the_two_execution_headers_are_a_claim():
    assert execution_claim(headers((SESSION_HEADER, "s"), (PARENT_HEADER, "s"))) == Claim(session_id="s")
    assert execution_claim(headers()) == Claim()


@pytest.mark.parametrize(
    ("pairs", "error", "field"),
    [
        ([(SESSION_HEADER, "s")], ExecutionMissing, PARENT_HEADER),
        ([(PARENT_HEADER, "s")], ExecutionMissing, SESSION_HEADER),
        ([(SESSION_HEADER, "s"), (PARENT_HEADER, "p")], HeaderInvalid, PARENT_HEADER),
        ([(SESSION_HEADER, "s"), (SESSION_HEADER, "s"), (PARENT_HEADER, "s")], HeaderInvalid, SESSION_HEADER),
        ([(SESSION_HEADER, "s"), (PARENT_HEADER, "s"), (PARENT_HEADER, "s")], HeaderInvalid, PARENT_HEADER),
        ([(SESSION_HEADER, "a b"), (PARENT_HEADER, "a b")], HeaderInvalid, SESSION_HEADER),
        ([(SESSION_HEADER, ""), (PARENT_HEADER, "")], HeaderInvalid, SESSION_HEADER),
        ([(SESSION_HEADER, "x" * 129), (PARENT_HEADER, "x" * 129)], HeaderInvalid, SESSION_HEADER),
        ([(SESSION_HEADER, "\udcff"), (PARENT_HEADER, "\udcff")], HeaderInvalid, SESSION_HEADER),
    ],
)
def test_a_fault_of_the_execution_headers_names_the_header(
    pairs: list[tuple[str, str]], error: type[Exception], field: str
):
    said = execution_claim(headers(*pairs))
    assert said.session_id is None
    with pytest.raises(error, match=f"Field: {field}"):
        check_claim(Authority(caller=CALLER), said)


def test_the_refusal_of_a_session_is_raised_once_the_claim_is_checked():
    check_claim(Authority(caller=CALLER), Claim())
    with pytest.raises(SessionRevoked):
        check_claim(Authority(caller=CALLER, refusal=SessionRevoked()), Claim(session_id="s"))


def test_without_a_binding_there_is_no_execution():
    with pytest.raises(ExecutionMissing):
        execution(Authority(caller=CALLER), Claim())


@pytest.mark.parametrize(
    ("accept", "streamed"),
    [
        ("application/json, text/event-stream", True),
        ("text/event-stream", True),
        ("TEXT/Event-Stream;q=0.5", True),
        ("text/event-stream;q=0, application/json", False),
        ("text/event-stream ; q = 0.000", False),
        ("text/event-stream;q=0.001", True),
        ("application/json", False),
        ("*/*", False),
        ("text/*", False),
        ("", False),
        ("text/event-stream-x", False),
        ("x" * 2_000 + ", text/event-stream", False),
    ],
)
def test_a_call_is_streamed_to_who_names_streams_and_does_not_refuse_them(accept: str, streamed: bool):
    assert accepts_stream({"Accept": accept}) == streamed


def test_silence_about_what_is_accepted_streams_no_call():
    assert not accepts_stream({})


@pytest.mark.parametrize(
    ("accept", "streamed"),
    [
        ("text/event-stream", True),
        ("TEXT/EVENT-STREAM", True),
        ("*/*", True),
        ("text/*", True),
        ("application/json", False),
        ("application/*", False),
        ("*/*;q=0", False),
        ("text/event-stream;q=0, */*", False),
        ("", False),
    ],
)
def test_a_get_streams_to_who_does_not_rule_it_out(accept: str, streamed: bool):
    assert may_stream({"Accept": accept}) == streamed
    assert may_stream({})
