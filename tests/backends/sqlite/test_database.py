"""One file, several processes, and what a kill leaves behind."""

import asyncio
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from codesynapse.backends.sqlite import open_sqlite
from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.database import Database, open_database
from codesynapse.backends.sqlite.migrate import APPLICATION_ID, VERSION
from codesynapse.contracts.errors import StoreBusy, StoreFault
from codesynapse.contracts.memory import CommitId, Scope
from codesynapse.contracts.suite.worlds import NOW, new_scope

Start = Callable[..., "subprocess.Popen[str]"]

# Commits to a scope, one after the other, and says the revision of each once it was acknowledged.
WRITER = """
import asyncio, sys
from codesynapse.backends.sqlite import open_sqlite
from codesynapse.contracts.errors import RevisionConflict
from codesynapse.contracts.memory import CommitId, Outcome, Scope
from codesynapse.contracts.suite.worlds import NOW, new_snapshot, numbered

async def main(path, tenant, session, name, count):
    scope = Scope(tenant_id=tenant, session_id=session, ns="default")
    async with open_sqlite({"path": path}) as store:
        memory, written = store.session_memory, 0
        while written < int(count):
            stored = await memory.load(scope, now_ms=NOW)
            proposed = new_snapshot(scope, *numbered(3 + stored.revision % 5))
            commit_id = CommitId(f"{name}-{written}")
            try:
                committed = await memory.commit(
                    proposed, read_revision=stored.revision, commit_id=commit_id, outcome=Outcome(), now_ms=NOW
                )
            except RevisionConflict:
                continue
            written += 1
            print(committed.revision, commit_id, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def user_named(name: str) -> Callable[[Connection], object]:
    return lambda connection: connection.execute("INSERT INTO users VALUES (?, 0, 1)", (name,))


async def test_what_one_connection_has_written_the_next_question_sees(database: Database, path: Path) -> None:
    async with open_database(path, deadline_s=10) as other:
        for number in range(20):
            await other.write(user_named(f"u{number}"))
            for ask in (database.ask, partial(database.search, "acme")):
                assert await ask(lambda each: each.execute("SELECT count(*) FROM users").fetchone()) == (number + 1,)


async def test_a_reading_connection_cannot_write(database: Database) -> None:
    for ask in (database.ask, partial(database.search, "acme")):
        with pytest.raises(StoreFault):
            await ask(lambda each: each.execute("INSERT INTO users VALUES ('ana', 0, 1)"))


async def test_a_commit_survives_the_power_as_far_as_sqlite_can_see_to_it(database: Database) -> None:
    full = 2
    assert await database.write(lambda each: each.execute("PRAGMA synchronous").fetchone()) == (full,)
    assert await database.write(lambda each: each.execute("PRAGMA journal_mode").fetchone()) == ("wal",)


async def test_closing_finishes_what_waits_and_leaves_one_file(path: Path) -> None:
    async with open_database(path, deadline_s=10) as database:
        writes = [asyncio.create_task(database.write(user_named(f"u{number}"))) for number in range(100)]
        await asyncio.sleep(0)
    await asyncio.gather(*writes)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    with pytest.raises(StoreBusy):
        await database.ask(lambda each: each.execute("SELECT 1"))
    async with open_database(path, deadline_s=10) as database:
        assert await database.ask(lambda each: each.execute("SELECT count(*) FROM users").fetchone()) == (100,)


async def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("Dear diary, this is long enough to be looked at as the header of a database file." * 20)
    with pytest.raises(StoreFault):
        async with open_database(path, deadline_s=10):
            raise AssertionError


async def test_a_file_that_another_holds_past_the_deadline_is_told_busy_and_not_locked(
    path: Path, another: Callable[[], sqlite3.Connection]
) -> None:
    path.parent.mkdir()
    another().execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreBusy) as refusal:
        async with open_database(path, deadline_s=0.05):
            raise AssertionError
    assert "locked" not in str(refusal.value)


async def test_without_a_path_the_store_lies_in_a_folder_of_its_own_that_goes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with open_sqlite({}) as first, open_sqlite({}) as second:
        assert len(list(tmp_path.iterdir())) == 2
        assert first.accounts is not None
        assert second.accounts is not None
        await first.accounts.create_user("ana", now_ms=NOW)
        await second.accounts.create_user("ana", now_ms=NOW)
    assert list(tmp_path.iterdir()) == []


async def test_processes_that_write_one_scope_at_once_lose_nothing(
    path: Path, start_python: Start, many: Callable[[int], int]
) -> None:
    scope, count = new_scope(), many(25)
    place = (str(path), scope.tenant_id, scope.session_id)
    writers = [start_python(WRITER, *place, f"writer{number}", str(count)) for number in range(3)]
    told: list[str] = []
    for writer in writers:
        out, errors = await asyncio.to_thread(writer.communicate)
        assert (writer.returncode, errors) == (0, "")
        told += out.splitlines()
    assert sorted(int(line.split()[0]) for line in told) == list(range(1, 3 * count + 1))
    async with open_sqlite({"path": str(path)}) as store:
        assert store.session_memory is not None
        assert (await store.session_memory.load(scope, now_ms=NOW)).revision == 3 * count


async def acknowledged_until_killed(process: "subprocess.Popen[str]", lines: int) -> list[str]:
    """What a writer had said when it was killed in the middle of its work, after so many lines at least."""
    assert process.stdout is not None
    assert process.stderr is not None
    seen = [await asyncio.to_thread(process.stdout.readline) for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    # Not by communicate(): it would pass over what readline() has read ahead.
    seen += await asyncio.to_thread(process.stdout.readlines)
    errors = await asyncio.to_thread(process.stderr.read)
    assert (await asyncio.to_thread(process.wait), errors) == (-signal.SIGKILL, "")
    return [line.strip() for line in seen]


async def test_a_kill_at_any_moment_loses_no_acknowledged_commit(
    path: Path, start_python: Start, many: Callable[[int], int]
) -> None:
    scope = Scope(tenant_id="acme", session_id="chat", ns="default")
    for attempt in range(many(3)):
        place = (str(path), scope.tenant_id, scope.session_id)
        process = start_python(WRITER, *place, f"life{attempt}", "1000000")
        told = await acknowledged_until_killed(process, 5 + 7 * (attempt % 5))
        revision, commit_id = told[-1].split()
        async with open_sqlite({"path": str(path)}) as store:
            assert store.session_memory is not None
            snapshot = await store.session_memory.load(scope, now_ms=NOW)
            kept = await store.session_memory.committed(scope, CommitId(commit_id), now_ms=NOW)
        # At most the one commit that was under way is more than what was told, and it is whole.
        assert snapshot.revision - int(revision) in (0, 1)
        assert kept is not None
        assert kept.revision == int(revision)
        assert len(snapshot.facts) == 3 + (snapshot.revision - 1) % 5


async def test_the_graphs_of_one_tenant_do_not_keep_another_tenant_waiting(
    database: Database, gate: threading.Event
) -> None:
    entered, order = asyncio.Event(), []
    loop = asyncio.get_running_loop()

    def hold(_: Connection) -> None:
        loop.call_soon_threadsafe(entered.set)
        gate.wait()

    held = asyncio.create_task(database.search("greedy", hold))
    await entered.wait()
    tenants = ["greedy"] * 20 + ["modest"]
    calls = [asyncio.create_task(database.search(each, lambda _, each=each: order.append(each))) for each in tenants]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(held, *calls)
    assert order.index("modest") == 1


async def test_a_probe_writes_to_the_disk_and_changes_nothing_that_can_be_read(
    database: Database, another: Callable[[], sqlite3.Connection]
) -> None:
    other = another()

    def seen() -> tuple[object, ...]:
        return tuple(
            other.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("data_version", "application_id", "user_version", "schema_version")
        )

    version, *rest = seen()
    assert rest[:2] == [APPLICATION_ID, VERSION]
    await database.probe()
    later, *rest_later = seen()
    assert later != version
    assert rest_later == rest


async def test_a_probe_fails_where_writes_fail(
    database: Database,
) -> None:
    await database.write(lambda connection: connection.execute("PRAGMA query_only = ON").close())
    with pytest.raises(StoreFault) as fault:
        await database.probe()
    assert fault.value.cause == "SQLITE_READONLY"
    # The lane opens another connection after the fault, which can write again.
    await database.probe()
