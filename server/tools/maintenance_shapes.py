"""What the tools of the toolset `maintenance` take and answer."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from codesynapse.server.agents.calibrating import PERCENTILE_DEFAULT, SAMPLE_DEFAULT, SAMPLE_MAX, SAMPLE_MIN, Z_DEFAULT
from codesynapse.server.agents.checks import DeepCheck, HealthCheck
from codesynapse.server.agents.tuning import BETA_MAX
from codesynapse.server.hints.skipped import RepairsSkipped
from codesynapse.server.hints.texts import SessionKey

AgentId = Annotated[str, Meta(min_length=1, max_length=128, description="Whose memory.")]
AnyAgent = Annotated[str, Meta(min_length=1, max_length=128, description="Default: every agent of yours.")]
Target = Annotated[str, Meta(max_length=128, description="Agent to import into; empty: the one in the file.")]
MemoryId = Annotated[int, Meta(ge=1, le=(1 << 53) - 1, description="The number in its ref.")]
DryRun = Annotated[bool, Meta(description="Only say what would happen.")]
Fix = Annotated[bool, Meta(description="Repair what can be; the hints say what cannot and why.")]


class LockArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `lock_memory` and `unlock_memory`."""

    memory_id: MemoryId
    agent_id: AnyAgent | None = None
    session_key: SessionKey | None = None


class AgentArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `get_recall_precision`."""

    agent_id: AgentId


class DeleteAgentArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `delete_agent_data`."""

    agent_id: AgentId
    session_key: SessionKey | None = None


class CalibrateArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `calibrate_threshold`."""

    agent_id: AgentId
    sample_size: Annotated[int, Meta(ge=SAMPLE_MIN, le=SAMPLE_MAX, description="Most records to compare.")] = (
        SAMPLE_DEFAULT
    )
    z_factor: Annotated[float, Meta(description="Of zscore: deviations above the mean, within 10.")] = Z_DEFAULT
    method: Annotated[
        Literal["separation", "percentile", "zscore"], Meta(description="How the threshold is chosen.")
    ] = "separation"
    percentile: Annotated[float, Meta(gt=0, le=100, description="Of percentile; above 1 in percent.")] = (
        PERCENTILE_DEFAULT
    )
    session_key: SessionKey | None = None


class PrecisionArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `set_recall_precision`."""

    agent_id: AgentId
    precision: Annotated[str, Meta(max_length=16, description="strict, balanced or lenient; empty: the default.")] = ""
    beta: Annotated[float, Meta(le=BETA_MAX, description="Factor of the gate instead of a name; 0: none.")] = 0.0
    session_key: SessionKey | None = None


class ExportArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `export_memories`."""

    agent_id: AgentId
    output_path: (
        Annotated[
            str, Meta(min_length=1, max_length=512, description="New file in the server's folder. Default: a link.")
        ]
        | None
    ) = None


class ImportArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `import_memories`."""

    input_path: (
        Annotated[str, Meta(min_length=1, max_length=512, description="File of yours in the server's folder.")] | None
    ) = None
    upload_id: (
        Annotated[str, Meta(min_length=1, max_length=128, description="Instead: of POST /api/v1/uploads.")] | None
    ) = None
    target_agent_id: Target = ""
    dry_run: DryRun = False
    session_key: SessionKey | None = None


class MergeArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `merge_memories`."""

    source_agent_id: AgentId
    target_agent_id: AgentId
    strategy: Annotated[Literal["skip"], Meta(description="What the target has already is left as it is.")] = "skip"
    mode: Annotated[Literal["copy", "move"], Meta(description="move: delete at the source what was copied.")] = "copy"
    dry_run: DryRun = False
    session_key: SessionKey | None = None


class MigrateArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `migrate_channel_axis`."""

    agent_id: AnyAgent | None = None
    dry_run: DryRun = True
    globalize_unrecoverable: Annotated[
        bool, Meta(description="Free memories of placeholder channels, such as null, from theirs.")
    ] = False
    session_key: SessionKey | None = None


class HealthArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `check_health`."""

    agent_id: AnyAgent | None = None
    fix: Fix = False
    checks: Annotated[list[HealthCheck], Meta(max_length=64, description="Default: all.")] = []
    session_key: SessionKey | None = None


class DeepArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `deep_check`."""

    agent_id: AgentId
    fix: Fix = False
    checks: Annotated[list[DeepCheck], Meta(max_length=64, description="Default: all.")] = []
    session_key: SessionKey | None = None


class Locked(Struct, kw_only=True):
    """A memory is locked."""

    ok: bool
    locked_id: int | None


class Unlocked(Struct, kw_only=True):
    """A memory is not locked any more."""

    ok: bool
    unlocked_id: int | None


class AgentDeleted(Struct, kw_only=True):
    """An agent remembers nothing any more."""

    ok: bool
    agent_id: str
    deleted_memories: int
    deleted_profiles: int
    deleted_episodes: int
    deleted_pending_tasks: int


