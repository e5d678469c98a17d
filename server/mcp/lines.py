"""Lines of a byte stream: cut at LF alone, without a CR or a byte order mark, and never longer than agreed."""

from collections.abc import Iterator

BOM = b"\xef\xbb\xbf"


class LineTooLong:
    """Stands for a line that was dropped."""


class LineSplitter:
    """Feed it bytes in any portions; it gives out whole lines. Empty ones are left out."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes | LineTooLong]:
        """The lines that end in this portion."""
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._keep(part)
            line: bytes | LineTooLong = LineTooLong() if self._size > self._longest else self._line()
            self._parts, self._size = [], 0
            if isinstance(line, LineTooLong) or line:
                yield line
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._longest:
            self._parts.append(part)
        else:
            self._parts.clear()

    def _line(self) -> bytes:
        return b"".join(self._parts).removesuffix(b"\r").removeprefix(BOM)
