"""The tools of the toolset `session`: the pause of one's own key, findings, and the operator's context."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_work import QueueStatus
from codesynapse.contracts.agents import TRIES_MAX, Principal
from codesynapse.contracts.errors import CodeSynapseError
from codesynapse.contracts.identity import Execution
from codesynapse.server.clock import Clock, rfc3339
from codesynapse.server.hints.findings import (
    PER_KIND_DEFAULT,
    PER_KIND_MAX,
    Finding,
    Findings,
    crashed,
    gathered,
)
from codesynapse.server.hints.health import Cause, Health
from codesynapse.server.hints.pauses import TTL_DEFAULT_S, TTL_MAX_S, TTL_MIN_S, ttl_of
from codesynapse.server.hints.session_key import bucket_of
from codesynapse.server.hints.state import Hints
from codesynapse.server.hints.texts import FindingsKey, SessionKey
from codesynapse.server.telemetry import fault
from codesynapse.server.tools.operating import Context, ContextFile
from codesynapse.server.tools.registry import Tool, Toolbox, ToolContext
from codesynapse.server.work.queue import RETRY_MS

TOOLSET = "session"

Ttl = Annotated[
    Raw,
    Meta(
        description="For how many seconds.",
        extra_json_schema={
            "type": "integer",
            "minimum": TTL_MIN_S,
            "maximum": TTL_MAX_S,
            "default": TTL_DEFAULT_S,
        },
    ),
]
"""Kept as it was sent: a decoder would take 1.0 for 1, or say of null that it is no integer without the bounds."""


class PauseArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `pause_persistence`."""

    ttl_seconds: Ttl = field(default_factory=lambda: Raw(b"%d" % TTL_DEFAULT_S))
    session_key: SessionKey | None = None

    @property
    def ttl_s(self) -> int:
        """Raises Invalid for what is no integer in bounds."""
        try:
            value = msgspec.json.decode(self.ttl_seconds)
        except (msgspec.DecodeError, RecursionError):
            value = None
        return ttl_of(value)


class KeyArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `resume_persistence` and `persistence_status`."""

    session_key: SessionKey | None = None


class FindingsArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `get_session_findings`."""

    per_kind_limit: Annotated[int, Meta(ge=1, le=PER_KIND_MAX, description="Most findings of one kind.")] = (
        PER_KIND_DEFAULT
    )
    include_summary: Annotated[bool, Meta(description="One sentence over all.")] = True
    session_key: FindingsKey | None = None


class ContextArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `get_operating_context`."""

    section: Annotated[str, Meta(max_length=128, description="A section's name; empty for the overview.")] = ""


class Paused(Struct, kw_only=True):
    """A pause was armed. evicted_nearest: another of your pauses had to end for it."""

    paused: bool
    expires_at: str
    ttl_seconds: int
    scope: str
    evicted_nearest: bool | UnsetType = UNSET


class Resumed(Struct, kw_only=True):
    """There is no pause any more. was_active: whether there was one, for this key."""

    paused: bool
    was_active: bool
    scope: str


class Status(Struct, kw_only=True):
    """Whether the caller's own writes are paused."""

    paused: bool
    expires_at: str | None
    ttl_remaining_seconds: int | None
    scope: str


class QueueArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """`get_queue_status` has no arguments."""


class Queue(Struct, kw_only=True):
    """Writes that wait, of agents that the caller may read. discarded: given up after max_retries failures.

    retry_delay: seconds from a failure to the next try.
    """

    enabled: bool
    pending: int
    discarded: int
    max_retries: int
    retry_delay: int


Probe = Callable[[Execution, int], Awaitable[Sequence[Finding]]]
"""Looks for one kind of finding in what the caller may read; at most so many. It writes nothing."""


