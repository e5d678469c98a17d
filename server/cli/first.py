"""The first start: one organisation, one user, one repository, one key, told once."""

import secrets
from contextlib import suppress

import click

from codesynapse.contracts.accounts import KeyRecord, Level, key_hash, new_key
from codesynapse.contracts.errors import AlreadyExists
from codesynapse.contracts.ports import Accounts
from codesynapse.server.clock import Clock
from codesynapse.server.tools.graph import DEFAULT_REPOSITORY

ORGANIZATION = "home"
USER = "owner"


async def bootstrap(accounts: Accounts, clock: Clock) -> str | None:
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
    return await issue_key(accounts, clock, ORGANIZATION, USER)


async def issue_key(accounts: Accounts, clock: Clock, tenant_id: str, subject_id: str) -> str:
    """A new key for a user of an organisation. Only its hash is stored; whoever asked must keep it."""
    key, now_ms = new_key(), clock()
    hashed = key_hash(key)
    assert hashed is not None
    record = KeyRecord(
        key_id="key-" + secrets.token_hex(8), tenant_id=tenant_id, subject_id=subject_id, created_at_ms=now_ms
    )
    await accounts.create_key(record, hashed, now_ms=now_ms)
    return key


def tell_key(key: str) -> None:
    """Print a key alone on a line; it is never printed again."""
    click.echo(f"CODESYNAPSE_API_KEY={key}")
