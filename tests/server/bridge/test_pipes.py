"""Reading and writing descriptors without blocking the loop."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from codesynapse.server.bridge.pipes import Output, read_lines


async def lines_of(descriptor: int) -> list[bytes]:
    return [line async for line in read_lines(descriptor, 1_000_000)]


async def test_lines_of_a_pipe_come_until_its_end() -> None:
    out, into = os.pipe()
    reading = asyncio.create_task(lines_of(out))
    large = b"x" * 700_000
    # Far more than a pipe holds and than may wait: only reading on makes room.
    for piece in (b"a\nb", b"c\n", large, b"\n", large, b"\nlast"):
        await asyncio.to_thread(_write_all, into, piece)
    os.close(into)
    assert await reading == [b"a", b"bc", large, large, b"last"]
    os.close(out)


async def test_lines_of_a_file_come_too(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"a\nb\n")
    with (tmp_path / "in").open("rb") as file:
        assert await lines_of(file.fileno()) == [b"a", b"b"]


async def test_a_descriptor_that_cannot_be_read_has_no_lines() -> None:
    out, into = os.pipe()
    os.close(out)
    assert await lines_of(into) == []
    os.close(into)


async def test_lines_go_out_whole_and_in_order() -> None:
    out, into = os.pipe()
    output = Output(into, lambda: None)
    reading = asyncio.create_task(lines_of(out))
    sent = [str(number).encode() * 3_000 for number in range(200)]
    for line in sent:
        await output.write(line)
    await output.close(10)
    os.close(into)
    assert await reading == sent
    os.close(out)


async def test_a_reader_that_left_is_noticed_and_later_lines_are_dropped() -> None:
    out, into = os.pipe()
    os.close(out)
    broken = asyncio.Event()
    output = Output(into, broken.set)
    await output.write(b"a")
    await broken.wait()
    for _ in range(200):
        await output.write(b"b")
    await output.close(10)
    os.close(into)


async def test_a_reader_that_does_not_read_delays_the_end_by_no_more_than_is_allowed() -> None:
    out, into = os.pipe()
    output = Output(into, lambda: None)
    await output.write(b"x" * 1_000_000)
    await output.close(0.01)
    os.close(out)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
