"""The README is run as it would be pasted, and what it and the docs point to is there."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest

from codesynapse.contracts.requirements import requirement
from tests.integration.harness import Process, command, environment, process

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])

KEY_LINE = "export CODESYNAPSE_API_KEY=csk_...\n"
FIRST_SCREEN = 32
RECALLED = {
    "the Metamorphosis | describes_insects_of | Suriname",
    "Dorothea Maria | sailed_to | Suriname",
    "Maria Sibylla Merian | sailed_to | Suriname",
}


def section(title: str) -> str:
    """The text under a heading of the README."""
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(text: str, language: str) -> list[str]:
    """The contents of the code blocks in a language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


async def pasted(running: Process, folder: Path) -> str:
    """What the commands of the first example print. The key that the reader fills in comes from the environment."""
    for name, target in ((".venv", Path(sys.prefix)), ("examples", ROOT / "examples")):
        (folder / name).symlink_to(target)
    script = "".join(blocks(section("The first memory"), "sh"))
    assert script.count(KEY_LINE) == 1
    given = {"CODESYNAPSE_API_KEY": running.key, "CODESYNAPSE_PORT": running.base.rpartition(":")[2]}
    shell = await asyncio.create_subprocess_exec(
        *("sh", "-e", "-c", script.replace(KEY_LINE, "")),
        cwd=folder,
        env=environment(running.home, **given),
        stdout=PIPE,
        stderr=PIPE,
    )
    out, err = await shell.communicate()
    assert (shell.returncode, err) == (0, b""), out.decode() + err.decode()
    return out.decode()


async def test_the_first_example_remembers_twelve_facts_and_recalls_three(tmp_path: Path) -> None:
    async with process(tmp_path / "home") as running:
        out = await pasted(running, tmp_path)
    registered, remembered, _, *recalled, read = out.splitlines()
    assert json.loads(registered)["subject_id"] == "owner"
    assert remembered == "Remembered: 12 new, 0 known already."
    assert {line.strip() for line in recalled} == RECALLED
    assert [fact["object"] for fact in json.loads(read)["facts"]] == ["Amsterdam"]


async def test_the_output_that_the_readme_shows_is_what_the_example_prints(tmp_path: Path) -> None:
    (shown,) = blocks(section("The first memory"), "text")
    async with process(tmp_path / "home") as running:
        assert shown in await pasted(running, tmp_path)


async def test_the_clients_configuration_starts_a_bridge_that_answers(tmp_path: Path) -> None:
    (text,) = blocks(section("Connect a client"), "json")
    async with process(tmp_path / "home") as running:
        text = text.replace("/.../.venv", sys.prefix).replace("csk_...", running.key)
        configured = json.loads(text.replace("http://127.0.0.1:8420/mcp", running.url))
        (tmp_path / "client.json").write_text(json.dumps(configured))
        (tmp_path / "client.json").chmod(0o600)
        port = {"CODESYNAPSE_PORT": running.base.rpartition(":")[2]}
        code, out, _ = await command(running.home, "doctor", "--client", str(tmp_path / "client.json"), env=port)
        assert (code, "ok: client entry 'codesynapse': is complete" in out) == (0, True), out
        (entry,) = configured["mcpServers"].values()
        assert (await first_answer(entry, tmp_path))["result"]["serverInfo"]["name"] == "codesynapse"


async def first_answer(entry: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What the program of an entry answers to `initialize`."""
    child = await asyncio.create_subprocess_exec(
        entry["command"], *entry["args"], env=environment(folder, **entry["env"]), stdin=PIPE, stdout=PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    child.stdin.write(json.dumps(message).encode() + b"\n")
    line = await child.stdout.readline()
    child.stdin.close()
    await child.wait()
    return json.loads(line)  # type: ignore[no-any-return]


@requirement("names:other-tool")
def test_the_first_screen_says_what_it_is_for_whom_how_to_start_and_what_it_is_not() -> None:
    screen = " ".join(README.splitlines()[:FIRST_SCREEN])
    for said in (
        "A self-hosted memory server for AI agents.",
        "**For whom**",
        "make serve",
        "make test",
        "a public Rust tool is also called codesynapse, and this is not it",
    ):
        assert said in screen


def targets(page: Path) -> list[str]:
    """The relative links of a page, without their anchors."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    return [link.partition("#")[0] for link in links if not link.startswith("#")]


def named_files(page: Path) -> list[str]:
    """Files and folders of the repository that stand in code spans; `a` and `X` stand for any."""
    spans = re.findall(r"`([\w.*-]+(?:/[\w.*-]+)*/?)`", page.read_text(encoding="utf-8"))
    folders = ("server/", "backends/", "contracts/", "tests/", "docs/", "examples/", "requirements/")
    methods = ("server/discover",)
    return [
        span for span in spans if span.startswith(folders) and not re.search("/[aX]/", span) and span not in methods
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    assert [link for link in targets(page) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    assert [name for name in named_files(page) if not list(ROOT.glob(name.rstrip("/")))] == []
