"""The figures of a run of the benchmark: the best of each, what misses its target, and all beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.mcp_contenders import CELLS, ERAS

TARGETS = {
    **{f"cpu_ms {era} sse": 0.35 for era in ERAS},
    **{f"cpu_ms {era} json": 0.25 for era in ERAS},
    **{f"kb_per_idle_stream {era}": 25.0 for era in ERAS},
    **{f"ping_p99_ms {era}": 50.0 for era in ERAS},
}
"""product.md, "What good means"; a ping's is measured beside a client that does not read."""

Figures = Mapping[str, float | None]


def figures_of(rounds: Sequence[Mapping[str, Any]], once: Mapping[str, Any]) -> dict[str, float | None]:
    """The figures of one server: the best round of each. None where it does not do such a thing."""

    def least(kind: str, figure: str) -> float:
        return float(min(each[kind][figure] for each in rounds))

    def quickest(kind: str, figure: str) -> float:
        return float(min(each[kind]["latency"][figure] for each in rounds))

    figures: dict[str, float | None] = {}
    for cell in (f"{era} {form}" for era, form in CELLS):
        figures[f"cpu_ms {cell}"] = least(cell, "server_cpu_ms_per_call")
        figures[f"calls_per_s {cell}"] = float(max(each[cell]["per_s"] for each in rounds))
        figures[f"p99_ms {cell}"] = quickest(cell, "p99_ms")
    for era in ERAS:
        figures[f"sequential_p50_ms {era}"] = quickest(f"{era} sequential", "p50_ms")
        figures[f"kb_per_idle_stream {era}"] = once[f"{era} idle"].get("kb_per_idle_session")
        figures[f"ping_p99_ms {era}"] = once[f"{era} stuck"].get("latency", {}).get("p99_ms")
        if f"{era} write" in rounds[0]:
            figures[f"write_cpu_ms {era}"] = least(f"{era} write", "server_cpu_ms_per_call")
            figures[f"write_p50_ms {era}"] = quickest(f"{era} write", "p50_ms")
    return figures


def misses(figures: Figures) -> list[str]:
    """Which targets our figures miss; what was not measured is missed too."""
    found = []
    for name, limit in TARGETS.items():
        figure = figures[name]
        if figure is None or figure > limit:
            found.append(f"{name}: {'not measured' if figure is None else f'{figure:.3g}'}, target {limit:g}")
    return found


_COLUMNS = (
    *((f"CPU ms {era} {form}", f"cpu_ms {era} {form}", 3) for era, form in CELLS),
    *((f"calls/s {era} {form}", f"calls_per_s {era} {form}", 0) for era, form in CELLS),
    *((f"KB/stream {era}", f"kb_per_idle_stream {era}", 1) for era in ERAS),
    *((f"ping p99 ms {era}", f"ping_p99_ms {era}", 1) for era in ERAS),
)


def table(results: Mapping[str, Figures]) -> str:
    """A line for each figure, a column for each server; behind it how many times our figure theirs is."""
    ours = next(iter(results.values()))
    rows = [("", *results)]
    for title, name, digits in _COLUMNS:
        rows.append((title, *(_cell(each[name], ours[name], digits, first=each is ours) for each in results.values())))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _cell(figure: float | None, ours: float | None, digits: int, *, first: bool) -> str:
    if figure is None:
        return "-"
    ratio = "" if first or not ours else f" ({figure / ours:.2f}x)"
    return f"{figure:.{digits}f}{ratio}"
