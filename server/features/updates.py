"""Who wants to know that something changed: the hub in this process. What another process writes is not told."""

import asyncio
from collections.abc import Callable, Iterable

from codesynapse.server.telemetry import fault

Key = tuple[str, ...]
"""What changed: ("repository", tenant, repository), ("session", tenant, session, namespace), ("agent", tenant, agent)
or ("resource", URI)."""
DELAY_S = 0.1
"""What changes within this time is told once."""

Heard = Callable[[Key], None]


def repository_key(tenant_id: str, repository: str) -> Key:
    """The memory of a repository."""
    return ("repository", tenant_id, repository)


def session_key(tenant_id: str, session_id: str, ns: str) -> Key:
    """One namespace of a session's memory."""
    return ("session", tenant_id, session_id, ns)


def agent_key(tenant_id: str, agent_id: str) -> Key:
    """What an agent remembers."""
    return ("agent", tenant_id, agent_id)


class Updates:
    """Tells subscribers of a key that it changed: soon, once for several changes, and never in the publisher's turn."""

    def __init__(self, delay_s: float = DELAY_S) -> None:
        self._delay_s = delay_s
        self._heard: dict[Key, dict[int, Heard]] = {}
        self._changed: dict[Key, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._subscribed = 0

    def subscribe(self, keys: Iterable[Key], heard: Heard) -> Callable[[], None]:
        """Call `heard` with each of the keys that changed; what is returned ends that."""
        self._subscribed += 1
        number, mine = self._subscribed, list(dict.fromkeys(keys))
        for key in mine:
            self._heard.setdefault(key, {})[number] = heard

        def unsubscribe() -> None:
            for key in mine:
                listeners = self._heard.get(key, {})
                listeners.pop(number, None)
                if not listeners:
                    self._heard.pop(key, None)

        return unsubscribe

    def publish(self, key: Key) -> None:
        """Something changed; nothing is kept where nobody listens."""
        if key not in self._heard:
            return
        self._changed[key] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._delay_s, self.flush)

    def flush(self) -> None:
        """Tell now what is to be told."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        changed, self._changed = self._changed, {}
        for key in changed:
            for heard in list(self._heard.get(key, {}).values()):
                try:
                    heard(key)
                except Exception as error:  # The edge of a timer: one subscriber's fault must not deafen the others.
                    fault("update_failed", error)
