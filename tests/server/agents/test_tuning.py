"""How an agent recalls is changed whole, on what was read, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codesynapse.backends import open_backend
from codesynapse.contracts.agents import Tuning
from codesynapse.contracts.errors import AgentForbidden, Invalid, RevisionConflict
from codesynapse.contracts.suite.keepers import Keeper, new_keeper
from codesynapse.contracts.suite.worlds import NOW
from codesynapse.server.agents.tuning import ATTEMPTS, Asked, Tuner, kept_calibration, precision_of
from codesynapse.server.clock import ManualClock


@pytest.fixture(params=["memory", "sqlite"])
async def keeper(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Keeper]:
    """An agent of twelve memories."""
    options = {"path": str(tmp_path / "file.sqlite3")} if request.param == "sqlite" else {}
    async with open_backend(request.param, options) as backend:
        assert backend.agents is not None
        made = new_keeper(backend.agents)
        await made.keep(*(f"ana drinks {each} with ben" for each in "abcdefghijkl"))
        yield made


def tuner(keeper: Keeper) -> Tuner:
    return Tuner(keeper.agents, ManualClock(NOW))


async def test_a_precision_and_its_threshold_are_kept_in_one_write(keeper: Keeper) -> None:
    tuned = await tuner(keeper).set_precision(keeper.scope, "strict", 0)
    held = await keeper.agents.tuning(keeper.scope)
    assert tuned.calibrated is not None
    assert (held.precision, held.beta, held.revision) == ("strict", 2.0, 1)
    assert held.threshold == tuned.calibrated.calibration.threshold
    assert kept_calibration(held) == tuned.calibrated.calibration
    cleared = await tuner(keeper).set_precision(keeper.scope, "", 0)
    assert (cleared.cleared, cleared.precision, cleared.beta) == (True, "balanced", 1.0)


async def test_changes_at_once_are_all_kept_one_after_another(keeper: Keeper) -> None:
    one = tuner(keeper)
    await asyncio.gather(
        one.set_precision(keeper.scope, "lenient", 0),
        one.calibrate(keeper.scope, Asked()),
        one.calibrate(keeper.scope, Asked(method="percentile")),
    )
    held = await keeper.agents.tuning(keeper.scope)
    assert (held.precision, held.revision, held.threshold is not None) == ("lenient", 3, True)


async def test_who_is_beaten_each_time_is_told_so_and_changes_nothing(keeper: Keeper) -> None:
    one = tuner(keeper)
    attempts = 0

    async def beaten(held: Tuning) -> None:
        nonlocal attempts
        attempts += 1
        await keeper.agents.set_tuning(keeper.scope, Tuning(precision="lenient", revision=held.revision), now_ms=NOW)

    class Racing:
        """The store, with somebody who is always faster."""

        def __getattr__(self, name: str) -> object:
            return getattr(keeper.agents, name)

        async def tuning(self, scope: object) -> Tuning:
            held = await keeper.agents.tuning(keeper.scope)
            await beaten(held)
            return held

    racing = Tuner(Racing(), ManualClock(NOW))  # type: ignore[arg-type]
    with pytest.raises(RevisionConflict):
        await racing.set_precision(keeper.scope, "strict", 0)
    assert attempts == ATTEMPTS
    assert (await one.read(keeper.scope)).precision == "lenient"


async def test_what_cannot_be_leaves_what_was(keeper: Keeper) -> None:
    one = tuner(keeper)
    await one.set_precision(keeper.scope, "strict", 0)
    before = await one.read(keeper.scope)
    for call in (
        one.set_precision(keeper.scope, "exact", 0),
        one.set_precision(keeper.scope, "", 101),
        one.calibrate(keeper.scope, Asked(percentile=0)),
        one.check(keeper.scope, Asked(percentile=101)),
    ):
        with pytest.raises(Invalid):
            await call
    assert await one.read(keeper.scope) == before


async def test_nobody_tunes_anothers_agent_or_one_that_is_not_there(keeper: Keeper) -> None:
    stranger = keeper.another()
    for scope in (stranger.scope, keeper.on("nobody").scope):
        for call in (
            tuner(keeper).set_precision(scope, "strict", 0),
            tuner(keeper).calibrate(scope, Asked()),
            tuner(keeper).check(scope, Asked()),
            tuner(keeper).read(scope),
        ):
            with pytest.raises(AgentForbidden):
                await call


async def test_a_reset_brings_the_defaults_back(keeper: Keeper) -> None:
    await tuner(keeper).set_precision(keeper.scope, "strict", 0)
    await tuner(keeper).reset(keeper.scope)
    assert await tuner(keeper).read(keeper.scope) == Tuning(revision=2)


def test_a_factor_of_ones_own_wins_over_a_name() -> None:
    assert precision_of("strict", 0) == ("strict", 2.0)
    assert precision_of("strict", 1.2) == ("custom", 1.2)
    assert precision_of("", 0) == precision_of("", -3) == ("", 0)


def test_a_calibration_that_cannot_be_read_is_none() -> None:
    assert kept_calibration(Tuning()) is None
    assert kept_calibration(Tuning(calibration="{}")) is None
