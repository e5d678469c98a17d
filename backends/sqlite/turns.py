"""Whose turn it is: jobs wait in a line a key, and the lines take turns."""

from collections import deque
from typing import Generic, TypeVar

J = TypeVar("J")


class Turns(Generic[J]):
    """Jobs that wait. share: how many of one key are taken before the next key has its turn."""

    def __init__(self, *, share: int) -> None:
        self._share = share
        self._lines: dict[str, deque[J]] = {}

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, key: str, job: J) -> None:
        """Let a job wait behind those of its key."""
        self._lines.setdefault(key, deque()).append(job)

    def take(self, limit: int) -> list[J]:
        """The next jobs, at most `limit`, and at most a share of each key; who had a turn goes behind the others."""
        taken: list[J] = []
        for key in list(self._lines):
            if len(taken) == limit:
                break
            line = self._lines.pop(key)
            taken += [line.popleft() for _ in range(min(len(line), self._share, limit - len(taken)))]
            if line:
                self._lines[key] = line
        return taken
