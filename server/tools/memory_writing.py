"""The tools that write agent memory. A pause skips them, and hides none of their errors."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, structs

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_work import Changed, Verdict
from codesynapse.contracts.agents import AXIS_MAX, KEY_MAX, KEYWORDS_MAX, AgentScope, Bucket, Kind, Memory
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Execution
from codesynapse.server.agents.scoping import require_record, require_writer, scope_of, sight_of
from codesynapse.server.agents.views import (
    Archived,
    Content,
    Deleted,
    Message,
    MessageId,
    Metadata,
    ProfileUpdated,
    Source,
    Stored,
    Timestamp,
    Updated,
)
from codesynapse.server.agents.wording import cleaned
from codesynapse.server.agents.writing import (
    ARCHIVE,
    QUEUED_OVER,
    NewRecord,
    NewSummary,
    Writing,
    archived,
    new_record,
    new_summary,
    once_of,
    require_done,
)
from codesynapse.server.clock import Clock
from codesynapse.server.hints.session_key import bucket_of
from codesynapse.server.hints.texts import SessionKey
from codesynapse.server.tools.confirming import confirm
from codesynapse.server.tools.registry import Hold, Tool, ToolContext
from codesynapse.server.work.queue import QueuedWrites

TOOLSET = "memory"
HISTORY_MAX = 5_000

AgentId = Annotated[str, Meta(min_length=1, max_length=128, description="Whose memory.")]
AnyAgent = Annotated[str, Meta(min_length=1, max_length=128, description="Default: any that you may write.")]
Project = Annotated[str, Meta(max_length=AXIS_MAX, description="Project it belongs to; empty: shared by all.")]
Channel = Annotated[str, Meta(max_length=AXIS_MAX, description="Channel it belongs to; empty: all.")]
OnceKey = Annotated[str, Meta(min_length=1, max_length=KEY_MAX, description="Repeats within 24 h answer alike.")]
RecordId = Annotated[int, Meta(ge=1, le=(1 << 53) - 1, description="The number in its ref.")]


class StoreArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `store`."""

    agent_id: AgentId
    content: Content | None = None
    id: MessageId = ""
    source: Source = None
    timestamp: Timestamp = ""
    metadata: Metadata = None
    message: Annotated[Message | None, Meta(description="The five above in one object, instead of them.")] = None
    lock: Annotated[bool, Meta(description="Protect it from updates and deletion.")] = False
    project_id: Project = ""
    channel: Channel = ""
    idempotency_key: OnceKey | None = None
    session_key: SessionKey | None = None

    @property
    def sent(self) -> Message:
        """What is to be stored. Raises Invalid for both forms at once, and for neither."""
        loose = (self.content, self.source, self.metadata) != (None, None, None) or bool(self.id or self.timestamp)
        if self.message is not None:
            if loose:
                raise Invalid(field="message", limit="either message or content, id, source, timestamp, metadata")
            return self.message
        if self.content is None:
            raise Invalid(field="content", limit="required")
        return Message(
            content=self.content, id=self.id, source=self.source, timestamp=self.timestamp, metadata=self.metadata
        )


class ArchiveArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `archive_episode`."""

    agent_id: AgentId
    summary: Annotated[str, Meta(min_length=1, description="What happened, in your words.")]
    history: Annotated[
        list[dict[str, Any]], Meta(max_length=HISTORY_MAX, description="Its messages; only their `timestamp` is used.")
    ] = []
    keywords: Annotated[str, Meta(max_length=KEYWORDS_MAX, description="More words to find it by.")] = ""
    resolved: Annotated[bool, Meta(description="Nothing is left open.")] = False
    project_id: Project = ""
    channel: Channel = ""
    idempotency_key: OnceKey | None = None
    session_key: SessionKey | None = None


class UpdateArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `update_memory`."""

    memory_id: RecordId
    content: Content
    agent_id: AnyAgent | None = None
    session_key: SessionKey | None = None


class DeleteMemoryArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `delete_memory`."""

    memory_id: RecordId
    agent_id: AnyAgent | None = None
    session_key: SessionKey | None = None


class DeleteEpisodeArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `delete_episode`."""

    episode_id: RecordId
    agent_id: AnyAgent | None = None
    session_key: SessionKey | None = None


class ProfileArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `update_profile`."""

    agent_id: AgentId
    profile: Annotated[str, Meta(min_length=1, description="The whole new text; cut after 2,000 characters.")]
    session_key: SessionKey | None = None


class WritingTools:
    """The handlers, and what each checks while a pause skips it."""

    def __init__(self, agents: AgentMemory, writing: Writing, queue: QueuedWrites, clock: Clock) -> None:
        self._agents = agents
        self._writing = writing
        self._queue = queue
        self._clock = clock

    async def store(self, execution: Execution, arguments: StoreArguments, _: ToolContext) -> Stored:
        once = once_of(arguments.idempotency_key, _request(arguments))
        return await self._writing.store(execution, arguments.agent_id, self._record(arguments), once=once)

    async def check_store(self, execution: Execution, arguments: StoreArguments) -> Stored | None:
        new, once = self._record(arguments), once_of(arguments.idempotency_key, _request(arguments))
        return await self._writing.stored_before(execution, arguments.agent_id, new, once=once)

    async def archive(self, execution: Execution, arguments: ArchiveArguments, _: ToolContext) -> Archived:
        """A long history is not worth its caller's waiting: it is queued, under the caller's own key."""
        new, once = _summary(arguments), once_of(arguments.idempotency_key, _request(arguments))
        if not new.queued:
            return await self._writing.archive(execution, arguments.agent_id, new, once=once)
        scope = await self._writing.ready(execution, arguments.agent_id)
        payload = msgspec.json.encode(new.task).decode()
        bucket = bucket_of(execution.identity, arguments.session_key)
        return archived(
            await self._queue.put(scope, ARCHIVE, payload, once=once, bucket=bucket), truncated=new.truncated
        )

    async def check_archive(self, execution: Execution, arguments: ArchiveArguments) -> Archived | None:
        new, once = _summary(arguments), once_of(arguments.idempotency_key, _request(arguments))
        return await self._writing.archived_before(execution, arguments.agent_id, new, once=once)

    async def update(self, execution: Execution, arguments: UpdateArguments, _: ToolContext) -> Updated:
        return await self._writing.update(execution, arguments.agent_id, arguments.memory_id, arguments.content)

    async def check_update(self, execution: Execution, arguments: UpdateArguments) -> None:
        cleaned(arguments.content, field="content")
        found = await self._check_memory(execution, arguments.agent_id, arguments.memory_id)
        await self._writing.require_free(execution, found, arguments.content)

    async def delete_memory(
        self, execution: Execution, arguments: DeleteMemoryArguments, context: ToolContext
    ) -> Deleted:
        if context.can_ask("elicitation/create"):
            # Nobody is asked about what is not there; a call that asks nobody learns it from the deletion.
            await self.check_delete_memory(execution, arguments)
        await confirm(context, f"Delete memory {arguments.memory_id} for good?")
        return await self._writing.delete_memory(execution, arguments.agent_id, arguments.memory_id)

    async def check_delete_memory(self, execution: Execution, arguments: DeleteMemoryArguments) -> None:
        await self._check_memory(execution, arguments.agent_id, arguments.memory_id)

    async def delete_episode(
        self, execution: Execution, arguments: DeleteEpisodeArguments, context: ToolContext
    ) -> Deleted:
        if context.can_ask("elicitation/create"):
            # Nobody is asked about what is not there; a call that asks nobody learns it from the deletion.
            await self.check_delete_episode(execution, arguments)
        await confirm(context, f"Delete episode {arguments.episode_id} for good?")
        return await self._writing.delete_episode(execution, arguments.agent_id, arguments.episode_id)

    async def check_delete_episode(self, execution: Execution, arguments: DeleteEpisodeArguments) -> None:
        sight = sight_of(execution, arguments.agent_id, self._clock())
        await require_record(self._agents, sight, Kind.EPISODE, arguments.episode_id, field="episode_id")

    async def _check_memory(self, execution: Execution, agent_id: str | None, memory_id: int) -> Memory:
        sight = sight_of(execution, agent_id, self._clock())
        found = await require_record(self._agents, sight, Kind.MEMORY, memory_id, field="memory_id")
        assert isinstance(found, Memory)
        if found.locked:
            require_done(Changed(verdict=Verdict.LOCKED), "memory_id")
        return found

    async def update_profile(self, execution: Execution, arguments: ProfileArguments, _: ToolContext) -> ProfileUpdated:
        return await self._writing.update_profile(execution, arguments.agent_id, arguments.profile)

    async def check_update_profile(self, execution: Execution, arguments: ProfileArguments) -> None:
        cleaned(arguments.profile, field="profile")
        await require_writer(self._agents, self._scope(execution, arguments.agent_id))

    def _record(self, arguments: StoreArguments) -> NewRecord:
        bucket = Bucket(project_id=arguments.project_id, channel=arguments.channel)
        return new_record(arguments.sent, bucket, locked=arguments.lock, now_ms=self._clock())

    def _scope(self, execution: Execution, agent_id: str) -> AgentScope:
        return scope_of(execution, agent_id, self._clock())


def _summary(arguments: ArchiveArguments) -> NewSummary:
    bucket = Bucket(project_id=arguments.project_id, channel=arguments.channel)
    return new_summary(arguments.summary, arguments.keywords, arguments.history, bucket, resolved=arguments.resolved)


def _request(arguments: StoreArguments | ArchiveArguments) -> Struct:
    """What an idempotency key stands for: all that was sent but the two keys."""
    return structs.replace(arguments, idempotency_key=None, session_key=None)


def storing_tools(tools: WritingTools) -> list[Tool]:
    """What adds memories and episodes."""
    return [
        Tool(
            name="store",
            title="Store a memory",
            description=(
                "Remember something about the user or the work across chats: one fact or statement a call. What is "
                "there already (same id or text) is skipped and stays as it is; use update_memory to change it. "
                "Answers its id."
            ),
            toolset=TOOLSET,
            arguments=StoreArguments,
            answer=Stored,
            handler=tools.store,
            hold=Hold(check=tools.check_store),
            read_only=False,
            idempotent=True,
        ),
        Tool(
            name="archive_episode",
            title="Archive an episode",
            description=(
                "Keep a summary of a conversation or a task at its end, to be recalled like a memory. Each call makes "
                f"a new episode. With more than {QUEUED_OVER} messages of history it is queued: queued, task_id, and "
                "no episode_id yet."
            ),
            toolset=TOOLSET,
            arguments=ArchiveArguments,
            answer=Archived,
            handler=tools.archive,
            hold=Hold(check=tools.check_archive),
            read_only=False,
        ),
    ]


def changing_tools(tools: WritingTools) -> list[Tool]:
    """What changes and removes by id."""
    return [_updater(tools), *_removers(tools)]


def _updater(tools: WritingTools) -> Tool:
    return Tool(
        name="update_memory",
        title="Change a memory",
        description="Replace the text of a memory, by the number in its ref (mem:7 is 7). A locked one is refused.",
        toolset=TOOLSET,
        arguments=UpdateArguments,
        answer=Updated,
        handler=tools.update,
        hold=Hold(check=tools.check_update),
        read_only=False,
        idempotent=True,
    )


def _removers(tools: WritingTools) -> list[Tool]:
    return [
        Tool(
            name="delete_memory",
            title="Delete a memory",
            description="Remove a memory for good, by the number in its ref. A locked one is refused.",
            toolset=TOOLSET,
            arguments=DeleteMemoryArguments,
            answer=Deleted,
            handler=tools.delete_memory,
            hold=Hold(check=tools.check_delete_memory),
            read_only=False,
            destructive=True,
            idempotent=True,
        ),
        Tool(
            name="delete_episode",
            title="Delete an episode",
            description="Remove an episode for good, by the number in its ref (ep:7 is 7).",
            toolset=TOOLSET,
            arguments=DeleteEpisodeArguments,
            answer=Deleted,
            handler=tools.delete_episode,
            hold=Hold(check=tools.check_delete_episode),
            read_only=False,
            destructive=True,
            idempotent=True,
        ),
    ]


def profile_writer(tools: WritingTools) -> Tool:
    """What replaces the profile."""
    return Tool(
        name="update_profile",
        title="Write the profile",
        description="Replace the agent's profile: a short text of what is always worth knowing of its user.",
        toolset=TOOLSET,
        arguments=ProfileArguments,
        answer=ProfileUpdated,
        handler=tools.update_profile,
        hold=Hold(check=tools.check_update_profile),
        read_only=False,
        idempotent=True,
    )
