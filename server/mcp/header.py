"""Headers that repeat what stands in the body: `Mcp-Name`, and `Mcp-Param-…` as a tool's schema declares them.

Source: mcp.md, N11 to N14. A proxy may have routed by them, so they must not say anything else than the body.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

Schema = Mapping[str, Any]
Headers = Mapping[str, Sequence[str]]

PREFIX = "mcp-param-"
ANNOTATION = "x-mcp-header"
_SAFE_MAX = 2**53 - 1
_token = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII).fullmatch
_visible = re.compile(r"[\x20-\x7e]*", re.ASCII).fullmatch
_decimal = re.compile(r"(-?[0-9]{1,30})(?:\.0{1,30})?", re.ASCII).fullmatch
# Keywords whose values are schemas too; through any of them a property is not reachable by `properties` alone.
_ONE = ("items", "contains", "additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties")
_ONE_MORE = ("not", "if", "then", "else", "contentSchema")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("patternProperties", "dependentSchemas", "$defs", "definitions")
Path = tuple[str, ...]
Declared = Mapping[Path, tuple[str, str]]
"""Header token and type of each annotated property, by its path."""


def one(headers: Headers, name: str) -> str | None:
    """The value of a header that stands exactly once; None otherwise."""
    values = headers.get(name, ())
    return values[0] if len(values) == 1 else None


def decoded(value: str) -> str | None:
    """A header's value as the body has it, out of its base64 form where it is in one; None if it is malformed."""
    if _visible(value) is None:
        return None
    if not (value.startswith("=?base64?") and value.endswith("?=") and len(value) >= 11):
        return value
    packed = value[9:-2]
    try:
        plain = base64.b64decode(packed, validate=True)
        # Bits beyond the last byte would let two headers mean the same.
        return plain.decode() if base64.b64encode(plain).decode("ascii") == packed else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def check_value(headers: Headers, name: str, value: object) -> str | None:
    """What is wrong with a header that must repeat a text of the body: a piece of a sentence, or None."""
    shown = one(headers, name)
    if shown is None:
        return "must stand once, as"
    plain = decoded(shown)
    if plain is None:
        return "is malformed; it must repeat"
    return None if plain == value else "must be the same as"


def check_parameters(declared: Declared, arguments: Raw, headers: Headers) -> str | None:
    """What is wrong with a call's `Mcp-Param-…` headers, as a sentence; None if nothing is.

    declared: what the tool's schema declares; nothing where the tool is unknown.
    """
    if not declared:
        return None
    try:
        values = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return "The arguments hold a number out of range, which no header can repeat."
    for path, (token, kind) in declared.items():
        fault = _parameter_fault(headers, token, kind, _at(values, path))
        if fault is not None:
            # The token is the schema's own, and no secret.
            return f"The header Mcp-Param-{token} {fault} the argument."
    return None


def declarations(schema: Schema) -> Declared:
    """What a schema declares; nothing at all if any annotation in it is not valid."""
    found: dict[Path, tuple[str, str]] = {}
    tokens: set[str] = set()
    for path, each in _positions(schema):
        if ANNOTATION not in each:
            continue
        token, kind = each[ANNOTATION], each.get("type")
        if not path or not isinstance(token, str) or _token(token) is None or token.lower() in tokens:
            return {}
        if kind not in ("string", "integer", "boolean"):
            return {}
        tokens.add(token.lower())
        found[path] = (token, kind)
    return found


def _positions(schema: Any) -> Iterator[tuple[Path | None, Mapping[str, Any]]]:
    """Each schema within, and the properties that lead to it; None where something else lies on the way."""
    waiting: list[tuple[Path | None, Any]] = [((), schema)]
    while waiting:
        path, each = waiting.pop()
        if not isinstance(each, dict):
            continue
        yield path, each
        for name, inner in _entries(each.get("properties")):
            waiting.append((None if path is None else (*path, name), inner))
        waiting.extend((None, each[name]) for name in (*_ONE, *_ONE_MORE) if name in each)
        for name in _LISTS:
            if isinstance(each.get(name), list):
                waiting.extend((None, inner) for inner in each[name])
        for name in _MAPS:
            waiting.extend((None, inner) for _, inner in _entries(each.get(name)))


def _entries(value: Any) -> Sequence[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _at(values: Any, path: Path) -> Any:
    for name in path:
        if not isinstance(values, dict):
            return None
        values = values.get(name)
    return values


def _parameter_fault(headers: Headers, token: str, kind: str, value: Any) -> str | None:
    name = PREFIX + token.lower()
    if value is None or isinstance(value, dict | list):
        return "must not stand without" if name in headers else None
    shown = one(headers, name)
    if shown is None:
        return "must stand once and repeat"
    plain = decoded(shown)
    if plain is None:
        return "is malformed; it must repeat"
    return None if _same(plain, kind, value) else "must repeat"


def _same(plain: str, kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return plain == ("true" if value else "false")
    if isinstance(value, str):
        return plain == value
    if kind == "integer" and abs(value) <= _SAFE_MAX and float(value).is_integer():
        found = _decimal(plain)
        return found is not None and int(found[1]) == int(value)
    return plain == msgspec.json.encode(value).decode()
