"""What clients do at their first words, and with what a server announces."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.harness import LATEST, Product, Transport, product
from tests.integration.stateless import KEY, Stateless, stateless
from tests.integration.tools import primed, status_of, stream


async def test_a_session_that_is_gone_is_told_so_in_json_however_often_it_is_asked_for():
    async with product() as running:
        person = await running.person()
        headers = person.bound(await running.register(person)) | {"Mcp-Session-Id": "of-a-server-before"}
        for method, body in (("POST", {"jsonrpc": "2.0", "id": 1, "method": "ping"}), ("GET", None), ("DELETE", None)):
            for _ in range(2):
                status, told = await status_of(running, method, headers, body)
                assert (status, told["jsonrpc"], told["error"]["code"]) == (404, "2.0", -32600)
        transport = await running.open(person)
        assert (await transport.request("ping"))["result"] == {}


async def test_what_is_discovered_can_be_listened_to_and_listed_with_hints_for_caches():
    async with product() as running:
        peer = await stateless(running)
        discovered = await peer.ask("server/discover")
        assert (discovered["cacheScope"], discovered["ttlMs"] >= 0) == ("private", True)
        listed = await peer.ask("tools/list")
        assert (listed["cacheScope"], listed["ttlMs"] >= 0) == ("private", True)
        async with peer.stream("subscriptions/listen", {"notifications": {"toolsListChanged": True}}) as events:
            first = await events.message()
            assert first["method"] == "notifications/subscriptions/acknowledged"
            assert KEY + "subscriptionId" in first["params"]["_meta"]


WORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "tools": ("tools/list", {}),
    "resources": ("resources/list", {}),
    "prompts": ("prompts/list", {}),
    "completions": ("completion/complete", {}),
    "logging": ("logging/setLevel", {"level": "info"}),
}
"""What shows that a capability is one."""


@pytest.mark.parametrize("era", ["sessions", "stateless"])
async def test_every_capability_that_is_announced_works_and_no_other_does(era: str):
    async with product() as running:
        ask, announced = await met(running, era)
        assert set(announced) <= set(WORKS) | {"extensions"}
        for name, (method, params) in WORKS.items():
            known = await ask(method, params) != -32601
            assert known == (name in announced), name


async def met(running: Product, era: str) -> tuple[Any, dict[str, Any]]:
    """How to ask for an error's code, None for a result; and what the server announces."""
    if era == "stateless":
        peer = await stateless(running)
        announced = (await peer.ask("server/discover"))["capabilities"]
        return (lambda method, params: code_of(peer, method, params)), announced
    transport = await unopened(running)
    announced = (await transport.initialize())["capabilities"]

    async def ask(method: str, params: dict[str, Any]) -> int | None:
        code: int | None = (await transport.request(method, params)).get("error", {}).get("code")
        return code

    return ask, announced


async def unopened(running: Product) -> Transport:
    """A peer that has not said anything yet."""
    person = await running.person()
    return Transport(
        http=running.http, url=running.url, headers=person.bound(await running.register(person)), version=LATEST
    )


async def code_of(peer: Stateless, method: str, params: dict[str, Any]) -> int | None:
    """The code of an error; None for a result."""
    _, response = await peer.answer(peer.message(method, params))
    code: int | None = response.get("error", {}).get("code")
    return code


async def test_resources_that_are_announced_as_subscribed_to_are():
    async with product() as running:
        transport = await unopened(running)
        announced = (await transport.initialize())["capabilities"]
        assert announced["resources"]["subscribe"] is True
        (uri, *_) = [each["uri"] for each in (await transport.request("resources/list"))["result"]["resources"]]
        assert (await transport.request("resources/subscribe", {"uri": uri}))["result"] == {}
        async with stream(transport) as events:
            await primed(events)
            await transport.remember(("Ana", "likes", "tea"))
            told = await events.message()
        assert told["method"] == "notifications/resources/updated"
        assert (await transport.request("resources/unsubscribe", {"uri": uri}))["result"] == {}


async def test_no_metadata_is_promised_where_there_is_no_authorization_server():
    async with product() as running:
        status, _ = await status_of(running, "POST", {}, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert status == 401
        async with running.http.post(running.url, json={}) as answer:
            assert answer.headers["WWW-Authenticate"] == "Bearer"
        for path in ("oauth-protected-resource", "oauth-protected-resource/mcp", "oauth-authorization-server"):
            async with running.http.get(f"{running.base}/.well-known/{path}") as answer:
                assert (answer.status, answer.content_type) == (404, "application/json")
