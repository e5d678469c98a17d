"""Section 10 of seed 1, line by line: where each of its sentences is a test, and that it is one over both transports.

What no other file shows over HTTP and over stdio alike is shown here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codesynapse.server.hints.health import Cause
from tests.integration.harness import Product
from tests.integration.test_session_key import Call, calling, moved, notice, write
from tests.mutations.defects import SEED
from tests.test_requirements import exists

ROOT = Path(__file__).parent.parent.parent
KEY = "tests/integration/test_session_key.py"
HERE = "tests/integration/test_section_ten.py"
KEYLESS = "tests/integration/test_keyless.py"
AGENT = "bob"
LINES: dict[str, tuple[str, ...]] = {
    "resolution": (
        f"{HERE}::test_a_key_resolves_to_itself_without_blanks_and_to_the_shared_bucket_where_there_is_none",
    ),
    "behaviour preservation": (
        f"{KEYLESS}::test_a_keyless_sequence_gets_the_same_bytes_with_the_key_and_without_it_but_for_the_list",
        f"{KEYLESS}::test_a_keyless_sequence_gets_the_bytes_that_were_recorded",
    ),
    "advisory, two keys and one key twice": (
        f"{HERE}::test_during_an_outage_two_keys_are_each_told_in_full_and_a_key_that_comes_again_in_short",
    ),
    "advisory, a keyless pair": (f"{HERE}::test_a_keyless_pair_is_told_as_its_transport_is",),
    "pause of one key": (
        f"{KEY}::test_a_declared_pause_skips_its_own_writes_and_leaves_others_and_keyless_ones_alone",
    ),
    "pause of the keyless": (f"{KEY}::test_a_keyless_pause_skips_keyless_writes_and_leaves_declared_ones_alone",),
    "scope on pause, resume and status": (f"{HERE}::test_all_three_pause_tools_say_the_scope_of_their_caller",),
    "ttl on an injected clock": (
        f"{KEY}::test_a_pause_ends_on_the_clock_without_being_looked_at",
        f"{HERE}::test_two_pauses_end_each_by_its_own_ttl_and_resume_tells_of_its_own_alone",
    ),
    "honesty": (f"{KEY}::test_only_a_keyless_remote_caller_reads_that_identity_is_shared",),
    "the ttl argument": (f"{KEY}::test_a_ttl_and_a_key_out_of_bounds_are_refused_by_name",),
    "queue, one key and another": (
        f"{HERE}::test_a_queued_write_is_dropped_by_its_own_keys_pause_and_kept_by_anothers",
    ),
    "queue, a row without attribution": (f"{HERE}::test_a_queued_write_of_unknown_origin_follows_the_keyless_bucket",),
}
"""Each line that a caller can observe, and its tests; all of them run over both transports."""
STATIC = {
    "structural": "tests/server/hints/test_pauses.py::test_no_other_module_holds_a_pause",
    "mutation proof": "tests/mutations/test_defects.py::test_the_seeds_seven_mutations_are_among_the_defects",
}
"""The two lines about the sources, which no transport touches."""

both = pytest.mark.parametrize("transport", ["http", "stdio"])


def parametrised(test: str) -> Iterator[str]:
    """What a test's decorators say of its parameters: the words in them, and in the marks that its module names."""
    path, _, name = test.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    marks = {
        ast.unparse(each.targets[0]): ast.unparse(each.value) for each in tree.body if isinstance(each, ast.Assign)
    }
    for node in tree.body:
        if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name == name:
            for decorator in map(ast.unparse, node.decorator_list):
                yield marks.get(decorator, decorator)


@pytest.mark.parametrize("line", LINES)
def test_each_line_of_the_section_has_its_tests_and_they_run_over_both_transports(line: str):
    for test in LINES[line]:
        assert exists(test)
        marks = " ".join(parametrised(test))
        assert "'transport'" in marks
        assert "TRANSPORTS" in marks or ("'http'" in marks and "'stdio'" in marks)


def test_the_lines_about_the_sources_have_theirs():
    assert all(map(exists, STATIC.values()))
    assert len(SEED) == 7


