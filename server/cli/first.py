"""The first start: one organisation, one user, one repository, one key, told once."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

import click

from codesynapse.contracts.accounts import KeyRecord, Level, key_hash, new_key
from codesynapse.contracts.errors import AlreadyExists
from codesynapse.contracts.ports import Accounts
from codesynapse.server.clock import Clock
from codesynapse.server.settings import SettingsError
from codesynapse.server.tools.graph import DEFAULT_REPOSITORY

ORGANIZATION = "home"
USER = "owner"

Keep = Callable[[str], AbstractContextManager[object]]
"""Keeps a key while its record is made."""


async def bootstrap(accounts: Accounts, clock: Clock, keep: Keep = nullcontext) -> str | None:
    """Create the first accounts; the key, or None where there are accounts already.

    A first start that was killed half-way is completed by the next one: as long as there is no key, nobody could
    have used what is there.
    """
    organizations = await accounts.organizations()
    if organizations and (ORGANIZATION not in organizations or await accounts.keys(ORGANIZATION)):
        return None
    now_ms = clock()
    for create in (
        accounts.create_organization(ORGANIZATION, now_ms=now_ms),
        accounts.create_user(USER, now_ms=now_ms),
        accounts.create_repository(ORGANIZATION, DEFAULT_REPOSITORY, now_ms=now_ms),
    ):
        with suppress(AlreadyExists):
            await create
    await accounts.set_member(ORGANIZATION, USER, member=True, now_ms=now_ms)
    await accounts.set_grant(ORGANIZATION, DEFAULT_REPOSITORY, USER, Level.ADMIN, now_ms=now_ms)
    return await issue_key(accounts, clock, ORGANIZATION, USER, keep)


async def issue_key(accounts: Accounts, clock: Clock, tenant_id: str, subject_id: str, keep: Keep = nullcontext) -> str:
    """A new key for a user of an organisation. Only its hash is stored; whoever asked must keep it."""
    key, now_ms = new_key(), clock()
    hashed = key_hash(key)
    assert hashed is not None
    record = KeyRecord(
        key_id="key-" + secrets.token_hex(8), tenant_id=tenant_id, subject_id=subject_id, created_at_ms=now_ms
    )
    with keep(key):
        await accounts.create_key(record, hashed, now_ms=now_ms)
    return key


def keeping(file: str) -> Keep:
    """Where the first key is kept: in a file that is new and for its owner alone, or nowhere where none is named.

    The file is there before the key is worth anything, so that no key is lost; it goes again where none is made.
    """

    @contextmanager
    def keep(key: str) -> Iterator[None]:
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "w", encoding="utf-8") as opened:
                opened.write(_line(key))
        except OSError:
            raise SettingsError(
                "CODESYNAPSE_BOOTSTRAP_KEY_FILE: there is such a file already, or it cannot be written; the first key "
                "needs a new one."
            ) from None
        try:
            yield
        except BaseException:
            Path(file).unlink(missing_ok=True)
            raise

    return keep if file else nullcontext


def tell_key(key: str, file: str = "") -> None:
    """Print a key alone on a line, or where it is kept instead; it is never printed again."""
    if file:
        click.echo(f"The first key is in {file}")
    else:
        click.echo(_line(key), nl=False)


def _line(key: str) -> str:
    return f"CODESYNAPSE_API_KEY={key}\n"
