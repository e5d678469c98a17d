"""What session memory costs on each store, beside the floor of the same run: the bare client, driver or file.

Ours and the floor take turns, operation by operation, so that what else the machine does meets both. CPU is that of
this process. The servers are those of the tests, started unless they run already.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.process import told
from benchmarks.stores_floors import driver_floor, file_floor, gremlin_floor
from benchmarks.stores_work import Content, Ours, Side, contents
from codesynapse.backends import open_backend
from tests.servers import running

REPORT = Path("build/bench/stores.json")
STORES = ("memory", "sqlite", "neo4j", "hugegraph-1.5", "hugegraph-1.7")
FULL_COMMIT = "commit 24 KiB"
# product.md, "What good means": p50 of a full commit, in milliseconds, or in times of the floor's.
TARGETS_MS = {"memory": 2.0, "sqlite": 3.0}
TARGETS_TIMES = {"neo4j": 1.3, "hugegraph-1.5": 1.3, "hugegraph-1.7": 1.3}
WRITERS, RACED = 16, 4


@dataclass(frozen=True, kw_only=True)
class Size:
    """How often each operation is done, and how often each of the racing writers commits."""

    warmup: int
    repeats: int
    races: int


FULL = Size(warmup=50, repeats=500, races=25)
QUICK = Size(warmup=10, repeats=60, races=5)


@dataclass
class Measured:
    """Durations and CPU of one side."""

    seconds: list[float] = field(default_factory=list)
    cpu_s: float = 0.0
    wall_s: float = 0.0

    def figures(self) -> dict[str, float]:
        """p50, p99, CPU a time, times a second."""
        figures = told(self.seconds)
        count = len(self.seconds)
        return {
            "p50_ms": figures["p50_ms"],
            "p99_ms": figures["p99_ms"],
            "cpu_ms": round(1000 * self.cpu_s / count, 3),
            "per_s": round(count / self.wall_s, 1),
        }


@asynccontextmanager
async def timed(measured: Measured) -> AsyncIterator[None]:
    """Add what happens inside."""
    cpu_s, began = time.process_time(), time.perf_counter()
    yield
    took_s = time.perf_counter() - began
    measured.seconds.append(took_s)
    measured.wall_s += took_s
    measured.cpu_s += time.process_time() - cpu_s


Step = Callable[[Side, int], Awaitable[object]]


async def in_turns(sides: list[Side], step: Step, size: Size) -> list[Measured]:
    """The same step of every side by turns."""
    found = [Measured() for _ in sides]
    for number in range(size.warmup + size.repeats):
        for side, measured in zip(sides, found, strict=True):
            async with timed(measured if number >= size.warmup else Measured()):
                await step(side, number)
    return found


def committing(kind: str, held: dict[str, tuple[Content, Content]]) -> Step:
    """Commits that each change one fact of one scope; where it is empty, each is the first of another scope."""

    async def step(side: Side, number: int) -> None:
        fresh = kind == "empty"
        done = await side.commit(f"{kind} {number}" if fresh else kind, 0 if fresh else number, held[kind][number % 2])
        assert done, f"{kind}: the revision was another"

    return step


async def loading(side: Side, number: int) -> None:
    assert await side.load("24 KiB") > 0


async def walking(side: Side, number: int) -> None:
    assert await side.around(number) > 0


async def raced(side: Side, half: tuple[Content, Content], size: Size, run: str) -> Measured:
    """Writers that race for a few scopes, each from its reading to its commit, as often as it takes."""
    found = Measured()

    async def write(writer: int) -> None:
        for number in range(size.races):
            began = time.perf_counter()
            place = f"race {run} {writer % RACED}"
            while not await side.commit(place, await side.load(place), half[number % 2]):
                pass
            found.seconds.append(time.perf_counter() - began)

    cpu_s, began = time.process_time(), time.perf_counter()
    await asyncio.gather(*map(write, range(WRITERS)))
    found.wall_s, found.cpu_s = time.perf_counter() - began, time.process_time() - cpu_s
    return found


Pair = dict[str, dict[str, float] | None]


async def measured(ours: Ours, floor: Side | None, size: Size, *, commits_only: bool) -> dict[str, Pair]:
    """All operations of a store: {operation: {"ours": figures, "floor": figures or None}}."""
    held, results = contents(), {}
    for kind in ("empty", "half-full", "24 KiB"):
        sides: list[Side] = [ours] if floor is None else [ours, floor]
        results[f"commit {kind}"] = await in_turns(sides, committing(kind, held), size)
    beside: list[Side] = [ours] if floor is None or commits_only else [ours, floor]
    results["load 24 KiB"] = await in_turns(beside, loading, size)
    results["2 hops"] = await in_turns(beside, walking, size)
    results["racing commits"] = [await raced(side, held["half-full"], size, "a") for side in beside]
    return {
        name: {"ours": found[0].figures(), "floor": found[1].figures() if len(found) > 1 else None}
        for name, found in results.items()
    }


async def of_store(name: str, size: Size) -> dict[str, Pair]:
    """Open a store with the floor beside it, and measure both."""
    with tempfile.TemporaryDirectory(prefix="codesynapse-bench-") as folder:
        async with AsyncExitStack() as stack:
            kind = name.partition("-")[0]
            given: dict[str, str] = {}
            if kind == "sqlite":
                given = {"path": str(Path(folder, "bench.db"))}
            elif kind != "memory":
                record = await asyncio.to_thread(running.ensure, name, running.myself())
                stack.callback(running.release, name, running.myself())
                given = record.options
            backend = await stack.enter_async_context(open_backend(kind, given))
            assert backend.session_memory is not None
            assert backend.repository is not None
            ours = Ours(backend.session_memory, backend.repository)
            await ours.prepare()
            opening = floor_of(kind, given, ours, Path(folder))
            floor = None if opening is None else await stack.enter_async_context(opening)
            return await measured(ours, floor, size, commits_only=kind == "sqlite")


def floor_of(kind: str, given: dict[str, str], ours: Ours, folder: Path) -> AbstractAsyncContextManager[Side] | None:
    """The floor of a store; memory has none."""
    match kind:
        case "sqlite":
            return file_floor(folder)
        case "neo4j":
            return driver_floor(given, ours)
        case "hugegraph":
            return gremlin_floor(given, ours)
    return None


def times(pair: Pair) -> float | None:
    """How many times the floor's p50 ours is."""
    ours, floor = pair["ours"], pair["floor"]
    return None if ours is None or floor is None else ours["p50_ms"] / floor["p50_ms"]


