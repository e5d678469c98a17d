"""The port `AgentMemory` in dicts. No call awaits in the middle, so each is whole; what decides is the contracts'."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import structs

from codesynapse.backends.memory import agent_moving
from codesynapse.backends.memory.accounts import DictAccounts
from codesynapse.backends.memory.agent_queue import Queue
from codesynapse.backends.memory.agent_state import Agent, asked_for, newest
from codesynapse.backends.memory.agent_tenant import Tenant
from codesynapse.contracts.accounts import Action, Level
from codesynapse.contracts.agent_port import Sink
from codesynapse.contracts.agent_recall import Candidates, Question
from codesynapse.contracts.agent_work import (
    Changed,
    ChannelMove,
    Kept,
    MergeMode,
    Once,
    ProfileRecord,
    QueueStatus,
    Record,
    StoreCheck,
    TakenIn,
    Tally,
    Task,
    Verdict,
    admit_record,
    admit_writer,
    check_merge,
    check_task,
    told,
)
from codesynapse.contracts.agents import (
    AgentGrant,
    AgentScope,
    Episode,
    Kind,
    Memory,
    NewEpisode,
    NewMemory,
    Profile,
    Reach,
    Sight,
    Tuning,
    episode_of,
    memory_of,
    require_content,
    require_profile,
)
from codesynapse.contracts.errors import NotFound, Refused, RevisionConflict
from codesynapse.contracts.identity import Millis, require_id
from codesynapse.contracts.quotas import Quotas


class DictAgents:
    """The port `AgentMemory`."""

    def __init__(self, accounts: DictAccounts | None = None) -> None:
        self._accounts = accounts
        self.tenants: dict[str, Tenant] = {}
        self.queue = Queue()

    async def level(self, scope: AgentScope) -> Level | None:
        agent = self._tenant(scope.tenant_id).agents.get(scope.agent_id)
        return None if agent is None else agent.grants.get(scope.subject_id)

    async def set_level(
        self, tenant_id: str, agent_id: str, subject_id: str, level: Level | None, *, now_ms: Millis
    ) -> None:
        require_id(subject_id, field="user")
        agent = self._tenant(tenant_id).agents.get(agent_id)
        if agent is None:
            raise NotFound(field="agent_id")
        if agent.grants.get(subject_id) == level:
            return
        if level is None:
            del agent.grants[subject_id]
            self._note(Action.AGENT_GRANT_WITHDRAWN, now_ms, tenant_id, subject_id, agent_id)
        else:
            agent.grants[subject_id] = level
            self._note(Action.AGENT_GRANT_SET, now_ms, tenant_id, subject_id, agent_id, level.value)

    async def agents(self, tenant_id: str, subject_id: str | None = None) -> list[AgentGrant]:
        agents = sorted(self._tenant(tenant_id).agents.items())
        if subject_id is None:
            return [AgentGrant(agent_id=name) for name, _ in agents]
        return [
            AgentGrant(agent_id=name, subject_id=subject_id, level=agent.grants[subject_id])
            for name, agent in agents
            if subject_id in agent.grants
        ]

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        self._tenant(tenant_id).quotas = quotas

    async def store(self, scope: AgentScope, memory: NewMemory, *, once: Once | None, now_ms: Millis) -> Kept:
        def write(agent: Agent) -> Kept:
            return agent.duplicate(memory) or self._add_memory(scope, agent, memory, now_ms)

        return self._written(scope, write, once, now_ms)

    async def archive(self, scope: AgentScope, episode: NewEpisode, *, once: Once | None, now_ms: Millis) -> Kept:
        return self._written(scope, lambda agent: self._add_episode(scope, agent, episode, now_ms), once, now_ms)

    async def foresee(
        self, scope: AgentScope, memory: NewMemory | None, *, once: Once | None, now_ms: Millis
    ) -> Kept | None:
        agent = self._tenant(scope.tenant_id).agents.get(scope.agent_id)
        if agent is None:
            return None
        admit_writer(agent.grants.get(scope.subject_id), exists=True)
        replayed = None if once is None else agent.replayed(once, now_ms)
        if replayed is not None or memory is None:
            return replayed
        return agent.duplicate(memory)

    async def update(
        self,
        sight: Sight,
        *,
        memory_id: int,
        content: str,
        terms: Sequence[str],
        read_revision: int | None,
        now_ms: Millis,
    ) -> Changed:
        found, terms = self._memory(sight, memory_id), require_content(content, terms)
        if found is None:
            return Changed(verdict=Verdict.MISSING)
        agent, memory = found
        if memory.locked:
            return Changed(verdict=Verdict.LOCKED)
        if read_revision not in (None, memory.revision):
            return Changed(verdict=Verdict.STALE)
        if memory.content == content:
            return Changed(verdict=Verdict.DONE)
        holder = agent.of_content(memory.bucket, content)
        if holder is not None:
            return Changed(verdict=Verdict.DUPLICATE, holder=holder.id)
        agent.add(structs.replace(memory, content=content, terms=terms, revision=memory.revision + 1))
        return Changed(verdict=Verdict.DONE)

    async def set_locked(self, sight: Sight, *, memory_id: int, locked: bool, now_ms: Millis) -> Changed:
        found = self._memory(sight, memory_id)
        if found is None:
            return Changed(verdict=Verdict.MISSING)
        agent, memory = found
        agent.memories[memory_id] = structs.replace(memory, locked=locked)
        return Changed(verdict=Verdict.DONE)

    async def delete_memory(self, sight: Sight, *, memory_id: int, now_ms: Millis) -> Changed:
        found = self._memory(sight, memory_id)
        if found is None:
            return Changed(verdict=Verdict.MISSING)
        agent, memory = found
        if memory.locked:
            return Changed(verdict=Verdict.LOCKED)
        agent.drop(memory_id)
        return Changed(verdict=Verdict.DONE)

    async def delete_episode(self, sight: Sight, *, episode_id: int, now_ms: Millis) -> Changed:
        for agent in self._tenant(sight.tenant_id).seen(sight, Level.WRITE):
            if episode_id in agent.episodes:
                agent.drop(episode_id)
                return Changed(verdict=Verdict.DONE)
        return Changed(verdict=Verdict.MISSING)

    async def set_profile(self, scope: AgentScope, text: str, *, now_ms: Millis) -> None:
        require_profile(text)
        with self._beginning(scope, now_ms):
            self._tenant(scope.tenant_id).writable(scope).profile = Profile(text=text, updated_at_ms=now_ms)

    async def set_tuning(self, scope: AgentScope, tuning: Tuning, *, now_ms: Millis) -> Tuning:
        with self._beginning(scope, now_ms):
            agent = self._tenant(scope.tenant_id).writable(scope)
        if tuning.revision != agent.tuning.revision:
            raise RevisionConflict(details={"revision": agent.tuning.revision})
        agent.tuning = structs.replace(tuning, revision=tuning.revision + 1)
        return agent.tuning

    async def note_recalls(self, scope: AgentScope, memory_ids: Sequence[int], *, now_ms: Millis) -> None:
        agent = self._tenant(scope.tenant_id).agent(scope, Level.READ)
        for each in set(memory_ids) & agent.memories.keys():
            memory = agent.memories[each]
            agent.memories[each] = structs.replace(memory, recalled=memory.recalled + 1, recalled_at_ms=now_ms)

    async def candidates(self, scope: AgentScope, question: Question) -> Candidates:
        return self._tenant(scope.tenant_id).agent(scope, Level.READ).candidates(question)

    async def contents(self, scope: AgentScope, refs: Sequence[tuple[Kind, int]]) -> list[Memory | Episode]:
        agent = self._tenant(scope.tenant_id).agent(scope, Level.READ)
        found = [(agent.memories if kind is Kind.MEMORY else agent.episodes).get(each) for kind, each in refs]
        return [each for each in found if each is not None]

    async def memories(self, sight: Sight, *, reach: Reach, source_id: str, limit: int) -> list[Memory]:
        question = Question(terms=(), reach=reach, source_id=source_id)
        held = [
            each for agent in self._tenant(sight.tenant_id).seen(sight, Level.READ) for each in agent.memories.values()
        ]
        return newest([each for each in held if asked_for(each, question)])[: max(limit, 0)]

    async def episodes(self, sight: Sight, *, reach: Reach, limit: int) -> list[Episode]:
        held = [
            each for agent in self._tenant(sight.tenant_id).seen(sight, Level.READ) for each in agent.episodes.values()
        ]
        return newest([each for each in held if reach.sees(each.bucket)])[: max(limit, 0)]

    async def scan(self, scope: AgentScope, *, after: int, limit: int) -> list[Memory | Episode]:
        return [each for each in self._tenant(scope.tenant_id).agent(scope, Level.READ).records() if each.id > after][
            : max(limit, 0)
        ]

    async def profile(self, scope: AgentScope) -> Profile:
        return self._tenant(scope.tenant_id).agent(scope, Level.READ).profile

    async def tuning(self, scope: AgentScope) -> Tuning:
        return self._tenant(scope.tenant_id).agent(scope, Level.READ).tuning

    async def tally(self, sight: Sight) -> Tally:
        seen = self._tenant(sight.tenant_id).seen(sight, Level.READ)
        return Tally(
            memories=sum(len(agent.memories) for agent in seen),
            episodes=sum(len(agent.episodes) for agent in seen),
            profiles=sum(bool(agent.profile.text) for agent in seen),
            tasks=len(self.queue.of(sight.tenant_id, {agent.agent_id for agent in seen})),
        )

    async def purge(self, scope: AgentScope, *, now_ms: Millis) -> Tally:
        agent = self._tenant(scope.tenant_id).agent(scope, Level.ADMIN)
        gone = await self.tally(scope)
        self._tenant(scope.tenant_id).agents[scope.agent_id] = Agent(scope.agent_id, grants=agent.grants)
        self.queue.purge(scope.tenant_id, scope.agent_id)
        if gone != Tally():
            self._note(Action.AGENT_PURGED, now_ms, scope.tenant_id, scope.subject_id, scope.agent_id, told(gone))
        return gone

    async def merge(
        self, source: AgentScope, target: AgentScope, *, mode: MergeMode, dry_run: bool, now_ms: Millis
    ) -> TakenIn:
        check_merge(source, target)
        move, tenant = mode is MergeMode.MOVE, self._tenant(source.tenant_id)
        given = self._tenant(source.tenant_id).agent(source, Level.WRITE if move else Level.READ)
        with self._beginning(target, now_ms), tenant.whole(dry_run=dry_run):
            taking = self._tenant(target.tenant_id).writable(target)
            taken = agent_moving.merge(given, taking, tenant.new_id, tenant.quotas, now_ms, move=move)
        if taken.removed != Tally() and not dry_run:
            self._note(
                Action.AGENT_MOVED, now_ms, source.tenant_id, source.subject_id, source.agent_id, told(taken.removed)
            )
        return taken

    async def move_channels(
        self, scope: AgentScope, moves: Sequence[ChannelMove], *, dry_run: bool, now_ms: Millis
    ) -> list[int]:
        self._tenant(scope.tenant_id).agent(scope, Level.WRITE)
        with self._tenant(scope.tenant_id).whole(dry_run=dry_run):
            return agent_moving.move_channels(self._tenant(scope.tenant_id).agent(scope, Level.WRITE), moves)

    async def export(self, scope: AgentScope, sink: Sink) -> Tally:
        agent = self._tenant(scope.tenant_id).agent(scope, Level.READ)
        if agent.profile.text:
            sink(agent.profile)
        for record in agent.records():
            sink(record)
        return structs.replace(await self.tally(scope), tasks=0)

    async def take_in(self, scope: AgentScope, records: Iterable[Record], *, dry_run: bool, now_ms: Millis) -> TakenIn:
        tenant = self._tenant(scope.tenant_id)
        with self._beginning(scope, now_ms), tenant.whole(dry_run=dry_run):
            agent = tenant.writable(scope)
            return agent_moving.take_in(agent, records, tenant.new_id, tenant.quotas, now_ms)

    async def enqueue(self, scope: AgentScope, kind: str, payload: str, *, once: Once | None, now_ms: Millis) -> Kept:
        check_task(kind, payload)
        quotas = self._tenant(scope.tenant_id).quotas

        def write(agent: Agent) -> Kept:
            admit_record("agent_tasks_max", self.queue.held(scope.tenant_id), quotas)
            return Kept(id=None, created=False, task_id=self.queue.add(scope, kind, payload, now_ms))

        return self._written(scope, write, once, now_ms)

    async def due(self, *, now_ms: Millis, limit: int) -> list[Task]:
        return self.queue.due(now_ms, limit)

    async def claim(self, task: Task, effect: NewEpisode | ProfileRecord, *, now_ms: Millis) -> Kept | None:
        if not self.queue.has(task):
            return None
        agent = self._tenant(task.scope.tenant_id).agent(task.scope, Level.WRITE)
        if isinstance(effect, ProfileRecord):
            agent.profile = Profile(text=require_profile(effect.text), updated_at_ms=now_ms)
            kept = Kept(id=None, created=True)
        else:
            kept = self._add_episode(task.scope, agent, effect, now_ms)
        self.queue.remove(task)
        return kept

    async def discard(self, task: Task) -> bool:
        there = self.queue.remove(task)
        if there:
            self._tenant(task.scope.tenant_id).agents[task.scope.agent_id].free_key(task.task_id)
        return there

    async def failed(self, task: Task, *, retry_at_ms: Millis) -> bool:
        held = self.queue.failed(task, retry_at_ms)
        if held is False:
            agent = self._tenant(task.scope.tenant_id).agents[task.scope.agent_id]
            agent.discarded += 1
            agent.free_key(task.task_id)
        return bool(held)

    async def alive(self, tenant_id: str, task_ids: Sequence[int]) -> list[int]:
        return self.queue.alive(tenant_id, task_ids)

    async def queue_status(self, sight: Sight) -> QueueStatus:
        seen = self._tenant(sight.tenant_id).seen(sight, Level.READ)
        pending = self.queue.of(sight.tenant_id, {agent.agent_id for agent in seen})
        return QueueStatus(pending=len(pending), discarded=sum(agent.discarded for agent in seen))

    async def check(self, scope: AgentScope, check: StoreCheck, *, now_ms: Millis) -> int:
        return len(self._tenant(scope.tenant_id).agent(scope, Level.READ).faults(check, now_ms))

    async def mend(self, scope: AgentScope, check: StoreCheck, *, now_ms: Millis) -> int:
        agent = self._tenant(scope.tenant_id).agent(scope, Level.WRITE)
        faults = agent.faults(check, now_ms)
        if check is StoreCheck.KEYS_EXPIRED:
            for key in faults:
                del agent.keys[key]
            return len(faults)
        return 0  # A dict has no index apart from what it holds: nothing else can be wrong.

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        expired = [
            (agent, key)
            for tenant in self.tenants.values()
            for agent in tenant.agents.values()
            for key in agent.faults(StoreCheck.KEYS_EXPIRED, now_ms)
        ][: max(limit, 0)]
        for agent, key in expired:
            del agent.keys[key]
        return len(expired)

    async def probe(self) -> None:
        """Nothing to try: a dict that can be read can be written."""

    @contextmanager
    def _beginning(self, scope: AgentScope, now_ms: Millis) -> Iterator[None]:
        """Note in the audit where what is done makes an agent, and it stays."""
        there = scope.agent_id in self._tenant(scope.tenant_id).agents
        try:
            yield
        finally:
            if not there and scope.agent_id in self._tenant(scope.tenant_id).agents:
                self._note(Action.AGENT_CREATED, now_ms, scope.tenant_id, scope.subject_id, scope.agent_id)

    def _note(
        self, action: Action, now_ms: Millis, tenant_id: str, subject_id: str, agent_id: str, detail: str | None = None
    ) -> None:
        if self._accounts is not None:
            self._accounts.note(action, now_ms, tenant_id, subject_id, target=agent_id, detail=detail)

    def _tenant(self, tenant_id: str) -> Tenant:
        return self.tenants.setdefault(tenant_id, Tenant())

    def _memory(self, sight: Sight, memory_id: int) -> tuple[Agent, Memory] | None:
        """A memory that a principal may change, and its agent."""
        for agent in self._tenant(sight.tenant_id).seen(sight, Level.WRITE):
            if memory_id in agent.memories:
                return agent, agent.memories[memory_id]
        return None

    def _written(self, scope: AgentScope, write: Callable[[Agent], Kept], once: Once | None, now_ms: Millis) -> Kept:
        """The answer of a write, or the kept one of its idempotency key. A refusal leaves no new agent behind."""
        tenant = self._tenant(scope.tenant_id)
        fresh = scope.agent_id not in tenant.agents
        with self._beginning(scope, now_ms):
            agent = tenant.writable(scope)
            try:
                return write(agent) if once is None else agent.once(once, write, tenant.quotas, now_ms)
            except Refused:
                if fresh:
                    del tenant.agents[scope.agent_id]
                raise

    def _add_memory(self, scope: AgentScope, agent: Agent, memory: NewMemory, now_ms: Millis) -> Kept:
        tenant = self._tenant(scope.tenant_id)
        admit_record("agent_memories_max", len(agent.memories), tenant.quotas)
        kept = memory_of(memory, id=tenant.new_id(), agent_id=agent.agent_id, now_ms=now_ms)
        agent.add(kept)
        return Kept(id=kept.id, created=True)

    def _add_episode(self, scope: AgentScope, agent: Agent, episode: NewEpisode, now_ms: Millis) -> Kept:
        tenant = self._tenant(scope.tenant_id)
        admit_record("agent_episodes_max", len(agent.episodes), tenant.quotas)
        kept = episode_of(episode, id=tenant.new_id(), agent_id=agent.agent_id, now_ms=now_ms)
        agent.add(kept)
        return Kept(id=kept.id, created=True)
