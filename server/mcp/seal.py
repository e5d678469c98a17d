"""Sealed texts: what we hand to a client and take back, so that nobody else can read, make or move it. Pure.

Authenticated and encrypted from one hash: a synthetic tag over the context and the plain bytes, whose stream of key
bytes hides the latter. The same plain bytes in one context seal to the same text, which tells only that they are the
same. Source: RFC 5297 (SIV), with keyed BLAKE2b as both its functions.
"""

import hmac
from base64 import b64decode, urlsafe_b64encode
from hashlib import blake2b

TAG_BYTES = 16
BLOCK_BYTES = 64


class Seal:
    """Seals under one subkey, for one purpose."""

    __slots__ = ("_hiding", "_tagging")

    def __init__(self, subkey: bytes) -> None:
        """subkey: 32 bytes (`server.secret.SecretKey.subkey`)."""
        # Keyed once: a copy of a hash costs half of a new one, and every streamed call seals.
        self._tagging = blake2b(key=blake2b(b"tag", key=subkey, digest_size=32).digest(), digest_size=TAG_BYTES)
        self._hiding = blake2b(key=blake2b(b"hide", key=subkey, digest_size=32).digest())

    def seal(self, plain: bytes, context: bytes) -> str:
        """The text that only the same context opens: 4 characters for each 3 bytes of tag and plain."""
        tag = self._tag(plain, context)
        return urlsafe_b64encode(tag + self._hide(plain, tag)).rstrip(b"=").decode("ascii")

    def open(self, text: str, context: bytes) -> bytes | None:
        """What was sealed in this context; None for any other text. Bound the text before."""
        try:
            raw = b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except ValueError:  # Also binascii.Error, and what is not ASCII.
            return None
        if urlsafe_b64encode(raw).rstrip(b"=") != text.encode("ascii"):
            return None  # Bits beyond the last byte, or the other alphabet: one sealing has one text.
        tag, hidden = raw[:TAG_BYTES], raw[TAG_BYTES:]
        plain = self._hide(hidden, tag)
        return plain if hmac.compare_digest(tag, self._tag(plain, context)) else None

    def _tag(self, plain: bytes, context: bytes) -> bytes:
        tagging = self._tagging.copy()
        tagging.update(len(context).to_bytes(8, "big") + context + plain)
        return tagging.digest()

    def _hide(self, text: bytes, tag: bytes) -> bytes:
        """Add the stream of key bytes that a tag begins; doing it twice undoes it."""
        stream, size = b"", len(text)
        for block in range(-(-size // BLOCK_BYTES)):
            hiding = self._hiding.copy()
            hiding.update(tag + block.to_bytes(4, "big"))
            stream += hiding.digest()
        mixed = int.from_bytes(text, "big") ^ int.from_bytes(stream[:size], "big")
        return mixed.to_bytes(size, "big")
