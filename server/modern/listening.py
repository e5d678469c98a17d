"""Subscriptions of the stateless revisions: what a client asked to hear, what waits to be told, and the last word.

A notification says only that something changed, so the same one waits once, however often that happens; what can wait
is bounded by what was asked for. Source: mcp.md, N25 and N26.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from codesynapse.contracts.identity import Execution
from codesynapse.server.features.operations import Operations
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.catalog import ListKind
from codesynapse.server.mcp.messages import INVALID_PARAMS, ProtocolError, RequestId, notification_bytes
from codesynapse.server.mcp.request import Asked
from codesynapse.server.mcp.result import SUBSCRIPTION_KEY, Results

_FILTERS: Final[dict[str, ListKind]] = {
    "toolsListChanged": "tools",
    "promptsListChanged": "prompts",
    "resourcesListChanged": "resources",
}


class _Wanted(Struct):
    toolsListChanged: bool = False
    promptsListChanged: bool = False
    resourcesListChanged: bool = False
    resourceSubscriptions: list[str] = []


class _Params(Struct):
    notifications: _Wanted


_decode = msgspec.json.Decoder(_Params).decode


class Subscription:
    """One stream of notifications. wake: called when something waits; the shell sets it."""

    def __init__(self, request_id: RequestId, results: Results) -> None:
        self.wake: Callable[[], None] = _nothing
        self._id = request_id
        self._results = results
        self._acknowledgement: bytes | None = None
        self._kinds: dict[ListKind, None] = {}
        self._uris: dict[str, None] = {}
        self._ends: list[Callable[[], None]] = []

    def acknowledge(self, honoured: Mapping[str, Any]) -> None:
        """Say first of all what will be told."""
        params = {"notifications": honoured, "_meta": self._meta()}
        self._acknowledgement = notification_bytes("notifications/subscriptions/acknowledged", params)

    def changed(self, kind: ListKind) -> None:
        """A list changed."""
        self._kinds[kind] = None
        self.wake()

    def heard(self, uri: str) -> None:
        """A resource changed."""
        self._uris[uri] = None
        self.wake()

    async def take(self, readable: Callable[[str], Awaitable[bool]]) -> list[bytes]:
        """What waits, the acknowledgement before all else; it waits no longer. readable: asked for each resource."""
        taken = [] if self._acknowledgement is None else [self._acknowledgement]
        kinds, uris = list(self._kinds), list(self._uris)
        self._acknowledgement = None
        self._kinds.clear()
        self._uris.clear()
        meta = self._meta()
        taken += [notification_bytes(f"notifications/{kind}/list_changed", {"_meta": meta}) for kind in kinds]
        told = [uri for uri in uris if await readable(uri)]
        return taken + [notification_bytes("notifications/resources/updated", {"uri": u, "_meta": meta}) for u in told]

    def end(self) -> bytes:
        """Hear no more. The response that a client gets where the server ends it."""
        while self._ends:
            self._ends.pop()()
        return self._results.ended(self._id)

    def until_end(self, ending: Callable[[], None]) -> None:
        """Do this at the end."""
        self._ends.append(ending)

    def _meta(self) -> dict[str, Any]:
        return {SUBSCRIPTION_KEY: Raw(self._id)}


class Listening:
    """Opens subscriptions."""

    def __init__(self, operations: Operations, results: Results, limits: Limits) -> None:
        self._operations = operations
        self._results = results
        self._limits = limits

    async def open(self, asked: Asked, execution: Execution) -> Subscription:
        """A subscription whose acknowledgement waits before all else. Raises ProtocolError."""
        wanted = self._wanted(asked)
        subscription = Subscription(asked.id, self._results)
        catalog = self._operations.catalog
        honoured: dict[str, Any] = {
            name: True for name, kind in _FILTERS.items() if getattr(wanted, name) and kind in catalog.changing
        }
        if kinds := {_FILTERS[name] for name in honoured}:
            subscription.until_end(
                self._operations.features.toolbox.listen(lambda kind: _changed(subscription, kind, kinds))
            )
        uris = [each for each in dict.fromkeys(wanted.resourceSubscriptions) if catalog.resources]
        watched = [uri for uri in uris if await self._watch(subscription, execution, uri)]
        if watched:
            honoured["resourceSubscriptions"] = watched
        subscription.acknowledge(honoured)
        return subscription

    async def _watch(self, subscription: Subscription, execution: Execution, uri: str) -> bool:
        """Listen to a resource; whether the caller may read it."""
        try:
            key = await self._operations.watch(execution, uri)
        except ProtocolError:
            return False
        updates = self._operations.features.updates
        # Watched before it is acknowledged: what changes in between waits behind the acknowledgement.
        subscription.until_end(updates.subscribe([key], lambda _: subscription.heard(uri)))
        return True

    async def readable(self, execution: Execution, uri: str) -> bool:
        """Whether a resource that changed may still be read: a grant may have been withdrawn since."""
        try:
            await self._operations.watch(execution, uri)
        except ProtocolError:
            return False
        return True

    def _wanted(self, asked: Asked) -> _Wanted:
        try:
            wanted = _decode(asked.params).notifications
        except msgspec.DecodeError:
            text = "subscriptions/listen needs notifications: an object of flags and resourceSubscriptions."
            raise ProtocolError(INVALID_PARAMS, text, asked.id) from None
        if len(wanted.resourceSubscriptions) > self._limits.subscribed_max:
            text = f"Too many resources are subscribed to at once. Limit: {self._limits.subscribed_max}."
            raise ProtocolError(INVALID_PARAMS, text, asked.id)
        return wanted


def _changed(subscription: Subscription, kind: ListKind, kinds: set[ListKind]) -> None:
    if kind in kinds:
        subscription.changed(kind)


def _nothing() -> None:
    """Nobody reads yet."""
