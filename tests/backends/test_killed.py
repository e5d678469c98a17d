"""kill -9 of a graph server in the midst of commits, on each kind of server: nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
from msgspec import structs

from codesynapse.backends import open_backend
from codesynapse.contracts.errors import StoreBusy, StoreFault, Unavailable
from codesynapse.contracts.memory import CommitId, Committed, Scope
from codesynapse.contracts.ports import Backend
from codesynapse.contracts.repository import RepositoryScope
from codesynapse.contracts.requirements import requirement
from codesynapse.contracts.suite.worlds import NOW, Chat, Library, names_of, new_commit_id, settled, unique
from tests.integration.cutting import FULL, dice
from tests.integration.harness import Product, Transport, product
from tests.servers.own import OwnServer
from tests.servers.processes import POLL_S

KILLS, COMMITS = (5, 2_000) if FULL else (1, 200)
WRITERS, TENANTS = 8, 4
PLACE_MAX = 24
"""Commits to one place: fewer than the 32 whose ids are kept, so that each can be asked for at the end."""
DEADLINE_S, PATIENCE_S = 4, 120
"""Shorter than a server's start, so that outcomes stay unknown; and longer, so that the adapter settles them itself."""
HANG_S = 3 * DEADLINE_S

T = TypeVar("T")


class Place(Protocol):
    """Where one writer commits, one fact at a time. sent: the commit ids, each written down before it is sent."""

    sent: list[CommitId]

    async def commit(self, backend: Backend) -> Committed:
        """Send the last of `sent`, on top of the others."""

    async def found(self, backend: Backend, commit_id: CommitId) -> Committed | None:
        """What the store says of a commit id."""

    async def served(self, backend: Backend) -> tuple[int, set[str]]:
        """The revision, and the commit ids whose facts are there."""


class Namespace:
    """A namespace of session memory."""

    def __init__(self, tenant: str) -> None:
        self.sent: list[CommitId] = []
        self._scope = Scope(tenant_id=tenant, session_id=unique("session"), ns="default")

    async def commit(self, backend: Backend) -> Committed:
        chat = self._chat(backend)
        proposed = chat.first(*(f"ana sent {commit_id}" for commit_id in self.sent))
        return await chat.propose(proposed, len(self.sent) - 1, commit_id=self.sent[-1])

    async def found(self, backend: Backend, commit_id: CommitId) -> Committed | None:
        return await self._chat(backend).memory.committed(self._scope, commit_id, now_ms=NOW)

    async def served(self, backend: Backend) -> tuple[int, set[str]]:
        snapshot = await self._chat(backend).load()
        return snapshot.revision, names_of(snapshot.entities) - {"ana"}

    def _chat(self, backend: Backend) -> Chat:
        assert backend.session_memory is not None
        return Chat(backend.session_memory, self._scope)


class Repository:
    """A repository's memory."""

    def __init__(self, tenant: str) -> None:
        self.sent: list[CommitId] = []
        self._scope = RepositoryScope(tenant_id=tenant, repository=unique("repo"))

    async def commit(self, backend: Backend) -> Committed:
        library = self._library(backend)
        change = library.change(f"ana sent {self.sent[-1]}")
        return await library.propose(change, len(self.sent) - 1, commit_id=self.sent[-1])

    async def found(self, backend: Backend, commit_id: CommitId) -> Committed | None:
        return await self._library(backend).graph.committed(self._scope, commit_id)

    async def served(self, backend: Backend) -> tuple[int, set[str]]:
        part = await self._library(backend).read("ana sent all")
        return part.revision, names_of(part.entities) - {"ana"}

    def _library(self, backend: Backend) -> Library:
        assert backend.repository is not None
        return Library(backend.repository, self._scope)


class Load:
    """Writers that go on until so many commits are in. A writer that is given no answer waits until the server is up.

    left: commits to send. outcomes: how the unknown ones were settled. longest_s: of the calls that have a deadline.
    """

    def __init__(self, commits: int) -> None:
        self.left = commits
        self.places: list[Place] = []
        self.outcomes: Counter[str] = Counter()
        self.longest_s = 0.0
        self.up = asyncio.Event()
        self._writing = 0
        self._changed = asyncio.Condition()

    async def until_left(self, commits: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self.left <= commits)

    async def until_all_wait(self) -> None:
        """Until every writer with a deadline was told that the server is away, or is done."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._writing == 0)

    async def write(self, backend: Backend, kind: Callable[[str], Place], tenant: str, *, patient: bool) -> None:
        """One writer, place after place."""
        await self._count(0 if patient else 1)
        while self.left > 0:
            place = kind(tenant)
            self.places.append(place)
            while self.left > 0 and len(place.sent) < PLACE_MAX:
                self.left -= 1
                place.sent.append(new_commit_id())
                result = await self._timed(place.commit(backend), patient=patient)
                if isinstance(result, Exception):
                    await self._count(0 if patient else -1)
                    await self.up.wait()
                    await self._count(0 if patient else 1)
                    result = await self._settled(backend, place)
                assert result.revision == len(place.sent)
                await self._count(0)
        await self._count(0 if patient else -1)

    async def _settled(self, backend: Backend, place: Place) -> Committed:
        """Read back what became of the last commit, then send it again: it is done once."""
        found = await persistently(lambda: place.found(backend, place.sent[-1]))
        again = await persistently(lambda: place.commit(backend))
        self.outcomes["not there" if found is None else "there"] += 1
        if found is not None:
            assert again == structs.replace(found, replayed=True)
        return again

    async def _timed(self, call: Awaitable[Committed], *, patient: bool) -> Committed | Exception:
        clock = asyncio.get_running_loop().time
        begin = clock()
        result = await settled(call, Unavailable)
        self.longest_s = max(self.longest_s, 0.0 if patient else clock() - begin)
        return result

    async def _count(self, by: int) -> None:
        async with self._changed:
            self._writing += by
            self._changed.notify_all()


async def persistently(call: Callable[[], Awaitable[T]]) -> T:
    """The result of a call to a server that is up, or soon will be."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            result = await settled(call(), Unavailable)
            if not isinstance(result, Exception):
                return result
            # A server that is starting sends no event, and asking it without a pause would only slow it down.
            await asyncio.sleep(POLL_S)


