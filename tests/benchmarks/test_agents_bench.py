"""What a run of the benchmark leaves, that it judges answers rightly, and that ours is measured as a client calls."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchmarks import agents_bench
from benchmarks.agents_bench import Filled, Size, best, measured, misses
from benchmarks.agents_facts import KINDS, Fact, facts, recall_arguments, store_arguments
from benchmarks.agents_sides import LOCK, OURS, PEER, Side, Took, running, version
from codesynapse.contracts.requirements import requirement

ONCE = Size(memories=(30,), rounds=2, calls=4, warmup=1)


def figures(cpu_ms: float, longest: int) -> dict[str, float]:
    times = dict.fromkeys(("cpu_ms", "cpu_p50_ms", "cpu_p99_ms", "p50_ms", "p99_ms"), cpu_ms)
    return {**times, "characters": 100, "characters_max": longest}


def a_round(store_ms: float, recall_ms: float, longest: int) -> dict[str, Any]:
    recall = {**figures(recall_ms, longest), "hits": 10.0, "found": 0.5}
    # The peer is slow and long-winded, which misses no target.
    slow = {**figures(9.0, 3_000), "hits": 10.0, "found": 0.5}
    return {
        "recall": {OURS: recall, PEER: slow},
        "store": {OURS: figures(store_ms, 60), PEER: figures(9.0, 60)},
    }


def ran(monkeypatch: pytest.MonkeyPatch, place: Path, *rounds: dict[str, Any]) -> int:
    """Run it to its end, with figures instead of servers; its exit code."""
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["agents_bench", "--quick"])
    monkeypatch.setattr(agents_bench, "measure", lambda size: dict.fromkeys(size.memories, rounds))
    with pytest.raises(SystemExit) as ended:
        agents_bench.main()
    return int(ended.value.code or 0)


@requirement("commands:bench-agents")
def test_the_table_is_printed_last_and_the_report_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(monkeypatch, tmp_path, a_round(1.5, 2.0, 1_400), a_round(0.5, 6.0, 1_450)) == 0
    head, *rows = capsys.readouterr().out.splitlines()[-5:]
    assert head.split()[:3] == ["memories", "operation", "server"]
    assert [row.split()[:3] for row in rows] == [
        ["1,000", operation, name] for operation in ("store", "recall") for name in (OURS, PEER)
    ]
    # The best of the rounds, and the longest answer of all.
    assert rows[0].split()[3] == "0.50"
    assert rows[2].split()[3:] == ["2.00", "2.00", "2.00", "2.00", "2.00", "100", "1,450", "10.0", "0.50"]
    report = json.loads((tmp_path / "build" / "bench" / "agents.json").read_text())
    assert report["figures"]["1000"]["store"][OURS]["cpu_ms"] == 0.5
    assert report["peer"] == version()
    assert report["missed"] == []


@requirement("commands:bench-agents")
def test_a_missed_target_is_named_and_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(monkeypatch, tmp_path, a_round(1.0, 5.25, 1_500)) == 1
    said = capsys.readouterr().out
    assert "missed: store at 1,000: 1.00 ms CPU, target below 1" in said
    assert "missed: recall at 1,000: 5.25 ms CPU, target below 5" in said
    assert "missed: recall at 1,000: 1,500 characters, target below 1,500" in said


def test_the_same_facts_are_drawn_each_time_and_a_longer_list_begins_as_a_shorter_one() -> None:
    assert facts(10_000)[:50] == facts(50)
    assert len({each.content for each in facts(12_000)}) == 12_000
    assert all(each.question for each in facts(len(KINDS)))


def test_the_version_of_the_peer_is_named_in_one_place() -> None:
    assert LOCK.read_text("utf-8").count(f"cpersona=={version()}\n") == 1


@dataclass
class Stub:
    """A server that stores and recalls as it is told. wrong: the number that it answers for each hit instead."""

    name: str
    wrong: int | None = None
    stored: list[str] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)

    def do(self, tool: str, calls: list[dict[str, Any]]) -> list[Took]:
        self.turns.append(tool)
        return [Took(0.001, 0.002, json.dumps(self.answer(tool, each))) for each in calls]

    def answer(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if tool == "store":
            again = arguments["content"] in self.stored
            self.stored.append(arguments["content"])
            return {"ok": True, "result": "skipped" if again else "stored", "id": len(self.stored)}
        place = next(each for each, fact in enumerate(facts(len(self.stored))) if fact.question == arguments["query"])
        return {"messages": [{"ref": f"mem:{self.wrong or place + 1}"}]}


def filled(stub: Stub) -> Filled:
    side: Any = stub
    return Filled(side)


def test_what_was_asked_for_and_comes_is_found_and_what_does_not_is_not() -> None:
    right, wrong = Stub(OURS), Stub(PEER, wrong=999)
    rounds = measured([filled(right), filled(wrong)], 30, facts(40), ONCE)
    assert [each["recall"][OURS]["found"] for each in rounds] == [1.0, 1.0]
    assert [each["recall"][PEER]["found"] for each in rounds] == [0.0, 0.0]
    # Both were asked at 30 memories, and stored the same ones after that.
    assert right.turns == wrong.turns == ["store", "recall", "recall", "store", "store"]
    assert right.stored == wrong.stored == [each.content for each in facts(40)]


def test_a_fact_that_is_not_stored_ends_the_run() -> None:
    twice = filled(Stub(OURS))
    twice.store([Fact("Ana has a cat.", "")])
    with pytest.raises(RuntimeError, match="did not store"):
        twice.store([Fact("Ana has a cat.", "")])


def test_a_server_that_ends_is_an_error_and_no_figure() -> None:
    with running(OURS) as side:
        side.process.kill()
        side.process.wait(10)
        with pytest.raises(RuntimeError, match="ended"):
            side.line()


@pytest.fixture(scope="module")
def ours() -> Iterator[Side]:
    with running(OURS) as side:
        yield side


def test_our_side_stores_and_finds_through_the_dispatch_of_a_client(ours: Side) -> None:
    known = facts(20)
    stored = ours.do("store", [store_arguments(each) for each in known])
    assert [json.loads(each.text)["id"] for each in stored] == list(range(1, 21))
    (asked,) = ours.do("recall", [recall_arguments(known[3])])
    assert json.loads(asked.text)["messages"][0]["content"] == known[3].content
    assert asked.cpu_s > 0
    assert asked.wall_s > 0


def test_our_side_refuses_as_it_refuses_a_client(ours: Side) -> None:
    (refused,) = ours.do("store", [{"agent_id": "", "content": "x"}])
    assert json.loads(refused.text)["ok"] is False


def test_the_figures_of_ours_alone_are_judged() -> None:
    results = best({1_000: [a_round(0.5, 2.0, 1_000)]})
    assert misses(results) == []
    results[1_000]["store"][OURS]["cpu_ms"] = 2.0
    assert len(misses(results)) == 1
