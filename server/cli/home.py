"""Locks on a home: one `serve`, and one first start at a time. The stores themselves are safe for several processes."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codesynapse.server.settings import SettingsError


class HomeTaken(Exception):
    """Another process serves on this home."""


@contextmanager
def locked(home: str) -> Iterator[None]:
    """Hold the home's lock; the system lets it go with the process, also after kill -9.

    Raises HomeTaken, and SettingsError for a home that cannot be written.
    """
    with _opened(home, "serve.lock") as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HomeTaken from None
        yield


@contextmanager
def one_first_start(home: str) -> Iterator[None]:
    """Wait for another process that makes the first accounts: two at once would each tell a key. Blocks."""
    with _opened(home, "init.lock") as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


@contextmanager
def _opened(home: str, name: str) -> Iterator[int]:
    folder = Path(home)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        raise SettingsError("CODESYNAPSE_HOME: this is not a folder that can be written.") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)
