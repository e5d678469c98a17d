"""The one table of the tools that a pause stops. What writes and is in neither table cannot be registered."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct


class Gated(Struct, frozen=True, kw_only=True):
    """What a pause does to a tool. Without `harmless`, the call is skipped.

    harmless: an argument and its value under which a call writes nothing, so that it runs as if there were no pause.
    forced: a call with another value runs with this one and says so, instead of being skipped.
    """

    harmless: tuple[str, bool] | None = None
    forced: bool = False


_SKIPPED = Gated()
_PREVIEWED = Gated(harmless=("dry_run", True))

SEED_WRITERS: Final[Mapping[str, Gated]] = {
    "store": _SKIPPED,
    "archive_episode": _SKIPPED,
    "update_memory": _SKIPPED,
    "lock_memory": _SKIPPED,
    "unlock_memory": _SKIPPED,
    "delete_memory": _SKIPPED,
    "delete_episode": _SKIPPED,
    "delete_agent_data": _SKIPPED,
    "update_profile": _SKIPPED,
    "calibrate_threshold": _SKIPPED,
    "set_recall_precision": _SKIPPED,
    "migrate_channel_axis": Gated(harmless=("dry_run", True), forced=True),
    "import_memories": _PREVIEWED,
    "merge_memories": _PREVIEWED,
    "check_health": Gated(harmless=("fix", False), forced=True),
    "deep_check": Gated(harmless=("fix", False), forced=True),
}
"""The sixteen of seed 1 §5."""

GRAPH_WRITERS: Final[Mapping[str, Gated]] = {
    "upsert_graph_triples": _SKIPPED,
    "offload_turns": _SKIPPED,
    "promote_facts": _SKIPPED,
}
"""Decision 6."""

GATED: Final[Mapping[str, Gated]] = {**SEED_WRITERS, **GRAPH_WRITERS}

EXEMPT: Final = frozenset({"pause_persistence", "resume_persistence", "export_memories"})
"""They write nothing that a pause keeps back: the pause itself, and a file that is asked for (seed 1 §5)."""

PAUSE_TOOLS: Final = frozenset({"pause_persistence", "resume_persistence", "persistence_status"})
RECALL_TOOLS: Final = frozenset({"recall", "recall_with_context"})
FINDINGS_TOOL: Final = "get_session_findings"

SEED_KEYED: Final = frozenset(SEED_WRITERS) | PAUSE_TOOLS | RECALL_TOOLS | {FINDINGS_TOOL}
"""The 22 of seed 1 §6."""
KEYED: Final = SEED_KEYED | frozenset(GRAPH_WRITERS) | {"recall_context"}

OWN_TOOLSETS: Final = frozenset({"graph", "memory", "session", "maintenance"})
"""Where the product's own tools are; what others register elsewhere is theirs."""


def fault_of(name: str, toolset: str, *, read_only: bool, keyed: bool, holds: bool) -> str | None:
    """Why a tool must not be registered; None where nothing is wrong.

    keyed: its arguments have a session_key. holds: it says how a skipped call is checked.
    """
    row = GATED.get(name)
    if toolset not in OWN_TOOLSETS and row is None:
        return None
    if row is not None:
        if read_only:
            return "it is in the table of writes, and says that it only reads"
        if not keyed:
            return "a pause stops it, and its arguments have no session_key"
        if not holds and not row.forced:
            return "a pause stops it, and nothing says how its arguments are checked then"
        return None
    if not read_only and name not in EXEMPT:
        return "it writes, and no row of the table says what a pause does to it"
    if keyed and name not in KEYED:
        return "it takes a session_key that would change nothing"
    return None
