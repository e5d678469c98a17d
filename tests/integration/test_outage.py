"""An embedder that dies, hangs, refuses and comes back, over real HTTP: what recall still finds, and who is told."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from codesynapse.contracts.requirements import requirement
from codesynapse.server.hints.health import Condition
from tests.embedding import KEY, EmbeddingEndpoint, Mode, embedding_endpoint
from tests.integration.harness import Product, Transport, fresh, process, product
from tests.integration.logs import logged
from tests.integration.stdio_peer import StdioPeer, shell, stdio_process
from tests.integration.test_kill import register

KEYS = ("A", "B", "C")
FULL, SHORT = ("full", "session"), ("short", "session")
REMOTE = ("full", "process")
Told = tuple[str, str] | None


@dataclass(kw_only=True)
class Caller:
    """A client whose memory holds one statement of tea. asked: how many different questions it put so far."""

    peer: Transport | StdioPeer
    agent: str = field(default_factory=lambda: fresh("agent"))
    asked: int = 0

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = await self.peer.call(tool, arguments)
        found: dict[str, Any] = answer.get("result", answer)["structuredContent"]
        return found

    async def store(self, content: str) -> bool:
        """Store a memory; whether the embedder took it."""
        said = await self.call("store", agent_id=self.agent, content=content)
        assert said["result"] == "stored"
        return bool(said["embedded"])

    async def recall(self, query: str | None = None, **arguments: Any) -> dict[str, Any]:
        """Put a question, by default one that nobody put before; the statement comes whatever the embedder does."""
        self.asked += 1
        asked = f"tea {self.agent} {self.asked}" if query is None else query
        said = await self.call("recall", agent_id=self.agent, query=asked, **arguments)
        assert [hit["content"] for hit in said["messages"]] == ["Ana drinks tea."]
        return said

    async def told(self, key: str | None = None, query: str | None = None) -> Told:
        """How a recall's notice was given, and to whom; None without one."""
        return told((await self.recall(query, session_key=key)).get("advisory"))


def told(advisory: dict[str, Any] | None) -> Told:
    if advisory is None:
        return None
    assert (advisory["degraded"], advisory["severity"]) == (True, "fault")
    return "full" if advisory["runbook"].startswith("Tell the user") else "short", advisory["advisory_scope"]


@dataclass(kw_only=True)
class Scene:
    """A product with its endpoint, and callers of two people over HTTP and over stdio."""

    running: Product
    endpoint: EmbeddingEndpoint
    http: Caller
    stdio: Caller

    @property
    def condition(self) -> Condition:
        return self.running.services.hints.health.condition


@asynccontextmanager
async def scene(*, key: str = "", **settings: object) -> AsyncIterator[Scene]:
    async with (
        embedding_endpoint(key=key) as endpoint,
        product(**{**endpoint.settings, **settings}) as running,  # type: ignore[arg-type]  # by name
    ):
        ana, ben = await running.person(), await running.person()
        async with shell(running, ben, await running.register(ben)) as peer:
            await peer.initialize()
            here = Scene(
                running=running,
                endpoint=endpoint,
                http=Caller(peer=await running.open(ana)),
                stdio=Caller(peer=peer),
            )
            yield here


async def furnish(here: Scene) -> None:
    for each in (here.http, here.stdio):
        assert await each.store("Ana drinks tea.")


async def outage(here: Scene) -> None:
    """From a healthy endpoint to the fault: the first failure may be a hiccup, and nobody is told of it."""
    await here.endpoint.die()
    assert await here.http.told("A") is None
    assert here.condition is not Condition.FAULT
    # The second failure is somebody's first notice.
    assert await here.http.told("A") == FULL


@requirement("advisory:once-a-key", "advisory:scope")
async def test_an_embedder_that_dies_and_comes_back_is_told_to_each_caller_as_the_table_says():
    async with scene() as here:
        await furnish(here)
        for _ in range(2):
            assert [await here.http.told(key) for key in (*KEYS, None)] == [None] * 4
            assert await here.stdio.told() is None
            await outage(here)
            assert [await here.http.told(key) for key in KEYS] == [SHORT, FULL, FULL]
            assert [await here.http.told(key) for key in KEYS] == [SHORT] * 3
            assert [await here.http.told() for _ in range(3)] == [REMOTE] * 3
            assert [await here.stdio.told() for _ in range(3)] == [FULL, SHORT, SHORT]
            await here.endpoint.start()
        assert await here.http.told("A") is None
        assert here.condition is Condition.HEALTHY


async def test_one_success_ends_the_fault_for_every_caller_at_once():
    async with scene() as here:
        await furnish(here)
        await outage(here)
        await here.endpoint.start()
        # The recall that finds it back carries no notice itself.
        assert await here.stdio.told() is None
        asked = here.endpoint.requests
        await here.endpoint.die()
        # One failure after the recovery is a first one again.
        assert [await here.http.told(key) for key in ("A", "B")] == [None, FULL]
        assert here.endpoint.requests == asked