@both
async def test_a_key_resolves_to_itself_without_blanks_and_to_the_shared_bucket_where_there_is_none(transport: str):
    async with calling(transport) as (_, call):
        await call("pause_persistence", session_key="A")
        for declared in ("A", " A", "A\t", "\nA "):
            said = await call("persistence_status", session_key=declared)
            assert (said["paused"], said["scope"]) == (True, "session")
        for other in ("a", "A A", "AA"):
            said = await call("persistence_status", session_key=other)
            assert (said["paused"], said["scope"]) == (False, "session")
        await call("resume_persistence", session_key="A")
        await call("pause_persistence")
        for none in ({}, {"session_key": None}, {"session_key": ""}, {"session_key": " \t\n"}):
            said = await call("persistence_status", **none)
            assert (said["paused"], said["scope"]) == (True, "process")


@both
async def test_during_an_outage_two_keys_are_each_told_in_full_and_a_key_that_comes_again_in_short(transport: str):
    async with calling(transport) as (running, call):
        out(running)
        told = [await notice(call, key) for key in ("A", "B", "A", " B ", "A")]
        assert told == [("full", "session")] * 2 + [("short", "session")] * 3


@both
async def test_a_keyless_pair_is_told_as_its_transport_is(transport: str):
    async with calling(transport) as (running, call):
        out(running)
        told = [await notice(call, key) for key in (None, "", " ")]
        # One process is one caller over stdio; over HTTP nobody knows who has been told, so each is during a fault.
        remote, local = ("full", "process"), ("short", "session")
        assert told == ([remote] * 3 if transport == "http" else [("full", "session"), local, local])
        running.services.hints.embedded()
        assert await notice(call) is None


@both
async def test_all_three_pause_tools_say_the_scope_of_their_caller(transport: str):
    async with calling(transport) as (_, call):
        for tool in ("pause_persistence", "persistence_status", "resume_persistence"):
            for key, scope in (("A", "session"), (None, "process"), (" ", "process"), ("transport", "process")):
                assert (await call(tool, session_key=key))["scope"] == scope


@both
async def test_two_pauses_end_each_by_its_own_ttl_and_resume_tells_of_its_own_alone(transport: str):
    async with calling(transport) as (running, call):
        await call("pause_persistence", session_key="A", ttl_seconds=60)
        await call("pause_persistence", session_key="B", ttl_seconds=120)
        assert (await call("resume_persistence", session_key="C"))["was_active"] is False
        assert (await call("resume_persistence"))["was_active"] is False
        moved(running, 60)
        assert [await write(call, key) for key in ("A", "B")] == [True, False]
        assert (await call("resume_persistence", session_key="A"))["was_active"] is False
        assert (await call("resume_persistence", session_key="B"))["was_active"] is True
        assert await write(call, "B")


@both
async def test_a_queued_write_is_dropped_by_its_own_keys_pause_and_kept_by_anothers(transport: str, still: None):
    async with calling(transport) as (running, call):
        for key in ("A", "B", None):
            await queued(call, key)
        await call("pause_persistence", session_key="A")
        await call("pause_persistence", session_key="C")
        await running.services.work()
        assert await archived(call) == ["of B", "of None"]


@both
async def test_a_queued_write_of_unknown_origin_follows_the_keyless_bucket(transport: str, still: None):
    async with calling(transport) as (running, call):
        await forgotten(running, await queued(call, "A"))
        await call("pause_persistence", session_key="A")
        await running.services.work()
        assert await archived(call) == ["of A"]
        await call("pause_persistence")
        await forgotten(running, await queued(call, "B"))
        await running.services.work()
        assert await archived(call) == ["of A"]
        assert (await call("get_queue_status"))["pending"] == 0


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No round of the queue but those that a test asks for."""
    monkeypatch.setattr("codesynapse.server.app.QUEUE_S", 3_600)


def out(running: Product) -> None:
    """Let the embedder fail twice in a row."""
    for _ in range(2):
        running.services.hints.embedding_failed(Cause.ENDPOINT)


async def queued(call: Call, key: str | None) -> int:
    """Queue an archive under a key; its task."""
    said: dict[str, Any] = await call(
        "archive_episode", agent_id=AGENT, summary=f"of {key}", history=[{}] * 51, session_key=key
    )
    assert said["queued"] is True
    return int(said["task_id"])


async def forgotten(running: Product, task_id: int) -> None:
    """Let the process forget who queued a task, as a restart does."""
    for tenant_id in await running.services.ports.accounts.organizations():
        running.services.hints.attribution.forget(tenant_id, [task_id])


async def archived(call: Call) -> list[str]:
    return [each["summary"] for each in (await call("list_episodes"))["episodes"]][::-1]
