"""What ended memory leaves in the file, and what is counted."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from codesynapse.backends.sqlite.database import Database
from codesynapse.contracts.errors import QuotaExceeded, SessionExpired, SessionRevoked
from codesynapse.contracts.memory import COMMITS_KEPT, EntityId, Outcome, Revision, Scope
from codesynapse.contracts.ports import Backend, SessionMemory
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.worlds import LIFETIME_MS, NOW, later, new_commit_id, new_scope, new_snapshot
from codesynapse.contracts.vectors import VectorRecord

Connect = Callable[[], sqlite3.Connection]

SECRET = "Ana knows the-password-is-swordfish"
NEEDLE = b"swordfish"
EXPIRED = later(NOW, LIFETIME_MS)


@pytest.fixture
def memory(sqlite_store: Backend) -> SessionMemory:
    assert sqlite_store.session_memory is not None
    return sqlite_store.session_memory


async def remember(memory: SessionMemory, scope: Scope, *lines: str, revision: int = 0) -> None:
    await memory.commit(
        new_snapshot(scope, *lines),
        read_revision=Revision(revision),
        commit_id=new_commit_id(),
        outcome=Outcome(),
        now_ms=NOW,
    )


def found_in(path: Path, needle: bytes) -> list[str]:
    """The files of the store that hold these bytes."""
    return [each.name for each in path.parent.iterdir() if needle in each.read_bytes()]


async def test_what_a_live_session_remembers_is_in_the_file(memory: SessionMemory, path: Path) -> None:
    await remember(memory, new_scope(), SECRET)
    assert found_in(path, NEEDLE)


async def test_an_expired_scope_leaves_nothing_in_any_file_once_it_was_touched(
    memory: SessionMemory, path: Path
) -> None:
    scope = new_scope()
    await remember(memory, scope, SECRET)
    with pytest.raises(SessionExpired):
        await memory.load(scope, now_ms=EXPIRED)
    assert found_in(path, NEEDLE) == []


async def test_a_commit_to_an_expired_scope_removes_its_content_too(memory: SessionMemory, path: Path) -> None:
    scope = new_scope()
    await remember(memory, scope, SECRET)
    with pytest.raises(SessionExpired):
        await memory.commit(
            new_snapshot(scope, "Ana knows nothing"),
            read_revision=Revision(1),
            commit_id=new_commit_id(),
            outcome=Outcome(),
            now_ms=EXPIRED,
        )
    assert found_in(path, NEEDLE) == []


async def test_touching_an_expired_scope_again_does_not_occupy_the_writer(
    memory: SessionMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write(*_: object, **__: object) -> None:
        raise AssertionError("there is nothing to write")

    scope = new_scope()
    await remember(memory, scope, SECRET)
    with pytest.raises(SessionExpired):
        await memory.load(scope, now_ms=EXPIRED)
    monkeypatch.setattr(Database, "write", write)
    with pytest.raises(SessionExpired):
        await memory.load(scope, now_ms=EXPIRED)


async def test_the_next_sweep_scrubs_what_a_reader_was_in_the_way_of(
    memory: SessionMemory, path: Path, another: Connect
) -> None:
    scope = new_scope()
    await remember(memory, scope, SECRET)
    reader = another()
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM contents").fetchone()
    await memory.revoke(scope.tenant_id, scope.session_id, now_ms=NOW)
    assert found_in(path, NEEDLE)
    reader.execute("COMMIT")
    await memory.sweep(now_ms=NOW, limit=10)
    assert found_in(path, NEEDLE) == []


async def test_a_sweep_leaves_nothing_of_what_expired_in_any_file(memory: SessionMemory, path: Path) -> None:
    await remember(memory, new_scope(), SECRET)
    assert await memory.sweep(now_ms=EXPIRED, limit=10) == 1
    assert found_in(path, NEEDLE) == []


async def test_a_sweep_does_not_count_what_was_empty_already(memory: SessionMemory) -> None:
    await remember(memory, new_scope(), SECRET)
    await remember(memory, new_scope())
    assert await memory.sweep(now_ms=EXPIRED, limit=10) == 1
    assert await memory.sweep(now_ms=EXPIRED, limit=10) == 0


async def test_a_revoked_session_leaves_nothing_in_any_file(memory: SessionMemory, path: Path) -> None:
    scope = new_scope()
    await remember(memory, scope, SECRET)
    assert await memory.revoke(scope.tenant_id, scope.session_id, now_ms=NOW) == 1
    assert found_in(path, NEEDLE) == []
    with pytest.raises(SessionRevoked):
        await memory.load(scope, now_ms=NOW)


async def test_a_cleared_namespace_leaves_nothing_in_any_file(memory: SessionMemory, path: Path) -> None:
    scope = new_scope()
    await remember(memory, scope, SECRET)
    cleared = structs.replace(new_snapshot(scope), closed=True)
    commit_id = new_commit_id()
    await memory.commit(cleared, read_revision=Revision(1), commit_id=commit_id, outcome=Outcome(), now_ms=NOW)
    assert found_in(path, NEEDLE) == []


async def test_the_vectors_of_a_scope_end_with_its_content(sqlite_store: Backend, another: Connect) -> None:
    memory, vectors = sqlite_store.session_memory, sqlite_store.vectors
    assert memory is not None
    assert vectors is not None
    for end in ("load", "revoke", "clear"):
        scope = new_scope()
        await remember(memory, scope, "Ana likes tea")
        record = VectorRecord(scope=scope, entity=EntityId("e1"), model="m", values=(1.0, 0.0), expires_at_ms=EXPIRED)
        await vectors.put([record], now_ms=NOW)
        assert another().execute("SELECT count(*) FROM vectors").fetchone() == (1,)
        if end == "load":
            with pytest.raises(SessionExpired):
                await memory.load(scope, now_ms=EXPIRED)
        elif end == "revoke":
            await memory.revoke(scope.tenant_id, scope.session_id, now_ms=NOW)
        else:
            cleared = structs.replace(new_snapshot(scope), closed=True)
            await memory.commit(
                cleared, read_revision=Revision(1), commit_id=new_commit_id(), outcome=Outcome(), now_ms=NOW
            )
        assert another().execute("SELECT count(*) FROM vectors").fetchone() == (0,)


async def test_only_the_newest_commit_ids_are_kept(memory: SessionMemory, another: Connect) -> None:
    scope = new_scope()
    for revision in range(COMMITS_KEPT + 5):
        await remember(memory, scope, "Ana likes tea", revision=revision)
    kept = another().execute("SELECT min(revision), max(revision), count(*) FROM scope_commits").fetchone()
    assert kept == (6, COMMITS_KEPT + 5, COMMITS_KEPT)


async def test_a_root_that_was_written_past_the_adapter_counts_in_the_tenants_caps(
    memory: SessionMemory, another: Connect
) -> None:
    scope = new_scope()
    await memory.set_quotas(scope.tenant_id, Quotas(tenant_roots_max=2, tenant_facts_max=10))
    planted = "INSERT INTO scopes VALUES (null, ?, ?, 'default', 1, ?, 0, ?, ?)"
    another().execute(planted, (scope.tenant_id, "planted", EXPIRED, 9, 9))
    with pytest.raises(QuotaExceeded) as refusal:
        await remember(memory, scope, "Ana likes tea", "Ana likes coffee")
    assert (refusal.value.field, refusal.value.limit) == ("tenant_facts", 10)
    await remember(memory, scope, "Ana likes tea")
    with pytest.raises(QuotaExceeded) as refusal:
        await remember(memory, structs.replace(scope, session_id="third"), "Ana likes tea")
    assert (refusal.value.field, refusal.value.limit) == ("tenant_roots", 2)
