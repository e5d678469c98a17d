"""The client's side of the wire: bytes to lines, lines to messages, and what goes back as one line of ASCII."""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from codesynapse.server.bridge.refusal import INVALID_REQUEST, PARSE_ERROR, Refusal, refusal

NO_ID = b"null"
_BOM = b"\xef\xbb\xbf"
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
# A string that is cut short reaches to the end, so that nothing inside of it is taken for a token.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[][{}:]', re.DOTALL)
_ID_VALUE = re.compile(rb'\s*("[^"\\\x00-\x1f]{0,256}"|-?\d{1,19})\s*[,}]')


class Envelope(Struct):
    """The members of a JSON-RPC message that the launcher looks at."""

    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw = Raw(b"{}")
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    @property
    def key(self) -> bytes:
        """The id in one spelling, so that an answer is recognised however it was escaped."""
        return NO_ID if isinstance(self.id, UnsetType) else msgspec.json.encode(msgspec.json.decode(self.id))

    @property
    def asks(self) -> bool:
        return self.id is not UNSET and self.method is not UNSET

    @property
    def answers(self) -> bool:
        return self.method is UNSET and (self.result is not UNSET or self.error is not UNSET)


class _Meta(Struct, rename={"version": "io.modelcontextprotocol/protocolVersion"}):
    version: str = ""


class _Params(Struct):
    _meta: _Meta = msgspec.field(default_factory=_Meta)
    name: str = ""
    uri: str = ""
    requestId: Raw | UnsetType = UNSET


_decode = msgspec.json.Decoder(Envelope | list[Envelope]).decode
_decode_params = msgspec.json.Decoder(_Params).decode


def envelopes(payload: bytes) -> list[Envelope]:
    """The messages of a JSON text. Raises msgspec.DecodeError."""
    found = _decode(payload)
    return found if isinstance(found, list) else [found]


class Message:
    """One line of the client. ids: of the requests in it, in one spelling, with the bytes that they came as."""

    def __init__(self, body: bytes, found: list[Envelope]) -> None:
        self.body = body
        self.ids = {each.key: bytes(each.id) for each in found if each.asks and isinstance(each.id, Raw)}
        self.calls_tool = any(each.method == "tools/call" for each in found)
        alone = found[0] if len(found) == 1 else Envelope()
        self.method = "" if isinstance(alone.method, UnsetType) else alone.method
        try:
            self._params = _decode_params(alone.params)
        except msgspec.DecodeError:
            self._params = _Params()

    @property
    def modern(self) -> str:
        """The revision that a request without transport session names; empty for one with a session."""
        return self._params._meta.version

    @property
    def subject(self) -> str:
        """What the request is about: a tool, a prompt, a resource."""
        return self._params.name or self._params.uri

    @property
    def cancels(self) -> bytes:
        """The id that a cancellation names, in one spelling."""
        return Envelope(id=self._params.requestId).key


def parse(line: bytes) -> Message:
    """The message of a line. Raises Refusal for what is none."""
    if isinstance(line, Overlong):
        text = f"The message is too large. Limit: {line.limit} bytes."
        raise refusal("body_too_large", text, code=INVALID_REQUEST, limit=line.limit)
    try:
        line.decode()
        found = envelopes(line)
        if not found:
            raise refusal("invalid", "A batch must hold at least one message.", code=INVALID_REQUEST)
        return Message(line, found)
    except msgspec.ValidationError:
        raise refusal("invalid", "A line must be one JSON-RPC message.", code=INVALID_REQUEST) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = "The line is not valid JSON in UTF-8 without lone surrogates."
        raise refusal("invalid", text, code=PARSE_ERROR) from None


def id_of(line: bytes) -> bytes:
    """The id of a line that is no message, as JSON: of one that is too long, or wrong inside. Else null."""
    if not isinstance(line, Overlong):
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return NO_ID
    depth, tokens = 0, _TOKEN.finditer(line if line.lstrip()[:1] == b"{" else b"")
    for token in tokens:
        depth += (token.group() in b"[{") - (token.group() in b"]}")
        if depth == 1 and token.group() == b'"id"' and line[token.end() :].lstrip()[:1] == b":":
            value = _ID_VALUE.match(line, next(tokens).end())
            return value.group(1) if value else NO_ID
    return NO_ID


class Overlong(bytes):
    """The beginning of a line that is longer than `limit` bytes."""

    limit = 0


class LineSplitter:
    """Lines out of bytes in any chunking. They end with LF alone; a CR before it and a BOM are dropped."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._partial = bytearray()
        self._overlong = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that end in this chunk."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._add(piece)
            yield from self.end()
        self._add(rest)

    def end(self) -> Iterator[bytes]:
        """What there is, as a line; a blank one is none."""
        line = bytes(self._partial).removeprefix(_BOM).removesuffix(b"\r")
        overlong = self._overlong or len(line) > self._max_bytes
        self._partial.clear()
        self._overlong = False
        if overlong:
            line = Overlong(line[: self._max_bytes])
            line.limit = self._max_bytes
        if line.strip():
            yield line

    def _add(self, piece: bytes) -> None:
        room = self._max_bytes + len(_BOM) + 1 - len(self._partial)
        self._overlong = self._overlong or len(piece) > room
        self._partial += piece[:room]


def one_line(payload: bytes) -> bytes:
    """A JSON text as one line of ASCII, token by token what it was. Raises UnicodeDecodeError."""
    if not payload.isascii():
        payload = _BEYOND_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], payload.decode()).encode("ascii")
    # Outside of strings a line end is a blank, and inside none can be.
    return payload.replace(b"\r", b" ").replace(b"\n", b" ")


def error_line(request_id: bytes, refused: Refusal) -> bytes:
    """An error as the answer to a request. request_id: as JSON."""
    error: Any = refused.error
    return one_line(b'{"jsonrpc":"2.0","id":' + request_id + b',"error":' + msgspec.json.encode(error) + b"}")
