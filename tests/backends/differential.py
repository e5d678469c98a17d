"""All stores side by side, each opened twice, and drawn scripts that are played on all of them and on the pure law.

A seed stands for a batch of scripts, always the same; one seed in `SWEEPING` has scripts that sweep, for which the
servers must be nobody else's meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from codesynapse.backends import open_backend
from codesynapse.contracts.ports import Backend, SessionMemory
from codesynapse.contracts.quotas import DAY_MS
from codesynapse.contracts.suite.fixtures import in_one_task
from codesynapse.contracts.suite.machine import Machine, Store
from codesynapse.contracts.suite.steps import Script, scripts
from codesynapse.contracts.suite.worlds import LONG_AGO, NOW, later
from tests.servers.kinds import TESTED
from tests.servers.running import Record

FAR_AHEAD = later(NOW, 36_500 * DAY_MS)
"""The moment of what does not sweep: no sweep of another test, or of a server by its clock, reaches this far."""
SEQUENCES = 25
"""Scripts to a seed."""
SWEEPING = 5
DOORS = 2
SWEPT_MAX = 1_000

Opening = Callable[[], AbstractAsyncContextManager[Backend]]


class Openings:
    """Openings of one store. Each can be closed and opened anew, by whichever task."""

    def __init__(self, opening: Opening, count: int) -> None:
        self._opening = opening
        self._stacks = [AsyncExitStack() for _ in range(count)]

    async def open(self, number: int) -> Backend:
        await self.close(number)
        return await self._stacks[number].enter_async_context(in_one_task(self._opening()))

    async def open_all(self) -> list[Backend]:
        return [await self.open(number) for number in range(len(self._stacks))]

    async def close(self, number: int) -> None:
        await self._stacks[number].aclose()

    async def close_all(self) -> None:
        for number in range(len(self._stacks)):
            await self.close(number)


def openings(folder: Path, servers: Mapping[str, Record]) -> dict[str, Openings]:
    """Every store there is, by name. folder: for files. servers: the running ones by the names of their kinds."""
    stores = {
        # The memory store is what one opening holds.
        "memory": Openings(partial(open_backend, "memory", {}), 1),
        "sqlite": Openings(partial(open_backend, "sqlite", {"path": str(folder / "differential.db")}), DOORS),
    }
    for name, record in servers.items():
        stores[name] = Openings(partial(open_backend, TESTED[name].store, record.options), DOORS)
    return stores


@asynccontextmanager
async def opened(folder: Path, servers: Mapping[str, Record]) -> AsyncIterator[list[Store]]:
    """Session memory of every store."""
    async with AsyncExitStack() as stack:
        stores: list[Store] = []
        for name, each in openings(folder, servers).items():
            stack.push_async_callback(each.close_all)
            ports = [memory_of(backend) for backend in await each.open_all()]
            stores.append(Store(name, ports, None if name == "memory" else partial(_reopened, each)))
        yield stores


def memory_of(backend: Backend) -> SessionMemory:
    assert backend.session_memory is not None
    return backend.session_memory


async def _reopened(each: Openings, number: int) -> SessionMemory:
    return memory_of(await each.open(number))


class Arena:
    """Session memory of all stores, open on an event loop of its own, on which scripts are played.

    shrinks: whether a script that disagrees is made shorter, which takes its time.
    """

    def __init__(self, runner: asyncio.Runner, stores: list[Store], *, shrinks: bool = True) -> None:
        self._runner = runner
        self._stores = stores
        self._phases = [Phase.generate, Phase.shrink] if shrinks else [Phase.generate]

    def compare(self, number: int) -> None:
        """Play the scripts of a seed. Raises Disagreement for the shortest one found, with a note of the seed."""
        sweeps = number % SWEEPING == 0
        began_ms = LONG_AGO if sweeps else FAR_AHEAD
        if sweeps:
            self._runner.run(self._swept())

        @seed(number)
        @settings(
            # The first is always the one that does nothing.
            max_examples=SEQUENCES + 1,
            deadline=None,
            database=None,
            # A disagreement tells its script, more briefly.
            verbosity=Verbosity.quiet,
            phases=self._phases,
            suppress_health_check=list(HealthCheck),
        )
        @given(script=scripts)
        def agree(script: Script) -> None:
            self._runner.run(Machine(self._stores, began_ms=began_ms, sweeps=sweeps).play(script))

        try:
            agree()
        except BaseException as error:
            error.add_note(f"Seed {number}: make fuzz-stores ARGS='--seed {number} --sequences {SEQUENCES}'")
            raise

    async def _swept(self) -> None:
        """Remove what earlier tests left to be swept."""
        for store in self._stores:
            while await store.door(0).sweep(now_ms=later(LONG_AGO, DAY_MS), limit=SWEPT_MAX):
                pass


@contextmanager
def arena(folder: Path, servers: Mapping[str, Record]) -> Iterator[Arena]:
    """Open all stores."""
    with asyncio.Runner() as runner:
        context = opened(folder, servers)
        stores = runner.run(context.__aenter__())
        try:
            yield Arena(runner, stores)
        finally:
            runner.run(context.__aexit__(None, None, None))
