"""The conversation at hand beside what was recalled: its lines keep memories away, and are merged with them by time."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from codesynapse.contracts.agents import AXIS_MAX, TIMESTAMP_MAX
from codesynapse.server.agents.views import PREVIEW_CHARS, Hit
from codesynapse.server.clock import from_rfc3339

_MERGED = {"user": "User", "assistant": "Agent"}
_FIELDS = ("role", "content", "timestamp", "user_id", "name")
ONLY_FILTERED = "Lines of these roles kept equal memories away and are not among the messages."
NOT_TEXT = "These fields are no texts and were read as absent."


class FilterOnly(Struct, kw_only=True):
    """Roles whose lines were not merged."""

    roles: list[str]
    note: str


class FieldIssue(Struct, kw_only=True):
    """Which fields of one line are no texts. index: from 0."""

    index: int
    fields: list[str]


class FieldIssues(Struct, kw_only=True):
    """Lines with fields that could not be read."""

    entries: list[FieldIssue]
    note: str


class Conversation:
    """Lines as a caller sends them: role, content, timestamp, user_id, name; what else they hold is not looked at."""

    def __init__(self, entries: Sequence[Mapping[str, Any]]) -> None:
        self._lines = [{name: _text(entry.get(name)) for name in _FIELDS} for entry in entries]
        self._entries = entries

    @property
    def contents(self) -> tuple[str, ...]:
        """The texts of all lines, whatever their role."""
        return tuple(line["content"] for line in self._lines if line["content"].strip())

    def merged(self, hits: Sequence[Hit]) -> list[Hit]:
        """Hits and lines of user and assistant, by the moment that each names; what names none comes first."""
        lines = [_line(each) for each in self._lines if each["role"] in _MERGED and each["content"].strip()]
        return sorted([*hits, *lines], key=lambda each: from_rfc3339(each.timestamp) or 0)

    @property
    def filter_only(self) -> FilterOnly | None:
        """The roles that only filtered, named as far as they are short words; None where there are none."""
        roles = {line["role"] for line in self._lines if line["content"].strip() and line["role"] not in _MERGED}
        if not roles:
            return None
        return FilterOnly(roles=sorted(role[:32] for role in roles)[:16], note=ONLY_FILTERED)

    @property
    def field_issues(self) -> FieldIssues | None:
        """The fields that are no texts; None where all are."""
        found = [(index, _wrong(entry)) for index, entry in enumerate(self._entries)]
        issues = [FieldIssue(index=index, fields=fields) for index, fields in found if fields]
        return FieldIssues(entries=issues, note=NOT_TEXT) if issues else None


def _line(line: Mapping[str, str]) -> Hit:
    """A line among the messages. Its caller has all of it: it is shown as far as a memory's preview goes."""
    source: dict[str, str] = {"type": "Agent", "id": "self"}
    if line["role"] == "user":
        name = line["name"][:AXIS_MAX]
        source = {"type": "User", "id": line["user_id"][:AXIS_MAX] or name, "name": name}
    timestamp, text = line["timestamp"], line["content"]
    hit = Hit(
        content=text[:PREVIEW_CHARS],
        source=source,
        timestamp=timestamp if len(timestamp) <= TIMESTAMP_MAX else "",
        context_type="conversation",
    )
    return structs.replace(hit, content_truncated=True, content_len=len(text)) if len(text) > PREVIEW_CHARS else hit


def _wrong(entry: Mapping[str, Any]) -> list[str]:
    return [name for name in _FIELDS if entry.get(name) is not None and not isinstance(entry[name], str)]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
