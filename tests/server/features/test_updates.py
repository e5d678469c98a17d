"""The hub of changes: told soon, once, and only to those who want to know."""

from __future__ import annotations

import asyncio

import pytest

from codesynapse.server.features.updates import Key, Updates, repository_key, session_key

ONE, OTHER = repository_key("t", "one"), repository_key("t", "other")


async def test_several_changes_are_told_once_and_of_their_own_accord():
    updates, heard, told = Updates(delay_s=0.001), list[Key](), asyncio.Event()

    def hear(key: Key) -> None:
        heard.append(key)
        told.set()

    updates.subscribe([ONE], hear)
    for _ in range(100):
        updates.publish(ONE)
        updates.publish(OTHER)
    assert heard == [], "never in the publisher's turn"
    await asyncio.wait_for(told.wait(), 60)
    assert heard == [ONE]
    told.clear()
    updates.publish(ONE)
    await asyncio.wait_for(told.wait(), 60)
    assert heard == [ONE, ONE]


async def test_who_has_unsubscribed_hears_nothing_and_leaves_nothing():
    updates, heard = Updates(), list[Key]()
    unsubscribe = updates.subscribe([ONE, OTHER, ONE], heard.append)
    updates.publish(ONE)
    unsubscribe()
    unsubscribe()
    updates.flush()
    assert heard == []
    assert not updates._heard


async def test_one_subscribers_fault_does_not_deafen_the_others(capsys: pytest.CaptureFixture[str]):
    updates, heard = Updates(), list[Key]()

    def broken(_: Key) -> None:
        raise ValueError("q7MARKq7")

    updates.subscribe([ONE], broken)
    updates.subscribe([ONE], heard.append)
    updates.publish(ONE)
    updates.flush()
    assert heard == [ONE]
    assert "q7MARKq7" not in "".join(capsys.readouterr())


def test_keys_of_two_sessions_tenants_or_namespaces_differ():
    keys = [
        session_key("t", "s", "n"),
        session_key("t", "s", "m"),
        session_key("t", "u", "n"),
        session_key("v", "s", "n"),
    ]
    assert len({*keys, repository_key("t", "n"), repository_key("v", "n")}) == 6
