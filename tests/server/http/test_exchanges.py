"""The table of what is being answered: who is counted, and who is cut by what."""

from __future__ import annotations

import asyncio

import pytest

from codesynapse.contracts.accounts import Action, AuditRecord, Authority, Caller
from codesynapse.contracts.binding import Binding
from codesynapse.contracts.errors import TooManyTransports
from codesynapse.contracts.identity import Identity, Millis
from codesynapse.server.http.exchanges import Exchanges
from codesynapse.server.limits import Limits

NOW = 1_800_000_000_000


def authority(subject: str = "ana", session_id: str | None = "s") -> Authority:
    binding = None
    if session_id is not None:
        identity = Identity(tenant_id="t", subject_id=subject, session_id=session_id, parent_session_id=session_id)
        binding = Binding(identity=identity, registered_at_ms=Millis(NOW), expires_at_ms=Millis(NOW + 1_000))
    return Authority(caller=Caller(tenant_id="t", subject_id=subject, key_id=f"key-{subject}"), binding=binding)


def record(action: Action, target: str) -> AuditRecord:
    return AuditRecord(sequence=1, at_ms=Millis(NOW), tenant_id="t", action=action, target=target)


class Cut:
    """Counts how often it was cut or finished."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def test_an_ended_access_cuts_its_own_and_nobody_elses():
    exchanges, ana, ben, listing = Exchanges(Limits()), Cut(), Cut(), Cut()
    with (
        exchanges.running(authority(), ana),
        exchanges.running(authority("ben", "z"), ben),
        exchanges.running(authority("ben", None), listing),
    ):
        exchanges.end(record(Action.SESSION_REVOKED, "s"))
        assert (ana.count, ben.count, listing.count) == (1, 0, 0)
        exchanges.end(record(Action.KEY_REVOKED, "key-ben"))
        assert (ana.count, ben.count, listing.count) == (1, 1, 1)
        exchanges.end(record(Action.SESSION_REGISTERED, "s"))
        assert ana.count == 1
    assert len(exchanges) == 0


def test_a_deadline_cuts_what_runs_beyond_it():
    exchanges, bound, unbound = Exchanges(Limits()), Cut(), Cut()
    with exchanges.running(authority(), bound), exchanges.running(authority(session_id=None), unbound):
        exchanges.sweep(Millis(NOW + 999))
        assert bound.count == 0
        exchanges.sweep(Millis(NOW + 1_000))
        assert (bound.count, unbound.count) == (1, 0)


def test_subscriptions_are_counted_for_each_principal_and_given_back():
    exchanges = Exchanges(Limits(subscriptions_per_principal_max=1))
    with exchanges.running(authority(), Cut(), Cut()):
        with exchanges.running(authority(), Cut()):
            pass  # A call is no subscription.
        with pytest.raises(TooManyTransports), exchanges.running(authority(session_id="other"), Cut(), Cut()):
            pass
        with exchanges.running(authority("ben"), Cut(), Cut()):
            pass
    with exchanges.running(authority(), Cut(), Cut()):
        assert len(exchanges) == 1
    assert exchanges._subscriptions == {}


def test_at_the_end_subscriptions_are_finished_and_the_rest_is_cut():
    exchanges, cut, finished = Exchanges(Limits()), Cut(), Cut()
    with exchanges.running(authority(), cut), exchanges.running(authority(), cut, finished):
        exchanges.finish()
        assert (cut.count, finished.count) == (0, 1)
        exchanges.cut()
        assert cut.count == 2


async def test_the_end_waits_for_the_last_words_but_not_for_ever():
    exchanges = Exchanges(Limits())
    await exchanges.finished(60)
    with exchanges.running(authority(), Cut(), Cut()):
        await exchanges.finished(0)
        waiting = asyncio.ensure_future(exchanges.finished(60))
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting
