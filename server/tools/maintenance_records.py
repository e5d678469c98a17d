"""Tools for single memories and for an agent as a whole: locks, its end, and how it recalls."""

from collections.abc import Mapping

from msgspec import structs

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agents import AgentScope, Kind
from codesynapse.contracts.identity import Execution
from codesynapse.server.agents.scoping import Recheck, require_level, require_record, scope_of, sight_of
from codesynapse.server.agents.tuning import (
    GLOBAL_BETA,
    GLOBAL_PRECISION,
    Asked,
    Calibrated,
    Tuner,
    precision_of,
)
from codesynapse.server.agents.writing import require_done
from codesynapse.server.clock import Clock
from codesynapse.server.tools.confirming import confirm
from codesynapse.server.tools.maintenance_shapes import (
    AgentArguments,
    AgentDeleted,
    CalibrateArguments,
    CalibrationView,
    DeleteAgentArguments,
    DistributionView,
    LockArguments,
    Locked,
    PrecisionArguments,
    PrecisionSet,
    PrecisionView,
    Unlocked,
)
from codesynapse.server.tools.registry import Hold, Tool, ToolContext

TOOLSET = "maintenance"
MODEL = "bm25"
"""What the vectors of a calibration are: words and how rare they are."""


class RecordTools:
    """The handlers, and what each checks while a pause skips it."""

    def __init__(self, agents: AgentMemory, tuner: Tuner, recheck: Recheck, clock: Clock) -> None:
        self._agents = agents
        self._tuner = tuner
        self._recheck = recheck
        self._clock = clock

    async def lock(self, execution: Execution, arguments: LockArguments, _: ToolContext) -> Locked:
        await self._set_locked(execution, arguments, locked=True)
        return Locked(ok=True, locked_id=arguments.memory_id)

    async def unlock(self, execution: Execution, arguments: LockArguments, _: ToolContext) -> Unlocked:
        await self._set_locked(execution, arguments, locked=False)
        return Unlocked(ok=True, unlocked_id=arguments.memory_id)

    async def check_lock(self, execution: Execution, arguments: LockArguments) -> None:
        sight = sight_of(execution, arguments.agent_id, self._clock())
        await require_record(self._agents, sight, Kind.MEMORY, arguments.memory_id, field="memory_id")

    async def delete_agent(
        self, execution: Execution, arguments: DeleteAgentArguments, context: ToolContext
    ) -> AgentDeleted:
        """Everything goes, locked or not; the agent's name and grants stay."""
        await self.check_delete_agent(execution, arguments)
        scope = self._scope(execution, arguments.agent_id)
        if context.can_ask("elicitation/create"):
            held = await self._agents.tally(scope)
            records = f"{held.memories} memories, {held.episodes} episodes and {held.profiles} profiles"
            await confirm(context, f"Delete everything that agent {scope.agent_id} remembers, {records}, for good?")
        await self._recheck(execution)
        gone = await self._agents.purge(scope, now_ms=self._clock())
        return AgentDeleted(
            ok=True,
            agent_id=scope.agent_id,
            deleted_memories=gone.memories,
            deleted_profiles=gone.profiles,
            deleted_episodes=gone.episodes,
            deleted_pending_tasks=gone.tasks,
        )

    async def check_delete_agent(self, execution: Execution, arguments: DeleteAgentArguments) -> None:
        await require_level(self._agents, self._scope(execution, arguments.agent_id), Level.ADMIN)

    async def calibrate(self, execution: Execution, arguments: CalibrateArguments, _: ToolContext) -> CalibrationView:
        scope = self._scope(execution, arguments.agent_id)
        await self._recheck(execution)
        return _calibration_view(scope, await self._tuner.calibrate(scope, _asked(arguments)))

    async def check_calibrate(self, execution: Execution, arguments: CalibrateArguments) -> None:
        await self._tuner.check(self._scope(execution, arguments.agent_id), _asked(arguments))

    async def set_precision(self, execution: Execution, arguments: PrecisionArguments, _: ToolContext) -> PrecisionSet:
        """The precision and the threshold that goes with it are kept together, or neither is."""
        scope = self._scope(execution, arguments.agent_id)
        await self._recheck(execution)
        tuned = await self._tuner.set_precision(scope, arguments.precision, arguments.beta)
        return PrecisionSet(
            ok=True,
            agent_id=scope.agent_id,
            precision=tuned.precision,
            beta=tuned.beta,
            cleared=tuned.cleared,
            fused_gate=tuned.gate,
            calibrate=None if tuned.calibrated is None else _calibration_view(scope, tuned.calibrated),
        )

    async def check_set_precision(self, execution: Execution, arguments: PrecisionArguments) -> None:
        precision_of(arguments.precision, arguments.beta)
        await require_level(self._agents, self._scope(execution, arguments.agent_id), Level.WRITE)

    async def get_precision(self, execution: Execution, arguments: AgentArguments, _: ToolContext) -> PrecisionView:
        scope = self._scope(execution, arguments.agent_id)
        tuning = await self._tuner.read(scope)
        return PrecisionView(
            ok=True,
            agent_id=scope.agent_id,
            precision=tuning.precision or GLOBAL_PRECISION,
            beta=tuning.beta if tuning.beta > 0 else GLOBAL_BETA,
            overridden=bool(tuning.precision) or tuning.beta > 0,
            global_precision=GLOBAL_PRECISION,
            global_beta=GLOBAL_BETA,
        )

    async def _set_locked(self, execution: Execution, arguments: LockArguments, *, locked: bool) -> None:
        sight = sight_of(execution, arguments.agent_id, self._clock())
        await self._recheck(execution)
        changed = await self._agents.set_locked(
            sight, memory_id=arguments.memory_id, locked=locked, now_ms=self._clock()
        )
        require_done(changed, "memory_id")

    def _scope(self, execution: Execution, agent_id: str) -> AgentScope:
        return scope_of(execution, agent_id, self._clock())


