"""The load generator reads what servers send: a wrong reader would measure nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from benchmarks.mcp_client import read_answer
from benchmarks.mcp_report import TARGETS, misses

NOTE = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
ANSWER = json.dumps({"jsonrpc": "2.0", "id": 7, "result": {"n": 1}})
OTHER = json.dumps({"jsonrpc": "2.0", "id": 8, "result": {}})


async def lines(text: str) -> AsyncIterator[bytes]:
    """As a response's content gives them."""
    for line in text.encode().splitlines(keepends=True):
        yield line


@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_the_answer_is_found_among_priming_comments_and_other_messages(end: str) -> None:
    text = f"id: s.0\nretry: 50\ndata: \n\n: beat\n\ndata: {NOTE}\n\nid: s.1\ndata:{ANSWER}\n\ndata: {OTHER}\n\n"
    found, others = await read_answer(lines(text.replace("\n", end)), 7)
    assert found is not None
    assert (found["result"], others) == ({"n": 1}, 2)


async def test_a_stream_without_the_answer_has_none() -> None:
    assert await read_answer(lines(f"data: {OTHER}\n\ndata: {ANSWER}\n"), 7) == (None, 1)


def test_a_figure_at_its_target_is_met_and_one_beyond_it_or_none_at_all_is_named() -> None:
    met: dict[str, float | None] = {**TARGETS}
    assert misses(met) == []
    assert misses({**met, "cpu_ms modern json": 0.26}) == ["cpu_ms modern json: 0.26, target 0.25"]
    assert misses({**met, "ping_p99_ms legacy": None}) == ["ping_p99_ms legacy: not measured, target 50"]