class SessionTools:
    """The handlers. One reading of the clock a call: a pause cannot end between two halves of one answer.

    probes: what `get_session_findings` asks beside the embedder, by name.
    """

    def __init__(
        self,
        hints: Hints,
        clock: Clock,
        context: ContextFile,
        version: str,
        agents: AgentMemory | None = None,
        probes: Mapping[str, Probe] = MappingProxyType({}),
    ) -> None:
        self._hints = hints
        self._clock = clock
        self._context = context
        self._version = version
        self._agents = agents
        self.probes: dict[str, Probe] = {"embedder": self._embedder, **probes}

    async def pause(self, execution: Execution, arguments: PauseArguments, _: ToolContext) -> Paused:
        bucket = bucket_of(execution.identity, arguments.session_key)
        armed = self._hints.pauses.pause(bucket, arguments.ttl_s, self._clock())
        return Paused(
            paused=True,
            expires_at=rfc3339(armed.deadline_ms),
            ttl_seconds=armed.ttl_s,
            scope=bucket.scope,
            evicted_nearest=armed.evicted_nearest or UNSET,
        )

    async def resume(self, execution: Execution, arguments: KeyArguments, _: ToolContext) -> Resumed:
        bucket = bucket_of(execution.identity, arguments.session_key)
        return Resumed(paused=False, was_active=self._hints.pauses.resume(bucket, self._clock()), scope=bucket.scope)

    async def status(self, execution: Execution, arguments: KeyArguments, _: ToolContext) -> Status:
        bucket = bucket_of(execution.identity, arguments.session_key)
        pause = self._hints.pauses.active(bucket, self._clock())
        return Status(
            paused=pause is not None,
            expires_at=None if pause is None else rfc3339(pause.deadline_ms),
            ttl_remaining_seconds=None if pause is None else pause.left_s,
            scope=bucket.scope,
        )

    async def findings(self, execution: Execution, arguments: FindingsArguments, context: ToolContext) -> Findings:
        found: list[Finding] = []
        for name, probe in self.probes.items():
            try:
                # One more than is shown: that is how it is known that there is more.
                found += await probe(execution, arguments.per_kind_limit + 1)
            except CodeSynapseError as error:
                fault("probe_failed", error)
                found.append(crashed(name))
        return gathered(
            found,
            per_kind_limit=arguments.per_kind_limit,
            include_summary=arguments.include_summary,
            bucket=bucket_of(execution.identity, arguments.session_key),
            shared=context.shared,
            server_version=self._version,
        )

    async def queue(self, execution: Execution, _: QueueArguments, __: ToolContext) -> Queue:
        """What other tenants, and agents without a grant, have queued is not counted."""
        status = QueueStatus(pending=0, discarded=0)
        if self._agents is not None:
            identity = execution.identity
            sight = Principal(tenant_id=identity.tenant_id, subject_id=identity.subject_id)
            status = await self._agents.queue_status(sight)
        return Queue(
            enabled=self._agents is not None,
            pending=status.pending,
            discarded=status.discarded,
            max_retries=TRIES_MAX,
            retry_delay=RETRY_MS // 1_000,
        )

    async def context(self, _: Execution, arguments: ContextArguments, __: ToolContext) -> Context:
        return await self._context.read(arguments.section)

    async def _embedder(self, _: Execution, __: int) -> Sequence[Finding]:
        return [] if not self._hints.health.degraded else [embedder_finding(self._hints.health)]


def embedder_finding(health: Health) -> Finding:
    """What there is to say of a degraded embedder."""
    missing = health.cause is Cause.NOT_INSTALLED
    text = {
        Cause.NOT_INSTALLED: "No embedder is installed: recall goes by words.",
        Cause.ENDPOINT: "The embedder does not answer.",
        Cause.CONFIGURATION: "The embedder is configured wrongly.",
        None: "",
    }[health.cause]
    return Finding(kind="embedder", check="embedder", severity="info" if missing else "critical", text=text)


def register_session_tools(toolbox: Toolbox, tools: SessionTools) -> None:
    """Register them, in the order in which a client lists them."""
    for tool in (*_pause_tools(tools), *_looking_tools(tools), _context_tool(tools)):
        toolbox.register(tool)


def _pause_tools(tools: SessionTools) -> list[Tool]:
    return [
        Tool(
            name="pause_persistence",
            title="Pause writing",
            description=(
                "Stop storing for a while, when the user wants this off the record. Only writes under your own "
                "session_key are skipped (without one, those of callers without one); recall goes on. Ends by itself. "
                "Calling again sets a new end. Answers when it ends."
            ),
            toolset=TOOLSET,
            arguments=PauseArguments,
            answer=Paused,
            handler=tools.pause,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            name="resume_persistence",
            title="Resume writing",
            description="End the pause of your own session_key. Answers whether there was one.",
            toolset=TOOLSET,
            arguments=KeyArguments,
            answer=Resumed,
            handler=tools.resume,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            name="persistence_status",
            title="Is writing paused?",
            description="Whether writes under your own session_key are paused, and for how long.",
            toolset=TOOLSET,
            arguments=KeyArguments,
            answer=Status,
            handler=tools.status,
            read_only=True,
            idempotent=True,
        ),
    ]


def _looking_tools(tools: SessionTools) -> list[Tool]:
    return [
        Tool(
            name="get_session_findings",
            title="What needs attention",
            description=(
                "Problems of the memory that you may read, by kind, with counts: its embedder and its health. Look "
                "here when recall seems wrong, or at the end of a long task. Lists nothing by who wrote it."
            ),
            toolset=TOOLSET,
            arguments=FindingsArguments,
            answer=Findings,
            handler=tools.findings,
            read_only=True,
            idempotent=True,
        ),
        Tool(
            name="get_queue_status",
            title="What waits to be written",
            description="How many queued writes of agents that you may read still wait, and how many were given up.",
            toolset=TOOLSET,
            arguments=QueueArguments,
            answer=Queue,
            handler=tools.queue,
            read_only=True,
            idempotent=True,
        ),
    ]


def _context_tool(tools: SessionTools) -> Tool:
    return Tool(
        name="get_operating_context",
        title="The operator's rules",
        description=(
            "What the operator of this memory wants agents to know: an overview and the names of its sections, or "
            "one section's text. enabled is false where there is none."
        ),
        toolset=TOOLSET,
        arguments=ContextArguments,
        answer=Context,
        handler=tools.context,
        read_only=True,
        idempotent=True,
    )
