"""Memories as rows: terms that nobody reads, and rows that mean nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from codesynapse.contracts.errors import StoreFault
from codesynapse.contracts.suite.keepers import Keeper
from codesynapse.contracts.suite.worlds import unique

Connect = Callable[[], sqlite3.Connection]


async def test_the_index_holds_no_word_that_can_be_read(keeper: Keeper, another: Connect) -> None:
    await keeper.keep("oolong")
    terms = [term for (term,) in another().execute("SELECT term FROM agent_memory_terms")]
    assert len(terms) == 3
    assert all(len(term) == 16 and int(term, 16) >= 0 for term in terms)


async def test_equal_terms_of_two_agents_are_two_terms_of_the_index(keeper: Keeper, another: Connect) -> None:
    await keeper.on(unique("agent")).keep("tea")
    counts = another().execute("SELECT doc FROM agent_memory_terms ORDER BY doc").fetchall()
    assert counts == [(1,), (1,), (2,)]


async def test_a_row_that_means_nothing_is_a_fault_of_the_store(keeper: Keeper, another: Connect) -> None:
    another().execute("UPDATE agent_memories SET channel = char(7) WHERE content = 'tea'")
    with pytest.raises(StoreFault) as refusal:
        await keeper.memories()
    assert refusal.value.cause == "ROW_UNREADABLE"
