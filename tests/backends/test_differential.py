"""No drawn script of calls and races is answered by any store in another way than by the pure law.

500 scripts of 30 steps a run, new ones each time; `make fuzz-stores` plays more.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from pathlib import Path

import pytest

from codesynapse.backends.memory.graph import DictSessionMemory
from codesynapse.contracts.suite.machine import Disagreement, Store, same_told
from codesynapse.contracts.suite.steps import Say, Step
from tests.backends.differential import SEQUENCES, SWEEPING, Arena, arena
from tests.servers.running import Record
from tests.stranger import wrong

SEEDS = 500 // SEQUENCES
SEEDS_SWEEPING = SEEDS // SWEEPING
SEEDS_A_TEST = 2
FAULTY: list[type[DictSessionMemory]] = [
    *(wrong.LostUpdate, wrong.ForgottenTombstone, wrong.QuotaOutside, wrong.ForeignNamespace),
    *(wrong.ExpiryExtended, wrong.Reopened, wrong.ReplayedAsNew),
]


def drawn(*, sweeping: bool) -> list[int]:
    """Seeds of one test."""
    first = secrets.randbelow(1 << 32) // SWEEPING * SWEEPING
    return [first + SWEEPING * number + (not sweeping) for number in range(SEEDS_A_TEST)]


@pytest.mark.parametrize("part", range((SEEDS - SEEDS_SWEEPING) // SEEDS_A_TEST))
def test_all_stores_answer_as_the_law_does(part: int, all_servers: dict[str, Record], tmp_path: Path) -> None:
    with arena(tmp_path, all_servers) as stores:
        for number in drawn(sweeping=False):
            stores.compare(number)


@pytest.mark.parametrize("part", range(SEEDS_SWEEPING // SEEDS_A_TEST))
def test_all_stores_sweep_as_the_law_does(part: int, all_servers: dict[str, Record], tmp_path: Path) -> None:
    # The scripts call sweep(): the plugin of the servers lets this test be alone on them.
    with arena(tmp_path, all_servers) as stores:
        for number in drawn(sweeping=True):
            stores.compare(number)


@pytest.mark.parametrize("faulty", FAULTY)
def test_a_store_with_one_guard_taken_out_is_found(faulty: type[DictSessionMemory]) -> None:
    with asyncio.Runner() as runner:
        stores = [Store("right", [DictSessionMemory({})]), Store("wrong", [faulty({})])]
        alone = Arena(runner, stores, shrinks=False)
        with pytest.raises(Disagreement, match=r"wrong: (.|\n)*played so far") as found:
            deque(map(alone.compare, range(1, 1 + SEEDS)), maxlen=0)
    # In CI, Hypothesis adds a note of its own.
    assert any("make fuzz-stores ARGS='--seed" in note for note in found.value.__notes__)


def revoking(session: int) -> Step:
    return Step("revoke", 0, session, 0, Say([]), 0, "", 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("answered", "fine"), [([5, 0], True), ([2, 3], True), ([5, 5], False), ([2, 2], False), ([5, ("busy",)], False)]
)
def test_revocations_at_once_may_share_the_work_and_nothing_is_counted_twice(
    answered: list[object], fine: bool
) -> None:
    assert same_told([revoking(1), revoking(1)], answered, [5, 0]) is fine


def test_what_else_goes_on_beside_shared_revocations_is_compared_by_itself() -> None:
    calls = [revoking(1), revoking(1)._replace(what="committed"), revoking(1)]
    assert same_told(calls, [1, None, 4], [0, None, 5])
    assert not same_told(calls, [1, 4, None], [0, None, 5])
    assert not same_told(calls, [1, 7, 4], [0, 8, 5])


def test_of_anything_else_at_once_each_answer_is_compared() -> None:
    assert not same_told([revoking(1), revoking(2)], [2, 3], [5, 0])
    assert same_told([revoking(1), revoking(2)], [5, 0], [5, 0])
