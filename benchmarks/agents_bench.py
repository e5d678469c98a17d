"""What storing and recalling agent memories costs, beside cpersona with embeddings off.

Both sides are processes that take the same facts and the same questions by turns, so that what else the machine does
meets both; of several rounds the best of each counts. Calls go through each side's own dispatch of tools, without a
transport. CPU is the server's, all its threads. Recall comes first at each size, before anything is stored beyond it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.agents_facts import Fact, facts, recall_arguments, store_arguments
from benchmarks.agents_sides import OURS, PEER, Side, Took, running, version
from benchmarks.process import percentile

REPORT = Path("build/bench/agents.json")
TARGETS_CPU_MS = {"store": 1.0, "recall": 5.0}
TARGET_CHARACTERS = 1_500
"""Of issue 6: each mean of CPU and every answer of ours stays below."""
TURN, FILL = 25, 500
"""Calls at once, where they are measured and where they are not."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """At how many memories is measured, and how. calls: of each kind in a round, after `warmup` that do not count."""

    memories: tuple[int, ...]
    rounds: int
    calls: int
    warmup: int

    @property
    def asked(self) -> int:
        return self.calls + self.warmup


FULL = Size(memories=(1_000, 10_000), rounds=5, calls=200, warmup=25)
QUICK = Size(memories=(1_000,), rounds=1, calls=50, warmup=25)


@dataclass
class Filled:
    """A server and what it holds. ids: of each fact that was stored, by its place among all facts."""

    side: Side
    ids: list[int] = field(default_factory=list)

    def store(self, new: Sequence[Fact]) -> list[Took]:
        """Store facts that it does not have. Raises RuntimeError when it stored one of them not."""
        took = self.side.do("store", [store_arguments(each) for each in new])
        for each in took:
            said = json.loads(each.text)
            if said.get("result") != "stored":
                raise RuntimeError(f"{self.side.name} did not store: {each.text[:500]}")
            self.ids.append(said["id"])
        return took

    def recall(self, asked: Sequence[Fact]) -> list[Took]:
        """Ask for facts."""
        return self.side.do("recall", [recall_arguments(each) for each in asked])


Figures = dict[str, float]


def measured(filled: Sequence[Filled], count: int, every: Sequence[Fact], size: Size) -> list[dict[str, Any]]:
    """The rounds at one number of memories, recall before store: [{operation: {side: figures}}]."""
    for each in filled:
        while len(each.ids) < count:
            each.store(every[len(each.ids) : min(count, len(each.ids) + FILL)])
    rounds: list[dict[str, Any]] = []
    for number in range(size.rounds):
        asked = random.Random(count + number).sample(range(count), size.asked)
        took = by_turns(filled, [every[place] for place in asked], Filled.recall)
        wanted = asked[size.warmup :]
        found = [
            figures(mine[size.warmup :]) | hits_of(mine[size.warmup :], [each.ids[place] for place in wanted])
            for each, mine in zip(filled, took, strict=True)
        ]
        rounds.append({"recall": _named(filled, found)})
    for each in rounds:
        start = len(filled[0].ids)
        took = by_turns(filled, every[start : start + size.asked], Filled.store)
        each["store"] = _named(filled, [figures(mine[size.warmup :]) for mine in took])
    return rounds


def _named(filled: Sequence[Filled], found: Sequence[Figures]) -> dict[str, Figures]:
    return {each.side.name: mine for each, mine in zip(filled, found, strict=True)}


def by_turns(
    filled: Sequence[Filled], all_of: Sequence[Fact], do: Callable[[Filled, Sequence[Fact]], list[Took]]
) -> list[list[Took]]:
    """What each side took for the same facts, a few calls of one after a few of the other."""
    took: list[list[Took]] = [[] for _ in filled]
    for start in range(0, len(all_of), TURN):
        for each, mine in zip(filled, took, strict=True):
            mine += do(each, all_of[start : start + TURN])
    return took


def figures(took: Sequence[Took]) -> dict[str, float]:
    """CPU and wall time in milliseconds, and how long the answers were."""
    cpu_ms, wall_ms = (
        [1_000 * each for each in times] for times in zip(*((t.cpu_s, t.wall_s) for t in took), strict=True)
    )
    characters = [len(each.text) for each in took]
    return {
        "cpu_ms": round(statistics.fmean(cpu_ms), 3),
        "cpu_p50_ms": round(percentile(cpu_ms, 0.5), 3),
        "cpu_p99_ms": round(percentile(cpu_ms, 0.99), 3),
        "p50_ms": round(percentile(wall_ms, 0.5), 3),
        "p99_ms": round(percentile(wall_ms, 0.99), 3),
        "characters": round(statistics.fmean(characters)),
        "characters_max": max(characters),
    }


def hits_of(took: Sequence[Took], wanted: Sequence[int]) -> dict[str, float]:
    """How many hits an answer has, and in what share of them the fact is that was asked for."""
    answers = [[hit.get("ref") for hit in json.loads(each.text)["messages"]] for each in took]
    held = [f"mem:{number}" in answer for number, answer in zip(wanted, answers, strict=True)]
    return {
        "hits": round(statistics.fmean(len(answer) for answer in answers), 1),
        "found": round(statistics.fmean(held), 3),
    }


Results = dict[int, list[dict[str, Any]]]
Best = dict[int, dict[str, dict[str, Figures]]]


def measure(size: Size) -> Results:
    """Both sides at every number of memories: {memories: [{operation: {side: figures}}]}, an entry a round."""
    stored = max(size.memories) + len(size.memories) * size.rounds * size.asked
    every, results = facts(stored), Results()
    with running(OURS) as ours, running(PEER) as peer:
        filled = [Filled(ours), Filled(peer)]
        for count in size.memories:
            print(f"measuring at {count:,} memories", file=sys.stderr)
            results[count] = measured(filled, count, every, size)
    return results


def best(results: Results) -> Best:
    """Of all rounds the least time, the longest answer, the mean of the rest: {memories: {operation: {side: …}}}."""

    def of(found: Sequence[Figures]) -> Figures:
        return {key: _best(key, [each[key] for each in found]) for key in found[0]}

    return {
        count: {
            operation: {side: of([each[operation][side] for each in rounds]) for side in rounds[0][operation]}
            for operation in TARGETS_CPU_MS
        }
        for count, rounds in results.items()
    }


def _best(key: str, values: Sequence[float]) -> float:
    if key.endswith("_ms"):
        return min(values)
    return max(values) if key == "characters_max" else round(statistics.fmean(values), 3)


def misses(found: Best) -> list[str]:
    """Which targets ours misses."""
    missed = []
    for count, operations in found.items():
        for operation, target in TARGETS_CPU_MS.items():
            cpu_ms = operations[operation][OURS]["cpu_ms"]
            if cpu_ms >= target:
                missed.append(f"{operation} at {count:,}: {cpu_ms:.2f} ms CPU, target below {target:g}")
        longest = operations["recall"][OURS]["characters_max"]
        if longest >= TARGET_CHARACTERS:
            missed.append(f"recall at {count:,}: {longest:,} characters, target below {TARGET_CHARACTERS:,}")
    return missed


_COLUMNS = (
    *(("CPU ms", "cpu_ms", ".2f"), ("CPU p50", "cpu_p50_ms", ".2f"), ("CPU p99", "cpu_p99_ms", ".2f")),
    *(("p50 ms", "p50_ms", ".2f"), ("p99 ms", "p99_ms", ".2f")),
    *(("characters", "characters", ",.0f"), ("longest", "characters_max", ",.0f"), ("hits", "hits", ".1f")),
    ("found", "found", ".2f"),
)


def table(found: Best) -> str:
    """Both sides beside each other, at each size."""
    rows = [("memories", "operation", "server", *(head for head, _, _ in _COLUMNS))]
    for count, operations in found.items():
        for operation, sides in operations.items():
            for name, mine in sides.items():
                cells = [format(mine[key], form) if key in mine else "–" for _, key, form in _COLUMNS]
                rows.append((f"{count:,}", operation, name, *cells))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    aligns = [str.rjust, str.ljust, str.ljust, *[str.rjust] * len(_COLUMNS)]
    lines = [[align(cell, width) for align, cell, width in zip(aligns, row, widths, strict=True)] for row in rows]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def main() -> None:
    """Measure, write the report, print the table last, and exit 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a short run, for a first look")
    began = os.getloadavg()[0]
    results = measure(QUICK if parser.parse_args().quick else FULL)
    figures_seen = best(results)
    missed = misses(figures_seen)
    machine = {"cpus": os.cpu_count(), "load_at_first": began, "load_at_last": os.getloadavg()[0]}
    targets = {"cpu_ms": TARGETS_CPU_MS, "characters": TARGET_CHARACTERS}
    report = {
        "machine": machine,
        "peer": version(),
        "figures": figures_seen,
        "rounds": results,
        "targets": targets,
        "missed": missed,
    }
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1), "utf-8")
    print(f"{machine['cpus']} processors; load {began:.1f} at first, {machine['load_at_last']:.1f} at last")
    print(f"{PEER} {version()}, embeddings off")
    for miss in missed:
        print(f"missed: {miss}")
    print(table(figures_seen))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
