"""What a refusal may give away: nothing. Foreign and unknown look alike to the byte, and faults log no text."""

from collections.abc import Awaitable, Callable

import pytest
from msgspec import Struct

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.identity import Execution
from codesynapse.contracts.requirements import requirement
from codesynapse.server.tools.registry import Tool, ToolContext
from tests.integration import refusals_content as content
from tests.integration import refusals_world as ways
from tests.integration.harness import fresh
from tests.integration.refusals_identity import name_session
from tests.integration.refusals_world import (
    EXECUTION,
    MEMORY,
    Answer,
    Ask,
    Overheard,
    Way,
    World,
    assert_unheard,
    grant,
    world,
)

Find = Callable[[World], Awaitable[str]]
FOREIGN = [content.somebodys(who, state) for who, state in content.FOREIGN]
FOREIGN_UNEXPIRED = [content.somebodys(who, state) for who, state in content.FOREIGN if state != "expired"]


async def answers(here: World, way: Way, finds: list[Find], put: Callable[[Ask, str], None]) -> list[Answer]:
    """The answers to one request, each with another id."""
    collected = []
    for find in finds:
        ask = await way(here, "first")
        put(ask, await find(here))
        collected.append(await here.send(ask))
    return collected


def in_body(ask: Ask, session_id: str) -> None:
    assert ask.body is not None
    ask.body["session_id"] = session_id


@requirement("refused:indistinct")
@pytest.mark.parametrize("way", EXECUTION, ids=lambda way: way.__name__)
async def test_a_foreign_session_live_or_dead_is_answered_like_one_that_never_existed(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(monkeypatch) as here:
        first, *others = await answers(here, way, [content.unknown, *FOREIGN_UNEXPIRED], name_session)
        assert first.status == 403
        assert others == [first] * len(FOREIGN_UNEXPIRED)
        # With the expired ones the owner's own sessions end; the request that is made before names a foreign one.
        ask = await way(here, "first")
        name_session(ask, await here.session_of(await here.colleague(), "expired"))
        assert await here.send(ask) == first


@requirement("register:conflict")
@pytest.mark.parametrize("way", [ways.register, ways.revoke], ids=lambda way: way.__name__)
async def test_registering_and_revoking_foreign_ids_is_answered_with_one_body(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(monkeypatch) as here:
        finds = FOREIGN if way is ways.register else [content.unknown, *FOREIGN]
        first, *others = await answers(here, way, finds, in_body)
        assert first.status == (409 if way is ways.register else 404)
        assert others == [first] * (len(finds) - 1)


@requirement("refused:repository")
@pytest.mark.parametrize("way", [ways.post, ways.write, *MEMORY], ids=lambda way: way.__name__)
async def test_a_repository_that_does_not_exist_is_answered_like_one_without_a_grant(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(monkeypatch) as here:
        collected = []
        for _, spoil in content.REPOSITORIES:
            ask = await way(here, "first")
            ask.headers["Accept"] = "application/json"  # A stream's event ids differ by themselves.
            await spoil(here, ask)
            collected.append(await here.send(ask))
        assert collected[0].refusal["code"] == "repository_forbidden"
        assert collected == [collected[0]] * 3


async def test_a_refused_revocation_leaves_the_foreign_session_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(monkeypatch) as here:
        for person in (await here.colleague(), await here.stranger()):
            transport = await here.running.open(person)
            ask = await ways.revoke(here, "first")
            in_body(ask, transport.headers["X-CodeSynapse-Session"])
            assert (await here.send(ask)).status == 404
            assert (await transport.recall("anything"))["facts"] == []


async def test_a_refused_registration_leaves_the_foreign_binding_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(monkeypatch) as here:
        colleague = await here.colleague()
        session_id = await here.running.register(colleague)
        before = await here.running.services.sessions.listed(await caller_of(here, colleague.key))
        ask = await ways.register(here, "first")
        in_body(ask, session_id)
        assert (await here.send(ask)).status == 409
        assert await here.running.services.sessions.listed(await caller_of(here, colleague.key)) == before


async def caller_of(here: World, key: str) -> object:
    return (await here.running.services.sessions.authorize(key, None)).caller


async def test_at_the_caps_what_is_registered_already_is_repeated_and_a_revoked_one_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with world(monkeypatch) as here:
        await content.capped(sessions_active_max=1)(here, await ways.register(here, "first"))
        repeated = await ways.register(here, "first")
        in_body(repeated, here.session)
        assert (await here.send(repeated)).status == 200
        another = await ways.register(here, "first")
        assert (await here.send(another)).status == 429
        await here.accounts.revoke(here.owner.tenant, here.session, subject_id=None, now_ms=here.now_ms)
        assert (await here.send(another)).status == 201


async def test_a_read_grant_still_remembers_in_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(monkeypatch) as here:
        await grant(here, Level.READ)
        ask = await ways.write(here, "first")
        assert (await here.send(ask)).refusal["code"] == "grant_insufficient"
        assert ask.body is not None
        ask.body["params"]["arguments"]["memory_scope"] = "session"
        assert (await here.send(ask)).refusal == {}


@requirement("refused:order")
async def test_the_credential_is_judged_first_then_the_transport_then_the_execution_then_the_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with world(monkeypatch) as here:
        ask = await ways.post(here, "first")
        right = dict(ask.headers)
        assert ask.body is not None
        ask.body["params"]["arguments"]["repo"] = fresh("repo")
        wrong = {"Authorization": "Bearer csk_wrong", "Mcp-Session-Id": fresh(), "X-CodeSynapse-Session": "é"}
        ask.headers.update(wrong)
        heard = []
        for name in wrong:
            heard.append((await here.send(ask)).refusal["code"])
            ask.headers[name] = right[name]
        heard.append((await here.send(ask)).refusal["code"])
        assert heard == ["unauthenticated", "transport_unknown", "header_invalid", "repository_forbidden"]


@requirement("retention:revoke:blocks")
async def test_a_revoked_session_cannot_be_initialized_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(monkeypatch) as here:
        ask = await ways.initialize(here, "first")
        assert (await here.send(ask)).status == 200
        revocation = await ways.revoke(here, "first")
        in_body(revocation, here.session)
        assert (await here.send(revocation)).status == 200
        answer = await here.send(ask)
        assert (answer.status, answer.refusal["code"]) == (403, "revoked")


class Nothing(Struct):
    """No arguments, no answer."""


async def test_a_tool_that_breaks_is_logged_by_its_place_and_never_by_its_text(
    monkeypatch: pytest.MonkeyPatch, overheard: Overheard
) -> None:
    async with world(monkeypatch) as here:
        marker = here.offer()

        async def broken(_: Execution, __: Nothing, ___: ToolContext) -> Nothing:
            raise RuntimeError(marker)

        tool = Tool(
            name="broken",
            title="Broken",
            description="Breaks.",
            toolset="graph",
            arguments=Nothing,
            answer=Nothing,
            handler=broken,
            read_only=True,
        )
        here.running.services.toolbox.register(tool)
        ask = await ways.post(here, "first")
        ask.body = ways.message("tools/call", {"name": "broken"})
        answer = await here.send(ask)
        assert answer.refusal["code"] == "internal"
        assert '"kind": "RuntimeError"' in overheard.text()
        await assert_unheard(here, ask, answer, overheard)
