"""Server-Sent Events: bytes to events."""

import re
from collections.abc import Iterator

from msgspec import Struct

from codesynapse.server.bridge.refusal import Refusal, refusal

ANSWER_MAX_BYTES = 16 * 1024 * 1024
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class Event(Struct, frozen=True):
    """One event. id, retry_ms: None where it does not say."""

    data: bytes = b""
    id: str | None = None
    retry_ms: int | None = None


class SseParser:
    """Events out of bytes in any chunking. Lines end with LF, CR or CRLF; what is cut in the middle is no event."""

    def __init__(self) -> None:
        self._partial = bytearray()
        self._after_cr = False
        self._started = False
        self._fields: dict[bytes, bytes] = {}
        self._data: list[bytes] = []
        self._size_bytes = 0

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that end in this chunk. Raises Refusal for one that is too large."""
        if not chunk:
            return
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        *ended, rest = _LINE_END.split(chunk)
        for piece in ended:
            line = bytes(self._partial + piece)
            self._partial.clear()
            yield from self._line(line)
        self._partial += rest
        if self._size_bytes + len(self._partial) > ANSWER_MAX_BYTES:
            raise too_large()

    def _line(self, line: bytes) -> Iterator[Event]:
        if not self._started:
            line = line.removeprefix(_BOM)
            self._started = True
        if not line:
            yield from self._dispatch()
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size_bytes += len(value)
        elif name == b"event" or (name == b"id" and b"\0" not in value) or (name == b"retry" and value.isdigit()):
            self._fields[name] = value

    def _dispatch(self) -> Iterator[Event]:
        fields, data = self._fields, b"\n".join(self._data)
        self._fields, self._data, self._size_bytes = {}, [], 0
        if fields.get(b"event", b"message") not in (b"message", b""):
            data = b""
        if data or b"id" in fields or b"retry" in fields:
            event_id = fields[b"id"].decode("utf-8", "replace") if b"id" in fields else None
            retry_ms = int(fields[b"retry"][:9]) if b"retry" in fields else None
            yield Event(data, event_id, retry_ms)


def too_large() -> Refusal:
    """The refusal of an answer that is larger than any that the launcher would hold."""
    text = f"The server's answer is too large. Limit: {ANSWER_MAX_BYTES} bytes."
    return refusal("answer_too_large", text, limit=ANSWER_MAX_BYTES)
