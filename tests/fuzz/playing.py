"""Draws for one target, in batches, and looks at what is left behind."""

from __future__ import annotations

import asyncio
import gc
import logging

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.ground import Ground, ground
from tests.fuzz.targets import TARGETS

BATCH = 500
"""hypothesis keeps what it has drawn as long as a batch runs."""


class Noted(logging.Handler):
    """Faults that were logged instead of raised: a call's task ends in one."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record.getMessage())


def play(name: str, *, examples: int, first_seed: int | None = None) -> None:
    """Try so many drawn things. first_seed: of the first batch; the next ones follow. None: drawn as in any test.

    Raises AssertionError, or whatever the target let through.
    """
    noted = Noted()
    logging.getLogger().addHandler(noted)
    try:
        with ground() as here:
            target = TARGETS[name](here)
            for number, start in enumerate(range(0, examples, BATCH)):
                _batch(target, min(BATCH, examples - start), None if first_seed is None else first_seed + number)
                _nothing_is_left(here)
        assert noted.records == []
    finally:
        logging.getLogger().removeHandler(noted)


def _batch(target: object, examples: int, drawn_from: int | None) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(target.drawn)  # type: ignore[attr-defined]  # hypothesis and strict types are no friends
    def attempt(drawn: object) -> None:
        target.check(drawn)  # type: ignore[attr-defined]

    (attempt if drawn_from is None else seed(drawn_from)(attempt))()


def _nothing_is_left(here: Ground) -> None:
    here.run(asyncio.sleep(0))
    assert asyncio.all_tasks(here.loop) == set()
    gc.collect()
