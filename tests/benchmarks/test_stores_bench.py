"""What the benchmark of the stores measures and leaves: a report, a table as its last word, a failure for a miss."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import stores_bench
from benchmarks.stores_bench import FULL_COMMIT, STORES, Size, misses, of_store, times
from codesynapse.contracts.requirements import requirement
from tests.servers.running import Record

OPERATIONS = ["commit empty", "commit half-full", "commit 24 KiB", "load 24 KiB", "2 hops", "racing commits"]
ONCE = Size(warmup=0, repeats=2, races=1)


def figures(p50_ms: float) -> dict[str, float]:
    return {"p50_ms": p50_ms, "p99_ms": 9.0, "cpu_ms": 0.5, "per_s": 100.0}


def ran(monkeypatch: pytest.MonkeyPatch, place: Path, ours_ms: float, floor_ms: float) -> int:
    """Run it to its end, with figures instead of stores; its exit code."""

    async def of_store(name: str, size: Size) -> dict[str, Any]:
        return {name: {"ours": figures(ours_ms), "floor": figures(floor_ms)} for name in OPERATIONS}

    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["stores_bench", "--quick"])
    monkeypatch.setattr(stores_bench, "of_store", of_store)
    with pytest.raises(SystemExit) as ended:
        stores_bench.main()
    return int(ended.value.code or 0)


@requirement("commands:bench-stores")
def test_the_table_is_printed_last_and_the_report_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(monkeypatch, tmp_path, 1.25, 1.0) == 0
    head, *rows = capsys.readouterr().out.splitlines()[-1 - len(STORES) * len(OPERATIONS) :]
    assert head.split("  ")[0] == "store"
    assert list(dict.fromkeys(row.split()[0] for row in rows)) == list(STORES)
    assert {row.split()[-1] for row in rows} == {"1.25"}
    report = json.loads((tmp_path / "build" / "bench" / "stores.json").read_text())
    assert report["figures"]["neo4j"][FULL_COMMIT]["floor"]["p50_ms"] == 1.0
    assert report["missed"] == []


@requirement("commands:bench-stores")
def test_a_missed_target_is_named_and_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(monkeypatch, tmp_path, 2.5, 1.5) == 1
    said = capsys.readouterr().out
    assert "missed: memory, commit 24 KiB: 2.50 ms, target 2 ms" in said
    assert "missed: neo4j, commit 24 KiB: 1.67 × the floor, target 1.3 ×" in said
    # SQLite's is a time of its own, with the bare fsync printed beside it.
    assert "missed: sqlite" not in said


def test_a_store_whose_server_was_not_measured_misses_nothing() -> None:
    assert misses({}) == []
    assert times({"ours": figures(1.0), "floor": None}) is None


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_every_operation_is_measured_on_an_embedded_store(store: str) -> None:
    found = await of_store(store, ONCE)
    assert list(found) == OPERATIONS
    assert [name for name, pair in found.items() if pair["floor"]] == (OPERATIONS[:3] if store == "sqlite" else [])


async def test_every_operation_is_measured_on_neo4j_beside_its_driver(neo4j_server: Record) -> None:
    found = await of_store("neo4j", ONCE)
    assert [name for name, pair in found.items() if pair["floor"]] == OPERATIONS


async def test_every_operation_is_measured_on_hugegraph_beside_its_client(
    hugegraph_server: Record, request: pytest.FixtureRequest
) -> None:
    found = await of_store(request.node.callspec.params["hugegraph_server"], ONCE)
    assert [name for name, pair in found.items() if pair["floor"]] == OPERATIONS


def test_the_variants_of_a_content_have_one_size_and_differ_in_one_fact() -> None:
    for one, other in stores_bench.contents().values():
        assert sum(a != b for a, b in zip(one.facts, other.facts, strict=True)) == 1
        assert one.entities == other.entities
