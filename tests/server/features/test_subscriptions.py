"""Subscriptions of a session: told of what changed, while it may be read, and within a bound."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from codesynapse.contracts.errors import RepositoryForbidden, StoreFault
from codesynapse.contracts.requirements import requirement
from codesynapse.server.features.operations import Operations
from codesynapse.server.features.registry import Features
from codesynapse.server.features.subscriptions import Subscriptions
from codesynapse.server.features.updates import Key
from codesynapse.server.mcp.messages import ProtocolError
from codesynapse.server.tools.registry import Toolbox
from tests.server.features.world import execution, operations, resource

KEY = ("repository", "t", "r")


class Here:
    """Subscriptions, what they sent, and what watching raises."""

    def __init__(self, most: int = 2) -> None:
        self.heard: list[dict[str, Any]] = []
        self.raising: Exception | None = None
        self.features = Features(Toolbox())
        self.features.add(*(resource(f"test://{name}", watch=self.watch) for name in ("one", "two", "three")))
        self.operations: Operations = operations(self.features)
        self.subscriptions = Subscriptions(self.operations, lambda sent: self.heard.append(json.loads(sent)), most)

    async def watch(self, *_: Any) -> Key:
        if self.raising is not None:
            raise self.raising
        return KEY

    async def add(self, name: str) -> None:
        await self.subscriptions.add(execution(), f"test://{name}")

    async def change(self) -> list[str]:
        """The URIs that are told of one change."""
        self.heard.clear()
        self.features.updates.publish(KEY)
        self.features.updates.flush()
        await asyncio.gather(*self.subscriptions._telling)
        assert {each["method"] for each in self.heard} <= {"notifications/resources/updated"}
        return [each["params"]["uri"] for each in self.heard]


async def test_each_subscribed_resource_is_told_once_a_change_under_its_own_uri():
    here = Here()
    assert await here.change() == []
    await here.add("one")
    await here.add("one")
    await here.add("two")
    assert await here.change() == ["test://one", "test://two"]
    here.subscriptions.remove("test://one")
    here.subscriptions.remove("test://never")
    assert await here.change() == ["test://two"]


async def test_what_may_not_be_read_cannot_be_subscribed_to():
    here = Here()
    here.raising = RepositoryForbidden()
    for uri in ("test://one", "test://nothing"):
        with pytest.raises(ProtocolError):
            await here.subscriptions.add(execution(), uri)
    here.raising = None
    assert await here.change() == []


@requirement("features:updated")
async def test_after_a_grant_was_withdrawn_nothing_is_told_any_more():
    here = Here()
    await here.add("one")
    here.raising = RepositoryForbidden()
    assert await here.change() == []
    here.raising = None
    assert await here.change() == []


async def test_while_a_store_does_not_answer_a_change_is_not_told_but_the_next_one_is():
    here = Here()
    await here.add("one")
    here.raising = StoreFault()
    assert await here.change() == []
    here.raising = None
    assert await here.change() == ["test://one"]


async def test_there_is_a_bound_and_the_error_names_it():
    here = Here(most=2)
    await here.add("one")
    await here.add("two")
    with pytest.raises(ProtocolError, match="Limit: 2"):
        await here.add("three")
    await here.add("two")
    assert await here.change() == ["test://one", "test://two"]


async def test_the_end_of_a_session_leaves_nothing_behind():
    here = Here()
    await here.add("one")
    here.subscriptions.close()
    await here.add("two")
    assert await here.change() == []
    assert not here.features.updates._heard
