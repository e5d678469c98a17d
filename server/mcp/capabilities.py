"""What a client says that it can do, and what a question to it needs of that."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

AskMethod = Literal["elicitation/create", "sampling/createMessage", "roots/list"]

# The parts of each that decide anything here; whatever else a client declares is not kept.
_PARTS = {"elicitation": ("form", "url"), "sampling": ("tools", "context"), "roots": ()}


def client_capabilities(declared: object) -> dict[str, dict[str, Any]]:
    """The declared capabilities that decide whether the client may be asked, in one form; small, whatever was sent.

    An empty elicitation means forms (2025-06-18).
    """
    if not isinstance(declared, Mapping):
        return {}
    kept: dict[str, dict[str, Any]] = {}
    for name, parts in _PARTS.items():
        said = declared.get(name)
        if isinstance(said, Mapping):
            kept[name] = {part: {} for part in parts if isinstance(said.get(part), Mapping)}
    if kept.get("elicitation") == {}:
        kept["elicitation"] = {"form": {}}
    return kept


def required_of(requests: Iterable[tuple[AskMethod, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    """What a client must have declared to be asked all this: `{"elicitation": {}}`, `{"elicitation": {"url": {}}}`."""
    required: dict[str, dict[str, Any]] = {}
    for method, params in requests:
        match method:
            case "elicitation/create":
                part = required.setdefault("elicitation", {})
                if params.get("mode") == "url":
                    part["url"] = {}
            case "sampling/createMessage":
                part = required.setdefault("sampling", {})
                if "tools" in params or "toolChoice" in params:
                    part["tools"] = {}
            case "roots/list":
                required.setdefault("roots", {})
    return required


def lacking(declared: Mapping[str, Any], required: Mapping[str, Any]) -> dict[str, Any]:
    """What of the required is not declared; empty where the client may be asked."""
    lacks: dict[str, dict[str, Any]] = {}
    for name, parts in required.items():
        said = declared.get(name)
        missing: dict[str, Any] = {part: {} for part in parts if not isinstance(said, Mapping) or part not in said}
        if missing or not isinstance(said, Mapping):
            lacks[name] = missing
        elif name == "elicitation" and not parts and said and "form" not in said:
            lacks[name] = {"form": {}}  # It declared web pages alone.
    return lacks
