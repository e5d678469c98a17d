"""The secret key of an installation: read from its file or made there, never shown, used through subkeys alone.

All processes that share the accounts need the same key: what one sealed, the others open.
"""

import hashlib
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from codesynapse.server.settings import Settings, SettingsError

KEY_BYTES = 32
FILE_MAX_BYTES = 4_096
FILE_NAME = "secret.key"
_UNREADABLE = "CODESYNAPSE_SECRET_KEY_FILE: this is not a file that holds at least 32 bytes and can be read."


class SecretKey:
    """A key that gives out subkeys, one a purpose; itself it is nowhere used and nowhere shown."""

    __slots__ = ("_key",)

    def __init__(self, material: bytes) -> None:
        """material: at least 32 bytes that nobody can guess."""
        assert len(material) >= KEY_BYTES
        self._key = hashlib.blake2b(material, person=b"codesynapse.key").digest()

    def __repr__(self) -> str:
        return "SecretKey(…)"

    def subkey(self, purpose: str) -> bytes:
        """32 bytes for one purpose; who has them learns nothing of the key or of another purpose's."""
        return hashlib.blake2b(purpose.encode(), key=self._key, digest_size=KEY_BYTES).digest()

    @classmethod
    def fresh(cls) -> "SecretKey":
        """A key that ends with this process."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def load(cls, path: Path) -> "SecretKey":
        """The key of a file, whose text at both ends is trimmed. Blocks. Raises SettingsError."""
        try:
            with path.open("rb") as opened:
                material = opened.read(FILE_MAX_BYTES).strip()
        except OSError:
            raise SettingsError(_UNREADABLE) from None
        if len(material) < KEY_BYTES:
            raise SettingsError(_UNREADABLE)
        return cls(material)


def secret_key(settings: Settings) -> SecretKey:
    """The key that the settings name; without a name, the one in the home, made where it is missing. Blocks.

    Beside accounts in memory nothing outlives the process, so neither does the key. A file that is named must be
    there: one made in its place would be another key than that of the other processes. Raises SettingsError.
    """
    if settings.secret_key_file:
        return SecretKey.load(Path(settings.secret_key_file))
    if settings.accounts == "memory":
        return SecretKey.fresh()
    path = Path(settings.home) / FILE_NAME
    if not path.exists():
        try:
            _make(path)
        except OSError:
            raise SettingsError("CODESYNAPSE_HOME: this is not a folder that can be written.") from None
    return SecretKey.load(path)


def _make(path: Path) -> None:
    """Write a new key, for its owner alone: whole or not at all, and once where several processes begin together."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "wb") as opened:
            opened.write(secrets.token_hex(KEY_BYTES).encode() + b"\n")
            opened.flush()
            os.fsync(opened.fileno())
        # A link, not a rename: who comes second must take the first one's key.
        with suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.unlink(name)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
