"""Subscriptions: the acknowledgement first, only what was asked for, each change once, and a last word (N25, N26)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.identity import Execution
from codesynapse.server.features.registry import Resource, text_contents
from codesynapse.server.mcp.connection import ServerInfo
from codesynapse.server.mcp.messages import RequestId
from codesynapse.server.mcp.result import SUBSCRIPTION_KEY, Results
from codesynapse.server.modern.listening import Subscription
from tests.integration.harness import Product, product
from tests.integration.stateless import Stateless, stateless
from tests.integration.tools import until

RESULTS = Results(ServerInfo(name="n", title="t", version="v", instructions=""))
URI = "test://watched"


async def everything(_: str) -> bool:
    return True


async def taken(subscription: Subscription, readable: Any = everything) -> list[tuple[str, Any]]:
    """Method and URI of what is told, all of it tagged."""
    messages = [json.loads(each) for each in await subscription.take(readable)]
    assert all(each["params"]["_meta"] == {SUBSCRIPTION_KEY: "a"} for each in messages)
    return [(each["method"].removeprefix("notifications/"), each["params"].get("uri")) for each in messages]


async def test_the_acknowledgement_comes_first_and_every_change_once():
    subscription = Subscription(RequestId(b'"a"'), RESULTS)
    subscription.heard(URI)
    subscription.changed("tools")
    subscription.heard(URI)
    subscription.changed("tools")
    subscription.acknowledge({})
    assert await taken(subscription) == [
        ("subscriptions/acknowledged", None),
        ("tools/list_changed", None),
        ("resources/updated", URI),
    ]
    assert await taken(subscription) == []
    subscription.heard(URI)
    assert await taken(subscription) == [("resources/updated", URI)]


async def test_a_resource_that_may_not_be_read_any_more_is_not_told_of():
    subscription = Subscription(RequestId(b'"a"'), RESULTS)
    subscription.heard("a:1")
    subscription.heard("a:2")

    async def readable(uri: str) -> bool:
        return uri == "a:2"

    assert await taken(subscription, readable) == [("resources/updated", "a:2")]


def test_the_end_stops_all_that_was_listened_to_once():
    subscription, stopped = Subscription(RequestId(b'"a"'), RESULTS), [0]
    subscription.until_end(lambda: stopped.__setitem__(0, stopped[0] + 1))
    assert json.loads(subscription.end())["id"] == "a"
    subscription.end()
    assert stopped == [1]


def register(running: Product) -> None:
    """A resource that changes, and lists of tools that do."""

    async def read(_: Execution, uri: str, __: Any, ___: Any) -> list[dict[str, Any]]:
        return [text_contents(uri, "text/plain", "x")]

    resource = Resource(uri=URI, name="w", title="W", description="", mime_type="text/plain", read=read)
    running.services.features.add(resource)
    running.services.toolbox.catalog.changing.add("tools")


async def acknowledged(peer: Stateless, events: Any) -> dict[str, Any]:
    message = await events.message()
    assert message["method"] == "notifications/subscriptions/acknowledged"
    assert message["params"]["_meta"][SUBSCRIPTION_KEY] == peer.requests
    honoured: dict[str, Any] = message["params"]["notifications"]
    return honoured


async def test_only_what_was_asked_for_and_can_happen_is_honoured_and_told():
    async with product() as running:
        register(running)
        peer = await stateless(running)
        everything = {
            "toolsListChanged": True,
            "promptsListChanged": True,
            "resourcesListChanged": False,
            "resourceSubscriptions": [URI, "test://nothing", URI],
        }
        async with peer.stream("subscriptions/listen", {"notifications": everything}) as events:
            honoured = await acknowledged(peer, events)
            assert honoured == {"toolsListChanged": True, "resourceSubscriptions": [URI]}
            running.services.features.updates.publish(("resource", URI))
            assert (await events.message())["params"]["uri"] == URI
            running.services.toolbox.changed("prompts")
            running.services.toolbox.changed()
            assert (await events.message())["method"] == "notifications/tools/list_changed"


async def test_a_filter_of_nothing_hears_nothing_and_several_streams_hear_their_own():
    async with product() as running:
        register(running)
        peer = await stateless(running)
        async with peer.stream("subscriptions/listen", {"notifications": {}}) as deaf:
            assert await acknowledged(peer, deaf) == {}
            async with peer.stream("subscriptions/listen", {"notifications": {"toolsListChanged": True}}) as events:
                await acknowledged(peer, events)
                running.services.toolbox.changed()
                assert (await events.message())["method"] == "notifications/tools/list_changed"
            running.server.exchanges.finish()
            assert "result" in await deaf.message()


async def test_a_closed_subscription_leaves_nothing_behind():
    async with product() as running:
        register(running)
        peer = await stateless(running)
        listening = len(running.services.toolbox._listeners)
        wanted = {"toolsListChanged": True, "resourceSubscriptions": [URI]}
        async with peer.stream("subscriptions/listen", {"notifications": wanted}) as events:
            await acknowledged(peer, events)
            assert len(running.services.toolbox._listeners) == listening + 1
            events.answer.close()
        await until(running, lambda: len(running.server.exchanges) == 0)
        assert len(running.services.toolbox._listeners) == listening
        assert running.services.features.updates._heard == {}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"notifications": []},
        {"notifications": {"toolsListChanged": "yes"}},
        {"notifications": {"resourceSubscriptions": "x"}},
        {"notifications": {"resourceSubscriptions": [5]}},
        {"notifications": {"resourceSubscriptions": [f"a:{number}" for number in range(3)]}},
    ],
)
async def test_a_malformed_or_overlong_filter_is_refused(params: dict[str, Any]):
    async with product(subscribed_max=2) as running:
        assert (await (await stateless(running)).fails("subscriptions/listen", params))[:2] == (400, -32602)


async def test_subscriptions_of_a_principal_are_bounded():
    async with product(subscriptions_per_principal_max=1) as running:
        person = await running.person(level=Level.READ)
        peer, again = await stateless(running, person), await stateless(running, person)
        async with peer.stream("subscriptions/listen", {"notifications": {}}) as events:
            await acknowledged(peer, events)
            assert (await again.fails("subscriptions/listen", {"notifications": {}}))[0] == 429
            other = await stateless(running)
            async with other.stream("subscriptions/listen", {"notifications": {}}) as theirs:
                await acknowledged(other, theirs)
