"""Requests for input over several rounds: what a client was asked and has answered, sealed into `requestState`.

Nothing of it is kept here between two rounds: the state comes back with the client's next request. It is bound to
the execution and to the request's own digest, and it expires; what was changed, or is another's, is refused.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from codesynapse.contracts.identity import Identity, Millis
from codesynapse.server.mcp.messages import INVALID_PARAMS, ProtocolError, RequestId
from codesynapse.server.mcp.seal import Seal

STATE_MAX: Final = 65_536
"""The longest `requestState`, in characters, and so what all answers of a request may come to."""
_SHARED: Final = frozenset({"_meta", "inputResponses", "requestState"})
_encode = msgspec.json.Encoder().encode
_canonical = msgspec.json.Encoder(order="deterministic").encode
Answers = dict[str, dict[str, Any]]


class State(Struct, frozen=True, kw_only=True):
    """asked: the keys of the round before. answers: of all rounds, by their keys."""

    expires_at_ms: int
    asked: tuple[str, ...] = ()
    answers: Answers = {}


class _Params(Struct):
    inputResponses: dict[str, Raw] | None = None
    requestState: str | None = None


_decode = msgspec.json.Decoder(_Params).decode
_decode_state = msgspec.json.Decoder(State).decode
_decode_answer = msgspec.json.Decoder(dict[str, Any]).decode
_decode_members = msgspec.json.Decoder(dict[str, Any]).decode


class Rounds(Struct, frozen=True, kw_only=True):
    """One request's rounds so far. answers: what the client has said in all of them."""

    method: str
    params: Raw
    identity: Identity
    answers: Answers

    def sealed(self, seal: Seal, asked: tuple[str, ...], expires_at_ms: Millis) -> str:
        """The state of another round. Raises ProtocolError where the answers have grown too long."""
        state = State(expires_at_ms=expires_at_ms, asked=asked, answers=self.answers)
        text = seal.seal(_encode(state), _context(self.method, self.params, self.identity))
        if len(text) > STATE_MAX:
            raise ProtocolError(INVALID_PARAMS, f"The answers are too long. Limit: {STATE_MAX} characters in all.")
        return text


def opened(
    seal: Seal, *, request_id: RequestId, method: str, params: Raw, identity: Identity, now_ms: Millis
) -> Rounds:
    """The rounds that a request continues, or its first. Raises ProtocolError for a state that is not its own.

    With a state, only what it asked for counts as an answer, and other keys are passed over. Without one, all count: a
    client may say beforehand what it will be asked (the suite's `input-required-result-ignore-extra-params`), since an
    answer is its own word either way.
    """
    try:
        told = _decode(params)
    except msgspec.DecodeError:
        text = "inputResponses must be an object and requestState a string."
        raise ProtocolError(INVALID_PARAMS, text, request_id) from None
    given = told.inputResponses or {}
    if told.requestState is None:
        answers = _answers(given, tuple(given))
    else:
        state = _state(seal, told.requestState, _context(method, params, identity))
        if state is None or now_ms >= state.expires_at_ms:
            raise ProtocolError(INVALID_PARAMS, "requestState is not one of this request, or has expired.", request_id)
        answers = {**state.answers, **_answers(given, state.asked)}
    return Rounds(method=method, params=params, identity=identity, answers=answers)


def _state(seal: Seal, text: str, context: bytes) -> State | None:
    plain = seal.open(text, context) if len(text) <= STATE_MAX else None
    return None if plain is None else _decode_state(plain)


def _answers(given: Mapping[str, Raw], asked: tuple[str, ...]) -> Answers:
    answers = {}
    for key in asked:
        try:
            answers[key] = _decode_answer(given.get(key, Raw(b"null")))
        except msgspec.DecodeError:
            continue  # It is asked for again.
    return answers


def _context(method: str, params: Raw, identity: Identity) -> bytes:
    """What binds a state: who executes, and the request without what changes from round to round.

    Raises ProtocolError for a number that nothing here can hold: members that no handler reads are looked at as well.
    """
    try:
        members = {name: value for name, value in _decode_members(params).items() if name not in _SHARED}
    except msgspec.DecodeError:
        raise ProtocolError(INVALID_PARAMS, "A number in params is out of range.") from None
    digest = hashlib.blake2b(_canonical([method, members]), digest_size=32).digest()
    return "\0".join((identity.tenant_id, identity.subject_id, identity.session_id, "")).encode() + digest


def acceptable(method: str, params: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
    """Whether an answer has the form that its request wants; one that has not is asked for again."""
    match method:
        case "elicitation/create":
            return _elicited(params, answer)
        case "sampling/createMessage":
            return answer.get("role") == "assistant" and "content" in answer
        case _:
            return isinstance(answer.get("roots"), list)


_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
}


def _elicited(params: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
    """Declined, cancelled, or accepted with a form that is filled in; a form is flat (mcp.md, client/elicitation)."""
    if answer.get("action") in ("decline", "cancel"):
        return True
    if answer.get("action") != "accept":
        return False
    if params.get("mode") == "url":
        return True
    schema, content = params.get("requestedSchema", {}), answer.get("content")
    if not isinstance(content, dict) or any(name not in content for name in schema.get("required", ())):
        return False
    return all(_fits(schema.get("properties", {}).get(name, {}), value) for name, value in content.items())


def _fits(schema: Mapping[str, Any], value: object) -> bool:
    kind = _KINDS.get(str(schema.get("type")))
    if kind is not None and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
        return False
    return "enum" not in schema or value in schema["enum"]