def misses(results: dict[str, dict[str, Pair]]) -> list[str]:
    """Which targets are missed."""
    missed = []
    for store, operations in results.items():
        pair = operations[FULL_COMMIT]
        ratio, ours = times(pair), pair["ours"]
        assert ours is not None
        if store in TARGETS_MS and ours["p50_ms"] > TARGETS_MS[store]:
            missed.append(f"{store}, {FULL_COMMIT}: {ours['p50_ms']:.2f} ms, target {TARGETS_MS[store]:g} ms")
        if store in TARGETS_TIMES and ratio is not None and ratio > TARGETS_TIMES[store]:
            missed.append(f"{store}, {FULL_COMMIT}: {ratio:.2f} × the floor, target {TARGETS_TIMES[store]:g} ×")
    return missed


def table(results: dict[str, dict[str, Pair]]) -> str:
    """Every operation of every store, with the floor's p50 and how many times of it ours takes."""
    head = ("store", "operation", "p50 ms", "p99 ms", "CPU ms", "a second", "floor p50 ms", "times")
    rows = [head]
    for store, operations in results.items():
        for name, pair in operations.items():
            ours, floor, ratio = pair["ours"], pair["floor"], times(pair)
            assert ours is not None
            figures = [f"{ours[figure]:.2f}" for figure in ("p50_ms", "p99_ms", "cpu_ms")]
            beside = ("–", "–") if floor is None else (f"{floor['p50_ms']:.2f}", f"{ratio:.2f}")
            rows.append((store, name, *figures, f"{ours['per_s']:.0f}", *beside))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    # Names to the left, figures to the right.
    aligns = [str.ljust, str.ljust, *[str.rjust] * (len(head) - 2)]
    lines = [[align(cell, width) for align, cell, width in zip(aligns, row, widths, strict=True)] for row in rows]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def machine() -> dict[str, Any]:
    """What a reader of the figures wants to know of the machine."""
    return {"cpus": os.cpu_count(), "load": [round(each, 2) for each in os.getloadavg()]}


def main() -> None:
    """Measure, write the report, print the table last, and exit 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a short run, for a first look")
    parser.add_argument("--store", action="append", choices=STORES, help="this store alone; may be repeated")
    options = parser.parse_args()
    size = QUICK if options.quick else FULL
    before, results = machine(), {}
    for name in options.store or STORES:
        print(f"measuring {name}", file=sys.stderr)
        results[name] = asyncio.run(of_store(name, size))
    missed = misses(results)
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    report = {"figures": results, "missed": missed, "machine": {"before": before, "after": machine()}}
    REPORT.write_text(json.dumps({**report, "targets": {"ms": TARGETS_MS, "times": TARGETS_TIMES}}, indent=1), "utf-8")
    for miss in missed:
        print(f"missed: {miss}")
    print(f"{before['cpus']} CPUs, load {before['load'][0]} before and {machine()['load'][0]} after")
    print(table(results))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
