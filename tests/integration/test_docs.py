"""The commands of docs/getting-started.md, run as they would be pasted."""

from __future__ import annotations

import asyncio
import re
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

from tests.integration.harness import command, environment, process

PAGES = Path(__file__).parents[2] / "docs"
PAGE = (PAGES / "getting-started.md").read_text(encoding="utf-8")


def blocks(title: str) -> list[str]:
    """The shell commands under a heading."""
    text = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


async def pasted(script: str, home: Path, **more: str) -> list[str]:
    """What a script prints, with our commands and this Python on the path."""
    env = {**environment(home, **more)}
    env["PATH"] = f"{sys.prefix}/bin:{env['PATH']}"
    shell = await asyncio.create_subprocess_exec("sh", "-e", "-c", script, env=env, stdout=PIPE, stderr=PIPE)
    out, err = await shell.communicate()
    assert (shell.returncode, err) == (0, b""), out.decode() + err.decode()
    return out.decode().splitlines()


async def test_a_session_is_registered_and_listed(tmp_path: Path) -> None:
    await command(tmp_path, "init")
    (script,) = blocks("Chat sessions")
    registered, listed = await pasted(script, tmp_path)
    assert registered.startswith("registered, until ")
    assert '"session_id":"my-chat-1","state":"active"' in listed


async def test_an_organisation_is_furnished(tmp_path: Path) -> None:
    await command(tmp_path, "init")
    (script,) = blocks("Organisations, users, keys, repositories")
    *said, key, quotas = await pasted(script, tmp_path)
    assert said == ["created", "created", "created", "granted"]
    assert key.startswith("CODESYNAPSE_API_KEY=csk_")
    assert '"namespace_facts_max":256' in quotas


async def test_a_backup_beside_a_running_server_holds_what_was_acknowledged(tmp_path: Path) -> None:
    data = tmp_path / ".local" / "share" / "codesynapse"
    restored = tmp_path / "restored"
    restored.mkdir(0o700)
    _, with_python = blocks("Backup")
    async with process(data):
        await command(data, "session", "register", "chat-1")
        copy = with_python.replace(" backup.sqlite3", f" {restored}/codesynapse.sqlite3")
        assert copy != with_python
        await pasted(copy, data, HOME=str(tmp_path))
    code, out, _ = await command(restored, "session", "list")
    assert (code, '"session_id":"chat-1"' in out) == (0, True)
    _, out, _ = await command(restored, "doctor", env={"CODESYNAPSE_PORT": "0"})
    assert "ok: home: is a private folder that can be written" in out


def test_nothing_is_promised_of_a_cluster_of_hugegraph_servers() -> None:
    page = " ".join((PAGES / "stores.md").read_text(encoding="utf-8").split())
    one, cluster = (
        page.index("On **one HugeGraph server**"),
        page.index("On **a cluster of several HugeGraph servers**"),
    )
    assert "commits are made one by one" in page[one:cluster]
    assert "none of that is promised" in page[cluster : cluster + 100]
