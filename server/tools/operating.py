"""The operating context: a TOML file of the operator's, read anew at each call. Broken or absent, it is dormant."""

import asyncio
import tomllib
from collections.abc import Mapping
from pathlib import Path

from msgspec import UNSET, Struct, UnsetType

from codesynapse.contracts.errors import Invalid

BYTES_MAX = 64 * 1024


class Context(Struct, kw_only=True):
    """What the operator wrote: the summary and the sections' names, or one section's text."""

    ok: bool
    enabled: bool
    summary: str | UnsetType = UNSET
    sections: list[str] | UnsetType = UNSET
    section: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    error: str | UnsetType = UNSET


class ContextFile:
    """The file. path: empty where the operator named none.

    Its form: `summary = "…"`, and a table `[sections]` of texts by name.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    async def read(self, section: str) -> Context:
        """The overview for an empty name, else that section. Raises Invalid where there is no such section."""
        if not self._path:
            return _dormant("The operator has written none (CODESYNAPSE_OPERATING_CONTEXT).")
        text = await asyncio.to_thread(_text, Path(self._path))
        return _dormant("The operator's file cannot be used.") if text is None else answer_of(text, section)


def _dormant(why: str) -> Context:
    return Context(ok=False, enabled=False, error=why)


def _text(path: Path) -> str | None:
    """The file's text; None where it cannot be read or is too long. Blocks."""
    try:
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
        return None if len(content) > BYTES_MAX else content.decode()
    except (OSError, UnicodeDecodeError):
        return None


def answer_of(text: str, section: str) -> Context:
    """The answer from the file's text. Raises Invalid that names the sections, where there is none of this name."""
    try:
        written = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return _dormant("The operator's file cannot be used.")
    summary, sections = written.get("summary", ""), written.get("sections", {})
    if not isinstance(summary, str) or not _are_texts(sections):
        return _dormant("The operator's file cannot be used.")
    if not section:
        return Context(ok=True, enabled=True, summary=summary, sections=list(sections))
    if section not in sections:
        known = ", ".join(sections)
        raise Invalid(field="section", limit=f"one of {known}" if known else "empty: there are no sections")
    return Context(ok=True, enabled=True, section=section, text=sections[section])


def _are_texts(sections: object) -> bool:
    return isinstance(sections, Mapping) and all(isinstance(text, str) for text in sections.values())
