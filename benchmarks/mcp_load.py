"""Load on an MCP server over HTTP: `python -m benchmarks.mcp_load --url … --mode …`. Prints one JSON object.

Modes
  latency  one session, sequential calls
  load     --sessions sessions at once, --calls calls in all
  list     like load, with tools/list
  idle     --sessions sessions, each with one open stream; the server's memory before, while and after; sequential
           calls of one more session in the meantime
  init     --sessions handshakes
  stuck    --calls pings of one session, while another one does not read what its call says
Eras
  legacy   2025-03-26, 2025-06-18, 2025-11-25: with sessions
  modern   2026-07-28: without
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from benchmarks.mcp_client import BOTH, NEWEST, Peer, Target
from benchmarks.process import cpu_s, memory, told


@dataclass(kw_only=True)
class Run:
    """One run and what it finds. durations_s: of every call that was answered."""

    target: Target
    options: argparse.Namespace
    http: aiohttp.ClientSession
    durations_s: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)

    @property
    def pid(self) -> int | None:
        pid: int | None = self.options.server_pid
        return pid

    async def timed(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do some work and note how long it took, or what went wrong; a fault is counted and ends nothing."""
        started = time.perf_counter()
        try:
            await work()
        except Exception as error:  # The edge of one measured call: it is counted, and makes the run fail.
            self.faults.append(repr(error)[:200])
        else:
            self.durations_s.append(time.perf_counter() - started)


class Meter:
    """What passes between its making and its reading."""

    def __init__(self, pid: int | None) -> None:
        self._pid = pid
        self._server_s = cpu_s(pid) if pid else 0.0
        self._own_s = time.process_time()
        self._started = time.perf_counter()

    def read(self, done: int) -> dict[str, float]:
        """Figures for so many calls."""
        wall_s = time.perf_counter() - self._started
        figures = {
            "done": done,
            "wall_s": round(wall_s, 3),
            "per_s": round(done / wall_s, 1),
            "client_cpu_pct": round((time.process_time() - self._own_s) / wall_s * 100, 1),
        }
        if self._pid:
            used_s = cpu_s(self._pid) - self._server_s
            figures["server_cpu_pct"] = round(used_s / wall_s * 100, 1)
            figures["server_cpu_ms_per_call"] = round(used_s * 1000 / max(1, done), 4)
        return figures


async def latency(run: Run, warm: Peer) -> None:
    """Sequential calls on one session."""
    meter = Meter(run.pid)
    for _ in range(run.options.calls):
        await run.timed(warm.call)
    run.found |= meter.read(len(run.durations_s))


async def load(run: Run, _: Peer) -> None:
    """Many sessions at once, each calling without a pause."""
    peers = [Peer(run.http, run.target) for _ in range(run.options.sessions)]
    await asyncio.gather(*(peer.open() for peer in peers))
    left = run.options.calls
    meter = Meter(run.pid)

    async def work(peer: Peer) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await run.timed(lambda: peer.call(run.options.mode))

    await asyncio.gather(*(work(peer) for peer in peers))
    run.found |= {"sessions": len(peers), **meter.read(len(run.durations_s))}
    await asyncio.gather(*(peer.close() for peer in peers), return_exceptions=True)


async def init(run: Run, _: Peer) -> None:
    """Handshakes, each ended at once."""
    places = asyncio.Semaphore(run.options.concurrency)
    meter = Meter(run.pid)

    async def once() -> None:
        async with places:
            peer = Peer(run.http, run.target)
            await run.timed(peer.open)
            await peer.close()

    await asyncio.gather(*(once() for _ in range(run.options.sessions)))
    run.found |= meter.read(len(run.durations_s))


async def stuck(run: Run, warm: Peer) -> None:
    """Pings beside a reader that does not read."""
    other = Peer(run.http, run.target)
    await other.open()
    held = await other.flood()
    try:
        meter = Meter(run.pid)
        for _ in range(run.options.calls):
            await run.timed(warm.ping)
        run.found |= meter.read(len(run.durations_s))
    finally:
        held.close()


