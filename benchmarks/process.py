"""What a process uses, read from Linux's /proc, and how a list of durations is told."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from pathlib import Path


def memory(pid: int) -> dict[str, int]:
    """Resident and proportional memory, in KB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    fields = dict(line.split(":", 1) for line in lines)
    return {"rss_kb": int(fields["Rss"].split()[0]), "pss_kb": int(fields["Pss"].split()[0])}


def cpu_s(pid: int) -> float:
    """User and system time of all threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def told(durations_s: Sequence[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    if not durations_s:
        return {}
    figures = {
        "p50_ms": percentile(durations_s, 0.50),
        "p90_ms": percentile(durations_s, 0.90),
        "p99_ms": percentile(durations_s, 0.99),
        "max_ms": max(durations_s),
        "mean_ms": statistics.fmean(durations_s),
    }
    return {name: round(value * 1000, 3) for name, value in figures.items()}
