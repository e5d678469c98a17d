"""The trusted identity: well-formed to the very end, immutable, and required by every call."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Struct

from codesynapse.contracts import (
    accounts,
    binding,
    change,
    commit,
    identity,
    memory,
    ports,
    quotas,
    repository,
    triples,
)
from codesynapse.contracts import vectors as vector_values
from codesynapse.contracts.errors import (
    ExecutionCancelled,
    ExecutionExpired,
    ExecutionMissing,
    HeaderInvalid,
    Invalid,
)
from codesynapse.contracts.identity import (
    Cancellation,
    Execution,
    Id,
    Identity,
    Millis,
    require,
    require_id,
    require_ids,
    valid_id,
)

GOOD = ["a", "A9._:-", "web:abc", "x" * 128, "0", "-"]
BAD = [
    "",
    "abc\n",
    "\nabc",
    "a b",
    "é",
    "x" * 129,
    "a/b",
    "a\x00",
    "a\u2028",
    "\uff41",
    "a\r\n",
    "\ud800",
    7,
    None,
    b"a",
]
FIELDS = ["tenant_id", "subject_id", "session_id", "parent_session_id"]

ANA = Identity(tenant_id="acme", subject_id="ana", session_id="s-1", parent_session_id="s-1")


def execution(*, deadline_ms: int = 1_000, cancellation: Cancellation | None = None) -> Execution:
    return Execution(
        identity=ANA,
        actor_id="ana",
        key_id=None,
        deadline_ms=Millis(deadline_ms),
        cancellation=cancellation or Cancellation(),
    )


@pytest.mark.parametrize("text", GOOD)
def test_an_identifier_has_1_to_128_letters_digits_or_four_signs(text: str) -> None:
    assert valid_id(text)
    assert require_id(text, field="session_id") == text
    assert msgspec.convert(text, Id) == text


@pytest.mark.parametrize("text", BAD)
def test_anything_else_is_refused_to_its_very_end(text: object) -> None:
    assert not valid_id(text)
    with pytest.raises(Invalid) as refusal:
        require_id(text, field="session_id")
    assert (refusal.value.field, refusal.value.limit) == ("session_id", "1 to 128 letters, digits or ._:-")
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, Id)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("text", ["abc\n", "", "x" * 129, None])
def test_a_bad_identity_cannot_be_built_directly(field: str, text: object) -> None:
    values: dict[str, object] = dict.fromkeys(FIELDS, "a") | {field: text}
    with pytest.raises(Invalid) as refusal:
        Identity(**values)  # type: ignore[arg-type]
    assert refusal.value.field == field


@pytest.mark.parametrize("field", FIELDS)
def test_an_identity_needs_all_four_fields(field: str) -> None:
    values = {each: "a" for each in FIELDS if each != field}
    with pytest.raises(TypeError):
        Identity(**values)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(values, Identity)


def test_the_parent_equals_the_session() -> None:
    with pytest.raises(HeaderInvalid) as refusal:
        Identity(tenant_id="acme", subject_id="ana", session_id="s-1", parent_session_id="s-2")
    assert refusal.value.field == "parent_session_id"


VALUES = [
    value
    for module in (
        accounts,
        binding,
        change,
        commit,
        identity,
        memory,
        ports,
        quotas,
        repository,
        triples,
        vector_values,
    )
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, Struct) and value.__module__ == module.__name__
]


@pytest.mark.parametrize("value", VALUES, ids=[value.__name__ for value in VALUES])
def test_every_value_of_the_law_is_immutable_and_named_by_keyword(value: type[Struct]) -> None:
    assert value.__struct_config__.frozen
    assert not value.__match_args__


def test_an_identity_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        ANA.session_id = "s-2"  # type: ignore[misc]


def test_a_call_that_may_go_on_has_its_identity() -> None:
    assert require(execution(), Millis(999)) is ANA


def test_a_call_without_an_execution_is_refused() -> None:
    with pytest.raises(ExecutionMissing):
        require(None, Millis(0))
    with pytest.raises(ExecutionMissing):
        require(ANA, Millis(0))  # type: ignore[arg-type]


@pytest.mark.parametrize("now_ms", [1_000, 1_001, 1 << 50])
def test_a_call_is_refused_from_its_deadline_on(now_ms: int) -> None:
    with pytest.raises(ExecutionExpired):
        require(execution(), Millis(now_ms))


def test_a_cancelled_call_is_refused_for_good() -> None:
    cancellation = Cancellation()
    call = execution(cancellation=cancellation)
    assert not cancellation.cancelled
    cancellation.cancel()
    cancellation.cancel()
    assert cancellation.cancelled
    with pytest.raises(ExecutionCancelled):
        require(call, Millis(0))
    with pytest.raises(AttributeError):
        cancellation.cancelled = False  # type: ignore[misc]


def test_identifiers_are_required_by_their_names_and_none_is_left_out() -> None:
    require_ids(tenant_id="t", ns=None)
    with pytest.raises(Invalid) as refusal:
        require_ids(tenant_id="t", session_id="a b", ns="c d")
    assert refusal.value.field == "session_id"
