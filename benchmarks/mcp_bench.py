"""What a tool call and an idle stream cost in both eras, beside the official SDKs and a bare handler.

Each server runs in a process of its own, and so does the load. CPU is the server's user and system time. Of several
rounds, which go round all servers, the best of each server counts: what else the machine did is no figure of theirs.
At the stateless revision an answer is a stream only where something comes before it, so there the calls over SSE ask
for their progress and are told of it once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.mcp_contenders import CELLS, CONTENDERS, ERAS, Contender, Running, running
from benchmarks.mcp_report import TARGETS, figures_of, misses, table

REPORT = Path("build/bench/mcp.json")
JSON_ONLY = "application/json"
WRITE = json.dumps(
    {
        "triples": [{"subject": "bench", "predicate": "counted_to", "object": "{n}", "functional": True}],
        "memory_scope": "session",
    }
)


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is measured."""

    rounds: int
    sequential: int
    calls: int
    streams: int
    writes: int
    pings: int


FULL = Size(rounds=3, sequential=2_000, calls=6_000, streams=2_000, writes=500, pings=2_000)
QUICK = Size(rounds=1, sequential=300, calls=1_500, streams=100, writes=100, pings=300)


def measure_calls(contender: Contender, size: Size) -> dict[str, Any]:
    """One round: for each era and form, many sessions at once; in each era sequential calls, ours with writes."""
    found: dict[str, Any] = {}
    for era, form in CELLS:
        asked = _asked(contender, era, form)
        with running(contender, era, form) as server:
            found[f"{era} {form}"] = calls = server.load("load", calls=size.calls, **asked)
            if form == "json":
                found[f"{era} sequential"] = server.load("latency", calls=size.sequential, **asked)
                if contender.ours:
                    write = {"tool": "upsert_graph_triples", "args": WRITE, "warmup": 5}
                    found[f"{era} write"] = server.load("latency", calls=size.writes, era=era, **write)
        if calls["streamed"] != (form == "sse"):
            raise RuntimeError(f"{contender.name} answered in the other form: {era} {form}")
    return found


def _asked(contender: Contender, era: str, form: str) -> dict[str, object]:
    """How the load generator asks for answers of a form."""
    if form == "json":
        return {"era": era, **({"accept": JSON_ONLY} if contender.by_accept else {})}
    return {"era": era, **({"tool": "tell", "progress": True} if era == "modern" else {})}


def measure_idle(contender: Contender, size: Size) -> dict[str, Any]:
    """Fresh processes, one an era: many open streams; then pings beside a client that does not read."""
    found: dict[str, Any] = {}

    def idle(server: Running, era: str) -> dict[str, Any]:
        return server.load("idle", sessions=size.streams, calls=50, era=era)

    def stuck(server: Running, era: str) -> dict[str, Any]:
        return server.load("stuck", calls=size.pings, era=era)

    measured: dict[str, Callable[[Running, str], dict[str, Any]]] = {"idle": idle, "stuck": stuck}
    for era in ERAS:
        for kind, measure in measured.items():
            with running(contender, era, "sse") as server:
                try:
                    found[f"{era} {kind}"] = measure(server, era)
                except RuntimeError as error:
                    if contender.ours:
                        raise
                    found[f"{era} {kind}"] = {"failed": str(error)}
    return found


def measure(size: Size) -> dict[str, dict[str, Any]]:
    """All servers in one run: the rounds of each, and what was measured once."""
    runs: dict[str, dict[str, Any]] = {contender.name: {"rounds": []} for contender in CONTENDERS}
    for number in range(size.rounds):
        for contender in CONTENDERS:
            print(f"round {number + 1} of {size.rounds}: {contender.name}", file=sys.stderr)
            runs[contender.name]["rounds"].append(measure_calls(contender, size))
    for contender in CONTENDERS:
        print(f"{size.streams} idle streams, and a stuck one: {contender.name}", file=sys.stderr)
        runs[contender.name]["once"] = measure_idle(contender, size)
    return runs


def main() -> None:
    """Measure, write the report, print the table last, and exit 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a short run, for a first look")
    size = QUICK if parser.parse_args().quick else FULL
    began = os.getloadavg()[0]
    runs = measure(size)
    figures = {name: figures_of(each["rounds"], each["once"]) for name, each in runs.items()}
    ours = figures["codesynapse"]
    missed = misses(ours)
    load = {"cpus": os.cpu_count(), "load_at_first": began, "load_at_last": os.getloadavg()[0]}
    report = {"machine": load, "figures": figures, "targets": TARGETS, "missed": missed, "runs": runs}
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1))
    print(f"{load['cpus']} processors; load {began:.1f} at first, {load['load_at_last']:.1f} at last")
    for miss in missed:
        print(f"missed: {miss}")
    for era in ERAS:
        cpu_ms, p50_ms = ours[f"write_cpu_ms {era}"], ours[f"write_p50_ms {era}"]
        print(f"write, {era} (one triple, durable): {cpu_ms:.2f} ms CPU, p50 {p50_ms:.2f} ms")
    print(table(figures))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
