"""What `get_session_findings` tells of the health of agents: the caller's own, gravest first, and nobody else's."""

from typing import Any

from codesynapse.contracts.accounts import Level
from tests.integration.harness import Transport, product


async def findings(transport: Transport, **arguments: object) -> dict[str, Any]:
    said = await transport.call("get_session_findings", {"session_key": "a", **arguments})
    return said["structuredContent"]  # type: ignore[no-any-return]


async def store(transport: Transport, agent: str, *contents: str) -> None:
    for content in contents:
        said = await transport.call("store", {"agent_id": agent, "content": content})
        assert said["structuredContent"]["ok"] is True


def of_health(said: dict[str, Any]) -> dict[str, tuple[str, int]]:
    return {each["check"]: (each["severity"], each["count"]) for each in said["findings"] if each["kind"] == "health"}


async def test_what_is_wrong_with_agents_that_one_may_read_is_found_and_of_others_nothing() -> None:
    async with product() as running:
        owner = await running.person()
        reader = await running.person(owner.tenant)
        ana, bo, elsewhere = [await running.open(each) for each in (owner, reader, await running.person())]
        await store(ana, "support", "!!!", "a key: AKIAIOSFODNN7EXAMPLE, so it goes on")
        await store(bo, "sales", "Bo likes tea")
        await store(elsewhere, "support", "Somebody likes tea")
        said = await findings(ana)
        wrong = {"secret_content": ("critical", 1), "wordless_content": ("info", 1)}
        assert list(of_health(said).items()) == list(wrong.items())
        assert "AKIA" not in str(said)
        assert of_health(await findings(bo)) == of_health(await findings(elsewhere)) == {}
        agents = running.services.ports.agents
        assert agents is not None
        for level, seen in ((Level.READ, wrong), (None, {})):
            await agents.set_level(owner.tenant, "support", reader.subject, level, now_ms=running.clock())
            assert of_health(await findings(bo)) == seen


async def test_of_more_than_were_asked_for_it_is_said_that_there_are_more_and_nothing_is_repaired() -> None:
    async with product() as running:
        ana = await running.open(await running.person())
        await store(ana, "support", "!!!", "a key: AKIAIOSFODNN7EXAMPLE, so it goes on", "[Memory from x] tea")
        before = of_health(await findings(ana, per_kind_limit=100))
        said = await findings(ana, per_kind_limit=1)
        assert (list(of_health(said)), said["capped_kinds"]) == (["secret_content"], ["health"])
        assert of_health(await findings(ana, per_kind_limit=100)) == before
