"""Exports and imports of an agent's memory: through a file in a folder, a link, or an upload."""

import asyncio
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_work import MemoryRecord, Record, TakenIn
from codesynapse.contracts.agents import AgentScope, Episode, Memory, Principal, Profile
from codesynapse.contracts.errors import ImportRefused, QuotaExceeded, StoreFault, Unsupported
from codesynapse.contracts.identity import Millis
from codesynapse.server.agents.exported import LINE_MAX, Seal, Terms, Writer, header_of, records_of, refusal, seal_of
from codesynapse.server.agents.folder import Folder
from codesynapse.server.agents.shelf import Owner, Shelf, Waiting
from codesynapse.server.agents.wording import ahead_ms
from codesynapse.server.clock import Clock

CHUNK = 256 * 1024
AHEAD = "ahead"
AT_ONCE = 2
"""How many exports are made at once: each is held in memory until it is written."""


class Export(Struct, frozen=True, kw_only=True):
    """An export as it was made. data: the file."""

    seal: Seal
    data: bytearray


class Link(Struct, frozen=True, kw_only=True):
    """What fetches an export, once. token: the last part of its path."""

    token: str
    expires_at_ms: Millis


class Import(Struct, frozen=True, kw_only=True):
    """What an import did. agent_id: where to. ahead: memories whose time lies ahead of the clock."""

    agent_id: str
    taken: TakenIn
    seal: Seal
    ahead: int


class Mover:
    """Moves agents. folder: None where no folder is configured. size_max: how many bytes a file may have."""

    def __init__(
        self, agents: AgentMemory, terms: Terms, clock: Clock, *, folder: Folder | None, size_max: int
    ) -> None:
        self._agents = agents
        self._terms = terms
        self._clock = clock
        self._folder = folder
        self._gate = asyncio.Semaphore(AT_ONCE)
        self.size_max = size_max
        self.links = Shelf()
        self.uploads = Shelf()

    async def to_file(self, scope: AgentScope, name: str) -> tuple[Path, Export]:
        """Export into the caller's folder. Raises AgentForbidden, Invalid, AlreadyExists, QuotaExceeded."""
        folder = self._configured()
        folder.plain(scope.principal, name, field="output_path")
        async with self._gate:
            export = await self._export(scope)
            path = await asyncio.to_thread(folder.write, scope.principal, name, export.data)
        return path, export

    async def to_link(self, scope: AgentScope, owner: Owner) -> tuple[Link, Export]:
        """Export to a link that its owner can follow once. Raises AgentForbidden, QuotaExceeded."""
        async with self._gate:
            export = await self._export(scope)
            file = await self.nameless()
            await _written(file, export.data)
        token, expires_at_ms = self.links.put(
            owner, file, size=len(export.data), agent_id=scope.agent_id, now_ms=self._clock()
        )
        return Link(token=token, expires_at_ms=expires_at_ms), export

    async def fetched(self, principal: Principal, owner: Owner, token: str) -> Waiting | None:
        """The file of a link, for the only time; None where there is none, or its owner may not read the agent now."""
        waiting = self.links.take(owner, token, self._clock())
        if waiting is None:
            return None
        scope = AgentScope(tenant_id=principal.tenant_id, subject_id=principal.subject_id, agent_id=waiting.agent_id)
        if await self._agents.level(scope) is None:
            waiting.file.close()
            return None
        return waiting

    async def from_file(self, principal: Principal, name: str, target: str, *, dry_run: bool) -> Import:
        """Import a file of the caller's folder. Raises Invalid, ImportRefused, AgentForbidden, QuotaExceeded."""
        file = await asyncio.to_thread(self._configured().open, principal, name)
        with file:
            return await self._import(principal, file, target, "input_path", dry_run=dry_run)

    async def from_upload(self, principal: Principal, upload_id: str, target: str, *, dry_run: bool) -> Import:
        """Import what the caller uploaded, which is gone then unless this is a dry run. Raises as `from_file` does."""
        owner = owner_of(principal)
        waiting = self.uploads.look(owner, upload_id, self._clock())
        if waiting is None:
            raise ImportRefused(field="upload_id", limit="there is no such upload of yours, or its time is over")
        done = await self._import(principal, waiting.file, target, "upload_id", dry_run=dry_run)
        if not dry_run and (over := self.uploads.take(owner, upload_id, self._clock())) is not None:
            over.file.close()
        return done

    async def nameless(self) -> BinaryIO:
        """A file without a name, on the disk of the folder. Raises StoreFault."""
        return await asyncio.to_thread(_nameless, None if self._folder is None else self._folder.root)

    async def uploaded(self, principal: Principal, file: BinaryIO, size: int) -> tuple[str, Millis]:
        """Keep an upload; its id, and until when."""
        return self.uploads.put(owner_of(principal), file, size=size, now_ms=self._clock())

    def sweep(self) -> int:
        """Drop links and uploads whose time is over; how many."""
        now_ms = self._clock()
        return self.links.sweep(now_ms) + self.uploads.sweep(now_ms)

    def close(self) -> None:
        """Drop all of them."""
        self.links.clear()
        self.uploads.clear()

    def _configured(self) -> Folder:
        if self._folder is None:
            raise Unsupported(field="path")
        return self._folder

    async def _export(self, scope: AgentScope) -> Export:
        data = bytearray()

        def write(raw: bytes) -> None:
            if len(data) + len(raw) > self.size_max:
                raise QuotaExceeded(field="transfer_max_bytes", limit=self.size_max)
            data.extend(raw)

        writer = Writer(scope.agent_id, write)

        # Into memory: the sink runs wherever the store reads, and must not wait for a disk there.
        def sink(record: Memory | Episode | Profile) -> None:
            writer.record(record)

        await self._agents.export(scope, sink)
        return Export(seal=writer.end(), data=data)

    async def _import(self, principal: Principal, file: BinaryIO, target: str, field: str, *, dry_run: bool) -> Import:
        """Read the file twice: to its end before any lock is taken, then inside the transaction, checked once more."""
        # Of one's own: an upload may be dropped meanwhile, and its number given to another file.
        descriptor = os.dup(file.fileno())
        try:
            agent_id, seal = await asyncio.to_thread(self._verified, descriptor)
            scope = AgentScope(
                tenant_id=principal.tenant_id, subject_id=principal.subject_id, agent_id=target or agent_id
            )
            now_ms, seen = self._clock(), Counter[str]()
            records = _counting_ahead(records_of(lines_of(descriptor, self.size_max), self._terms), now_ms, seen)
            taken = await self._agents.take_in(scope, records, dry_run=dry_run, now_ms=now_ms)
            return Import(agent_id=scope.agent_id, taken=taken, seal=seal, ahead=seen[AHEAD])
        except ImportRefused as error:
            raise ImportRefused(field=field, limit=error.limit) from None
        finally:
            os.close(descriptor)

    def _verified(self, descriptor: int) -> tuple[str, Seal]:
        first = next(lines_of(descriptor, self.size_max), b"")
        return header_of(first).agent_id, seal_of(lines_of(descriptor, self.size_max), self._terms)


