"""Copying between two stores of which one is written to, half restored or beaten to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from msgspec import structs

from codesynapse.backends.memory import open_memory
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.portable import Head, Item, Rows, name_of_item
from codesynapse.contracts.ports import Backend, Portable
from codesynapse.contracts.repository import RESTORING
from codesynapse.contracts.scanning import Batch
from codesynapse.contracts.suite.worlds import NOW, Chat, Library, new_library, new_scope, numbered
from codesynapse.server.cli.moving import Inventory, Step, copy, differences, inventory, items, kinds_of
from codesynapse.server.clock import ManualClock


@pytest.fixture
async def source() -> AsyncIterator[Backend]:
    async with open_memory({}) as backend:
        yield backend


@pytest.fixture
async def target() -> AsyncIterator[Backend]:
    async with open_memory({}) as backend:
        yield backend


@pytest.fixture
def chat(source: Backend) -> Chat:
    assert source.session_memory is not None
    return Chat(source.session_memory, new_scope())


@pytest.fixture
def library(source: Backend) -> Library:
    assert source.repository is not None
    return new_library(source.repository)


def portable(backend: Backend) -> Portable:
    assert backend.portable is not None
    return backend.portable


Meddle = Callable[[], Awaitable[None]]


class Meddling:
    """A store to which somebody else writes once, right before a kind of item is given, or taken."""

    def __init__(self, inner: Portable, *, giving: Meddle | None = None, taking: Meddle | None = None) -> None:
        self._inner = inner
        self._giving = giving
        self._taking = taking

    async def scan(self, *, after: str | None, limit: int, tenant_id: str | None) -> Batch:
        batch = await self._inner.scan(after=after, limit=limit, tenant_id=tenant_id)
        if self._giving is not None and isinstance(batch.items[0], Head):
            giving, self._giving = self._giving, None
            await giving()
            return await self._inner.scan(after=after, limit=limit, tenant_id=tenant_id)
        return batch

    async def restore(self, item: Item, *, now_ms: Millis) -> None:
        if self._taking is not None:
            taking, self._taking = self._taking, None
            await taking()
        await self._inner.restore(item, now_ms=now_ms)


async def copied(source: Portable, target: Portable) -> list[Step]:
    return await copy(source, target, tenant_id=None, clock=ManualClock(NOW))


async def all_items(store: Backend) -> list[Item]:
    return [item async for batch in items(portable(store), None) for item in batch]


async def test_a_repository_that_is_written_to_while_it_is_read_is_named_and_not_finished(
    source: Backend, target: Backend, library: Library
) -> None:
    await library.remember(*numbered(3))

    async def write() -> None:
        await library.remember("bo likes milk")

    (step,) = await copied(Meddling(portable(source), giving=write), portable(target))
    assert (step.state, step.after) == ("changed", None)
    (head,) = [item for item in await all_items(target) if isinstance(item, Head)]
    assert head.revision == RESTORING
    # When nobody writes any more, the same command makes it whole.
    (again,) = await copied(portable(source), portable(target))
    assert (again.state, again.after) == ("copied", again.digest)


async def test_a_half_restored_source_is_named_and_not_copied(
    source: Backend, target: Backend, library: Library
) -> None:
    await library.remember(*numbered(3))
    rows = [item for item in await all_items(source) if isinstance(item, Rows)]
    await portable(target).restore(rows[0], now_ms=NOW)
    assert [step.state for step in await copied(portable(target), portable(source))] == ["unfinished"]
    (name, here, there), *others = differences(await inventory(portable(source)), await inventory(portable(target)))
    assert (name, there, others) == (name_of_item(rows[0]), "", [])
    assert here


async def test_what_somebody_else_copies_meanwhile_is_no_error(source: Backend, target: Backend, chat: Chat) -> None:
    await chat.remember("ana likes tea")
    (item,) = await all_items(source)

    async def restore() -> None:
        await portable(target).restore(item, now_ms=NOW)

    (step,) = await copied(portable(source), Meddling(portable(target), taking=restore))
    assert step.state == "copied"


async def test_what_somebody_else_wrote_there_meanwhile_is_told(source: Backend, target: Backend, chat: Chat) -> None:
    await chat.remember("ana likes tea")
    assert target.session_memory is not None
    other = Chat(target.session_memory, chat.scope)

    async def write() -> None:
        await other.remember("ana likes milk")

    (step,) = await copied(portable(source), Meddling(portable(target), taking=write))
    assert (step.state, step.before) == ("different", None)
    assert await other.facts() == 1


async def test_rows_of_another_repository_of_this_name_are_not_made_a_part_of_it(
    source: Backend, target: Backend, library: Library
) -> None:
    await library.remember("ana likes tea")
    rows = next(item for item in await all_items(source) if isinstance(item, Rows))
    other = structs.replace(rows.entities[0], id="e-of-another")
    await portable(target).restore(structs.replace(rows, entities=(other,)), now_ms=NOW)
    (step,) = await copied(portable(source), portable(target))
    assert (step.state, step.code, step.after) == ("refused", "revision_conflict", None)


def test_two_inventories_differ_by_what_is_missing_other_or_not_whole() -> None:
    one = Inventory(digests={("scope", "a"): "1", ("scope", "b"): "2"}, changed={("repository", "a")})
    other = Inventory(digests={("scope", "a"): "1", ("scope", "b"): "3", ("scope", "c"): "4"})
    assert differences(one, other) == [
        (("repository", "a"), "", None),
        (("scope", "b"), "2", "3"),
        (("scope", "c"), None, "4"),
    ]
    assert differences(other, other) == []
    assert kinds_of(other.digests) == {"scope": 3}
