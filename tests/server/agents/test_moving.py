"""Exports and imports over a store: whole or not at all, to their owner alone, with the digest of what was moved."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs

from codesynapse.backends import open_backend
from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_work import Tally
from codesynapse.contracts.errors import AgentForbidden, ImportRefused, Invalid, QuotaExceeded, StoreFault, Unsupported
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.keepers import Keeper, memory, new_keeper, terms_in
from codesynapse.contracts.suite.worlds import NOW, later, unique
from codesynapse.server.agents.exported import LINE_MAX
from codesynapse.server.agents.folder import Folder
from codesynapse.server.agents.moving import Import, Mover, lines_of, owner_of
from codesynapse.server.clock import ManualClock, rfc3339

MIB = 1024 * 1024


class Place:
    def __init__(self, keeper: Keeper, root: Path, *, size_max: int = MIB) -> None:
        self.keeper = keeper
        self.clock = ManualClock(NOW)
        self.mover = Mover(keeper.agents, terms_in, self.clock, folder=Folder(root, size_max), size_max=size_max)

    async def exported(self, keeper: Keeper | None = None, name: str = "") -> Path:
        path, _ = await self.mover.to_file((keeper or self.keeper).scope, name or unique("file"))
        return path

    async def imported(self, data: bytes, target: str, *, dry_run: bool = False) -> Import:
        """Import bytes as an upload."""
        principal = self.keeper.principal
        upload_id, _ = await self.mover.uploaded(principal, await self.file(data), len(data))
        return await self.mover.from_upload(principal, upload_id, target, dry_run=dry_run)

    async def file(self, data: bytes) -> io.BufferedRandom:
        file = await self.mover.nameless()
        file.write(data)
        file.flush()
        return file  # type: ignore[return-value]


@pytest.fixture(params=["memory", "sqlite"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    options = {"path": str(tmp_path / "file.sqlite3")} if request.param == "sqlite" else {}
    async with open_backend(request.param, options) as backend:
        assert backend.agents is not None
        place = Place(new_keeper(backend.agents), tmp_path / "exports")
        await place.keeper.keep("tea", "milk", project="p", channel="c")
        await place.keeper.lock(1)
        await place.keeper.archive("tea was had")
        await place.keeper.agents.set_profile(place.keeper.scope, "Ana", now_ms=NOW)
        await place.keeper.agents.note_recalls(place.keeper.scope, [2], now_ms=NOW)
        yield place
        place.mover.close()


async def test_what_one_agent_exports_another_imports_with_the_same_digest(place: Place) -> None:
    data = (await place.exported()).read_bytes()
    done = await place.imported(data, "other")
    assert done.taken.added == Tally(memories=2, episodes=1, profiles=1)
    _, again = await place.mover.to_file(place.keeper.on("other").scope, "again")
    assert again.seal.digest == done.seal.digest
    kept = await place.keeper.on("other").memories()
    assert [(each.content, each.locked, each.recalled) for each in kept] == [("milk", False, 1), ("tea", True, 0)]
    assert await place.keeper.on("other").recall("tea") == ["tea", "tea was had"]


async def test_an_import_names_its_own_agent_where_no_other_is_named(place: Place) -> None:
    done = await place.imported((await place.exported()).read_bytes(), "")
    assert done.agent_id == place.keeper.scope.agent_id
    assert (done.taken.added, done.taken.skipped) == (Tally(), Tally(memories=2, episodes=1, profiles=1))


async def test_an_import_counts_the_memories_whose_time_lies_ahead(place: Place) -> None:
    for number, ahead_s in enumerate((-60, 299, 301, 86_400)):
        new = structs.replace(memory(f"word{number}"), timestamp=rfc3339(later(NOW, 1_000 * ahead_s)))
        await place.keeper.agents.store(place.keeper.scope, new, once=None, now_ms=NOW)
    data = (await place.exported()).read_bytes()
    for dry_run in (True, False):
        assert (await place.imported(data, "other", dry_run=dry_run)).ahead == 2
    assert (await place.imported(data, "other")).ahead == 2  # Of the file, though nothing of it is new.


async def test_a_dry_run_says_the_same_changes_nothing_and_keeps_the_upload(place: Place) -> None:
    data = (await place.exported()).read_bytes()
    principal = place.keeper.principal
    upload_id, _ = await place.mover.uploaded(principal, await place.file(data), len(data))
    said = [await place.mover.from_upload(principal, upload_id, "other", dry_run=True) for _ in range(2)]
    assert said[0] == said[1]
    with pytest.raises(AgentForbidden):
        await place.keeper.on("other").contents()
    assert await place.mover.from_upload(principal, upload_id, "other", dry_run=False) == said[0]
    with pytest.raises(ImportRefused, match="no such upload"):
        await place.mover.from_upload(principal, upload_id, "other", dry_run=False)


async def state(place: Place) -> object:
    """Everything that the agent has."""
    return [
        await place.keeper.memories(),
        await place.keeper.episodes(),
        await place.keeper.agents.profile(place.keeper.scope),
        await place.keeper.agents.agents(place.keeper.scope.tenant_id),
    ]


@pytest.mark.parametrize("damage", ["truncated", "tampered", "oversized", "foreign", "long line", "empty"])
async def test_a_damaged_file_changes_nothing_and_says_why(place: Place, damage: str) -> None:
    data = (await place.exported()).read_bytes().replace(b'"content":"tea"', b'"content":"new"', damage == "tampered")
    data, why = {
        "truncated": (data[:-20], "truncated"),
        "tampered": (data, "digest"),
        "oversized": (data + b" " * MIB, f"more than {MIB} bytes"),
        "foreign": (b'{"kind":"header","format":"else","version":1,"agent_id":"a"}\n', "no export of an agent"),
        "long line": (data.replace(b'"tea"', b'"' + b"x" * LINE_MAX + b'"'), f"more than {LINE_MAX} bytes"),
        "empty": (b"", "no export of an agent"),
    }[damage]
    before = await state(place)
    for target in ("", "other"):
        with pytest.raises(ImportRefused) as refused:
            await place.imported(data, target)
        assert why in str(refused.value.limit)
        assert refused.value.field == "upload_id"
    assert await state(place) == before


async def test_an_import_over_a_quota_is_undone_as_a_whole(place: Place) -> None:
    data = (await place.exported()).read_bytes()
    await place.keeper.agents.set_quotas(place.keeper.scope.tenant_id, Quotas(agent_memories_max=1))
    with pytest.raises(QuotaExceeded):
        await place.imported(data, "other")
    assert [each.agent_id for each in await place.keeper.agents.agents(place.keeper.scope.tenant_id)] == [
        place.keeper.scope.agent_id
    ]


async def test_nobody_exports_or_imports_without_a_grant(place: Place) -> None:
    stranger = place.keeper.another()
    with pytest.raises(AgentForbidden):
        await place.mover.to_file(stranger.scope, "a")
    with pytest.raises(AgentForbidden):
        await place.mover.to_link(stranger.scope, owner_of(stranger.principal, "k"))
    data = (await place.exported()).read_bytes()
    upload_id, _ = await place.mover.uploaded(stranger.principal, await place.file(data), len(data))
    with pytest.raises(AgentForbidden):
        await place.mover.from_upload(stranger.principal, upload_id, "", dry_run=False)


async def test_an_upload_is_its_owners_and_ends(place: Place) -> None:
    data = (await place.exported()).read_bytes()
    upload_id, expires_at_ms = await place.mover.uploaded(place.keeper.principal, await place.file(data), len(data))
    for other in (place.keeper.another(), place.keeper.another(tenant="other")):
        with pytest.raises(ImportRefused, match="no such upload"):
            await place.mover.from_upload(other.principal, upload_id, "mine", dry_run=True)
    place.clock.now_ms = expires_at_ms
    with pytest.raises(ImportRefused, match="its time is over"):
        await place.mover.from_upload(place.keeper.principal, upload_id, "mine", dry_run=True)


async def test_a_link_gives_the_file_once_to_who_may_still_read_the_agent(place: Place) -> None:
    reader = place.keeper.another()
    agents, scope = place.keeper.agents, place.keeper.scope
    owner = owner_of(reader.principal, "key")
    await agents.set_level(scope.tenant_id, scope.agent_id, reader.scope.subject_id, Level.READ, now_ms=NOW)
    link, export = await place.mover.to_link(reader.scope, owner)
    waiting = await place.mover.fetched(reader.principal, owner, link.token)
    assert waiting is not None
    with waiting.file as file:
        file.seek(0)
        assert file.read() == export.data
    assert await place.mover.fetched(reader.principal, owner, link.token) is None
    link, _ = await place.mover.to_link(reader.scope, owner)
    await agents.set_level(scope.tenant_id, scope.agent_id, reader.scope.subject_id, None, now_ms=NOW)
    assert await place.mover.fetched(reader.principal, owner, link.token) is None


async def test_an_export_that_would_be_too_large_leaves_nothing(place: Place, tmp_path: Path) -> None:
    small = Place(place.keeper, tmp_path / "small", size_max=500)
    with pytest.raises(QuotaExceeded) as refused:
        await small.exported()
    assert (refused.value.field, refused.value.limit) == ("transfer_max_bytes", 500)
    with pytest.raises(QuotaExceeded):
        await small.mover.to_link(place.keeper.scope, owner_of(place.keeper.principal, "k"))
    assert not list((tmp_path / "small").rglob("*"))
    assert len(small.mover.links) == 0


async def test_an_impossible_name_is_refused_before_anything_is_read(place: Place) -> None:
    with pytest.raises(Invalid):
        await place.exported(name="../a")


async def test_without_a_folder_there_are_links_alone(place: Place) -> None:
    mover = Mover(place.keeper.agents, terms_in, place.clock, folder=None, size_max=MIB)
    with pytest.raises(Unsupported):
        await mover.to_file(place.keeper.scope, "a")
    with pytest.raises(Unsupported):
        await mover.from_file(place.keeper.principal, "a", "", dry_run=True)
    owner = owner_of(place.keeper.principal, "k")
    link, _ = await mover.to_link(place.keeper.scope, owner)
    assert mover.links.look(owner, link.token, NOW) is not None
    mover.close()


async def test_a_file_of_the_folder_is_imported_by_its_path(place: Place) -> None:
    path = await place.exported()
    done = await place.mover.from_file(place.keeper.principal, str(path), "other", dry_run=False)
    assert done.taken.added.memories == 2
    with pytest.raises(ImportRefused) as refused:
        await place.mover.from_file(place.keeper.principal, "nothing", "other", dry_run=False)
    assert refused.value.field == "input_path"


async def test_two_imports_of_one_upload_at_once_read_it_each_from_its_beginning(place: Place) -> None:
    data = (await place.exported()).read_bytes()
    principal = place.keeper.principal
    upload_id, _ = await place.mover.uploaded(principal, await place.file(data), len(data))
    done = await asyncio.gather(
        *(place.mover.from_upload(principal, upload_id, f"a{each}", dry_run=True) for each in range(4))
    )
    assert {each.taken.added for each in done} == {Tally(memories=2, episodes=1, profiles=1)}


async def test_no_name_of_a_waiting_file_is_on_the_disk(place: Place, tmp_path: Path) -> None:
    await place.mover.to_link(place.keeper.scope, owner_of(place.keeper.principal, "k"))
    assert [each for each in (tmp_path / "exports").rglob("*") if each.is_file()] == []
    place.clock.advance(seconds=600)
    assert place.mover.sweep() == 1
    place.mover.close()


def test_lines_come_with_their_ends_and_where_the_disk_fails_the_store_is_at_fault(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a\n" + b"b" * 300_000 + b"\nc")
    with path.open("rb") as file:
        assert list(lines_of(file.fileno(), MIB)) == [b"a\n", b"b" * 300_000 + b"\n", b"c"]
        assert file.tell() == 0
    with pytest.raises(StoreFault):
        list(lines_of(os.open(tmp_path, os.O_RDONLY), MIB))
