"""docs/errors.md and the pages of tools say what the code says; the other pages name what is there."""

from __future__ import annotations

import asyncio
import re
import tomllib

import pytest

from codesynapse.contracts import errors
from codesynapse.contracts.opening import Opener
from codesynapse.contracts.plugin import GROUP
from codesynapse.server.features.product import INSTRUCTIONS
from codesynapse.server.http.errors import STATUS, status_of
from codesynapse.server.mcp.request import SUPPORTED
from tests.documents import DOCS, SETS, WHAT_TO_DO, error_kinds, listed_tools, listed_toolsets, rendered, tables_of


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_the_errors_and_the_tools_are_listed_as_they_are() -> None:
    for name in ("errors", "tools", *(f"tools-{each}" for each in SETS[-1])):
        assert tables_of(page(name)) == [name]
        assert rendered(page(name)) == page(name), "run: python -m tests.documents"


def test_every_error_of_the_tree_has_a_row_with_its_status_and_advice() -> None:
    defined = {
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.CodeSynapseError)
    }
    assert set(error_kinds()) == defined
    assert {kind.code for kind in defined} == set(WHAT_TO_DO)
    for kind in defined:
        assert f"| `{kind.code}` | {status_of(kind())} |" in page("errors")


def test_every_error_has_a_code_and_a_status_of_its_own() -> None:
    kinds = list(error_kinds())
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert set(kinds) <= set(STATUS)


def test_every_tool_and_every_argument_is_on_its_page() -> None:
    for toolset, tools in asyncio.run(listed_toolsets()).items():
        sections = page(f"tools-{toolset}").split("\n## ")
        for tool in tools:
            (section,) = [each for each in sections if each.startswith(f"`{tool['name']}`\n")]
            named = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
            assert named == list(tool["inputSchema"]["properties"])
            assert f"(tools-{toolset}.md#{tool['name']})" in page("tools")


def test_the_revisions_on_the_page_are_those_that_are_spoken() -> None:
    first = page("protocol").split("\n\n")[1]
    assert re.findall(r"\d{4}-\d\d-\d\d", first) == list(SUPPORTED)


def test_the_sample_of_a_backend_declares_itself() -> None:
    names: dict[str, object] = {}
    exec(blocks(page("backends"), "python")[0], names)
    opener = names["open_mygraph"]
    assert isinstance(opener, Opener)
    assert (opener.features.session_memory, opener.features.accounts) == (True, False)


def test_the_sample_registers_where_backends_are_looked_for() -> None:
    (text,) = blocks(page("backends"), "toml")
    assert tomllib.loads(text)["project"]["entry-points"] == {GROUP: {"mygraph": "mypackage:open_mygraph"}}


ADVICE = re.compile(
    r"\bbefore (?:you )?paus"
    r"|\b(?:check|look|ask|watch|make sure|verify|wait)\b[^.]*\b(?:parallel|concurrent|connected|other|another)\b[^.]*"
    r"\b(?:session|client|conversation|chat)s?\b",
    re.IGNORECASE,
)
"""Advice that was right while a pause silenced everybody (seed 1 §9)."""


def stale(text: str) -> list[str]:
    """The paragraphs and rows about pausing that advise to look for others first."""
    parts = re.split(r"\n\s*\n|\n\|", text)
    return [part for part in parts if "paus" in part.casefold() and ADVICE.search(" ".join(part.split()))]


def test_nothing_that_people_or_models_read_advises_to_look_for_other_sessions_before_pausing() -> None:
    documents = [path.read_text(encoding="utf-8") for path in (*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md"))]
    described = [str(tool) for tool in asyncio.run(listed_tools())]
    read = [*documents, *described, INSTRUCTIONS]
    assert sum("paus" in each.casefold() for each in read) > 5
    assert [part for each in read for part in stale(each)] == []


@pytest.mark.parametrize(
    "advice",
    [
        "Check for parallel sessions before you pause.",
        "`pause_persistence`: look whether another client\nis connected.",
        "Before pausing, ask.",
        "Make sure that no other session is writing; a pause stops it too.",
    ],
)
def test_advice_of_that_kind_would_be_found(advice: str) -> None:
    assert stale(f"A page.\n\n{advice}\n\nMore.") == [advice]
    assert stale("A pause holds your own writes; another session goes on.") == []
