"""Moving house: what a store holds by its digests, copying one into another, and how two differ."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Literal

from msgspec import Struct, field

from codesynapse.contracts.errors import AlreadyExists, Refused
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.portable import Head, HeldScope, Item, RepositoryDigest, Rows, digest_of, name_of_item
from codesynapse.contracts.ports import Portable
from codesynapse.contracts.repository import RESTORING

Name = tuple[str, ...]
"""The kind of a thing, its tenant, and what else it goes by."""

BATCH = 100
AT_ONCE = 16

State = Literal["copied", "equal", "different", "unfinished", "changed", "refused"]
"""unfinished: half restored where it comes from. changed: written to while it was read."""


class Inventory(Struct, kw_only=True):
    """What a store holds. unfinished: repositories that are half restored; changed: those written to meanwhile."""

    digests: dict[Name, str] = {}
    unfinished: set[Name] = field(default_factory=set)
    changed: set[Name] = field(default_factory=set)
    bytes: int = 0
    largest_scope: tuple[int, Name] = (0, ())
    largest_repository: tuple[int, Name] = (0, ())
    entities: int = 0
    facts: int = 0

    @property
    def empty(self) -> bool:
        """Whether it holds nothing at all."""
        return not (self.digests or self.unfinished or self.changed)

    def stats(self) -> dict[str, object]:
        """Counts and sizes, for the operator."""
        return {
            "tenants": len({name[1] for name in (*self.digests, *self.unfinished)}),
            "counts": kinds_of(self.digests),
            "session_bytes": self.bytes,
            "repository_entities": self.entities,
            "repository_facts": self.facts,
            "largest_scope": {"bytes": self.largest_scope[0], "name": self.largest_scope[1][1:]},
            "largest_repository": {"facts": self.largest_repository[0], "name": self.largest_repository[1][1:]},
            "unfinished": len(self.unfinished),
        }


class Step(Struct, frozen=True, kw_only=True):
    """What became of one thing. before, after: its digest in the target; digest: in the source."""

    name: Name
    state: State
    digest: str
    before: str | None = None
    after: str | None = None
    code: str | None = None


def kinds_of(names: Iterable[Name]) -> dict[str, int]:
    """How many things there are of each kind."""
    return dict(sorted(Counter(name[0] for name in names).items()))


async def items(portable: Portable, tenant_id: str | None) -> AsyncIterator[tuple[Item, ...]]:
    """All batches of a scan."""
    cursor = None
    while True:
        batch = await portable.scan(after=cursor, limit=BATCH, tenant_id=tenant_id)
        yield batch.items
        cursor = batch.cursor
        if cursor is None:
            return


async def inventory(portable: Portable, tenant_id: str | None = None) -> Inventory:
    """Everything that a store holds, by its digests."""
    found = Inventory()
    taking = _Taking(found)
    async for batch in items(portable, tenant_id):
        for item in batch:
            taking.take(item)
    return found


class _Taking:
    """An inventory in the making."""

    def __init__(self, found: Inventory) -> None:
        self._found = found
        self._rows: dict[Name, RepositoryDigest] = {}

    def take(self, item: Item) -> None:
        """Count an item, and keep its digest once it is whole."""
        name, found = name_of_item(item), self._found
        match item:
            case Rows():
                self._rows.setdefault(name, RepositoryDigest()).add(item)
            case Head():
                rows = self._rows.pop(name, None) or RepositoryDigest()
                found.entities += rows.entities
                found.facts += rows.facts
                found.largest_repository = max(found.largest_repository, (rows.facts, name))
                if item.revision == RESTORING:
                    found.unfinished.add(name)
                elif not rows.whole(item):
                    found.changed.add(name)
                else:
                    found.digests[name] = rows.of(item)
            case HeldScope():
                found.bytes += len(item.document)
                found.largest_scope = max(found.largest_scope, (len(item.document), name))
                found.digests[name] = digest_of(item)
            case _:
                found.digests[name] = digest_of(item)


async def copy(source: Portable, target: Portable, *, tenant_id: str | None, clock: Callable[[], Millis]) -> list[Step]:
    """Copy what the target does not hold yet, and say what became of each thing. Repeatable."""
    before = await inventory(target, tenant_id)
    found = Inventory()
    taking = _Taking(found)
    refusals: dict[Name, str] = {}

    async def restore(item: Item) -> None:
        try:
            await target.restore(item, now_ms=clock())
        except AlreadyExists:
            pass  # Somebody else made it: the digests at the end tell whether it is the same.
        except Refused as refusal:
            refusals[name_of_item(item)] = refusal.code

    async for batch in items(source, tenant_id):
        missing: list[Item] = []
        for item in batch:
            taking.take(item)
            name = name_of_item(item)
            if name not in before.digests and name not in refusals and _movable(item, found):
                missing.append(item)
        await _in_turns([restore(item) for item in missing])
    after = await inventory(target, tenant_id)
    return list(_steps(found, before, after, refusals))


def _movable(item: Item, found: Inventory) -> bool:
    """Whether an item is whole where it comes from, as far as is known."""
    match item:
        case Rows():
            return item.revision != RESTORING
        case Head():
            return name_of_item(item) in found.digests
    return True


async def _in_turns(calls: list[Awaitable[None]]) -> None:
    """Some calls at once."""
    for start in range(0, len(calls), AT_ONCE):
        await asyncio.gather(*calls[start : start + AT_ONCE])


def _steps(found: Inventory, before: Inventory, after: Inventory, refusals: dict[Name, str]) -> Iterator[Step]:
    for name, digest in found.digests.items():
        held, now = before.digests.get(name), after.digests.get(name)
        state: State = "different" if now != digest else "copied" if held is None else "equal"
        if name in refusals and now != digest:
            state = "refused"
        yield Step(name=name, state=state, digest=digest, before=held, after=now, code=refusals.get(name))
    for name in sorted(found.unfinished):
        yield Step(name=name, state="unfinished", digest="", after=after.digests.get(name))
    for name in sorted(found.changed):
        yield Step(name=name, state="changed", digest="", after=after.digests.get(name))


def differences(one: Inventory, other: Inventory) -> list[tuple[Name, str | None, str | None]]:
    """What two stores do not hold alike: the digest in each; None where it is missing, empty where it is not whole."""

    def digest(held: Inventory, name: Name) -> str | None:
        return "" if name in held.unfinished | held.changed else held.digests.get(name)

    names = sorted({name for held in (one, other) for name in (*held.digests, *held.unfinished, *held.changed)})
    pairs = [(name, digest(one, name), digest(other, name)) for name in names]
    return [(name, left, right) for name, left, right in pairs if left != right or not left]
