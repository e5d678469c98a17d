"""Calls, cuts and resumes of two sessions at two servers, in any order: each hears its own answers, each once."""

import asyncio
import json
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from codesynapse.contracts.identity import Execution
from codesynapse.contracts.quotas import Quotas
from codesynapse.server.tools.registry import Tool, ToolContext
from tests.integration.cutting import FULL
from tests.integration.harness import Product, Transport, fresh
from tests.integration.pair import two_servers
from tests.integration.tools import Words, call, primed, replayed, stream

INTERLEAVINGS = 10_000 if FULL else 1_000
STEPS = 6
RENEWED_EVERY = 20
T = TypeVar("T")
who = st.integers(0, 1)
where = st.integers(0, 1)


@dataclass
class Asking:
    """A call of a session at one server, and what its client has heard of it."""

    id: int
    kind: str
    text: str
    home: int
    last_id: str = ""
    answers: list[dict[str, Any]] = field(default_factory=list)

    @property
    def message(self) -> dict[str, Any]:
        if self.kind == "write":
            triples = [{"subject": self.text, "predicate": "is", "object": "there"}]
            return call(self.id, "upsert_graph_triples", triples=triples, memory_scope="session")
        return call(self.id, self.kind, text=self.text)

    def hear(self, event: tuple[str | None, str]) -> None:
        """Take an event of this call's stream; it must be this call's own."""
        self.last_id = event[0] or self.last_id
        if event[1]:
            self.answers.append(json.loads(event[1]))
            self.check(self.answers[-1])

    def check(self, answer: dict[str, Any]) -> None:
        assert answer["id"] == self.id
        if "error" in answer:
            assert answer["error"]["data"]["code"] == "interrupted"
            assert self.kind != "write"  # It was committed before its stream could be resumed elsewhere.
            return
        said = answer["result"]["structuredContent"]
        if self.kind == "write":
            assert said["added"] == 1
            assert [fact["subject"] for fact in said["facts"]] == [self.text]
        else:
            assert said["text"] == self.text


class World:
    """Two servers, and two pairs of sessions: of two people, and of one."""

    def __init__(self, loop: asyncio.Runner) -> None:
        self._loop = loop
        self._stack = AsyncExitStack()
        self.held: dict[str, asyncio.Event] = {}
        self.examples = 0
        self.pairs: list[list[Transport]] = []

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(asyncio.wait_for(work, 60))

    async def open(self) -> None:
        self.servers = await self._stack.enter_async_context(
            two_servers(transports_per_principal_max=10**6, transports_max=10**6)
        )
        for running in self.servers:
            self._register(running)
        one = self.servers[0]
        self.people = [await one.person() for _ in range(2)]
        room = Quotas(sessions_active_max=10**6, tenant_roots_max=10**6)
        for person in self.people:
            await one.services.ports.accounts.set_quotas(person.tenant, room, now_ms=one.clock())
            await one.services.ports.session_memory.set_quotas(person.tenant, room)

    async def renew(self) -> None:
        """Other sessions, before the memory of these is full. What is kept of ended ones would crowd out the others."""
        for transport in [each for pair in self.pairs for each in pair]:
            async with transport.http.delete(transport.url, headers=transport.all_headers()) as ended:
                assert ended.status == 204
        ana, bob = self.people
        self.pairs = [
            [await self.servers[0].open(each) for each in (ana, bob)],
            [await self.servers[1].open(ana) for _ in range(2)],
        ]

    async def close(self) -> None:
        await self._stack.aclose()

    def _register(self, running: Product) -> None:
        async def say(_: Execution, words: Words, __: ToolContext) -> Words:
            return words

        async def hold(_: Execution, words: Words, __: ToolContext) -> Words:
            await self.held[words.text].wait()
            return words

        for handler in (say, hold):
            name = handler.__name__
            tool = Tool(
                name=name,
                title=name,
                description="For tests.",
                toolset="test",
                arguments=Words,
                answer=Words,
                handler=handler,
                read_only=True,
            )
            running.services.toolbox.register(tool)


