"""What a row of the ledger is; the rows lie in one module for each document that promises."""

from __future__ import annotations

import msgspec

EVIDENCE = ("tests", "decision", "to_come", "not_testable")


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """One promise, where it is made, and the one kind of evidence that we give for it.

    promise: one sentence in our own words. source: the places that make it, separated by "; ".
    tests: pytest ids, relative to the repository. decision: the number of the decision in product.md that replaces the
    promise. to_come: the subject of the issue that will keep it. not_testable: why no test can show it.
    """

    id: str
    promise: str
    source: str
    tests: tuple[str, ...] | None = None
    decision: int | None = None
    to_come: str | None = None
    not_testable: str | None = None

    @property
    def evidence(self) -> tuple[str, ...]:
        """The kinds of evidence that are given; exactly one in a sound row."""
        return tuple(kind for kind in EVIDENCE if getattr(self, kind) is not None)
