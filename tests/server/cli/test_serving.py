"""`serve`, `init` and `stdio` as processes: what they print, what they refuse, and with which exit code."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import aiohttp
import pytest

from codesynapse.contracts.requirements import requirement
from tests.integration.harness import command, environment, process, start

WAIT_S = 60


async def first_key(home: Path) -> str:
    _, out, _ = await command(home, "init")
    return out.strip().removeprefix("CODESYNAPSE_API_KEY=")


async def test_a_first_start_prints_a_key_and_the_next_one_does_not(tmp_path: Path) -> None:
    async with process(tmp_path) as first:
        assert first.key.startswith("csk_")
    async with process(tmp_path) as second:
        assert second.key == ""


@requirement("listen:line")
async def test_the_address_is_printed_once_requests_are_served(tmp_path: Path) -> None:
    async with process(tmp_path) as running, aiohttp.ClientSession() as http:
        assert running.url.startswith("http://127.0.0.1:")
        assert running.url.endswith("/mcp")
        async with http.get(running.base + "/readyz") as answer:
            assert (answer.status, await answer.json()) == (200, {"ok": True})


@requirement("home:second-serve")
async def test_a_second_serve_on_one_home_exits_with_2(tmp_path: Path) -> None:
    async with process(tmp_path):
        code, out, err = await command(tmp_path, "serve", "--port", "0")
        assert (code, out) == (2, "")
        assert err.startswith("CODESYNAPSE_HOME: ")
        # The home itself is not locked: an operator can work beside the server.
        assert (await command(tmp_path, "org", "list"))[0] == 0


async def test_after_a_kill_the_home_is_free_at_once(tmp_path: Path) -> None:
    running = await start(tmp_path)
    await running.kill()
    async with process(tmp_path) as again:
        assert again.key == ""


async def test_a_port_that_is_taken_is_refused_by_its_setting(tmp_path: Path) -> None:
    async with process(tmp_path / "a") as running:
        port = running.base.rpartition(":")[2]
        code, _, err = await command(tmp_path / "b", "serve", "--port", port)
        assert code == 2
        assert err == "CODESYNAPSE_HOST, CODESYNAPSE_PORT: the address cannot be listened on.\n"


@requirement("listen:beyond-loopback")
async def test_a_bind_beyond_loopback_is_refused_and_says_how_it_would_be_allowed(tmp_path: Path) -> None:
    code, out, err = await command(tmp_path, "serve", "--host", "0.0.0.0", "--port", "0")
    assert (code, "listening" in out) == (2, False)
    assert err.startswith("CODESYNAPSE_HOST: ")
    for way in ("CODESYNAPSE_TLS_CERT_FILE", "CODESYNAPSE_TRUSTED_PROXY", "--insecure-http"):
        assert way in err


async def test_a_start_that_fails_prints_no_traceback_and_no_value(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name, value in (("HOME", str(tmp_path / "file")), ("LOG_LEVEL", "hunter2"), ("GRAPH", "x://a:hunter2@b")):
        code, _, err = await command(tmp_path, "serve", "--port", "0", env={f"CODESYNAPSE_{name}": value})
        assert code == 2
        assert err.startswith(f"CODESYNAPSE_{name}")
        assert len(err.splitlines()) == 1
        assert "hunter2" not in err


STDIO_FAULTS = [
    ({}, "CODESYNAPSE_API_KEY"),
    ({"SESSION_ID": "s", "PARENT_SESSION_ID": "s"}, "CODESYNAPSE_API_KEY"),
    ({"API_KEY": "csk_" + "x" * 43, "SESSION_ID": "s", "PARENT_SESSION_ID": "s"}, "CODESYNAPSE_API_KEY"),
    ({"API_KEY": "KEY"}, "CODESYNAPSE_SESSION_ID"),
    ({"API_KEY": "KEY", "SESSION_ID": "two words", "PARENT_SESSION_ID": "two words"}, "CODESYNAPSE_SESSION_ID"),
    ({"API_KEY": "KEY", "SESSION_ID": "nobody", "PARENT_SESSION_ID": "nobody"}, "CODESYNAPSE_SESSION_ID"),
    ({"API_KEY": "KEY", "SESSION_ID": "ended", "PARENT_SESSION_ID": "ended"}, "CODESYNAPSE_SESSION_ID"),
    ({"API_KEY": "KEY", "SESSION_ID": "live"}, "CODESYNAPSE_PARENT_SESSION_ID"),
    ({"API_KEY": "KEY", "SESSION_ID": "live", "PARENT_SESSION_ID": "other"}, "CODESYNAPSE_PARENT_SESSION_ID"),
]


async def stdio(home: Path, variables: dict[str, str]) -> asyncio.subprocess.Process:
    """`codesynapse stdio` with an input that stays open, so that it ends before reading or not at all."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "codesynapse.server", "stdio"),
        env=environment(home, **{f"CODESYNAPSE_{name}": value for name, value in variables.items()}),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_stdio_exits_with_2_before_reading_and_names_the_variable(tmp_path: Path) -> None:
    key = await first_key(tmp_path)
    for session in ("live", "ended"):
        await command(tmp_path, "session", "register", session)
    await command(tmp_path, "session", "revoke", "ended")
    for given, named in STDIO_FAULTS:
        child = await stdio(tmp_path, {name: key if value == "KEY" else value for name, value in given.items()})
        assert child.stdout is not None
        assert child.stderr is not None
        async with asyncio.timeout(WAIT_S):
            assert await child.wait() == 2, given
        err = (await child.stderr.read()).decode()
        assert err.startswith(f"{named}: "), given
        assert await child.stdout.read() == b""
        assert not any(value in err for value in ("nobody", "ended", "two words", "other", key)), given


async def test_stdio_answers_under_a_registered_session(tmp_path: Path) -> None:
    key = await first_key(tmp_path)
    await command(tmp_path, "session", "register", "live")
    child = await stdio(tmp_path, {"API_KEY": key, "SESSION_ID": "live", "PARENT_SESSION_ID": "live"})
    out, err = await child.communicate(b'{"jsonrpc":"2.0","id":7,"method":"ping"}\n')
    assert child.returncode == 0, err
    assert json.loads(out) == {"jsonrpc": "2.0", "id": 7, "result": {}}


async def test_stdio_never_makes_the_first_accounts(tmp_path: Path) -> None:
    code, out, _ = await command(
        tmp_path,
        "stdio",
        env={
            "CODESYNAPSE_API_KEY": "csk_" + "x" * 43,
            "CODESYNAPSE_SESSION_ID": "s",
            "CODESYNAPSE_PARENT_SESSION_ID": "s",
        },
    )
    assert (code, out) == (2, "")
    assert (await command(tmp_path, "org", "list"))[1] == ""


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
async def test_serve_ends_cleanly_when_it_is_told_to(tmp_path: Path, told: signal.Signals) -> None:
    running = await start(tmp_path)
    os.kill(running.child.pid, told)
    async with asyncio.timeout(WAIT_S):
        assert await running.child.wait() == 0


async def test_the_lines_for_a_client_start_a_bridge_and_name_no_session(tmp_path: Path) -> None:
    running = await start(tmp_path)
    assert running.child.stdout is not None
    running.child.terminate()
    said = (await running.child.stdout.read()).decode()
    await running.child.wait()
    assert f"  codesynapse bridge --url {running.url} --thread new\n" in said
    assert "CODESYNAPSE_API_KEY" in said
    for static in ("X-CodeSynapse", "CODESYNAPSE_SESSION_ID", "Authorization", "csk_"):
        assert static not in said
