"""Exports, imports, merges and channels as a model calls them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs

from codesynapse.server.agents.moving import owner_of
from codesynapse.server.clock import rfc3339
from tests.server.agents.here import AGENT
from tests.server.agents.maintained import STDIO, Asked, Maintained, maintained


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Maintained]:
    """Two memories, an episode and a profile."""
    async with maintained(tmp_path / "exports") as made:
        await made.store("milk", "cocoa")
        await made.call("archive_episode", agent_id=AGENT, summary="before")
        await made.call("update_profile", agent_id=AGENT, profile="Ana")
        yield made


async def uploaded(place: Maintained, data: bytes, by: str = "ana") -> str:
    file = await place.mover.nameless()
    file.write(data)
    file.flush()
    principal = place.here.scope(by=by).principal
    upload_id, _ = await place.mover.uploaded(principal, file, len(data))
    return upload_id


async def test_over_http_an_export_is_a_link_with_its_counts_and_its_end(place: Maintained):
    said = await place.call("export_memories", agent_id=AGENT)
    assert (said["memories"], said["episodes"], said["profiles"]) == (2, 1, 1)
    assert said["url"].startswith("/api/v1/downloads/")
    assert said["expires_at"] == rfc3339(place.clock() + 600_000)
    assert "path" not in said
    execution = await place.here.execution()
    owner = owner_of(place.here.scope().principal, execution.key_id)
    waiting = place.mover.links.take(owner, said["url"].rpartition("/")[2], place.clock())
    assert waiting is not None
    assert waiting.size == said["bytes"]
    waiting.file.close()


async def test_over_stdio_an_export_is_a_file_and_so_it_is_where_one_is_named(place: Maintained):
    unnamed = await place.call("export_memories", agent_id=AGENT, context=STDIO)
    named = await place.call("export_memories", agent_id=AGENT, output_path="mine.jsonl")
    for said in (unnamed, named):
        assert "url" not in said
        assert Path(said["path"]).stat().st_size == said["bytes"]
    assert unnamed["digest"] == named["digest"]
    assert Path(named["path"]).name == "mine.jsonl"
    assert f"export-{AGENT}-" in unnamed["path"]


async def test_an_upload_is_imported_with_counts_and_the_digest_of_its_export(place: Maintained):
    exported = await place.call("export_memories", agent_id=AGENT, output_path="a")
    data = Path(exported["path"]).read_bytes()
    upload_id = await uploaded(place, data)
    dry = await place.call("import_memories", upload_id=upload_id, target_agent_id="new", dry_run=True)
    said = await place.call("import_memories", upload_id=upload_id, target_agent_id="new")
    assert {**dry, "dry_run": False} == said
    assert said == {
        "ok": True,
        "dry_run": False,
        "agent_id": "new",
        "imported_memories": 2,
        "skipped_memories": 0,
        "imported_episodes": 1,
        "skipped_episodes": 0,
        "profile_updated": True,
        "digest": exported["digest"],
    }
    again = await place.call("export_memories", agent_id="new", output_path="b")
    assert again["digest"] == exported["digest"]
    repeated = await place.call("import_memories", input_path=exported["path"], target_agent_id="new")
    assert (repeated["imported_memories"], repeated["skipped_memories"], repeated["skipped_episodes"]) == (0, 2, 1)
    assert repeated["profile_updated"] is False


async def test_the_files_and_uploads_of_others_do_not_exist(place: Maintained):
    path = (await place.call("export_memories", agent_id=AGENT, output_path="a"))["path"]
    upload_id = await uploaded(place, Path(path).read_bytes())
    for arguments in ({"input_path": path}, {"input_path": "a"}, {"upload_id": upload_id}):
        said = await place.call("import_memories", by="ben", target_agent_id="bens", **arguments)
        assert said["ok"] is False
        assert said["code"] in ("import_refused", "invalid")
        assert path not in str(said)
        assert upload_id not in str(said)


async def test_a_file_that_was_changed_is_refused_with_the_reason(place: Maintained):
    path = Path((await place.call("export_memories", agent_id=AGENT, output_path="a"))["path"])
    path.write_bytes(path.read_bytes().replace(b"milk", b"rum!"))
    before = await place.everything()
    said = await place.call("import_memories", input_path="a", target_agent_id="new")
    assert (said["code"], said["field"]) == ("import_refused", "input_path")
    assert "digest" in said["limit"]
    assert await place.everything() == before


async def test_a_copy_leaves_the_source_and_a_move_says_what_it_took_and_left(place: Maintained):
    await place.call("store", agent_id="new", content="milk")
    arguments = {"source_agent_id": AGENT, "target_agent_id": "new"}
    copied = await place.call("merge_memories", **arguments, dry_run=True)
    assert (copied["merged_memories"], copied["skipped_memories"], copied["merged_episodes"]) == (1, 1, 1)
    assert (copied["profile_copied"], copied["skipped_profile"]) == (True, False)
    assert "source_deleted" not in copied
    assert await place.contents("new") == ["milk"]
    moved = await place.call("merge_memories", **arguments, mode="move")
    assert moved["source_deleted"] == {"memories": 1, "episodes": 1, "profiles": 1}
    assert moved["left_at_source"] == {"memories": 1, "episodes": 0, "profiles": 0}
    assert (await place.contents(), await place.contents("new")) == (["milk"], ["cocoa", "milk"])


async def test_a_move_is_confirmed_and_a_copy_is_not(place: Maintained):
    arguments = {"source_agent_id": AGENT, "target_agent_id": "new"}
    declined = Asked("decline")
    said = await place.call("merge_memories", **arguments, mode="move", context=declined.context)
    assert said["code"] == "not_confirmed"
    assert "2 memories" in declined.asked[0]
    assert len(await place.contents()) == 2
    quiet = Asked("decline")
    assert (await place.call("merge_memories", **arguments, context=quiet.context))["ok"] is True
    dry = await place.call("merge_memories", **arguments, mode="move", dry_run=True, context=quiet.context)
    assert (dry["ok"], quiet.asked) == (True, [])


async def test_channels_are_found_in_metadata_and_source_and_by_default_only_told(place: Maintained):
    await place.store("one", metadata={"channel": "c1"})
    await place.store("two", source={"type": "User", "id": "u", "channel_id": "c2"})
    await place.store("three", channel="null")
    said = await place.call("migrate_channel_axis")
    assert (said["dry_run"], said["scanned"], said["migrated"], said["globalized"]) == (True, 5, 2, 0)
    assert said["unrecoverable"] == 1
    assert [(each["from_channel"], each["to_channel"]) for each in said["samples"]] == [("", "c1"), ("", "c2")]
    assert await place.call("migrate_channel_axis") == said
    done = await place.call("migrate_channel_axis", agent_id=AGENT, dry_run=False, globalize_unrecoverable=True)
    assert (done["migrated"], done["globalized"], done["conflicts"]) == (2, 1, 0)
    listed = (await place.call("list_memories"))["memories"]
    assert {each["content"]: each["channel"] for each in listed} == {
        "one": "c1",
        "two": "c2",
        "three": "",
        "milk": "",
        "cocoa": "",
    }
    again = await place.call("migrate_channel_axis", dry_run=False)
    assert (again["migrated"], again["unrecoverable"], again["samples"]) == (0, 0, [])


async def test_a_memory_whose_content_is_there_already_stays_and_is_counted(place: Maintained):
    await place.store("one", channel="null")
    await place.store("one", channel="c1", metadata={})
    held = place.inside()
    first = next(each for each in held.memories.values() if each.bucket.channel == "null")
    held.add(structs.replace(first, metadata={"channel": "c1"}))
    said = await place.call("migrate_channel_axis", dry_run=False)
    assert (said["migrated"], said["conflicts"]) == (0, 1)