class Interleaving(RuleBasedStateMachine):
    """One order of steps. `asked`: of each session its calls, in their order."""

    world: ClassVar[World]

    @initialize(pair=st.integers(0, 1))
    def begin(self, pair: int) -> None:
        if self.world.examples % RENEWED_EVERY == 0:
            self.world.run(self.world.renew())
        self.pair = self.world.pairs[pair]
        self.asked: list[list[Asking]] = [[], []]
        self.world.examples += 1

    def at(self, session: int, server: int) -> Transport:
        return replace(self.pair[session], url=self.world.servers[server].url)

    def open_calls(self, session: int) -> list[Asking]:
        return [each for each in self.asked[session] if not each.answers]

    @rule(session=who, server=where, kind=st.sampled_from(["say", "hold", "write"]), whole=st.booleans())
    def call(self, session: int, server: int, kind: str, whole: bool) -> None:
        """Both sessions number their requests alike. A call's line is cut behind the first event, or not at all."""
        asking = Asking(len(self.asked[session]) + 1, kind, fresh("t"), server)
        self.asked[session].append(asking)
        self.world.held[asking.text] = asyncio.Event()
        self.world.run(self._read(self.at(session, server), asking, {}, whole=whole and kind != "hold", post=True))

    @precondition(lambda self: self.open_calls(0) or self.open_calls(1))
    @rule(server=where, chosen=st.integers(0, 99), whole=st.booleans())
    def resume(self, server: int, chosen: int, whole: bool) -> None:
        """Any call that is open goes on, at either server, to its end or to the next cut."""
        session, asking = self._chosen(chosen)
        whole = whole and (asking.home != server or asking.kind != "hold" or self.world.held[asking.text].is_set())
        self.world.run(self._resumed(session, server, asking, whole=whole))

    @precondition(lambda self: self.open_calls(0) or self.open_calls(1))
    @rule(chosen=st.integers(0, 99))
    def release(self, chosen: int) -> None:
        self.world.held[self._chosen(chosen)[1].text].set()

    @precondition(lambda self: self.asked[0] or self.asked[1])
    @rule(server=where, chosen=st.integers(0, 99))
    def steal(self, server: int, chosen: int) -> None:
        """A session resumes with an event id of the other: a fresh stream, nothing on it."""
        every = [(1 - session, each) for session in (0, 1) for each in self.asked[session]]
        session, asking = every[chosen % len(every)]
        assert self.world.run(replayed(self.at(session, server), asking.last_id)) == []

    def teardown(self) -> None:
        """In the end each call is answered, once."""
        for session in (0, 1):
            for asking in getattr(self, "asked", [[], []])[session]:
                self.world.held.pop(asking.text).set()
                if not asking.answers:
                    self.world.run(self._resumed(session, asking.home, asking, whole=True))
                assert len(asking.answers) == 1

    def _chosen(self, chosen: int) -> tuple[int, Asking]:
        every = [(session, each) for session in (0, 1) for each in self.open_calls(session)]
        return every[chosen % len(every)]

    async def _resumed(self, session: int, server: int, asking: Asking, *, whole: bool) -> None:
        await self._read(self.at(session, server), asking, {"Last-Event-ID": asking.last_id}, whole=whole)

    async def _read(
        self, transport: Transport, asking: Asking, headers: dict[str, str], *, whole: bool, post: bool = False
    ) -> None:
        async with stream(transport, asking.message if post else None, **headers) as events:
            asking.last_id = await primed(events)
            if whole:
                for event in await events.rest():
                    asking.hear(event)
        if asking.kind == "write" and post:
            await self._committed(transport, asking)

    async def _committed(self, transport: Transport, asking: Asking) -> None:
        """The call goes on without its line; what comes behind it in its turn sees it done."""
        found = await replace(transport, requests=1_000).recall(asking.text, limit=1)
        while [fact["subject"] for fact in found["facts"]] != [asking.text]:
            found = await replace(transport, requests=1_000).recall(asking.text, limit=1)


@pytest.mark.timeout(3_600)
def test_whatever_the_order_of_calls_cuts_and_resumes_each_session_hears_its_own_answers_once() -> None:
    with asyncio.Runner() as loop:
        world = Interleaving.world = World(loop)
        loop.run(world.open())
        try:
            run_state_machine_as_test(
                Interleaving,
                settings=settings(
                    max_examples=INTERLEAVINGS,
                    stateful_step_count=STEPS,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                    database=None,
                ),
            )
        finally:
            loop.run(world.close())
    print(f"{world.examples} interleavings")
    assert world.examples >= INTERLEAVINGS