def _counting_ahead(records: Iterator[Record], now_ms: Millis, seen: Counter[str]) -> Iterator[Record]:
    """The records; those whose time lies ahead of the clock are counted in passing."""
    for record in records:
        if isinstance(record, MemoryRecord) and ahead_ms(record.memory.timestamp, now_ms):
            seen[AHEAD] += 1
        yield record


def owner_of(principal: Principal, key_id: str | None = None) -> Owner:
    """Who may have a file: a user, or one credential of theirs."""
    return principal.tenant_id, principal.subject_id, *(() if key_id is None else (key_id,))


def lines_of(descriptor: int, size_max: int) -> Iterator[bytes]:
    """The lines of a file, each with its end, from its beginning. Raises ImportRefused for one too large, or too long
    a line, StoreFault where it cannot be read. Blocks. The position of the descriptor stays where it is."""
    if os.fstat(descriptor).st_size > size_max:
        raise refusal(f"it has more than {size_max} bytes")
    rest, offset = b"", 0
    while offset <= size_max and (chunk := _read(descriptor, offset)):
        offset += len(chunk)
        *whole, rest = (rest + chunk).split(b"\n")
        for each in whole:
            if len(each) >= LINE_MAX:
                raise refusal(f"a line has more than {LINE_MAX} bytes")
            yield each + b"\n"
        if len(rest) >= LINE_MAX:
            raise refusal(f"a line has more than {LINE_MAX} bytes")
    if rest:
        yield rest


def _read(descriptor: int, offset: int) -> bytes:
    try:
        return os.pread(descriptor, CHUNK, offset)
    except OSError as error:
        raise StoreFault from error


def _nameless(root: Path | None) -> BinaryIO:
    try:
        if root is not None:
            if not root.parent.is_dir():
                root = None  # Of a server that keeps nothing on the disk.
            else:
                root.mkdir(mode=0o700, exist_ok=True)
        return tempfile.TemporaryFile(dir=root)
    except OSError as error:
        raise StoreFault from error


async def _written(file: BinaryIO, data: bytearray) -> None:
    try:
        await asyncio.to_thread(file.write, data)
        await asyncio.to_thread(file.flush)
    except OSError as error:
        file.close()
        raise StoreFault from error
