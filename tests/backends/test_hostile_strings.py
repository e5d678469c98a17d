"""A hostile text in any field is inert or refused with a clear error, on every store in the same way."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from codesynapse.contracts.errors import Refused
from codesynapse.contracts.memory import Committed
from codesynapse.contracts.ports import Backend
from codesynapse.contracts.suite.worlds import Chat, Library, new_library, new_scope, unique
from tests.backends.asking import ask_all, spoken
from tests.backends.differential import openings
from tests.backends.hostile import HOSTILE
from tests.servers.running import Record

PARTS = 6
AT_ONCE = 6
SHOWN_MAX = 300


def test_there_are_at_least_two_hundred_texts() -> None:
    assert len(HOSTILE) == len(set(HOSTILE)) >= 200


@pytest.mark.parametrize("part", range(PARTS))
async def test_a_hostile_text_is_answered_alike_by_all_stores(
    part: int, all_servers: dict[str, Record], tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        backends: dict[str, Backend] = {}
        for name, each in openings(tmp_path, all_servers).items():
            stack.push_async_callback(each.close_all)
            backends[name] = await each.open(0)
        bystanders = {name: await bystander(backend) for name, backend in backends.items()}
        at_once = asyncio.Semaphore(AT_ONCE)

        async def one(text: str) -> None:
            async with at_once:
                tenant = unique("tenant")
                given = await asyncio.gather(*(ask_all(backend, text, tenant) for backend in backends.values()))
                check(text, dict(zip(backends, given, strict=True)))

        async with asyncio.TaskGroup() as tasks:
            for text in HOSTILE[part::PARTS]:
                tasks.create_task(one(text))
        for chat, library in bystanders.values():
            assert await chat.facts() == 1
            assert len((await library.read("bo likes milk")).facts) == 1


async def bystander(backend: Backend) -> tuple[Chat, Library]:
    """Somebody who has written a fact, and is asked for it in the end."""
    assert backend.session_memory is not None
    assert backend.repository is not None
    chat, library = Chat(backend.session_memory, new_scope()), new_library(backend.repository)
    await chat.remember("bo likes milk")
    await library.remember("bo likes milk")
    return chat, library


def check(text: str, given: Mapping[str, Mapping[str, object]]) -> None:
    """Every answer is that of the memory store; it is a refusal that names what is wrong, or what was asked for."""
    lawful = given["memory"]
    for question, answer in lawful.items():
        for store, answers in given.items():
            told = f"{text[:40]!r} ({len(text)}): {question}: {store}"
            assert answers[question] == answer, f"{told}\n{answers[question]}"[:SHOWN_MAX]
        if isinstance(answer, tuple) and isinstance(answer[0], type):
            kind, field, limit = answer
            assert issubclass(kind, Refused), question
            assert (field, limit) != (None, None), question
    proposed = spoken(text)
    assert isinstance(lawful["session commit, all fields"], Committed)
    assert isinstance(lawful["repository commit, all fields"], Committed)
    expected = (1, frozenset(proposed.facts), {each.id: each for each in proposed.entities})
    assert lawful["session load, all fields"] == expected
