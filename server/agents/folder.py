"""The files of exports and imports: each user has a folder of their own inside the configured one. Blocks.

A name is a plain name: no folder is walked, no link followed, nothing replaced.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from codesynapse.contracts.agents import Principal
from codesynapse.contracts.errors import AlreadyExists, ImportRefused, Invalid, QuotaExceeded, StoreFault

FILES_MAX = 100
"""How many files a user's folder may hold, so that nobody fills the disk."""
NAME = "a file name of 1 to 128 letters, digits or ._:-, without folders"

_name = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]{0,127}").fullmatch
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: a pipe of this name must not be waited for.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Folder:
    """The configured folder. size_max: how many bytes a file may have."""

    def __init__(self, root: Path, size_max: int) -> None:
        self.root = root
        self._size_max = size_max

    def of(self, principal: Principal) -> Path:
        """A user's own folder: nobody else's exports can be named from there."""
        return self.root / _part(principal.tenant_id) / _part(principal.subject_id)

    def write(self, principal: Principal, name: str, data: bytes | bytearray) -> Path:
        """Write a new file, whole or not at all; where it is.

        Raises Invalid, AlreadyExists, QuotaExceeded at 100 files, StoreFault.
        """
        name = self.plain(principal, name, field="output_path")
        with self._opened(principal) as folder:
            if len(os.listdir(folder)) >= FILES_MAX:
                raise QuotaExceeded(field="export_files", limit=FILES_MAX)
            part = f".{secrets.token_hex(16)}"
            try:
                with os.fdopen(os.open(part, _NEW, 0o600, dir_fd=folder), "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.link(part, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            except FileExistsError:
                raise AlreadyExists(field="output_path") from None
            finally:
                _remove(part, folder)
        return self.of(principal) / name

    def open(self, principal: Principal, name: str) -> BinaryIO:
        """A user's file, to read. Raises Invalid, ImportRefused for what is no file of ours to read, StoreFault."""
        name = self.plain(principal, name, field="input_path")
        with self._opened(principal) as folder:
            try:
                descriptor = os.open(name, _READ, dir_fd=folder)
            except OSError as error:
                raise ImportRefused(field="input_path", limit=_why(error)) from None
        held = os.fstat(descriptor)
        why = None
        if not stat.S_ISREG(held.st_mode):
            why = "it is no regular file"
        elif held.st_size > self._size_max:
            why = f"it has more than {self._size_max} bytes"
        if why is not None:
            os.close(descriptor)
            raise ImportRefused(field="input_path", limit=why)
        return os.fdopen(descriptor, "rb")

    def plain(self, principal: Principal, path: str, *, field: str) -> str:
        """The name that is meant: a plain one, or the whole path of a file of one's own. Raises Invalid."""
        name = path.removeprefix(f"{self.of(principal)}/")
        if _name(name) is None:
            raise Invalid(field=field, limit=NAME)
        return name

    @contextmanager
    def _opened(self, principal: Principal) -> Iterator[int]:
        """A user's folder, made where it is missing. Raises StoreFault: what the disk says is the operator's."""
        try:
            folder = _made(self.root, self.of(principal))
        except OSError as error:
            raise StoreFault from error
        try:
            yield folder
        except OSError as error:
            raise StoreFault from error
        finally:
            os.close(folder)


def _made(root: Path, path: Path) -> int:
    """Open a folder below the root step by step, so that no link on the way is followed."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    here = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
    for part in path.relative_to(root).parts:
        try:
            with suppress(FileExistsError):
                os.mkdir(part, mode=0o700, dir_fd=here)
            below = os.open(part, _FOLDER, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


def _remove(name: str, folder: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _why(error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return "there is no such file in your folder"
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return "it is a link"
    return "it cannot be opened"


def _part(identifier: str) -> str:
    """The name of a folder for an identifier: readable, and never another one's on any file system."""
    return f"{identifier[:64].strip('.')}-{hashlib.blake2b(identifier.encode(), digest_size=8).hexdigest()}"