async def test_what_is_answered_without_the_embedder_tells_of_the_fault_and_does_not_end_it():
    async with scene() as here:
        await furnish(here)
        assert await here.http.told(query="tea at noon") is None
        await outage(here)
        await here.endpoint.start()
        asked = here.endpoint.requests
        # A repeated question, which is answered from memory, and the newest, which asks for nothing.
        assert await here.http.told("B", "tea at noon") == FULL
        assert await here.http.told("B", "") == SHORT
        assert told((await here.http.call("recall_context", query="tea", session_key="B"))["advisory"]) == SHORT
        assert (here.condition, here.endpoint.requests) == (Condition.FAULT, asked)
        assert await here.http.told("B") is None


async def test_what_is_stored_during_an_outage_stands_and_counts_as_a_failure_and_as_a_recovery():
    async with scene() as here:
        await furnish(here)
        await here.endpoint.die()
        assert [await here.stdio.store(text) for text in ("One.", "Two.")] == [False, False]
        assert await here.http.told() == REMOTE
        await here.endpoint.start()
        assert await here.stdio.store("Three.")
        assert await here.http.told() is None
        assert [len(each) for each in here.endpoint.asked] == [1] * len(here.endpoint.asked)


@pytest.mark.parametrize("mode", ["fail", "hang", "drop"])
async def test_an_endpoint_that_fails_or_hangs_is_one_that_is_dead(mode: Mode):
    async with scene(embedder_deadline_ms=100 if mode == "hang" else 30_000) as here:
        # With so short a patience even a healthy answer may come too late: nothing is asked of it before.
        for each in (here.http, here.stdio):
            await each.store("Ana drinks tea.")
        here.running.services.hints.embedded()
        here.endpoint.mode = mode
        assert [await here.http.told("A"), await here.http.told("A"), await here.stdio.told()] == [None, FULL, FULL]
        advisory = (await here.http.recall(session_key="A"))["advisory"]
        assert "does not answer" in advisory["reason"]
        assert advisory["evidence"].endswith("embeddings in a row failed.")


@pytest.mark.parametrize("cause", ["key", "other dimension", "a page"])
async def test_a_wrong_configuration_is_told_apart_from_a_dead_endpoint_and_no_secret_is_repeated(
    cause: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "key"
    file.write_text("sk-the-wrong-one\n")
    with logged(monkeypatch) as text:
        async with scene(key=KEY, embedder_key_file=str(file), log_level="debug") as here:
            if cause != "key":
                here.endpoint.key, here.endpoint.mode = "sk-the-wrong-one", cause
            for each in (here.http, here.stdio):
                assert not await each.store("Ana drinks tea.")
            said = [
                await here.http.recall(session_key="A"),
                await here.http.call("get_session_findings"),
            ]
            assert told(said[0]["advisory"]) == FULL
            assert [each["text"] for each in said[1]["findings"]] == ["The embedder is configured wrongly."]
            assert "configured wrongly" in said[0]["advisory"]["reason"]
            assert "correct the embedder's settings" in said[0]["advisory"]["runbook"]
            # Once it is dead as well, that is what is told, and in full: what is to be done is something else now.
            await here.endpoint.die()
            advisory = (await here.http.recall(session_key="A"))["advisory"]
            assert told(advisory) == FULL
            assert "does not answer" in advisory["reason"]
            assert told((await here.http.recall(session_key="A"))["advisory"]) == SHORT
            await here.endpoint.start()
            here.endpoint.mode, here.endpoint.key = "answer", ""
            assert await here.http.told("A") is None
        logs = text.getvalue()
    assert '"event": "embedding_failed"' in logs
    assert [where for where in (json.dumps(said), logs) if "sk-" in where] == []
    assert "tea" not in logs


async def test_the_process_that_serves_stdio_finds_its_own_outage_and_its_end(tmp_path: Path):
    async with embedding_endpoint() as endpoint:
        named = {f"CODESYNAPSE_{name.upper()}": str(value) for name, value in endpoint.settings.items()}
        errors: list[str] = []
        async with process(tmp_path, **named) as server, aiohttp.ClientSession() as http:
            session_id = await register(server, http, fresh())
            async with stdio_process(tmp_path, server.owner, session_id, errors, **named) as peer:
                caller = Caller(peer=peer)
                assert await caller.store("Ana drinks tea.")
                for _ in range(2):
                    assert await caller.told() is None
                    await endpoint.die()
                    assert [await caller.told() for _ in range(4)] == [None, FULL, SHORT, SHORT]
                    assert await caller.told("A") == FULL
                    await endpoint.start()
        assert "embedding_failed" in errors[0]
