"""The agents of one organisation, in a dict: who may use which, and how a change of many is undone."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from codesynapse.backends.memory.agent_state import Agent
from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_work import admit_record, admit_writer, reaching, require_agent
from codesynapse.contracts.agents import AgentScope, Sight
from codesynapse.contracts.quotas import Quotas


@dataclass(slots=True)
class Tenant:
    """The agents of one organisation. last_id: the newest number that was given."""

    agents: dict[str, Agent] = field(default_factory=dict)
    quotas: Quotas = field(default_factory=Quotas)
    last_id: int = 0

    def new_id(self) -> int:
        self.last_id += 1
        return self.last_id

    def agent(self, scope: AgentScope, needed: Level) -> Agent:
        """The agent, for who may use it so. Raises AgentForbidden."""
        agent = self.agents.get(scope.agent_id)
        require_agent(None if agent is None else agent.grants.get(scope.subject_id), needed)
        assert agent is not None
        return agent

    def writable(self, scope: AgentScope) -> Agent:
        """The agent for a write, made by its first. Raises AgentForbidden, QuotaExceeded."""
        agent = self.agents.get(scope.agent_id)
        held = None if agent is None else agent.grants.get(scope.subject_id)
        if admit_writer(held, exists=agent is not None):
            admit_record("agents_max", len(self.agents), self.quotas)
            agent = self.agents[scope.agent_id] = Agent(scope.agent_id, grants={scope.subject_id: Level.ADMIN})
        assert agent is not None
        return agent

    def seen(self, sight: Sight, needed: Level) -> list[Agent]:
        """The agents in sight that a principal may use so. Raises AgentForbidden for a named one."""
        if isinstance(sight, AgentScope):
            return [self.agent(sight, needed)]
        return [agent for agent in self.agents.values() if agent.grants.get(sight.subject_id) in reaching(needed)]

    @contextmanager
    def whole(self, *, dry_run: bool) -> Iterator[None]:
        """Put everything back as it was after a refusal, and in any case after a dry run."""
        before = {name: agent.snapshot() for name, agent in self.agents.items()}
        last_id, done = self.last_id, False
        try:
            yield
            done = True
        finally:
            if dry_run or not done:
                self.agents, self.last_id = before, last_id
