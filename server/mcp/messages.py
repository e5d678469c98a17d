"""JSON-RPC envelopes: bytes in, messages out, and the bytes of what we answer.

Parameters stay raw until the method is known, and a request's id keeps its very bytes, so that `1` and `"1"` stay two.
"""

import re
from typing import Any, NewType

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

RequestId = NewType("RequestId", bytes)
"""A request's id as JSON, a string or an integer, exactly as it came."""

NO_ID = RequestId(b"null")
ID_MAX_BYTES = 1_024
OFF_LOOP_BYTES = 256 * 1024
"""What is larger is decoded in a thread, so that one caller's megabytes do not delay the others."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002
"""In the session revisions; in the ones after them it is INVALID_PARAMS."""


class Request(Struct, frozen=True):
    """A message that wants an answer."""

    id: RequestId
    method: str
    params: Raw


class Notification(Struct, frozen=True):
    """A message that wants none."""

    method: str
    params: Raw


class Response(Struct, frozen=True):
    """A client's answer to a request of ours: a result, or an error."""

    id: RequestId
    result: Raw | None = None


Message = Request | Notification | Response


class ProtocolError(Exception):
    """A message that is refused by the protocol itself: a JSON-RPC error.

    The text is constant: it never holds what was sent. data: what the error's `data` says, if anything.
    """

    def __init__(self, code: int, text: str, request_id: RequestId = NO_ID, *, data: object = None) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.request_id = request_id
        self.data = data


class _Envelope(Struct):
    jsonrpc: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    method: Raw | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


