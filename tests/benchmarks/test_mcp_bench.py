"""What a run of the benchmark leaves: a report, a table as its last word, and a failure where a target is missed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import mcp_bench


def one_round(cpu_ms: float) -> dict[str, Any]:
    """The figures of a round in which a call took so much."""
    load = {"server_cpu_ms_per_call": cpu_ms, "per_s": 100.0, "latency": {"p50_ms": 1.0, "p99_ms": 2.0}}
    return dict.fromkeys(("sequential", "sse", "json", "write"), load)


def ran(monkeypatch: pytest.MonkeyPatch, place: Path, cpu_ms: float) -> int:
    """Run it to its end, with figures instead of servers; its exit code."""
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["mcp_bench", "--quick"])
    monkeypatch.setattr(mcp_bench, "measure_calls", lambda contender, size: one_round(cpu_ms))
    idle = {"kb_per_idle_session": 20.0, "idle_cpu_pct": 0.0}
    monkeypatch.setattr(mcp_bench, "measure_idle", lambda contender, size: idle)
    with pytest.raises(SystemExit) as ended:
        mcp_bench.main()
    return int(ended.value.code or 0)


def test_the_table_is_printed_last_and_the_report_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(monkeypatch, tmp_path, 0.2) == 0
    head, *rows = capsys.readouterr().out.splitlines()[-4:]
    assert "CPU ms SSE" in head
    assert [row.split("  ")[0].strip() for row in (row.strip() for row in rows)] == [
        contender.name for contender in mcp_bench.CONTENDERS
    ]
    report = json.loads((tmp_path / "build" / "bench" / "mcp.json").read_text())
    assert report["figures"]["codesynapse"]["cpu_ms_sse"] == 0.2
    assert report["missed"] == []


def test_a_missed_target_is_named_and_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(monkeypatch, tmp_path, 0.3) == 1
    assert "missed: cpu_ms_json: 0.3, target 0.25" in capsys.readouterr().out
