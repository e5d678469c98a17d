"""How a scan pages: stages one after another, and a cursor that says in which of them it stands, and where."""

import base64
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import groupby

import msgspec
from msgspec import Struct

from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.portable import Item, Rows

BATCH_MAX = 1_000
LAST = "~"
"""Behind every tenant: an id has no such character, and none that comes after it."""

Stage = Callable[[str, int], Awaitable[tuple[Sequence[Item], str]]]
"""From a position, empty at the beginning, and a limit: the next items, and the next position, empty at the end."""


class Batch(Struct, frozen=True, kw_only=True):
    """Some items in a stable order. cursor: where the next begin; None at the end."""

    items: tuple[Item, ...]
    cursor: str | None


_cursor = msgspec.json.Decoder(tuple[int, str]).decode


async def walk(stages: Sequence[Stage], after: str | None, limit: int) -> Batch:
    """The next batch that is not empty, of one stage. Raises Invalid for a foreign cursor or limit."""
    if not 1 <= limit <= BATCH_MAX:
        raise Invalid(field="limit", limit=f"1 to {BATCH_MAX}")
    number, position = (0, "") if after is None else _read(after, len(stages))
    while number < len(stages):
        items, position = await stages[number](position, limit)
        if not position:
            number += 1
        if items:
            return Batch(items=tuple(items), cursor=_written(number, position) if number < len(stages) else None)
    return Batch(items=(), cursor=None)


def position_of(*parts: str | int) -> str:
    """A position behind a key."""
    return msgspec.json.encode(parts).decode()


def parts_of(position: str, *, count: int, tenant_id: str | None = None) -> list[str]:
    """The key of a position; at the beginning one that is before all others, or all of a tenant. Raises Invalid."""
    if not position:
        return [tenant_id or "", *[""] * (count - 1)]
    try:
        parts = msgspec.json.decode(position, type=list[str])
    except msgspec.MsgspecError:
        parts = []
    if len(parts) != count:
        raise Invalid(field="after", limit="a cursor of this store")
    return parts


def grouped(rows: Iterable[Rows]) -> list[Rows]:
    """Rows that follow one another and are of one repository and revision, as one."""
    return [
        Rows(
            scope=scope,
            revision=revision,
            entities=tuple(entity for each in same for entity in each.entities),
            facts=tuple(fact for each in same for fact in each.facts),
            ends=tuple({entity.id: entity for each in same for entity in each.ends}.values()),
        )
        for (scope, revision), group in groupby(rows, lambda each: (each.scope, each.revision))
        for same in [list(group)]
    ]


def _written(number: int, position: str) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((number, position))).decode()


def _read(cursor: str, stages: int) -> tuple[int, str]:
    try:
        number, position = _cursor(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, msgspec.MsgspecError):
        number, position = -1, ""
    if not 0 <= number < stages:
        raise Invalid(field="after", limit="a cursor of this store")
    return number, position
