"""`requestState`: whose it is, how long it holds, and what counts as an answer (mcp.md, N24)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, structs

from codesynapse.contracts.identity import Identity, Millis
from codesynapse.server.mcp.messages import ProtocolError, RequestId
from codesynapse.server.mcp.seal import Seal
from codesynapse.server.mcp.state import STATE_MAX, Rounds, acceptable, opened

SEAL = Seal(b"k" * 32)
ANA = Identity(tenant_id="acme", subject_id="ana", session_id="s", parent_session_id="s")
NOW = 1_800_000_000_000
YES = {"action": "accept", "content": {"name": "Ana"}}


def open_(identity: Identity = ANA, now_ms: int = NOW, method: str = "tools/call", **params: Any) -> Rounds:
    return opened(
        SEAL,
        request_id=RequestId(b"7"),
        method=method,
        params=Raw(json.dumps({"name": "t", "arguments": {"a": 1}, **params}).encode()),
        identity=identity,
        now_ms=Millis(now_ms),
    )


def sealed(rounds: Rounds, *asked: str) -> str:
    return rounds.sealed(SEAL, asked, Millis(NOW + 1_000))


STATE = sealed(open_(), "who")


def test_an_answer_comes_back_with_the_state_that_asked_for_it():
    assert open_(requestState=STATE, inputResponses={"who": YES}).answers == {"who": YES}


def test_the_answers_of_all_rounds_travel_in_the_state():
    second = open_(requestState=STATE, inputResponses={"who": YES})
    state = sealed(second, "colour")
    assert state != STATE
    third = open_(requestState=state, inputResponses={"colour": YES, "who": {"action": "decline"}})
    assert third.answers == {"who": YES, "colour": YES}


def test_what_was_not_asked_is_no_answer_and_what_is_missing_is_none():
    assert open_(requestState=STATE, inputResponses={"other": YES}).answers == {}
    assert open_(requestState=STATE).answers == {}
    assert open_(requestState=STATE, inputResponses={"who": "yes"}).answers == {}


def test_without_a_state_a_client_may_say_beforehand_what_it_will_be_asked():
    assert open_(inputResponses={"who": YES, "other": "no"}).answers == {"who": YES}


def test_the_meta_of_a_later_round_may_differ():
    assert open_(requestState=STATE, inputResponses={"who": YES}, _meta={"progressToken": 9}).answers == {"who": YES}


@pytest.mark.parametrize(
    "change",
    [
        {"identity": structs.replace(ANA, tenant_id="other")},
        {"identity": structs.replace(ANA, subject_id="ben")},
        {"identity": structs.replace(ANA, session_id="z", parent_session_id="z")},
        {"method": "prompts/get"},
        {"name": "u"},
        {"arguments": {"a": 2}},
        {"arguments": {"a": 1, "b": 1}},
        {"more": 1},
        {"now_ms": NOW + 1_000},
        {"now_ms": NOW + 10_000_000},
        {"requestState": ""},
        {"requestState": "x"},
        {"requestState": STATE[:-1]},
        {"requestState": STATE + "AAAA"},
        {"requestState": STATE.swapcase()},
        {"requestState": Seal(b"j" * 32).seal(b"{}", b"")},
        {"requestState": "A" * (STATE_MAX + 4)},
    ],
)
def test_a_state_that_is_foreign_changed_or_expired_is_refused(change: dict[str, Any]):
    with pytest.raises(ProtocolError) as raised:
        open_(**{"requestState": STATE, "inputResponses": {"who": YES}, **change})
    assert (raised.value.code, raised.value.request_id) == (-32602, b"7")


@given(st.integers(0, len(STATE) - 1), st.characters())
def test_no_changed_character_goes_unnoticed_in_what_it_says(place: int, character: str):
    changed = STATE[:place] + character + STATE[place + 1 :]
    try:
        answers = open_(requestState=changed, inputResponses={"who": YES}).answers
    except ProtocolError:
        return
    # Base64 has more than one text for the same bytes at its end.
    assert answers == {"who": YES}


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 5_000])
@pytest.mark.parametrize("member", ["arguments", "more"])
def test_a_number_that_nothing_can_hold_is_refused_wherever_it_stands(number: str, member: str):
    params = Raw(f'{{"name":"t","{member}":{{"a":{number}}}}}'.encode())
    first = Rounds(method="tools/call", params=params, identity=ANA, answers={})
    with pytest.raises(ProtocolError) as raised:
        sealed(first, "who")
    assert raised.value.code == -32602
    later = Raw(bytes(params)[:-1] + f',"requestState":"{STATE}"}}'.encode())
    with pytest.raises(ProtocolError) as raised:
        opened(SEAL, request_id=RequestId(b"7"), method="tools/call", params=later, identity=ANA, now_ms=Millis(NOW))
    assert raised.value.code == -32602


@pytest.mark.parametrize("params", [{"requestState": 5}, {"inputResponses": []}, {"inputResponses": "x"}])
def test_members_of_another_type_are_refused(params: dict[str, Any]):
    with pytest.raises(ProtocolError) as raised:
        open_(**params)
    assert raised.value.code == -32602


def test_answers_that_have_grown_too_long_are_refused_with_the_limit():
    long = open_(requestState=STATE, inputResponses={"who": {"action": "accept", "content": {"name": "x" * STATE_MAX}}})
    with pytest.raises(ProtocolError, match=str(STATE_MAX)):
        sealed(long, "next")


def test_a_state_names_nobody():
    plain = repr(STATE.encode()) + STATE
    assert not any(name in plain for name in ("acme", "ana"))


FORM = {
    "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer"},
            "sure": {"type": "boolean"},
            "colour": {"type": "string", "enum": ["red"]},
        },
        "required": ["name"],
    }
}


@pytest.mark.parametrize(
    ("answer", "fits"),
    [
        ({"action": "decline"}, True),
        ({"action": "cancel"}, True),
        ({"action": "accept", "content": {"name": "Ana"}}, True),
        ({"action": "accept", "content": {"name": "Ana", "age": 3, "sure": True, "colour": "red", "more": []}}, True),
        ({"action": "accept"}, False),
        ({"action": "accept", "content": {}}, False),
        ({"action": "accept", "content": {"name": 5}}, False),
        ({"action": "accept", "content": {"name": "Ana", "age": True}}, False),
        ({"action": "accept", "content": {"name": "Ana", "sure": 1}}, False),
        ({"action": "accept", "content": {"name": "Ana", "colour": "blue"}}, False),
        ({"action": "accept", "content": []}, False),
        ({"action": "agree", "content": {"name": "Ana"}}, False),
        ({}, False),
    ],
)
def test_a_form_must_be_filled_in_as_it_says(answer: dict[str, Any], fits: bool):
    assert acceptable("elicitation/create", FORM, answer) is fits


def test_a_page_needs_no_content_and_the_other_answers_their_members():
    assert acceptable("elicitation/create", {"mode": "url"}, {"action": "accept"})
    assert acceptable("sampling/createMessage", {}, {"role": "assistant", "content": {}, "model": "m"})
    assert not acceptable("sampling/createMessage", {}, {"role": "user", "content": {}})
    assert acceptable("roots/list", {}, {"roots": []})
    assert not acceptable("roots/list", {}, {})
