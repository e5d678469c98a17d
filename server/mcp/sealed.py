"""What a client keeps for us and brings back: readable by it, but made by us, for this purpose and this owner.

A sealed text is `payload.mac` in URL-safe base64 without padding. The MAC covers the purpose and what the text is
bound to, none of which is in it, so that no identifier travels and no text can be shown for another's.
"""

import base64
import binascii
import hashlib
import hmac

KEY_BYTES = 32
MAC_BYTES = 24


class Broken(Exception):
    """The text was not sealed with this key, for this purpose, for this owner."""


class Sealer:
    """Seals with one key, of at least 32 bytes, that all processes of an installation share."""

    def __init__(self, key: bytes) -> None:
        if len(key) < KEY_BYTES:
            raise ValueError(f"a key has at least {KEY_BYTES} bytes")
        self._key = key

    def seal(self, purpose: str, bound: tuple[str, ...], payload: bytes) -> str:
        """The payload as a text that `open` accepts with the same purpose and the same bound values."""
        return f"{_text(payload)}.{_text(self._mac(purpose, bound, payload))}"

    def open(self, purpose: str, bound: tuple[str, ...], text: str) -> bytes:
        """The payload of a text. Raises Broken."""
        body, _, mark = text.partition(".")
        payload, mac = _bytes(body), _bytes(mark)
        if not hmac.compare_digest(mac, self._mac(purpose, bound, payload)):
            raise Broken
        return payload

    def _mac(self, purpose: str, bound: tuple[str, ...], payload: bytes) -> bytes:
        mac = hmac.new(self._key, digestmod=hashlib.sha256)
        for part in (purpose.encode(), *(each.encode() for each in bound), payload):
            # With its length before it, no part can reach into its neighbour.
            mac.update(len(part).to_bytes(8, "big") + part)
        mac.update(len(bound).to_bytes(8, "big"))
        return mac.digest()[:MAC_BYTES]


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeError):
        raise Broken from None
