"""The tools of agent memory in this process: a dispatcher with its gate over the memory store, and calls as people."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft202012Validator
from msgspec import Raw

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agents import AgentScope
from codesynapse.contracts.identity import Execution
from codesynapse.server.hints.session_key import bucket_of
from codesynapse.server.telemetry import Metrics
from codesynapse.server.tools.dispatch import Dispatcher
from codesynapse.server.tools.gate import Gate
from codesynapse.server.tools.memory import MemoryTools, register_memory_tools
from codesynapse.server.tools.registry import SILENT, Toolbox, ToolContext, listed
from codesynapse.server.work.queue import QueuedWrites
from tests.server.world import World, world

AGENT = "bob"


@dataclass(kw_only=True)
class Here:
    """One organisation; `ana` owns the agent that she writes to first."""

    world: World
    agents: AgentMemory
    queue: QueuedWrites
    toolbox: Toolbox
    dispatcher: Dispatcher
    executions: dict[str, Execution] = field(default_factory=dict)

    async def execution(self, subject: str = "ana") -> Execution:
        if subject not in self.executions:
            self.executions[subject] = await self.world.execution(await self.world.user(subject), f"s-{subject}")
        return self.executions[subject]

    async def call(
        self, tool: str, /, *, by: str = "ana", context: ToolContext = SILENT, **arguments: Any
    ) -> dict[str, Any]:
        """A call's structured answer; a success is held to the schema that the tool is listed with."""
        execution = await self.execution(by)
        answer = await self.dispatcher.call(execution, tool, Raw(json.dumps(arguments).encode()), context)
        assert answer.structured is not None
        said: dict[str, Any] = json.loads(answer.structured)
        if not answer.is_error:
            Draft202012Validator(listed(self.toolbox.tool(tool))["outputSchema"]).validate(said)
        assert answer.is_error is (said.get("ok") is False)
        return said

    async def store(self, *contents: str, **more: Any) -> list[int]:
        """Store some memories; their ids."""
        said = [await self.call("store", agent_id=AGENT, content=content, **more) for content in contents]
        return [each["id"] for each in said]

    async def pause(self, key: str | None = None, *, by: str = "ana") -> None:
        execution = await self.execution(by)
        self.world.hints.pauses.pause(bucket_of(execution.identity, key), 60, self.world.clock())

    def scope(self, agent_id: str = AGENT, *, by: str = "ana", tenant: str = "acme") -> AgentScope:
        return AgentScope(tenant_id=tenant, subject_id=by, agent_id=agent_id)


@asynccontextmanager
async def here() -> AsyncIterator[Here]:
    """A fresh one."""
    async with world() as made:
        agents, toolbox = made.ports.agents, Toolbox()
        assert agents is not None
        queue = QueuedWrites(agents, made.ports.accounts.stands, made.hints, made.clock)
        tools = MemoryTools(
            agents, queue, made.hints, embed=made.models.embed, recheck=made.sessions.recheck, clock=made.clock
        )
        register_memory_tools(toolbox, tools)
        dispatcher = Dispatcher(toolbox, made.clock, Metrics(), Gate(made.hints.pauses))
        yield Here(world=made, agents=agents, queue=queue, toolbox=toolbox, dispatcher=dispatcher)