class Watched:
    """Our server on the store: what it answers while the store is down, and when it is back."""

    def __init__(self, running: Product, transport: Transport) -> None:
        self._running, self._transport = running, transport
        self._written = 0

    async def tells(self) -> None:
        """It answers that the store is away, and stays well itself."""
        with pytest.raises(StoreBusy):
            await self._remember()
        assert [await self._status(path) for path in ("/readyz", "/healthz")] == [503, 200]

    async def goes_on(self) -> None:
        """It is ready by itself, and what is sent again is remembered."""
        await persistently(self._ready)
        answer = await persistently(self._remember)
        self._written += 1
        assert answer["revision"] == self._written

    async def _ready(self) -> None:
        if await self._status("/readyz") != 200:
            raise StoreBusy

    async def _remember(self) -> dict[str, Any]:
        answer = await self._transport.remember(("Ana", "likes", f"tea {self._written}"))
        if answer.get("code") in (StoreBusy.code, StoreFault.code):
            raise StoreBusy
        return answer

    async def _status(self, path: str) -> int:
        async with self._running.http.get(self._running.base + path) as answer:
            return answer.status


async def one_kill(
    server: OwnServer, backends: tuple[Backend, Backend], watched: Watched, load: Load, after: int
) -> None:
    """Writers of a hurried and of a patient adapter; the server is killed when so many commits are left."""
    tenants = [unique("tenant") for _ in range(TENANTS)]
    async with asyncio.TaskGroup() as writers:
        load.up.set()
        for number in range(WRITERS):
            patient, kind = number % 2 == 1, Repository if number % 4 > 1 else Namespace
            tenant = tenants[number % TENANTS]
            writers.create_task(load.write(backends[patient], kind, tenant, patient=patient))
        await load.until_left(after)
        load.up.clear()
        await server.kill()
        # None of those with a deadline hangs until the server is back: it comes back after them.
        async with asyncio.timeout(HANG_S):
            await asyncio.gather(load.until_all_wait(), watched.tells())
        await server.start()
        load.up.set()
        await watched.goes_on()


async def check(server: OwnServer, load: Load) -> None:
    """What an adapter that remembers nothing finds: every commit once, and its id."""
    async with open_backend(server.store, {"url": server.url, "deadline_ms": "60000"}) as backend:
        for place in load.places:
            assert await place.served(backend) == (len(place.sent), set(place.sent))
            for revision, commit_id in enumerate(place.sent, start=1):
                found = await place.found(backend, commit_id)
                assert found is not None
                assert found.revision == revision


@requirement("growing:graph-killed")
async def test_commits_during_which_the_server_is_killed_are_there_once_and_ours_goes_on_alone(
    killed: OwnServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    chance, longest_s, outcomes = dice("kill -9 of the store"), 0.0, Counter[str]()
    async with AsyncExitStack() as stack:
        deadlines = [{"url": killed.url, "deadline_ms": str(1_000 * each)} for each in (DEADLINE_S, PATIENCE_S)]
        hurried, patient = [
            await stack.enter_async_context(open_backend(killed.store, options)) for options in deadlines
        ]
        with pytest.raises(Unavailable):
            async with asyncio.timeout(HANG_S):
                await Namespace(unique("tenant")).served(hurried)
        await killed.start()
        await persistently(lambda: Namespace(unique("tenant")).served(hurried))
        running = await stack.enter_async_context(
            product(store="sqlite", home=tmp_path / "home", graph=killed.url, store_deadline_ms=1_000 * DEADLINE_S)
        )
        watched = Watched(running, await running.open(await running.person()))
        await watched.goes_on()
        for _ in range(KILLS):
            load = Load(COMMITS)
            left = chance.randrange(COMMITS // 5, COMMITS - WRITERS)
            await one_kill(killed, (hurried, patient), watched, load, left)
            await check(killed, load)
            outcomes += load.outcomes
            longest_s = max(longest_s, load.longest_s)
    assert longest_s < HANG_S
    settlements = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()))
    with capfd.disabled():
        print(
            f"{killed.name}: {KILLS} kills in {KILLS * COMMITS} commits, all there; {outcomes.total()} unknown "
            f"({settlements}); the longest call of {DEADLINE_S} s took {longest_s:.1f} s"
        )
