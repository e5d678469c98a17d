"""What a tool call and an idle stream cost, beside the official SDK and a bare handler.

Each server runs in a process of its own, and so does the load. CPU is the server's user and system time. Of several
rounds, which go round all servers, the best of each server counts: what else the machine did is no figure of theirs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPORT = Path("build/bench/mcp.json")
JSON_ONLY = "application/json"

# product.md, "What good means".
TARGETS = {"cpu_ms_sse": 0.35, "cpu_ms_json": 0.25, "kb_per_idle_stream": 25.0}
WRITE = json.dumps(
    {
        "triples": [{"subject": "bench", "predicate": "counted_to", "object": "{n}", "functional": True}],
        "memory_scope": "session",
    }
)


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A server. json_module: how it is started to answer in plain JSON, where Accept does not decide that."""

    name: str
    module: tuple[str, ...]
    json_module: tuple[str, ...] | None = None


CONTENDERS = (
    Contender(name="codesynapse", module=("benchmarks.our_server",)),
    Contender(
        name="python sdk",
        module=("benchmarks.sdk_echo_server",),
        json_module=("benchmarks.sdk_echo_server", "--json"),
    ),
    Contender(name="bare aiohttp", module=("benchmarks.floor_server",)),
)


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is measured."""

    rounds: int
    sequential: int
    calls: int
    streams: int
    writes: int


FULL = Size(rounds=3, sequential=2_000, calls=6_000, streams=1_000, writes=500)
QUICK = Size(rounds=1, sequential=300, calls=1_500, streams=100, writes=100)


@dataclass(frozen=True, kw_only=True)
class Running:
    """A server that is up."""

    pid: int
    url: str
    headers: dict[str, str]

    def load(self, mode: str, **options: object) -> dict[str, Any]:
        """Run the load generator against it. Raises RuntimeError when a call failed."""
        command = [sys.executable, "-m", "benchmarks.mcp_load", "--url", self.url, "--server-pid", str(self.pid)]
        command += ["--mode", mode]
        for name, value in self.headers.items():
            command += ["--header", f"{name}: {value}"]
        for option, value in options.items():
            command += [f"--{option}", str(value)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise RuntimeError(f"the load generator failed: {ran.stdout[-1000:]}{ran.stderr[-2000:]}")
        found: dict[str, Any] = json.loads(ran.stdout)
        return found


@contextmanager
def running(module: tuple[str, ...]) -> Iterator[Running]:
    """Start a server, and end this very process at the end."""
    process = subprocess.Popen([sys.executable, "-m", *module], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"{module[0]} did not start")
        told = json.loads(line)
        yield Running(pid=process.pid, url=told["url"], headers=told["headers"])
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def measure_calls(contender: Contender, size: Size) -> dict[str, Any]:
    """One round: sequential calls, then many sessions, over SSE and in plain JSON."""
    found: dict[str, Any] = {}
    with running(contender.module) as server:
        found["sequential"] = server.load("latency", calls=size.sequential)
        found["sse"] = server.load("load", calls=size.calls)
        if contender.json_module is None:
            found["json"] = server.load("load", calls=size.calls, accept=JSON_ONLY)
        if contender.name == "codesynapse":
            write = {"tool": "upsert_graph_triples", "args": WRITE, "warmup": 5}
            found["write"] = server.load("latency", calls=size.writes, **write)
    if contender.json_module is not None:
        with running(contender.json_module) as server:
            found["json"] = server.load("load", calls=size.calls)
    if (found["sse"]["streamed"], found["json"]["streamed"]) != (True, False):
        raise RuntimeError(f"{contender.name} answered in the other form")
    return found


def measure_idle(contender: Contender, size: Size) -> dict[str, Any]:
    """A fresh process with many open streams."""
    with running(contender.module) as server:
        return server.load("idle", sessions=size.streams, calls=50)


def best(rounds: list[dict[str, Any]], idle: dict[str, Any]) -> dict[str, Any]:
    """The figures of one server: the best round of each."""

    def least(kind: str, figure: str) -> float:
        return float(min(each[kind][figure] for each in rounds))

    def quickest(kind: str, figure: str) -> float:
        return float(min(each[kind]["latency"][figure] for each in rounds))

    figures = {
        "cpu_ms_sse": least("sse", "server_cpu_ms_per_call"),
        "cpu_ms_json": least("json", "server_cpu_ms_per_call"),
        "cpu_ms_sequential": least("sequential", "server_cpu_ms_per_call"),
        "calls_per_s": max(each["sse"]["per_s"] for each in rounds),
        "calls_per_s_json": max(each["json"]["per_s"] for each in rounds),
        "p50_ms": quickest("sse", "p50_ms"),
        "p99_ms": quickest("sse", "p99_ms"),
        "sequential_p50_ms": quickest("sequential", "p50_ms"),
        "sequential_p99_ms": quickest("sequential", "p99_ms"),
        "kb_per_idle_stream": idle["kb_per_idle_session"],
        "idle_cpu_pct": idle["idle_cpu_pct"],
    }
    if "write" in rounds[0]:
        figures["write_cpu_ms"] = least("write", "server_cpu_ms_per_call")
        figures["write_p50_ms"] = quickest("write", "p50_ms")
        figures["write_p99_ms"] = quickest("write", "p99_ms")
    return figures


def misses(figures: dict[str, Any]) -> list[str]:
    """Which targets our figures miss."""
    return [
        f"{name}: {figures[name]:.3g}, target {limit:g}" for name, limit in TARGETS.items() if figures[name] > limit
    ]


def table(results: dict[str, dict[str, Any]]) -> str:
    """All servers beside each other; ratio: how many times our CPU an SSE call takes there."""
    ours = results["codesynapse"]["cpu_ms_sse"]
    head = (
        "server",
        "CPU ms SSE",
        "CPU ms JSON",
        "calls/s @32",
        "p50 ms",
        "p99 ms",
        "seq p50 ms",
        "KB/stream",
        "ratio",
    )
    rows = [head]
    for name, each in results.items():
        rows.append(
            (
                name,
                f"{each['cpu_ms_sse']:.3f}",
                f"{each['cpu_ms_json']:.3f}",
                f"{each['calls_per_s']:.0f}",
                f"{each['p50_ms']:.2f}",
                f"{each['p99_ms']:.2f}",
                f"{each['sequential_p50_ms']:.2f}",
                f"{each['kb_per_idle_stream']:.1f}",
                f"{each['cpu_ms_sse'] / ours:.2f}",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def main() -> None:
    """Measure, write the report, print the table last, and exit 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a short run, for a first look")
    size = QUICK if parser.parse_args().quick else FULL
    rounds: dict[str, list[dict[str, Any]]] = {contender.name: [] for contender in CONTENDERS}
    for number in range(size.rounds):
        for contender in CONTENDERS:
            print(f"round {number + 1} of {size.rounds}: {contender.name}", file=sys.stderr)
            rounds[contender.name].append(measure_calls(contender, size))
    results: dict[str, dict[str, Any]] = {}
    for contender in CONTENDERS:
        print(f"{size.streams} idle streams: {contender.name}", file=sys.stderr)
        idle = measure_idle(contender, size)
        results[contender.name] = best(rounds[contender.name], idle)
        rounds[contender.name].append({"idle": idle})
    missed = misses(results["codesynapse"])
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps({"figures": results, "targets": TARGETS, "missed": missed, "runs": rounds}, indent=1))
    ours = results["codesynapse"]
    for miss in missed:
        print(f"missed: {miss}")
    print(f"write (one triple, durable): {ours['write_cpu_ms']:.2f} ms CPU, p50 {ours['write_p50_ms']:.2f} ms")
    print(table(results))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
