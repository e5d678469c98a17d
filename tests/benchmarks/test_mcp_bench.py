"""What a run of the benchmark leaves: a report, a table as its last word, and a failure where a target is missed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import mcp_bench
from benchmarks.mcp_contenders import CELLS, ERAS


def one_round(cpu_ms: float) -> dict[str, Any]:
    """The figures of a round in which a call took so much."""
    load = {"server_cpu_ms_per_call": cpu_ms, "per_s": 100.0, "latency": {"p50_ms": 1.0, "p99_ms": 2.0}}
    kinds = ("sse", "json", "sequential", "write")
    return {f"{era} {kind}": load for era in ERAS for kind in kinds}


def once() -> dict[str, Any]:
    """What is measured once."""
    idle, stuck = {"kb_per_idle_session": 20.0}, {"latency": {"p99_ms": 3.0}}
    return {f"{era} {kind}": found for era in ERAS for kind, found in (("idle", idle), ("stuck", stuck))}


def ran(monkeypatch: pytest.MonkeyPatch, place: Path, cpu_ms: float) -> int:
    """Run it to its end, with figures instead of servers; its exit code."""
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["mcp_bench", "--quick"])
    monkeypatch.setattr(mcp_bench, "measure_calls", lambda contender, size: one_round(cpu_ms))
    monkeypatch.setattr(mcp_bench, "measure_idle", lambda contender, size: once())
    with pytest.raises(SystemExit) as ended:
        mcp_bench.main()
    return int(ended.value.code or 0)


def test_the_table_is_printed_last_and_the_report_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(monkeypatch, tmp_path, 0.2) == 0
    lines = capsys.readouterr().out.splitlines()
    (first,) = (number for number, line in enumerate(lines) if "codesynapse" in line)
    assert lines[first].split() == " ".join(contender.name for contender in mcp_bench.CONTENDERS).split()
    cells = [row.strip() for row in lines[first + 1 :]]
    assert [cell.partition("  ")[0] for cell in cells[:4]] == [f"CPU ms {era} {form}" for era, form in CELLS]
    assert "0.200 (1.00x)" in cells[0]
    report = json.loads((tmp_path / "build" / "bench" / "mcp.json").read_text())
    assert report["figures"]["codesynapse"]["cpu_ms modern sse"] == 0.2
    assert report["missed"] == []


def test_a_missed_target_is_named_and_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(monkeypatch, tmp_path, 0.3) == 1
    assert "missed: cpu_ms legacy json: 0.3, target 0.25" in capsys.readouterr().out