class DistributionView(Struct, kw_only=True):
    """What records score for one another, as a share of the best."""

    mean: float
    std: float
    median: float
    p95: float


class CalibrationView(Struct, kw_only=True):
    """A calibration. The vectors are those of words: embedding_dim is how many different ones were seen.

    old_threshold: null before the first calibration. null_admit_rate: the share of pairs that still pass.
    """

    ok: bool
    sidecar_persisted: bool
    scope: Literal["per_agent"] | None
    agent_id: str | None
    sampled_embeddings: int | None
    num_pairs: int | None
    method: str | None
    z_factor: float | None
    percentile: float | None
    embedding_dim: int | None
    embedding_model: str | None
    distribution: DistributionView | None
    null_admit_rate: float | None
    old_threshold: float | None
    new_threshold: float | None


class PrecisionSet(Struct, kw_only=True):
    """A precision. fused_gate: the least share of the best score that an answer must have. calibrate: null where there
    is too little to calibrate by."""

    ok: bool
    agent_id: str
    precision: str
    beta: float
    cleared: bool
    fused_gate: float | None
    calibrate: CalibrationView | None


class PrecisionView(Struct, kw_only=True):
    """The precision in force."""

    ok: bool
    agent_id: str
    precision: str
    beta: float
    overridden: bool
    global_precision: str
    global_beta: float


class Exported(Struct, kw_only=True):
    """An export. path: on the server. url: where to GET it, once, with the same credential, until expires_at."""

    ok: bool
    agent_id: str
    memories: int
    episodes: int
    profiles: int
    bytes: int
    digest: str
    path: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET


class Imported(Struct, kw_only=True):
    """What an import added and passed over. digest: of the file's records, as its export told it.

    future_timestamps: memories of the file whose time lies more than five minutes ahead of the clock.
    """

    ok: bool
    dry_run: bool
    agent_id: str | None
    imported_memories: int
    skipped_memories: int
    imported_episodes: int
    skipped_episodes: int
    profile_updated: bool
    digest: str | None
    future_timestamps: int | UnsetType = UNSET


class Counts(Struct, kw_only=True):
    """How many records."""

    memories: int
    episodes: int
    profiles: int


class Merged(Struct, kw_only=True):
    """What a merge copied and passed over; of a move also what is gone from the source, and what is left there."""

    ok: bool
    source_agent_id: str
    target_agent_id: str
    strategy: str
    mode: str
    dry_run: bool
    merged_memories: int
    skipped_memories: int
    merged_episodes: int
    skipped_episodes: int
    profile_copied: bool
    skipped_profile: bool
    source_deleted: Counts | UnsetType = UNSET
    left_at_source: Counts | UnsetType = UNSET


class MoveView(Struct, kw_only=True):
    """A memory that moves."""

    id: int
    agent_id: str
    from_channel: str
    to_channel: str


class Migrated(Struct, kw_only=True):
    """Memories that moved, or would. unrecoverable: nothing says which channel was meant. conflicts: their content is
    where they would go."""

    ok: bool
    dry_run: bool
    scanned: int
    migrated: int
    globalized: int
    unrecoverable: int
    conflicts: int
    samples: list[MoveView]
    repairs_skipped: RepairsSkipped = UNSET
    repairs_skip_reason: str | UnsetType = UNSET


class Issue(Struct, kw_only=True):
    """What one check found. fixed: how many of them were repaired, where that was asked for."""

    type: str
    check: str
    severity: str
    count: int
    repairable: bool
    agents: list[str]
    refs: list[str]
    hint: str
    fixed: int | UnsetType = UNSET
    not_fixed: str | UnsetType = UNSET


class SeveritySummary(Struct, kw_only=True):
    """How many checks found something."""

    critical: int = 0
    warn: int = 0
    info: int = 0


class Stats(Struct, kw_only=True):
    """What was looked at."""

    agents: int
    episodes: int
    profiles: int
    pending_tasks: int


class HealthReport(Struct, kw_only=True):
    """The state of what the caller may read. Only checks that found something are issues."""

    ok: bool
    total_memories: int
    issues: list[Issue]
    severity_summary: SeveritySummary
    status: Literal["healthy", "degraded", "unhealthy"]
    fixed: bool
    checks_run: list[str]
    stats: Stats
    repairs_skipped: RepairsSkipped = UNSET
    repairs_skip_reason: str | UnsetType = UNSET


class DeepResult(Struct, kw_only=True):
    """What one check found."""

    count: int
    severity: str
    repairable: bool
    refs: list[str]
    hint: str | UnsetType = UNSET
    fixed: int | UnsetType = UNSET
    not_fixed: str | UnsetType = UNSET


class DeepReport(Struct, kw_only=True):
    """What a closer look found, by check."""

    ok: bool
    agent_id: str
    checks_run: list[str]
    results: dict[str, DeepResult]
    fixed: bool
    repairs_skipped: RepairsSkipped = UNSET
    repairs_skip_reason: str | UnsetType = UNSET
