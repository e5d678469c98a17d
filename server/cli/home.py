"""The lock that lets one `serve` run on a home. The stores themselves are safe for several processes."""

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
    folder = Path(home)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / "serve.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        raise SettingsError("CODESYNAPSE_HOME: this is not a folder that can be written.") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HomeTaken from None
        yield
    finally:
        os.close(descriptor)