async def idle(run: Run, warm: Peer) -> None:
    """Many sessions that only listen."""
    stop, opened_at = asyncio.Event(), time.perf_counter()
    before_kb = memory(run.pid) if run.pid else {}
    peers, holding = await _open_streams(run, stop)
    run.found |= {"open_streams": len(peers), "open_seconds": round(time.perf_counter() - opened_at, 3)}
    await asyncio.sleep(run.options.settle)
    if run.pid:
        idle_kb, used_s = memory(run.pid), cpu_s(run.pid)
        await asyncio.sleep(run.options.hold)
        run.found |= {
            "server_before": before_kb,
            "server_idle": idle_kb,
            "kb_per_idle_session": round((idle_kb["rss_kb"] - before_kb["rss_kb"]) / max(1, len(peers)), 2),
            "idle_cpu_pct": round((cpu_s(run.pid) - used_s) / run.options.hold * 100, 2),
        }
    run.durations_s.clear()
    for _ in range(run.options.calls):
        await run.timed(warm.call)
    run.found["dropped_streams"] = sum(peer.dropped for peer in peers)
    stop.set()
    await asyncio.gather(*holding, return_exceptions=True)
    for first in range(0, len(peers), 50):
        await asyncio.gather(*(peer.close() for peer in peers[first : first + 50]), return_exceptions=True)
    await asyncio.sleep(run.options.settle)
    if run.pid:
        run.found["server_after_close"] = memory(run.pid)


async def _open_streams(run: Run, stop: asyncio.Event) -> tuple[list[Peer], list[asyncio.Task[None]]]:
    places = asyncio.Semaphore(run.options.concurrency)
    peers: list[Peer] = []
    holding: list[asyncio.Task[None]] = []

    async def up() -> None:
        async with places:
            peer = Peer(run.http, run.target)
            await peer.open()
            opened: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            task = asyncio.create_task(peer.hold_stream(opened, stop))
            await asyncio.wait([task, opened], return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                await task
            peers.append(peer)
            holding.append(task)

    await asyncio.gather(*(run.timed(up) for _ in range(run.options.sessions)))
    return peers, holding


MODES = {"latency": latency, "load": load, "list": load, "idle": idle, "init": init, "stuck": stuck}


async def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Warm up, run one mode, and say what was found."""
    target = Target(
        url=options.url,
        era=options.era,
        protocol=options.protocol or NEWEST[options.era],
        headers=dict(_split(header) for header in options.header),
        accept=options.accept,
        tool=options.tool,
        arguments=options.args,
        progress=options.progress,
        delete=not options.no_delete,
    )
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=options.read_timeout)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=75)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as http:
        run = Run(target=target, options=options, http=http)
        warm = Peer(http, target)
        await warm.open()
        for _ in range(options.warmup):
            await warm.call()
        run.found |= {"mode": options.mode, "era": options.era, "negotiated": warm.protocol}
        run.found |= {"streamed": warm.streamed > 0, "loadavg": os.getloadavg()[0], "cpus": os.cpu_count()}
        await MODES[options.mode](run, warm)
        await warm.close()
        run.found |= {"latency": told(run.durations_s), "errors": len(run.faults), "first_errors": run.faults[:3]}
        return run.found


def _split(header: str) -> tuple[str, str]:
    name, _, value = header.partition(":")
    return name.strip(), value.strip()


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--mode", choices=sorted(MODES), default="load")
    parser.add_argument("--era", choices=sorted(NEWEST), default="legacy")
    parser.add_argument("--protocol", help="default: the era's newest")
    parser.add_argument("--accept", default=BOTH, help="application/json alone asks for plain answers")
    parser.add_argument("--sessions", type=int, default=32)
    parser.add_argument("--calls", type=int, default=5000, help="calls in all")
    parser.add_argument("--tool", default="echo")
    parser.add_argument("--args", default='{"text": "hello"}', help="JSON; {n} becomes a number")
    parser.add_argument("--progress", action="store_true", help="calls want to hear how far they are")
    parser.add_argument("--header", action="append", default=[], help="'Name: value', may repeat")
    parser.add_argument("--server-pid", type=int, help="report memory and CPU of this process")
    parser.add_argument("--warmup", type=int, default=200)
    parser.add_argument("--concurrency", type=int, default=50, help="handshakes at once in idle and init")
    parser.add_argument("--settle", type=float, default=2.0, help="seconds")
    parser.add_argument("--hold", type=float, default=5.0, help="seconds")
    parser.add_argument("--read-timeout", type=float, default=600, help="seconds")
    parser.add_argument("--no-delete", action="store_true", help="leave sessions behind")
    return parser.parse_args(arguments)


def main() -> None:
    """Run, print, and exit 1 when any call failed."""
    options = parsed()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    found = asyncio.run(measured(options))
    print(json.dumps(found))
    sys.exit(1 if found["errors"] else 0)


if __name__ == "__main__":
    main()
