"""The first start: one organisation, one user, one repository, one key, which is told once."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from codesynapse.backends.memory import open_memory
from codesynapse.contracts.accounts import Level, key_hash
from codesynapse.contracts.errors import StoreFault
from codesynapse.contracts.ports import Accounts
from codesynapse.contracts.requirements import requirement
from codesynapse.server.cli.first import ORGANIZATION, USER, bootstrap, issue_key, keeping, tell_key
from codesynapse.server.clock import ManualClock
from tests.integration.harness import command
from tests.server.cli.conftest import CommandLine

NOW = 1_800_000_000_000

Step = Callable[[Accounts], Awaitable[object]]
STEPS: Mapping[str, Step] = {
    "organisation": lambda accounts: accounts.create_organization(ORGANIZATION, now_ms=NOW),
    "user": lambda accounts: accounts.create_user(USER, now_ms=NOW),
    "repository": lambda accounts: accounts.create_repository(ORGANIZATION, "default", now_ms=NOW),
    "membership": lambda accounts: accounts.set_member(ORGANIZATION, USER, member=True, now_ms=NOW),
    "grant": lambda accounts: accounts.set_grant(ORGANIZATION, "default", USER, Level.ADMIN, now_ms=NOW),
}


async def state(accounts: Accounts, key: str) -> tuple[object, ...]:
    """What the first start has to have left behind, seen by whoever holds the key."""
    hashed = key_hash(key)
    assert hashed is not None
    caller = (await accounts.authorize(hashed, None, now_ms=NOW)).caller
    grant = await accounts.grant(caller.tenant_id, "default", caller.subject_id)
    return caller.tenant_id, caller.subject_id, grant, len(await accounts.keys(ORGANIZATION))


async def test_the_key_opens_the_default_repository() -> None:
    async with open_memory({}) as backend:
        assert backend.accounts is not None
        key = await bootstrap(backend.accounts, ManualClock(NOW))
        assert key is not None
        assert await state(backend.accounts, key) == ("home", "owner", Level.ADMIN, 1)


async def test_a_second_start_makes_no_key() -> None:
    async with open_memory({}) as backend:
        assert backend.accounts is not None
        await bootstrap(backend.accounts, ManualClock(NOW))
        assert await bootstrap(backend.accounts, ManualClock(NOW)) is None
        assert len(await backend.accounts.keys(ORGANIZATION)) == 1


@pytest.mark.parametrize("done", range(1, len(STEPS) + 1))
async def test_a_first_start_that_was_killed_half_way_is_completed(done: int) -> None:
    async with open_memory({}) as backend:
        assert backend.accounts is not None
        for step in list(STEPS.values())[:done]:
            await step(backend.accounts)
        key = await bootstrap(backend.accounts, ManualClock(NOW))
        assert key is not None
        assert await state(backend.accounts, key) == ("home", "owner", Level.ADMIN, 1)


async def test_a_revoked_key_is_not_replaced() -> None:
    # Otherwise whoever can restart the server gets in after the operator has locked everybody out.
    async with open_memory({}) as backend:
        assert backend.accounts is not None
        await bootstrap(backend.accounts, ManualClock(NOW))
        (record,) = await backend.accounts.keys(ORGANIZATION)
        await backend.accounts.revoke_key(ORGANIZATION, record.key_id, now_ms=NOW)
        assert await bootstrap(backend.accounts, ManualClock(NOW)) is None


async def test_accounts_that_somebody_else_made_are_left_alone() -> None:
    async with open_memory({}) as backend:
        assert backend.accounts is not None
        await backend.accounts.create_organization("acme", now_ms=NOW)
        assert await bootstrap(backend.accounts, ManualClock(NOW)) is None
        assert await backend.accounts.organizations() == ["acme"]


async def test_the_record_of_a_key_does_not_hold_it() -> None:
    async with open_memory({}) as backend:
        assert backend.accounts is not None
        await bootstrap(backend.accounts, ManualClock(NOW))
        key = await issue_key(backend.accounts, ManualClock(NOW), ORGANIZATION, USER)
        assert key not in str(await backend.accounts.keys(ORGANIZATION))
        assert key not in str(await backend.accounts.audit(after=0, limit=100))


def test_a_key_stands_alone_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    tell_key("csk_x")
    assert capsys.readouterr().out == "CODESYNAPSE_API_KEY=csk_x\n"


def test_init_prints_a_key_once(cli: CommandLine) -> None:
    assert cli.ok("init").startswith("CODESYNAPSE_API_KEY=csk_")
    assert "csk_" not in cli.ok("init")
    assert len(cli.rows("key", "list")) == 1


async def test_of_several_first_starts_at_once_one_prints_a_key(tmp_path: Path) -> None:
    ended = await asyncio.gather(*(command(tmp_path, "init") for _ in range(4)))
    assert [code for code, _, _ in ended] == [0] * 4
    assert sorted("csk_" in out for _, out, _ in ended) == [False, False, False, True]
    assert len((await command(tmp_path, "key", "list"))[1].splitlines()) == 1


def test_the_home_holds_the_hash_of_the_key_and_not_the_key(cli: CommandLine) -> None:
    key = cli.key()
    hashed = key_hash(key)
    assert hashed is not None
    contents = b"".join(path.read_bytes() for path in cli.home.iterdir())
    assert hashed.encode() in contents
    assert key.encode() not in contents


@requirement("start:container")
def test_the_first_key_goes_into_a_new_file_for_its_owner_alone_where_one_is_named(cli: CommandLine) -> None:
    file = cli.home.with_name("first.key")
    named = {"CODESYNAPSE_BOOTSTRAP_KEY_FILE": str(file)}
    assert "csk_" not in cli.ok("init", **named)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text("utf-8")
    assert text.startswith("CODESYNAPSE_API_KEY=csk_")
    key = text.removeprefix("CODESYNAPSE_API_KEY=").strip()
    assert "ok: key: authenticates" in cli.ok("doctor", CODESYNAPSE_API_KEY=key, CODESYNAPSE_PORT="0")
    # A later start finds accounts, and leaves the file as it is.
    cli.ok("init", **named)
    assert file.read_text("utf-8") == text


def test_a_file_that_is_there_already_is_left_alone_and_no_key_is_made(cli: CommandLine) -> None:
    file = cli.home.with_name("first.key")
    file.write_text("somebody's")
    named = {"CODESYNAPSE_BOOTSTRAP_KEY_FILE": str(file)}
    assert cli.refused("init", code=2, **named).startswith("CODESYNAPSE_BOOTSTRAP_KEY_FILE: ")
    assert file.read_text("utf-8") == "somebody's"
    file.unlink()
    cli.ok("init", **named)
    assert file.read_text("utf-8").startswith("CODESYNAPSE_API_KEY=csk_")


def test_no_file_is_left_behind_where_the_key_was_not_made(tmp_path: Path) -> None:
    file = tmp_path / "first.key"

    def fail() -> None:
        with keeping(str(file))("csk_x"):
            assert file.exists()
            raise StoreFault

    with pytest.raises(StoreFault):
        fail()
    assert not file.exists()
