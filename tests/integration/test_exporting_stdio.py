"""Memories leave one home and enter an empty one through `codesynapse stdio`, as files of the configured folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from codesynapse.contracts.agents import AgentScope
from codesynapse.contracts.identity import Millis
from codesynapse.server.agents.folder import Folder
from tests.integration.harness import START_MS, Process, fresh, process
from tests.integration.load import opened
from tests.integration.stdio_peer import stdio_process
from tests.integration.test_exporting import AGENT, COUNT, records
from tests.integration.test_kill import register
from tests.integration.test_session_key import Call, caller

SIZE_MAX = 64 * 1024 * 1024
OWNER = AgentScope(tenant_id="home", subject_id="owner", agent_id=AGENT)


@asynccontextmanager
async def place(home: Path, *, size_max: int = SIZE_MAX) -> AsyncIterator[tuple[Call, Path]]:
    """A fresh home, a chat over stdio on it with no server beside, and the owner's folder of files."""
    async with process(home) as server:
        session_id = await registered(server)
        owner = server.owner
    exports = home / "files"
    errors: list[str] = []
    more = {"CODESYNAPSE_EXPORT_DIR": str(exports), "CODESYNAPSE_TRANSFER_MAX_BYTES": str(size_max)}
    async with stdio_process(home, owner, session_id, errors, **more) as peer:
        yield caller(peer), Folder(exports, size_max).of(OWNER.principal)


async def registered(server: Process) -> str:
    async with aiohttp.ClientSession() as http:
        return await register(server, http, fresh())


async def fill(home: Path) -> None:
    async with opened(home) as ports:
        assert ports.agents is not None
        await ports.agents.take_in(OWNER, records(), dry_run=False, now_ms=Millis(START_MS))


async def put(folder: Path, name: str, data: bytes) -> None:
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    await asyncio.to_thread((folder / name).write_bytes, data)


async def test_what_a_process_exports_another_on_an_empty_home_imports_with_the_same_digest(tmp_path: Path):
    async with place(tmp_path / "one") as (call, folder):
        await fill(tmp_path / "one")
        left = await call("export_memories", agent_id=AGENT, output_path="kept")
        assert (left["ok"], left["path"], left["memories"]) == (True, str(folder / "kept"), COUNT)
        assert "url" not in left
        data = await asyncio.to_thread((folder / "kept").read_bytes)
        assert len(data) == left["bytes"]
    async with place(tmp_path / "two") as (call, folder):
        await put(folder, "brought", data)
        tried = await call("import_memories", input_path="brought", dry_run=True)
        assert (tried["imported_memories"], (await call("list_memories"))["count"]) == (COUNT, 0)
        entered = await call("import_memories", input_path=str(folder / "brought"))
        assert (entered["imported_memories"], entered["skipped_memories"]) == (COUNT, 0)
        assert (entered["imported_episodes"], entered["profile_updated"]) == (COUNT // 100, True)
        again = await call("export_memories", agent_id=AGENT, output_path="again")
        assert entered["digest"] == again["digest"] == left["digest"]
        assert await asyncio.to_thread((folder / "again").read_bytes) == data
        repeated = await call("import_memories", input_path="brought")
        assert (repeated["imported_memories"], repeated["skipped_memories"]) == (0, COUNT)


async def test_over_stdio_an_export_without_a_name_is_a_new_file_and_no_name_leads_out_of_the_folder(tmp_path: Path):
    async with place(tmp_path / "one") as (call, folder):
        await call("store", agent_id=AGENT, content="tea")
        made = [Path((await call("export_memories", agent_id=AGENT))["path"]) for _ in range(2)]
        assert len(set(made)) == 2
        assert {path.parent for path in made} == {folder}
        for name in ("../out", "/etc/out", str(tmp_path / "out"), str(folder.parent / "out"), "a/b"):
            assert (await call("export_memories", agent_id=AGENT, output_path=name))["field"] == "output_path"
            assert (await call("import_memories", input_path=name))["field"] == "input_path"
        assert (await call("import_memories", upload_id="x"))["code"] == "import_refused"
        assert not await asyncio.to_thread((tmp_path / "out").exists)


Damage = Callable[[bytes], bytes]
DAMAGED: dict[str, tuple[Damage, str]] = {
    "truncated": (lambda data: data[:-20], "it is truncated"),
    "cut to its half": (lambda data: data[: len(data) // 2], "it is truncated"),
    "tampered": (lambda data: data.replace(b"green tea", b"green tee"), "its digest is not what it says"),
    "a line less": (lambda data: b"".join([*data.splitlines(True)[:1], *data.splitlines(True)[2:]]), "it was changed"),
    "oversized": (lambda data: data + b" " * 10_000, "it has more than 8192 bytes"),
    "foreign": (lambda _: b"PK\x03\x04 an archive", "it is no export of an agent"),
    "another program's": (lambda _: b'{"agent_id":"bob","memories":[]}\n', "it is no export of an agent"),
    "empty": (lambda _: b"", "it is no export of an agent"),
}


async def test_a_damaged_file_changes_nothing_says_why_and_repeats_nothing_of_itself(tmp_path: Path):
    async with place(tmp_path / "one", size_max=8_192) as (call, folder):
        for content in ("Ana drinks green tea", "Ben has milk"):
            await call("store", agent_id=AGENT, content=content)
        data = await exported(call, folder, "whole")
        for number, (name, (damage, why)) in enumerate(DAMAGED.items()):
            assert damage(data) != data
            await put(folder, f"damaged-{number}", damage(data))
            for target in ({}, {"target_agent_id": "other"}):
                said = await call("import_memories", input_path=f"damaged-{number}", **target)
                assert (said["ok"], said["code"], said["field"]) == (False, "import_refused", "input_path"), name
                assert why in said["limit"], name
                assert "tea" not in str(said)
            assert (await call("recall", agent_id="other", query="tea"))["code"] == "agent_forbidden"
            assert await exported(call, folder, f"after-{number}") == data
        assert (await call("import_memories", input_path="whole", target_agent_id="other"))["imported_memories"] == 2


async def test_a_folder_a_link_and_a_missing_file_are_no_file_to_import(tmp_path: Path):
    async with place(tmp_path / "one") as (call, folder):
        await call("store", agent_id=AGENT, content="tea")
        await exported(call, folder, "whole")
        await asyncio.to_thread((folder / "folder").mkdir)
        await asyncio.to_thread((folder / "link").symlink_to, folder / "whole")
        for name, why in (
            ("folder", "no regular file"),
            ("link", "it is a link"),
            ("missing", "there is no such file"),
        ):
            said = await call("import_memories", input_path=name, target_agent_id="other")
            assert (said["code"], said["field"]) == ("import_refused", "input_path")
            assert why in said["limit"]


async def exported(call: Call, folder: Path, name: str) -> bytes:
    said: dict[str, Any] = await call("export_memories", agent_id=AGENT, output_path=name)
    assert said["ok"] is True, said
    return await asyncio.to_thread((folder / name).read_bytes)


async def test_an_export_that_would_be_too_large_is_refused_and_leaves_no_file(tmp_path: Path):
    async with place(tmp_path / "one", size_max=1_024) as (call, folder):
        await call("store", agent_id=AGENT, content="x" * 2_000)
        said = await call("export_memories", agent_id=AGENT, output_path="kept")
        assert (said["code"], said["field"], said["limit"]) == ("quota_exceeded", "transfer_max_bytes", 1_024)
        assert not await asyncio.to_thread((folder / "kept").exists)
