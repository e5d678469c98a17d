"""From a model's arguments to a checked struct; what is wrong is told by field and limit, never by value."""

import re
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec import Raw, Struct

from codesynapse.contracts.errors import Invalid

T = TypeVar("T", bound=Struct)

_place = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>\$[^`]*)`)?$", re.DOTALL)
_missing = re.compile(r"^Object missing required field `(?P<name>\w+)`")
_bound = re.compile(r"^Expected `(?P<type>[a-z| ]+)` (?P<length>of length )?(?P<bound>[<>=]+ \d+)")


def decode_arguments(raw: Raw | bytes, kind: type[T]) -> T:
    """The arguments as `kind`. Raises Invalid that names the field and what it may be."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        raise invalid(error, kind) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise Invalid(field="arguments", limit="valid JSON in UTF-8 without lone surrogates") from None


def decode_object(raw: Raw | bytes) -> dict[str, Any]:
    """The arguments as a dict, whose members their tool checks itself."""
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise Invalid(field="arguments", limit="an object in valid UTF-8 without lone surrogates") from None


def invalid(error: msgspec.ValidationError, kind: type[Struct]) -> Invalid:
    """The refusal for a struct's validation error."""
    match = _place.match(str(error))
    assert match is not None
    what, path = match["what"], (match["path"] or "$").removeprefix("$").removeprefix(".")
    path = _ours(kind, path)
    missing = _missing.match(what)
    if missing is not None:
        return Invalid(field=f"{path}.{missing['name']}".lstrip("."), limit="required")
    if what.startswith("Object contains unknown field"):
        # Its name may be anything, an identifier too: it is not repeated.
        known = ", ".join(_known(kind, path))
        return Invalid(field=path or "arguments", limit=f"only {known}" if known else "none")
    bound = _bound.match(what)
    if bound is not None:
        unit = "" if not bound["length"] else " characters" if "str" in bound["type"] else " items"
        return Invalid(field=path or "arguments", limit=bound["bound"] + unit)
    if what.startswith("Expected `str` matching regex"):
        return Invalid(field=path, limit=what.removeprefix("Expected `str` matching regex ").strip("'"))
    if what.startswith("Expected `"):
        expected = what.split(", got")[0].removeprefix("Expected ").replace("`", "")
        return Invalid(field=path or "arguments", limit=expected)
    annotation = _annotation(kind, path)
    if what.endswith("out of range"):
        return Invalid(field=path or "arguments", limit=_range(annotation))
    listed = ", ".join(_listed(annotation))
    return Invalid(field=path or "arguments", limit=f"one of {listed}" if listed else "one of the listed values")


def _ours(kind: type[Struct], path: str) -> str:
    """The path, where it is one of our names all along; empty otherwise.

    The name of an unknown field stands unescaped in msgspec's message, so that it can look like a path.
    """
    here: object = kind
    for part in _parts(path):
        fields = _fields(here)
        if part not in fields:
            return ""
        here = _struct_in(fields[part])
    return path.replace("[...]", "")


def _annotation(kind: type[Struct], path: str) -> object:
    """The type of the field at a path; None where there is none."""
    here: object = kind
    annotation: object = None
    for part in _parts(path):
        annotation = _fields(here).get(part)
        here = _struct_in(annotation)
    return annotation


def _listed(annotation: object) -> list[str]:
    """The values of the `Literal` inside an annotation."""
    if get_origin(annotation) is Literal:
        return [str(value) for value in get_args(annotation)]
    return [value for inner in getattr(annotation, "__args__", ()) for value in _listed(inner)]


def _range(annotation: object) -> str:
    """The bounds of a number, from the annotation; of one without them what JSON's numbers are read as."""
    bounds = [each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, msgspec.Meta)]
    for each in bounds:
        if each.ge is not None and each.le is not None:
            return f"{each.ge} to {each.le}"
    return "a number of 64 bits"


def _known(kind: type[Struct], path: str) -> list[str]:
    """The fields that may stand where an unknown one stood."""
    here: object = kind
    for part in _parts(path):
        here = _struct_in(_fields(here).get(part))
    return list(_fields(here))


def _fields(kind: object) -> dict[str, object]:
    """The fields of a struct and their types; none of anything else."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return {field.name: field.type for field in msgspec.structs.fields(kind)}
    return {}


def _parts(path: str) -> list[str]:
    """The names in a path, without its positions."""
    return [part for part in re.split(r"\.|\[\d+\]|\[\.\.\.\]", path) if part]


def _struct_in(annotation: object) -> object:
    """The struct inside `Annotated[list[X], …]` and its kind."""
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _struct_in(inner)
        if found is not None:
            return found
    return None
