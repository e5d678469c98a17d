"""Whatever comes: no exception but ours, every answer valid by the schema of its revision, nothing that grows."""

from __future__ import annotations

import os

import pytest

from codesynapse.contracts.requirements import requirement
from tests.fuzz.playing import play
from tests.fuzz.targets import TARGETS

EXAMPLES = 50_000 if os.environ.get("CODESYNAPSE_FULL") == "1" else 5_040
"""All targets together."""


@requirement("protocol:fuzzed")
@pytest.mark.parametrize("name", TARGETS)
def test_whatever_is_drawn_is_answered_or_refused_and_leaves_nothing_behind(name: str) -> None:
    play(name, examples=EXAMPLES // len(TARGETS))
