"""Which tools there are, as the protocol lists them: an ordered table, with pages and toolsets."""

import base64
import binascii
from collections.abc import Iterable
from typing import Any

PAGE = 100
_CURSOR = "tools:"


class Catalog:
    """The listed form of each tool, in the order of registration. Tools are added before the first connection."""

    def __init__(self) -> None:
        self._tools: dict[str, dict[str, Any]] = {}
        self._toolset: dict[str, str] = {}

    def add(self, listed: dict[str, Any], *, toolset: str) -> None:
        """Add a tool. listed: as in `tools/list`, with its name."""
        if listed["name"] in self._tools:
            raise ValueError(f"the tool {listed['name']} is registered twice")
        self._tools[listed["name"]] = listed
        self._toolset[listed["name"]] = toolset

    @property
    def toolsets(self) -> frozenset[str]:
        """The names of all toolsets."""
        return frozenset(self._toolset.values())

    def shows(self, name: str, toolsets: frozenset[str] | None) -> bool:
        """Whether a tool exists for this client; a hidden one is unknown."""
        return name in self._tools and (toolsets is None or self._toolset[name] in toolsets)

    def visible(self, toolsets: frozenset[str] | None) -> list[dict[str, Any]]:
        """The tools of these toolsets; None for all."""
        return [tool for name, tool in self._tools.items() if self.shows(name, toolsets)]

    def page(self, cursor: str | None, toolsets: frozenset[str] | None) -> tuple[list[dict[str, Any]], str | None]:
        """One page and the cursor of the next. Raises LookupError for a cursor that we did not give."""
        tools = self.visible(toolsets)
        start = 0 if cursor is None else _position(cursor)
        if cursor is not None and not 0 < start < len(tools):
            raise LookupError
        end = start + PAGE
        return tools[start:end], _cursor(end) if end < len(tools) else None


def chosen_toolsets(names: Iterable[str], known: frozenset[str]) -> frozenset[str] | None:
    """The toolsets behind a comma list's parts; None for all of them. Raises LookupError for an unknown one."""
    wanted = {name.strip() for name in names if name.strip()}
    if not wanted or "all" in wanted:
        return None
    if not wanted <= known:
        raise LookupError
    return frozenset(wanted)


def _cursor(position: int) -> str:
    return base64.urlsafe_b64encode(f"{_CURSOR}{position}".encode()).decode()


def _position(cursor: str) -> int:
    try:
        text = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, UnicodeError):
        raise LookupError from None
    digits = text.removeprefix(_CURSOR)
    if not text.startswith(_CURSOR) or not digits.isdigit() or len(digits) > 9:
        raise LookupError
    return int(digits)
