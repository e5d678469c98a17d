"""The tools of agent memory with those that look after it, in this process, and a client that can be asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import structs

from codesynapse.backends.memory.agent_state import Agent
from codesynapse.backends.memory.agents import DictAgents
from codesynapse.server.agents.folder import Folder
from codesynapse.server.agents.moving import Mover
from codesynapse.server.agents.wording import terms_of
from codesynapse.server.tools.maintenance import MaintenanceTools, register_maintenance_tools
from codesynapse.server.tools.registry import SILENT, InputRequest, ToolContext
from tests.server.agents.here import AGENT, Here, here

MIB = 1024 * 1024
STDIO = structs.replace(SILENT, shared=False)


class Asked:
    """A client that answers a question with this action; asked: the questions."""

    def __init__(self, action: str) -> None:
        self.action = action
        self.asked: list[str] = []

    @property
    def context(self) -> ToolContext:
        return structs.replace(SILENT, ask=self._ask, capabilities={"elicitation": {}})

    async def _ask(self, requests: Mapping[str, InputRequest]) -> Mapping[str, dict[str, Any]]:
        self.asked += [each.params["message"] for each in requests.values()]
        return {key: {"action": self.action} for key in requests}


class Maintained:
    """What a test needs of it. inside: the agent as the store has it, to plant faults in."""

    def __init__(self, made: Here, mover: Mover) -> None:
        self.here = made
        self.mover = mover
        self.call = made.call
        self.store = made.store
        self.pause = made.pause
        self.clock = made.world.clock

    def inside(self, agent_id: str = AGENT) -> Agent:
        assert isinstance(self.here.agents, DictAgents)
        return self.here.agents.tenants["acme"].agents[agent_id]

    async def contents(self, agent_id: str = AGENT, **more: Any) -> list[str]:
        said = await self.call("list_memories", agent_id=agent_id, **more)
        return [each["content"] for each in said["memories"]]

    async def everything(self) -> list[object]:
        """All that an agent has, and the caller can see."""
        return [
            await self.call("list_memories"),
            await self.call("list_episodes"),
            await self.call("get_profile", agent_id=AGENT),
            self.inside().tuning,
        ]


@asynccontextmanager
async def maintained(root: Path, *, size_max: int = MIB) -> AsyncIterator[Maintained]:
    """A fresh one."""
    async with here() as made:
        clock = made.world.clock
        mover = Mover(made.agents, terms_of, clock, folder=Folder(root, size_max), size_max=size_max)
        tools = MaintenanceTools(made.agents, mover, recheck=made.world.sessions.recheck, clock=clock)
        register_maintenance_tools(made.toolbox, tools)
        yield Maintained(made, mover)
        mover.close()
