"""The operator's file: its overview, its sections, and that a bad one only sleeps."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from codesynapse.contracts.errors import Invalid
from codesynapse.server.tools.operating import BYTES_MAX, ContextFile, answer_of

GOOD = 'summary = "Be brief."\n[sections]\nstyle = "Short facts."\nprivacy = "No names."\n'


async def read(path: Path, section: str = "") -> dict[str, object]:
    found: dict[str, object] = msgspec.to_builtins(await ContextFile(str(path)).read(section))
    return found


async def test_an_overview_names_the_sections_and_a_section_has_its_text(tmp_path: Path):
    file = tmp_path / "context.toml"
    file.write_text(GOOD)
    assert await read(file) == {
        "ok": True,
        "enabled": True,
        "summary": "Be brief.",
        "sections": ["style", "privacy"],
    }
    assert await read(file, "style") == {"ok": True, "enabled": True, "section": "style", "text": "Short facts."}


async def test_a_change_of_the_file_holds_for_the_next_call(tmp_path: Path):
    file = tmp_path / "context.toml"
    file.write_text(GOOD)
    await read(file)
    file.write_text('summary = "Be long."')
    assert (await read(file))["summary"] == "Be long."


@pytest.mark.parametrize(("text", "limit"), [(GOOD, "one of style, privacy"), ("", "empty: there are no sections")])
def test_an_unknown_section_is_refused_with_those_there_are(text: str, limit: str):
    with pytest.raises(Invalid) as refused:
        answer_of(text, "q7MARKq7")
    assert (refused.value.field, refused.value.limit) == ("section", limit)
    assert "q7MARKq7" not in refused.value.message


@pytest.mark.parametrize(
    "content",
    [b"no toml", b"\xff", b"summary = 5", b"sections = 5", b"[sections]\na = 5", b"#" * (BYTES_MAX + 1)],
    ids=["no-toml", "no-text", "summary", "sections", "a-section", "too-long"],
)
async def test_a_file_that_cannot_be_used_is_dormant_and_fatal_to_nobody(tmp_path: Path, content: bytes):
    file = tmp_path / "context.toml"
    file.write_bytes(content)
    said = await read(file)
    assert (said["ok"], said["enabled"], set(said)) == (False, False, {"ok", "enabled", "error"})


async def test_an_absent_file_and_a_folder_are_dormant_too(tmp_path: Path):
    for path in (tmp_path / "nothing.toml", tmp_path):
        assert (await read(path))["enabled"] is False
