"""Protocol sessions in dicts. They outlive a server that shares these accounts with another one, not the process."""

from collections.abc import Collection, Mapping

from msgspec import structs

from codesynapse.contracts.accounts import AuditRecord
from codesynapse.contracts.errors import ServerFull, TransportUnknown
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.transports import ENDS_KEPT_MS, TransportEnd, TransportRecord, check_rebind, ends


class DictTransports:
    """The port `Transports`."""

    def __init__(self) -> None:
        self._kept: dict[str, TransportRecord] = {}
        self._ends: list[tuple[Millis, TransportEnd]] = []
        self._ended = 0

    async def open(self, record: TransportRecord, *, spared: Collection[str], own_max: int, all_max: int) -> None:
        if record.key in self._kept:
            return
        caller = record.caller
        own = sorted(
            (each.used_at_ms, each.key)
            for each in self._kept.values()
            if (each.caller.tenant_id, each.caller.subject_id) == (caller.tenant_id, caller.subject_id)
        )
        going = [key for _, key in own if key not in spared][: max(len(own) + 1 - own_max, 0)]
        if len(self._kept) - len(going) >= all_max:
            raise ServerFull(limit=all_max)
        for key in going:
            self._close(key, record.opened_at_ms)
        self._kept[record.key] = record

    async def find(self, key: str) -> TransportRecord | None:
        return self._kept.get(key)

    async def change(self, record: TransportRecord) -> None:
        kept = self._kept.get(record.key)
        if kept is None:
            raise TransportUnknown
        check_rebind(kept, record.session_id)
        self._kept[record.key] = structs.replace(
            kept,
            initialized=record.initialized,
            log_level=record.log_level,
            session_id=record.session_id,
            expires_at_ms=record.expires_at_ms,
            used_at_ms=max(kept.used_at_ms, record.used_at_ms),
        )

    async def touch(self, uses: Mapping[str, Millis]) -> None:
        for key, used_at_ms in uses.items():
            if key in self._kept:
                kept = self._kept[key]
                self._kept[key] = structs.replace(kept, used_at_ms=max(kept.used_at_ms, used_at_ms))

    async def close(self, key: str, *, now_ms: Millis) -> None:
        self._close(key, now_ms)

    async def ends(self, *, after: int, limit: int) -> list[TransportEnd]:
        return [end for _, end in self._ends if end.sequence > after][: max(limit, 0)]

    async def ends_end(self) -> int:
        return self._ended

    async def sweep(self, *, idle_since_ms: Millis, new_since_ms: Millis, now_ms: Millis, limit: int) -> int:
        self._ends = [(at_ms, end) for at_ms, end in self._ends if at_ms > now_ms - ENDS_KEPT_MS]
        going = [each.key for each in self._kept.values() if _over(each, idle_since_ms, new_since_ms, now_ms)]
        for key in going[: max(limit, 0)]:
            del self._kept[key]
        return len(going[: max(limit, 0)])

    def end(self, record: AuditRecord) -> None:
        """Forget the sessions whose access an audit record ended."""
        going = [each.key for each in self._kept.values() if ends(record, each.caller, each.session_id)]
        for key in going:
            del self._kept[key]

    def _close(self, key: str, now_ms: Millis) -> None:
        if self._kept.pop(key, None) is not None:
            self._ended += 1
            self._ends.append((now_ms, TransportEnd(sequence=self._ended, key=key)))


def _over(record: TransportRecord, idle_since_ms: Millis, new_since_ms: Millis, now_ms: Millis) -> bool:
    expired = record.expires_at_ms is not None and record.expires_at_ms <= now_ms
    return expired or record.used_at_ms <= (idle_since_ms if record.initialized else new_since_ms)
