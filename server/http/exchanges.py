"""Requests of the stateless revisions that are being answered right now: who sent each, and how it is cut off.

In-process state of running requests alone, so that a revocation ends them within a second; nothing of it outlives a
request.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from codesynapse.contracts.accounts import ENDING, AuditRecord, Authority
from codesynapse.contracts.errors import TooManyTransports
from codesynapse.contracts.identity import Millis
from codesynapse.server.http.live import ends
from codesynapse.server.limits import Limits


class Exchange:
    """One request. cut: disconnect its client. finish: end a subscription with its last word; None for a call."""

    __slots__ = ("authority", "cut", "finish")

    def __init__(self, authority: Authority, cut: Callable[[], None], finish: Callable[[], None] | None) -> None:
        self.authority = authority
        self.cut = cut
        self.finish = finish


class Exchanges:
    """All of them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._running: set[Exchange] = set()
        self._subscriptions: dict[tuple[str, str], int] = {}
        self._unsubscribed = asyncio.Event()
        self._unsubscribed.set()

    def __len__(self) -> int:
        return len(self._running)

    @contextmanager
    def running(
        self, authority: Authority, cut: Callable[[], None], finish: Callable[[], None] | None = None
    ) -> Iterator[None]:
        """While a request is answered. Raises TooManyTransports for a subscription beyond its principal's."""
        exchange = Exchange(authority, cut, finish)
        if finish is not None:
            self._count(authority, 1)
        self._running.add(exchange)
        try:
            yield
        finally:
            self._running.discard(exchange)
            if finish is not None:
                self._count(authority, -1)

    def end(self, record: AuditRecord) -> None:
        """Cut those whose access an audit record ended."""
        if record.action in ENDING:
            for each in list(self._running):
                binding = each.authority.binding
                if ends(record, each.authority.caller, None if binding is None else binding.identity):
                    each.cut()

    def sweep(self, now_ms: Millis) -> None:
        """Cut those whose binding's deadline has come."""
        for each in list(self._running):
            binding = each.authority.binding
            if binding is not None and now_ms >= binding.expires_at_ms:
                each.cut()

    def finish(self) -> None:
        """End all subscriptions with their last word: the server stops."""
        for each in list(self._running):
            if each.finish is not None:
                each.finish()

    async def finished(self, patience_s: float) -> None:
        """Wait until all subscriptions have said their last word; one whose client does not read, only so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._unsubscribed.wait()

    def cut(self) -> None:
        """Cut whatever is left."""
        for each in list(self._running):
            each.cut()

    def _count(self, authority: Authority, more: int) -> None:
        principal = (authority.caller.tenant_id, authority.caller.subject_id)
        count = self._subscriptions.get(principal, 0) + more
        if count > self._limits.subscriptions_per_principal_max:
            raise TooManyTransports(limit=self._limits.subscriptions_per_principal_max)
        if count:
            self._subscriptions[principal] = count
            self._unsubscribed.clear()
        else:
            del self._subscriptions[principal]
            if not self._subscriptions:
                self._unsubscribed.set()
