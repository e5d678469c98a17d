"""Who wants to know that an agent's memory changed: a store of agents that tells of each write, whoever asked."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, cast

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_work import Changed, Kept, TakenIn, Tally
from codesynapse.contracts.agents import AgentScope, Sight

Scopes = Callable[..., Sequence[Sight]]


def _first(sight: Sight, *_: object, **__: object) -> Sequence[Sight]:
    return (sight,)


def _both(source: AgentScope, target: AgentScope, **_: object) -> Sequence[Sight]:
    return (source, target)


def _of_task(task: Any, *_: object, **__: object) -> Sequence[Sight]:
    return (task.scope,)


CHANGING: Final[Mapping[str, Scopes]] = {
    **dict.fromkeys(("store", "archive", "set_profile", "purge", "move_channels", "take_in", "mend"), _first),
    **dict.fromkeys(("update", "set_locked", "delete_memory", "delete_episode"), _first),
    "merge": _both,
    "claim": _of_task,
}
"""The calls of the port that change what can be read, and from their arguments whose memory that is."""


def heard(agents: AgentMemory, changed: Callable[[AgentScope], None]) -> AgentMemory:
    """The same store. changed: told the agent after each call that changed what it remembers."""
    return cast(AgentMemory, _Heard(agents, changed))


class _Heard:
    """All calls go on as they are; those that change something are told once they are done."""

    def __init__(self, agents: AgentMemory, changed: Callable[[AgentScope], None]) -> None:
        self._agents = agents
        self._changed = changed

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._agents, name)
        scopes = CHANGING.get(name)
        return call if scopes is None else self._telling(name, call, scopes)

    def _telling(self, name: str, call: Callable[..., Awaitable[Any]], scopes: Scopes) -> Callable[..., Awaitable[Any]]:
        async def told(*arguments: Any, **named: Any) -> Any:
            result = await call(*arguments, **named)
            if not named.get("dry_run") and (name == "set_profile" or has_changed(result)):
                for sight in scopes(*arguments, **named):
                    await self._tell(sight)
            return result

        return told

    async def _tell(self, sight: Sight) -> None:
        if isinstance(sight, AgentScope):
            self._changed(sight)
            return
        # A change by number names no agent: it was one of the caller's.
        for each in await self._agents.agents(sight.tenant_id, sight.subject_id):
            self._changed(AgentScope(tenant_id=sight.tenant_id, subject_id=sight.subject_id, agent_id=each.agent_id))


def has_changed(result: object) -> bool:
    """Whether a call that answered so changed anything."""
    match result:
        case Kept():
            return result.created
        case Changed():
            return result.done
        case TakenIn():
            return Tally() != result.added or Tally() != result.removed
        case Tally():
            return result != Tally()
        case _:
            return bool(result)
