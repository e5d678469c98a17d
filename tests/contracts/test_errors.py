"""The tree of errors: constant messages, unique codes, nothing that was offered."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from codesynapse.contracts import errors
from codesynapse.contracts.errors import CodeSynapseError, Refused, Unavailable, Unsupported
from codesynapse.contracts.identity import require_id
from codesynapse.contracts.triples import Triple, normalised


def below(error: type[CodeSynapseError]) -> Iterator[type[CodeSynapseError]]:
    for each in error.__subclasses__():
        if each.__module__ == errors.__name__:
            yield each
            yield from below(each)


TREE = [CodeSynapseError, *below(CodeSynapseError)]
LEAVES = [error for error in TREE if not list(below(error))]


def test_the_tree_has_three_kinds() -> None:
    assert set(CodeSynapseError.__subclasses__()) >= {Refused, Unsupported, Unavailable}
    assert all(issubclass(leaf, Refused | Unsupported | Unavailable) for leaf in LEAVES)
    assert len(LEAVES) > 30


@pytest.mark.parametrize("error", TREE)
def test_the_message_is_the_first_line_of_the_docstring(error: type[CodeSynapseError]) -> None:
    line = (error.__doc__ or "").strip().splitlines()[0]
    assert str(error()) == error().message == line
    assert re.fullmatch(r"[A-Z].*[.…\"]", line)


@pytest.mark.parametrize("leaf", LEAVES)
def test_every_leaf_has_a_code_of_its_own(leaf: type[CodeSynapseError]) -> None:
    assert "code" in vars(leaf)
    assert re.fullmatch(r"[a-z_]+", leaf.code)
    assert [other for other in TREE if other.code == leaf.code] == [leaf]


def test_field_limit_and_figures_follow_the_message() -> None:
    error = errors.SnapshotTooLarge(field="snapshot_bytes", limit=10, details={"size": 11, "live_facts": 2})
    assert error.message.endswith(" Field: snapshot_bytes. Limit: 10. Size: 11. Live facts: 2.")
    assert (error.field, error.limit, error.details) == ("snapshot_bytes", 10, {"size": 11, "live_facts": 2})


def test_the_figures_of_an_error_are_its_own() -> None:
    figures = {"revision": 3}
    error = errors.RevisionConflict(details=figures)
    figures["revision"] = 4
    assert error.details == {"revision": 3}
    assert errors.RevisionConflict().details == {}


def test_nothing_but_names_and_bounds_can_be_said() -> None:
    with pytest.raises(TypeError):
        errors.Invalid("offered")  # type: ignore[misc]


@pytest.mark.parametrize("offered", ["sekret value", "sekret\n", "s\u00e9kret", "sekret" * 100])
def test_no_refusal_repeats_what_was_offered(offered: str) -> None:
    told = []
    with pytest.raises(errors.Invalid) as identifier:
        require_id(offered, field="session_id")
    told.append(str(identifier.value))
    for field in ("subject", "object", "predicate", "subject_type", "source"):
        triple = {"subject": "a", "predicate": "b", "object": "c"} | {field: offered * 10 + "\x00"}
        with pytest.raises(errors.Invalid) as refusal:
            normalised(Triple(**triple))  # type: ignore[arg-type]
        told.append(str(refusal.value) + repr(refusal.value.args))
    assert not [text for text in told if "kret" in text]
