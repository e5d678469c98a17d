"""What a running call says on its way: progress, of its own accord or only that it still runs, and logs."""

import asyncio
from collections.abc import Callable

from codesynapse.server.mcp.connection import LOG_LEVELS
from codesynapse.server.mcp.messages import notification_bytes

STILL_RUNNING_S = 1.0
"""Who asked for progress hears this often that a call still runs which says nothing itself."""
STEP = 0.001
"""By how much such a sign raises the value: what the tool counts by itself begins far above."""


class Reporter:
    """The progress and the logs of one call. token: None where nobody asked for progress.

    wants(level): whether the client wants logs of this level, one of LOG_LEVELS. send: takes a notification's bytes.
    """

    __slots__ = ("_highest", "_name", "_send", "_spoke", "_timer", "_token", "_wants")

    def __init__(
        self, name: str, token: str | int | None, send: Callable[[bytes], None], wants: Callable[[str], bool]
    ) -> None:
        self._name = name
        self._token = token
        self._send = send
        self._wants = wants
        self._highest = float("-inf")
        self._spoke = False
        self._timer: asyncio.TimerHandle | None = None
        if token is not None:
            self._timer = asyncio.get_running_loop().call_later(STILL_RUNNING_S, self.still_running)

    def progress(self, value: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, where somebody asked for it and the value is above all before (mcp.md, L11)."""
        if self._token is None or value <= self._highest:
            return
        self._spoke = True
        self._progress(value, total, message)

    def log(self, level: str, text: str) -> None:
        """Log a text, from the level on that the client chose."""
        if level in LOG_LEVELS and self._wants(level):
            params = {"level": level, "logger": self._name, "data": text}
            self._send(notification_bytes("notifications/message", params))

    def still_running(self) -> None:
        """Say that the call still runs, unless it says more by itself."""
        self._timer = None
        if self._spoke:
            return
        self._progress(max(self._highest, 0) + STEP, None, "Still running.")
        self._timer = asyncio.get_running_loop().call_later(STILL_RUNNING_S, self.still_running)

    def stop(self) -> None:
        """The call is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _progress(self, value: float, total: float | None, message: str | None) -> None:
        self._highest = value
        params: dict[str, object] = {"progressToken": self._token, "progress": value}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        self._send(notification_bytes("notifications/progress", params))
