"""What one session wants to hear of: resources, each told with its URI when it changed and may still be read."""

import asyncio
from collections.abc import Callable

from codesynapse.contracts.identity import Execution
from codesynapse.server.features.operations import Operations
from codesynapse.server.mcp.messages import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError, notification_bytes
from codesynapse.server.telemetry import fault


class Subscriptions:
    """The resource subscriptions of one session. send: takes the bytes of a notification that belongs to no request.

    most: how many there may be.
    """

    def __init__(self, operations: Operations, send: Callable[[bytes], None], most: int) -> None:
        self._operations = operations
        self._send = send
        self._most = most
        self._ends: dict[str, Callable[[], None]] = {}
        self._telling: set[asyncio.Task[None]] = set()
        self._closed = False

    async def add(self, execution: Execution, uri: str) -> None:
        """Subscribe to a resource that the caller may read; again changes nothing. Raises ProtocolError."""
        key = await self._operations.watch(execution, uri)
        if self._closed:
            return
        if uri not in self._ends and len(self._ends) >= self._most:
            raise ProtocolError(INVALID_PARAMS, f"Too many subscriptions. Limit: {self._most}.")
        self.remove(uri)
        updates = self._operations.features.updates
        self._ends[uri] = updates.subscribe([key], lambda _: self._heard(execution, uri))

    def remove(self, uri: str) -> None:
        """Unsubscribe; where there is no subscription, nothing happens."""
        end = self._ends.pop(uri, None)
        if end is not None:
            end()

    def close(self) -> None:
        """The session has ended."""
        self._closed = True
        for uri in list(self._ends):
            self.remove(uri)
        for task in list(self._telling):
            task.cancel()

    def _heard(self, execution: Execution, uri: str) -> None:
        task = asyncio.get_running_loop().create_task(self._tell(execution, uri))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self, execution: Execution, uri: str) -> None:
        """Tell of a change, unless a grant was withdrawn since: then of nothing any more."""
        try:
            await self._operations.watch(execution, uri)
        except ProtocolError as error:
            if error.code != INTERNAL_ERROR:
                self.remove(uri)
            return
        except Exception as error:  # The edge of a task.
            fault("update_failed", error)
            return
        if uri in self._ends:
            self._send(notification_bytes("notifications/resources/updated", {"uri": uri}))
