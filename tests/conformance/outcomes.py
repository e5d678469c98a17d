"""What a part of `make conformance` found, and how it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One thing that was asked of the server. part: who asked. note: why it failed, or what is worth knowing."""

    part: str
    name: str
    passed: bool
    note: str = ""

    def line(self) -> str:
        """One line for people."""
        told = f"{'ok    ' if self.passed else 'FAILED'} {self.part}: {self.name}"
        return f"{told} ({self.note})" if self.note else told


def told(outcomes: Sequence[Outcome]) -> tuple[str, int]:
    """The last line of all, and the exit code. Nothing asked is nothing shown, so it is a failure."""
    failed = sum(not each.passed for each in outcomes)
    return f"{len(outcomes) - failed} passed, {failed} failed", int(failed > 0 or not outcomes)
