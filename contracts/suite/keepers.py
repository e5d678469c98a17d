"""Builders for agent memory: a keeper, who writes to an agent as the server's engine would, with words for terms."""

from collections.abc import Awaitable

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_recall import Candidates, Question, rank
from codesynapse.contracts.agent_work import Changed, Kept, MemoryRecord, Once, Record
from codesynapse.contracts.agents import (
    EVERYWHERE,
    AgentScope,
    Bucket,
    Episode,
    Memory,
    NewEpisode,
    NewMemory,
    Principal,
    Reach,
)
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.suite.worlds import NOW, settled, unique


def terms_in(text: str) -> tuple[str, ...]:
    """The terms of a text: its words, casefolded. The server's own are stemmed as well; a store must not care."""
    return tuple(text.casefold().split())


def memory(content: str, *, project: str = "", channel: str = "", message_id: str = "", source: str = "") -> NewMemory:
    """A memory of these words. source: the id of who said it; '' for nobody."""
    return NewMemory(
        content=content,
        bucket=Bucket(project_id=project, channel=channel),
        message_id=message_id,
        source={"type": "User", "id": source} if source else {},
        terms=terms_in(content),
    )


def episode(summary: str, *, project: str = "", channel: str = "") -> NewEpisode:
    """An episode of these words."""
    return NewEpisode(summary=summary, bucket=Bucket(project_id=project, channel=channel), terms=terms_in(summary))


class Keeper:
    """A user and one of their tenant's agents, and what they ask of the store."""

    def __init__(self, agents: AgentMemory, scope: AgentScope) -> None:
        self.agents = agents
        self.scope = scope

    @property
    def principal(self) -> Principal:
        return self.scope.principal

    def on(self, agent_id: str) -> "Keeper":
        """The same user on another agent."""
        scope = AgentScope(tenant_id=self.scope.tenant_id, subject_id=self.scope.subject_id, agent_id=agent_id)
        return Keeper(self.agents, scope)

    def another(self, *, tenant: str | None = None) -> "Keeper":
        """Another user on an agent of the same name, of this tenant or of another."""
        scope = AgentScope(
            tenant_id=tenant or self.scope.tenant_id, subject_id=unique("user"), agent_id=self.scope.agent_id
        )
        return Keeper(self.agents, scope)

    async def granted(self, level: Level) -> "Keeper":
        """Another user, with a grant on this agent."""
        other = self.another()
        await self.agents.set_level(
            self.scope.tenant_id, self.scope.agent_id, other.scope.subject_id, level, now_ms=NOW
        )
        return other

    async def store(
        self,
        content: str,
        *,
        project: str = "",
        channel: str = "",
        message_id: str = "",
        source: str = "",
        once: Once | None = None,
        now_ms: Millis = NOW,
    ) -> Kept:
        """Store a memory of these words."""
        new = memory(content, project=project, channel=channel, message_id=message_id, source=source)
        return await self.agents.store(self.scope, new, once=once, now_ms=now_ms)

    async def keep(self, *contents: str, project: str = "", channel: str = "") -> list[int]:
        """Store memories that are new; their ids."""
        kept = [await self.store(each, project=project, channel=channel) for each in contents]
        assert all(each.created for each in kept)
        return [each.id for each in kept if each.id is not None]

    async def archive(
        self, summary: str, *, project: str = "", channel: str = "", once: Once | None = None, now_ms: Millis = NOW
    ) -> Kept:
        """Archive an episode of these words."""
        new = episode(summary, project=project, channel=channel)
        return await self.agents.archive(self.scope, new, once=once, now_ms=now_ms)

    async def foresee(
        self, content: str = "", *, source: str = "", once: Once | None = None, now_ms: Millis = NOW
    ) -> Kept | None:
        """What storing these words, or without any, archiving, would answer without writing."""
        new = memory(content, source=source) if content else None
        return await self.agents.foresee(self.scope, new, once=once, now_ms=now_ms)

    async def update(self, memory_id: int, content: str, *, read_revision: int | None = None) -> Changed:
        """Replace a memory's content."""
        return await self.agents.update(
            self.scope,
            memory_id=memory_id,
            content=content,
            terms=terms_in(content),
            read_revision=read_revision,
            now_ms=NOW,
        )

    async def lock(self, memory_id: int, *, locked: bool = True) -> Changed:
        """Lock a memory, or unlock it."""
        return await self.agents.set_locked(self.scope, memory_id=memory_id, locked=locked, now_ms=NOW)

    async def delete(self, memory_id: int) -> Changed:
        """Remove a memory."""
        return await self.agents.delete_memory(self.scope, memory_id=memory_id, now_ms=NOW)

    async def memories(self, reach: Reach = EVERYWHERE, *, source: str = "", limit: int = 1_000) -> list[Memory]:
        """Memories, the newest first."""
        return await self.agents.memories(self.scope, reach=reach, source_id=source, limit=limit)

    async def contents(self, reach: Reach = EVERYWHERE, *, source: str = "") -> list[str]:
        """What the memories say, the newest first."""
        return [each.content for each in await self.memories(reach, source=source)]

    async def episodes(self, reach: Reach = EVERYWHERE) -> list[Episode]:
        """Episodes, the newest first."""
        return await self.agents.episodes(self.scope, reach=reach, limit=1_000)

    async def candidates(self, query: str, reach: Reach = EVERYWHERE, *, source: str = "") -> Candidates:
        """What a question of these words looks at."""
        return await self.agents.candidates(self.scope, asking(query, reach, source=source))

    async def recall(self, query: str, reach: Reach = EVERYWHERE, *, source: str = "") -> list[str]:
        """The texts that answer a question, best first, ungated."""
        question = asking(query, reach, source=source)
        ranked = rank(question, await self.agents.candidates(self.scope, question))
        refs = [(each.candidate.kind, each.candidate.id) for each in ranked]
        found = await self.agents.contents(self.scope, refs)
        return [each.content if isinstance(each, Memory) else each.summary for each in found]


def asking(query: str, reach: Reach = EVERYWHERE, *, source: str = "") -> Question:
    """A question of these words."""
    return Question(terms=terms_in(query), reach=reach, source_id=source)


def new_keeper(agents: AgentMemory) -> Keeper:
    """A user of a new tenant, on an agent that nobody has written to."""
    scope = AgentScope(tenant_id=unique("tenant"), subject_id=unique("user"), agent_id=unique("agent"))
    return Keeper(agents, scope)


def records(*contents: str, project: str = "") -> list[Record]:
    """Memories of these words on their way in."""
    return [MemoryRecord(memory=memory(each, project=project), created_at_ms=NOW) for each in contents]


async def passed(call: Awaitable[object], *refusals: type[Exception]) -> bool:
    """Whether a call went through; False where it was refused with one of these."""
    return not isinstance(await settled(call, *refusals), Exception)
