"""The answer of a write that a pause skipped: the keys of that tool's success, with nothing in them (seed 1 §5)."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct, UnsetType, inspect

NO_ID = "no-persist"
"""Stands for the id of what was not stored, where a client may expect one."""


def skipped(answer: type[Struct], reason: str, kept: Mapping[str, object]) -> dict[str, object]:
    """What a skipped call answers. answer: the struct of the tool's success; members that it may lack are left out.

    kept: members that a skipped call knows, such as an echoed agent_id; they must be members of the success.
    Raises TypeError where a member has no empty value and none is in `kept`: for the author of the tool.
    """
    info = inspect.type_info(answer)
    assert isinstance(info, inspect.StructType)
    said: dict[str, object] = {}
    for field in info.fields:
        name = field.encode_name
        if name in kept:
            said[name] = kept[name]
        elif field.required or (field.default, field.default_factory) != (NODEFAULT, NODEFAULT):
            said[name] = _empty(name, field.type)
    if foreign := kept.keys() - {field.encode_name for field in info.fields}:
        raise TypeError(f"no members of {answer.__name__}: {', '.join(sorted(foreign))}")
    return {**said, "persisted": False, "dry_run": True, "reason": reason}


def _empty(name: str, kind: inspect.Type) -> object:
    if name == "ok":
        return True
    if name == "id":
        return NO_ID
    if name == "result":
        return "skipped"
    for known, empty in _EMPTY:
        if isinstance(kind, known):
            return empty()
    if isinstance(kind, inspect.UnionType) and kind.includes_none:
        return None
    raise TypeError(f"the member {name} has no empty value: say what a skipped call answers there")


_EMPTY: tuple[tuple[type[inspect.Type], Any], ...] = (
    (inspect.NoneType, lambda: None),
    (inspect.BoolType, bool),
    (inspect.IntType, int),
    (inspect.FloatType, float),
    (inspect.CollectionType, list),
    (inspect.DictType, dict),
)


def with_repairs_skipped(answer: Struct, reason: str) -> dict[str, object]:
    """The answer of a call that ran without what it would have written."""
    said: dict[str, object] = msgspec.to_builtins(answer)
    return {**said, "repairs_skipped": True, "repairs_skip_reason": reason}


RepairsSkipped = bool | UnsetType
"""For the structs of tools whose calls are forced to be harmless: their schemas name the two members."""
