"""How a request and an answer look: gremlinpython's message serializer, in its untyped form and in UTF-8.

Untyped JSON is the quickest that HugeGraph takes and gives. The serializer of the package would write every character
beyond ASCII as an escape of six bytes or twelve, which makes a text up to three times as long, and the server closes
the connection on a request that is too long.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from gremlin_python.driver.request import RequestMessage
from gremlin_python.driver.serializer import GraphSONMessageSerializer
from msgspec import Struct

from codesynapse.contracts.errors import Invalid

MIME = b"application/json"


class Status(Struct):
    """What became of a request."""

    code: int
    message: str | None = ""


class Result(Struct):
    """A part of an answer."""

    data: list[Any] | None = None


class Answer(Struct, rename="camel"):
    """One frame of an answer. request_id: None where the server did not understand the request."""

    status: Status
    result: Result
    request_id: str | None = None


_answer = msgspec.json.Decoder(Answer).decode
_encode = msgspec.json.Encoder().encode


class Serializer(GraphSONMessageSerializer):  # type: ignore[misc]  # gremlinpython has no types
    """Untyped GraphSON, as UTF-8."""

    def __init__(self) -> None:
        super().__init__(version=MIME)

    def build_message(self, request_id: str, processor: str, op: str, args: Mapping[str, Any]) -> bytes:
        # Untyped, an id is a string; the package writes a typed one.
        return bytes(
            self.finalize_message(
                {"requestId": request_id, "processor": processor, "op": op, "args": args}, bytes([len(MIME)]), MIME
            )
        )

    def finalize_message(self, message: Mapping[str, Any], mime_len: bytes, mime_type: bytes) -> bytes:
        try:
            return b"".join((mime_len, mime_type, _encode(message)))
        except (UnicodeEncodeError, OverflowError) as error:
            raise Invalid(limit="UTF-8 text and 64-bit integers") from error

    def deserialize_message(self, message: bytes | str) -> Answer:
        return _answer(message)


_serializer = Serializer()


def request(request_id: str, op: str, args: Mapping[str, Any]) -> bytes:
    """The bytes of a request. Raises Invalid for a lone surrogate."""
    return bytes(_serializer.serialize_message(request_id, RequestMessage("", op, args)))


def answer(message: bytes | str) -> Answer:
    """One frame of an answer. Raises msgspec.MsgspecError."""
    return _serializer.deserialize_message(message)