NO_PARAMS = Raw(b"{}")
_integer = re.compile(rb"-?(?:0|[1-9][0-9]{0,18})").fullmatch
# Possessive, and one that never ends matches to the end of the text: each byte is looked at once, whatever is sent.
_strings = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_OPENING = b"[{"
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_decode_one = msgspec.json.Decoder(_Envelope).decode
_decode_many = msgspec.json.Decoder(list[Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode
encode = msgspec.json.Encoder().encode


def check_depth(body: bytes, deepest: int) -> None:
    """Refuse a text that nests deeper than `deepest`, before anything recurses into it. Raises ProtocolError."""
    if body.count(b"[") + body.count(b"{") <= deepest:
        return
    depth = 0
    for bracket in _strings.sub(b"", body).translate(None, _NO_BRACKETS):
        depth += 1 if bracket in _OPENING else -1
        if depth > deepest:
            raise ProtocolError(INVALID_REQUEST, f"The body nests too deeply. Limit: {deepest}.")


def parse(body: bytes, *, deepest: int) -> Message:
    """The one message of a body. Raises ProtocolError: not JSON, no object, too deep, not JSON-RPC 2.0."""
    check_depth(body, deepest)
    _check_text(body)
    try:
        envelope = _decode_one(body)
    except msgspec.ValidationError:
        raise ProtocolError(INVALID_REQUEST, "The body must be one JSON object.") from None
    except (msgspec.DecodeError, RecursionError):
        raise _not_json() from None
    return _message(envelope)


def parse_batch(body: bytes, *, deepest: int, most: int) -> list[Message | ProtocolError]:
    """The messages of an array, in order; one that is broken becomes its error, so that the others are served."""
    check_depth(body, deepest + 1)
    _check_text(body)
    try:
        items = _decode_many(body)
    except (msgspec.DecodeError, RecursionError):
        raise _not_json() from None
    if not 1 <= len(items) <= most:
        raise ProtocolError(INVALID_REQUEST, f"A batch must hold at least one message. Limit: {most}.")
    messages: list[Message | ProtocolError] = []
    for item in items:
        try:
            messages.append(parse(bytes(item), deepest=deepest))
        except ProtocolError as error:
            messages.append(error)
    return messages


def is_batch(body: bytes) -> bool:
    """Whether a body is a JSON array."""
    return body.lstrip(b" \t\r\n")[:1] == b"["


def is_object(raw: Raw) -> bool:
    """Whether raw JSON is an object; looked at where it lies, without a copy."""
    return bytes(memoryview(raw)[:1]) == b"{"


def _check_text(body: bytes) -> None:
    """Refuse what is not UTF-8. What stays raw, such as an id, is answered as it came and is never decoded."""
    if not body.isascii():
        try:
            body.decode()
        except UnicodeDecodeError:
            raise _not_json() from None


def _not_json() -> ProtocolError:
    return ProtocolError(PARSE_ERROR, "The body is not valid JSON in UTF-8 without lone surrogates.")


def _message(envelope: _Envelope) -> Message:
    request_id = None if isinstance(envelope.id, UnsetType) else _id(bytes(envelope.id))
    named = NO_ID if request_id is None else request_id
    if isinstance(envelope.jsonrpc, UnsetType) or bytes(envelope.jsonrpc) != b'"2.0"':
        raise ProtocolError(INVALID_REQUEST, 'The member "jsonrpc" must be "2.0".', named)
    if isinstance(envelope.method, UnsetType):
        answers = isinstance(envelope.result, UnsetType) + isinstance(envelope.error, UnsetType)
        if request_id is not None and answers == 1:
            return Response(request_id, None if isinstance(envelope.result, UnsetType) else envelope.result)
        raise ProtocolError(INVALID_REQUEST, "A message needs a method, or an id with a result or an error.", named)
    try:
        method = _decode_text(envelope.method)
    except msgspec.DecodeError:
        raise ProtocolError(INVALID_REQUEST, 'The member "method" must be a string.', named) from None
    params = NO_PARAMS if isinstance(envelope.params, UnsetType) else envelope.params
    if not is_object(params):
        raise ProtocolError(INVALID_PARAMS, 'The member "params" must be an object.', named)
    return Notification(method, params) if request_id is None else Request(request_id, method, params)


def _id(raw: bytes) -> RequestId:
    if len(raw) <= ID_MAX_BYTES and (raw[:1] == b'"' or _integer(raw)):
        return RequestId(raw)
    text = f'The member "id" must be a string or an integer. Limit: {ID_MAX_BYTES} bytes.'
    raise ProtocolError(INVALID_REQUEST, text)


def result_bytes(request_id: RequestId, result: Any) -> bytes:
    """A response with a result, as JSON in ASCII-safe form."""
    return ascii_safe(b'{"jsonrpc":"2.0","id":' + request_id + b',"result":' + encode(result) + b"}")


def error_bytes(request_id: RequestId, code: int, text: str, data: object = None) -> bytes:
    """A response with an error."""
    error: dict[str, object] = {"code": code, "message": text}
    if data is not None:
        error["data"] = data
    return ascii_safe(b'{"jsonrpc":"2.0","id":' + request_id + b',"error":' + encode(error) + b"}")


def request_bytes(request_id: RequestId, method: str, params: object) -> bytes:
    """A request of ours."""
    head = b'{"jsonrpc":"2.0","id":' + request_id + b',"method":' + encode(method)
    return ascii_safe(head + b',"params":' + encode(params) + b"}")


def notification_bytes(method: str, params: object) -> bytes:
    """A notification of ours."""
    return ascii_safe(encode({"jsonrpc": "2.0", "method": method, "params": params}))


def ascii_safe(text: bytes) -> bytes:
    """JSON with every character beyond ASCII escaped: U+2028 and its kind end a line for some readers."""
    if text.isascii():
        return text
    return "".join(_escaped(character) for character in text.decode()).encode("ascii")


def _escaped(character: str) -> str:
    point = ord(character)
    if point < 0x80:
        return character
    if point < 0x10000:
        return f"\\u{point:04x}"
    point -= 0x10000
    return f"\\u{0xD800 + (point >> 10):04x}\\u{0xDC00 + (point & 0x3FF):04x}"
