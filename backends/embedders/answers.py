"""What an OpenAI-compatible embeddings endpoint answers, and what that is worth. Pure.

Whoever operates the server is told what is wrong by the error's cause, a name out of those here; no word of an answer
is ever repeated, since an endpoint may echo the key or the text that it was sent.
"""

import math
from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from codesynapse.contracts.errors import EmbedderDown, EmbedderMisconfigured, Unavailable
from codesynapse.contracts.vectors import Vector

E = TypeVar("E", bound=Unavailable)

ANSWER_CHARS = 64 * 1024
"""What an answer may hold beside its numbers."""
NUMBER_CHARS = 32
"""What a number may take: seventeen digits, sign, exponent, comma, and blanks for whoever indents."""

UNREACHABLE, TIMEOUT, TLS = "UNREACHABLE", "TIMEOUT", "TLS"
TOO_LONG, NO_EMBEDDINGS, COUNT = "TOO_LONG", "NO_EMBEDDINGS", "COUNT"
DIMENSION, NOT_A_DIRECTION = "DIMENSION", "NOT_A_DIRECTION"
AGAIN = frozenset({408, 425, 429})
"""Refusals that pass by themselves."""


class _Row(Struct):
    embedding: list[float]
    index: int | None = None


class _Answer(Struct):
    data: list[_Row]


_decode = msgspec.json.Decoder(_Answer).decode


def down(cause: str) -> EmbedderDown:
    """It was asked and did not answer; the next question may find it back."""
    return _because(EmbedderDown(), cause)


def misconfigured(cause: str) -> EmbedderMisconfigured:
    """It answers, and what it says will not change until somebody corrects the settings."""
    return _because(EmbedderMisconfigured(), cause)


def refusal(status: int) -> Unavailable | None:
    """What an HTTP status means; None for 200.

    A wrong key (401, 403), path or model (404), or text that the model does not take (400, 413, 422) is what the
    settings name; so is a redirection, which is not followed: it could lead to a host that nobody allowed.
    """
    if status == 200:
        return None
    cause = f"HTTP_{status}"
    return down(cause) if status >= 500 or status in AGAIN else misconfigured(cause)


def answer_max(count: int, dimension: int) -> int:
    """How many bytes the vectors of so many texts may take."""
    return ANSWER_CHARS + count * dimension * NUMBER_CHARS


def vectors_of(raw: bytes, count: int, dimension: int) -> list[Vector]:
    """The vectors of a whole answer, in the order of the texts, each of unit length.

    Raises EmbedderMisconfigured for what are not so many vectors of this dimension.
    """
    try:
        rows = _decode(raw).data
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise misconfigured(NO_EMBEDDINGS) from None
    if any(row.index is not None for row in rows):
        rows = sorted(rows, key=lambda row: -1 if row.index is None else row.index)
        if [row.index for row in rows] != list(range(count)):
            raise misconfigured(COUNT)
    if len(rows) != count:
        raise misconfigured(COUNT)
    if any(len(row.embedding) != dimension for row in rows):
        raise misconfigured(DIMENSION)
    return [_unit(row.embedding) for row in rows]


def _unit(values: Sequence[float]) -> Vector:
    length = math.hypot(*values)
    if not length or not math.isfinite(length):
        raise misconfigured(NOT_A_DIRECTION)
    return tuple(value / length for value in values)


def _because(error: E, cause: str) -> E:
    error.cause = cause
    return error