def _asked(arguments: CalibrateArguments) -> Asked:
    return Asked(
        sample_size=arguments.sample_size,
        z_factor=arguments.z_factor,
        method=arguments.method,
        percentile=arguments.percentile,
    )


def _calibration_view(scope: AgentScope, done: Calibrated) -> CalibrationView:
    found = done.calibration
    return CalibrationView(
        ok=True,
        sidecar_persisted=True,
        scope="per_agent",
        agent_id=scope.agent_id,
        sampled_embeddings=found.sampled,
        num_pairs=found.pairs,
        method=found.method,
        z_factor=found.z_factor,
        percentile=found.percentile,
        embedding_dim=found.terms,
        embedding_model=MODEL,
        distribution=DistributionView(**structs.asdict(found.distribution)),
        null_admit_rate=found.admitted,
        old_threshold=done.before,
        new_threshold=found.threshold,
    )


def _agent_kept(arguments: DeleteAgentArguments) -> Mapping[str, object]:
    return {"agent_id": arguments.agent_id}


def _precision_kept(arguments: PrecisionArguments) -> Mapping[str, object]:
    name, beta = precision_of(arguments.precision, arguments.beta)
    return {
        "agent_id": arguments.agent_id,
        "precision": name or GLOBAL_PRECISION,
        "beta": beta or GLOBAL_BETA,
        "cleared": not name,
    }


def lock_tools(tools: RecordTools) -> list[Tool]:
    """Both locks."""
    return [
        Tool(
            name="lock_memory",
            title="Lock a memory",
            description="Protect a memory from updates, deletion and repairs. It is recalled as before.",
            toolset=TOOLSET,
            arguments=LockArguments,
            answer=Locked,
            handler=tools.lock,
            hold=Hold(check=tools.check_lock),
            read_only=False,
            idempotent=True,
        ),
        Tool(
            name="unlock_memory",
            title="Unlock a memory",
            description="Let a locked memory be changed and deleted again.",
            toolset=TOOLSET,
            arguments=LockArguments,
            answer=Unlocked,
            handler=tools.unlock,
            hold=Hold(check=tools.check_lock),
            read_only=False,
            idempotent=True,
        ),
    ]


def ending_tool(tools: RecordTools) -> Tool:
    """The end of an agent's memory."""
    return Tool(
        name="delete_agent_data",
        title="Forget everything of an agent",
        description=(
            "Delete all that an agent remembers, locked memories and queued writes too, for good. Only on the "
            "user's explicit wish; export_memories first. Answers how much went."
        ),
        toolset=TOOLSET,
        arguments=DeleteAgentArguments,
        answer=AgentDeleted,
        handler=tools.delete_agent,
        hold=Hold(check=tools.check_delete_agent, kept=_agent_kept),
        read_only=False,
        destructive=True,
        idempotent=True,
    )


def tuning_tools(tools: RecordTools) -> list[Tool]:
    """What changes how an agent recalls."""
    return [
        Tool(
            name="calibrate_threshold",
            title="Calibrate recall",
            description=(
                "Set how well an answer of recall must match, from the agent's own records (10 or more). Use it when "
                "recall returns noise or too little. Answers the old and the new threshold."
            ),
            toolset=TOOLSET,
            arguments=CalibrateArguments,
            answer=CalibrationView,
            handler=tools.calibrate,
            hold=Hold(check=tools.check_calibrate),
            read_only=False,
        ),
        Tool(
            name="set_recall_precision",
            title="Choose recall's precision",
            description=(
                "strict: fewer and surer answers of recall; lenient: more. Without precision and beta back to the "
                "default. Calibrates as well, where there is enough."
            ),
            toolset=TOOLSET,
            arguments=PrecisionArguments,
            answer=PrecisionSet,
            handler=tools.set_precision,
            hold=Hold(check=tools.check_set_precision, kept=_precision_kept),
            read_only=False,
        ),
    ]


def precision_reader(tools: RecordTools) -> Tool:
    """How an agent recalls."""
    return Tool(
        name="get_recall_precision",
        title="Recall's precision",
        description="The precision in force for an agent, and the default.",
        toolset=TOOLSET,
        arguments=AgentArguments,
        answer=PrecisionView,
        handler=tools.get_precision,
        read_only=True,
        idempotent=True,
    )
