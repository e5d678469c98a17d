"""Resources, prompts, completion, subscriptions and questions, as the official client uses them by every way."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import ClientSession, MCPError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from codesynapse.contracts.requirements import requirement
from tests.integration.harness import Process, environment, process
from tests.integration.stdio_peer import stdio_environment
from tests.integration.test_clients import registered
from tests.integration.tools import HANG_S

CHAT, SHARED = "codesynapse://session-memory/default", "codesynapse://repository/default"


@dataclass
class User:
    """Who sits at the client: answers questions, and hears what changed."""

    action: str = "accept"
    questions: list[str] = field(default_factory=list)
    updated: "asyncio.Queue[str]" = field(default_factory=asyncio.Queue)

    async def asked(self, _: Any, params: Any) -> types.ElicitResult:
        self.questions.append(params.message)
        return types.ElicitResult(action=self.action, content={} if self.action == "accept" else None)  # type: ignore[arg-type]

    async def heard(self, message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await self.updated.put(str(message.params.uri))


Client = Callable[[Process, str, User], AbstractAsyncContextManager[ClientSession]]


@asynccontextmanager
async def speaking(reading: Any, writing: Any, user: User) -> AsyncIterator[ClientSession]:
    async with ClientSession(reading, writing, elicitation_callback=user.asked, message_handler=user.heard) as session:
        await session.initialize()
        yield session


@asynccontextmanager
async def over_http(server: Process, session_id: str, user: User) -> AsyncIterator[ClientSession]:
    async with (
        httpx2.AsyncClient(headers=server.owner.bound(session_id)) as http,
        streamable_http_client(server.url, http_client=http) as (reading, writing, *_),
        speaking(reading, writing, user) as session,
    ):
        yield session


@asynccontextmanager
async def over_pipes(env: dict[str, str], user: User, *arguments: str) -> AsyncIterator[ClientSession]:
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "codesynapse.server", *arguments], env=env)
    async with stdio_client(parameters) as (reading, writing), speaking(reading, writing, user) as session:
        yield session


def over_stdio(server: Process, session_id: str, user: User) -> AbstractAsyncContextManager[ClientSession]:
    env = {**stdio_environment(server.home, server.owner, session_id), "CODESYNAPSE_GRAPH": server.graph}
    return over_pipes(env, user, "stdio")


def through_bridge(server: Process, session_id: str, user: User) -> AbstractAsyncContextManager[ClientSession]:
    env = environment(server.home, CODESYNAPSE_API_KEY=server.key, CODESYNAPSE_SESSION_ID=session_id)
    return over_pipes(env, user, "bridge", "--url", server.url)


WAYS = pytest.mark.parametrize("client", [over_http, over_stdio, through_bridge], ids=lambda client: client.__name__)


async def remember(client: ClientSession, *triples: dict[str, Any], scope: str = "session") -> Any:
    arguments = {"triples": list(triples), "memory_scope": scope}
    return await client.call_tool("upsert_graph_triples", arguments)


def fact(subject: str, predicate: str, object_: str, **more: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": object_, **more}


ANA = fact("Ana", "lives_in", "Graz", source="a letter")


async def read(client: ClientSession, uri: str) -> dict[str, Any]:
    (contents,) = (await client.read_resource(uri)).contents  # type: ignore[union-attr]
    found: dict[str, Any] = json.loads(contents.text)  # type: ignore[union-attr]
    return found


@requirement("features:resources", "features:prompts", "features:completion")
@WAYS
async def test_a_client_lists_reads_completes_and_prompts_from_what_it_remembered(
    client: Client, tmp_path: Path
) -> None:
    async with process(tmp_path) as server, client(server, await registered(server), User()) as session:
        assert [str(each.uri) for each in (await session.list_resources()).resources] == [CHAT, SHARED]
        assert len((await session.list_resource_templates()).resource_templates) == 3
        await remember(session, ANA)
        await remember(session, ANA, scope="repository")
        assert [each["object"] for each in (await read(session, CHAT))["facts"]] == ["Graz"]
        assert len((await read(session, SHARED + "?node=ana"))["edges"]) == 1

        prompts = [each.name for each in (await session.list_prompts()).prompts]
        assert prompts == ["answer_from_memory", "remember_this", "what_changed_since"]
        got: Any = await session.get_prompt("answer_from_memory", {"question": "Where does Ana live?"})
        assert "a letter" in got.messages[0].content.text

        prompt = types.PromptReference(type="ref/prompt", name="answer_from_memory")
        completed = await session.complete(prompt, {"name": "repo", "value": "DEF"})
        assert completed.completion.values == ["default"]
        (of_chat, of_shared, _) = (await session.list_resource_templates()).resource_templates
        template = types.ResourceTemplateReference(type="ref/resource", uri=of_shared.uri_template)
        completed = await session.complete(template, {"name": "node", "value": "an"}, {"repository": "default"})
        assert completed.completion.values == ["Ana"]
        assert of_chat.uri_template == "codesynapse://session-memory/{repository}"


@requirement("agents:resource")
@pytest.mark.filterwarnings("ignore:resources/:mcp.MCPDeprecationWarning")
@WAYS
async def test_an_agent_is_listed_read_completed_and_told_to_its_subscriber(client: Client, tmp_path: Path) -> None:
    user, uri = User(), "codesynapse://agent/bob"
    async with process(tmp_path) as server, client(server, await registered(server), user) as session:
        await session.call_tool("store", {"agent_id": "bob", "content": "Ana drinks tea."})
        assert [str(each.uri) for each in (await session.list_resources()).resources] == [CHAT, SHARED, uri]
        assert [each["content"] for each in (await read(session, uri))["records"]] == ["Ana drinks tea."]
        template = types.ResourceTemplateReference(
            type="ref/resource", uri="codesynapse://agent/{agent_id}{?project_id,channel}"
        )
        completed = await session.complete(template, {"name": "agent_id", "value": "B"})
        assert completed.completion.values == ["bob"]
        await session.subscribe_resource(uri)
        async with asyncio.timeout(HANG_S):
            await session.call_tool("store", {"agent_id": "bob", "content": "Ana eats cake."})
            assert await user.updated.get() == uri


@requirement("features:resources")
@WAYS
async def test_what_is_not_there_is_an_error_of_the_protocol(client: Client, tmp_path: Path) -> None:
    async with process(tmp_path) as server, client(server, await registered(server), User()) as session:
        for uri in ("codesynapse://repository/secret", "codesynapse://nothing"):
            with pytest.raises(MCPError) as caught:
                await session.read_resource(uri)
            assert (caught.value.error.code, caught.value.error.data) == (-32002, None)
        with pytest.raises(MCPError) as caught:
            await session.get_prompt("nothing")
        assert caught.value.error.code == -32602
        for listing in (
            session.list_tools,
            session.list_resources,
            session.list_resource_templates,
            session.list_prompts,
        ):
            with pytest.raises(MCPError) as caught:
                await listing(params=types.PaginatedRequestParams(cursor="bm90IG91cnM="))
            assert caught.value.error.code == -32602


@requirement("features:updated")
@pytest.mark.filterwarnings("ignore:resources/:mcp.MCPDeprecationWarning")
@WAYS
async def test_a_subscriber_hears_of_each_change_to_what_it_subscribed_to(client: Client, tmp_path: Path) -> None:
    user = User()
    async with process(tmp_path) as server, client(server, await registered(server), user) as session:
        for uri in (CHAT, SHARED):
            await session.subscribe_resource(uri)
        async with asyncio.timeout(HANG_S):
            await remember(session, ANA)
            assert await user.updated.get() == CHAT
            await remember(session, ANA, scope="repository")
            assert await user.updated.get() == SHARED
            await session.unsubscribe_resource(CHAT)
            await remember(session, fact("Bo", "likes", "tea"))
            await remember(session, fact("Bo", "likes", "tea"), scope="repository")
            assert await user.updated.get() == SHARED
        assert user.updated.empty()


@requirement("features:confirm")
@WAYS
async def test_a_retraction_is_confirmed_by_the_user_and_says_what_ended(client: Client, tmp_path: Path) -> None:
    user = User(action="decline")
    async with process(tmp_path) as server, client(server, await registered(server), user) as session:
        await remember(session, ANA)
        assert user.questions == [], "nothing is destroyed"
        async with asyncio.timeout(HANG_S):
            declined = await remember(session, {**ANA, "retract": True})
            assert declined.is_error
            assert declined.structured_content["code"] == "not_confirmed"
            assert len((await read(session, CHAT))["facts"]) == 1
            user.action = "accept"
            retracted = await remember(session, {**ANA, "retract": True})
        assert not retracted.is_error, retracted
        assert [each["object"] for each in retracted.structured_content["ended"]] == ["Graz"]
        assert (await read(session, CHAT))["facts"] == []
        assert user.questions == ["Retract from this chat's memory: Ana lives_in Graz?"] * 2
