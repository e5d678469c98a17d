"""The resource of an agent: what it remembers, as bounded JSON, and the names of agents for those who type."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agents import AgentScope, Episode, Memory, Reach
from codesynapse.contracts.errors import NotFound
from codesynapse.contracts.identity import Execution, valid_id
from codesynapse.server.agents.scoping import require_level, scope_of
from codesynapse.server.agents.views import item_of
from codesynapse.server.clock import Clock
from codesynapse.server.features.completion import ranked
from codesynapse.server.features.registry import Features, Instance, ResourceContents, ResourceTemplate, text_contents
from codesynapse.server.features.resources import JSON, cut
from codesynapse.server.features.templates import Template
from codesynapse.server.features.updates import Key, agent_key
from codesynapse.server.tools.dispatch import STORED_DATA
from codesynapse.server.tools.registry import ToolContext

AGENT_TEMPLATE = "codesynapse://agent/{agent_id}{?project_id,channel}"
RECORDS_MAX = 200
"""Of memories, and of episodes: the newest. `recall` finds the others."""

_encode = msgspec.json.Encoder().encode
_agent_uri = Template(AGENT_TEMPLATE)


class AgentResources:
    """Reads, lists and completes them. size_max: the most bytes of one resource's JSON."""

    def __init__(self, agents: AgentMemory, clock: Clock, size_max: int) -> None:
        self._agents = agents
        self._clock = clock
        self._size_max = size_max

    async def read(
        self, execution: Execution, uri: str, variables: Mapping[str, str], _: ToolContext
    ) -> ResourceContents:
        """The agent's profile and its newest records, the newest first."""
        scope = await self._allowed(execution, variables)
        reach = Reach(project_id=variables.get("project_id"), channel=variables.get("channel"))
        memories = await self._agents.memories(scope, reach=reach, source_id="", limit=RECORDS_MAX + 1)
        episodes = await self._agents.episodes(scope, reach=reach, limit=RECORDS_MAX + 1)
        records: list[Memory | Episode] = [*memories[:RECORDS_MAX], *episodes[:RECORDS_MAX]]
        records.sort(key=lambda each: (-each.created_at_ms, -each.id))
        profile = (await self._agents.profile(scope)).text
        head = {"source": "an agent's memory", "note": STORED_DATA, "agent_id": scope.agent_id, "profile": profile}
        kept = cut([item_of(each) for each in records], self._size_max - len(_encode(head)) - 96)
        more = len(memories) > RECORDS_MAX or len(episodes) > RECORDS_MAX
        marks: dict[str, Any] = {"truncated": more or bool(kept.left_out)}
        if kept.left_out:
            marks |= {"left_out": kept.left_out, "limit_bytes": self._size_max}
        return [text_contents(uri, JSON, _encode({**head, **marks, "records": kept.kept}).decode())]

    async def watch(self, execution: Execution, _: str, variables: Mapping[str, str]) -> Key:
        """What to listen to for an agent's memory, whatever part of it was read."""
        scope = await self._allowed(execution, variables)
        return agent_key(scope.tenant_id, scope.agent_id)

    async def instances(self, execution: Execution) -> Sequence[Instance]:
        """Each agent that may be read."""
        return [
            Instance(
                uri=_agent_uri.expand({"agent_id": name}),
                name=f"agent/{name}",
                title=f"What {name} remembers",
                description=f"Profile, memories and episodes of the agent {name}, the newest first.",
            )
            for name in await self._readable(execution)
        ]

    async def names(self, execution: Execution, typed: str, _: Mapping[str, str]) -> Sequence[str]:
        """Names of agents that the caller may read."""
        return ranked(await self._readable(execution), typed)

    async def _readable(self, execution: Execution) -> list[str]:
        # Every grant is one to read at least.
        identity = execution.identity
        return [each.agent_id for each in await self._agents.agents(identity.tenant_id, identity.subject_id)]

    async def _allowed(self, execution: Execution, variables: Mapping[str, str]) -> AgentScope:
        """The agent of a URI, if the caller may read it. Raises NotFound, AgentForbidden."""
        if not valid_id(variables["agent_id"]):
            raise NotFound
        scope = scope_of(execution, variables["agent_id"], self._clock())
        await require_level(self._agents, scope, Level.READ)
        return scope


def register_agent_resources(features: Features, resources: AgentResources) -> None:
    """Register the template."""
    features.add(
        ResourceTemplate(
            uri_template=AGENT_TEMPLATE,
            name="agent",
            title="An agent's memory",
            description=(
                "What an agent remembers as JSON: its profile, and its memories and episodes, the newest first; of one "
                "project or channel with what it shares, where these are named."
            ),
            mime_type=JSON,
            read=resources.read,
            complete={"agent_id": resources.names},
            instances=resources.instances,
            watch=resources.watch,
        )
    )
