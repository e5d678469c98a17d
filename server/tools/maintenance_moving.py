"""Tools that move many memories at once: out, in, from one agent to another, and between channels."""

import secrets
from collections.abc import Mapping

from msgspec import UNSET

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_work import ChannelMove, MergeMode, TakenIn, Tally
from codesynapse.contracts.agents import AgentScope, Memory, Principal
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Execution
from codesynapse.server.agents.channels import fate_of
from codesynapse.server.agents.moving import Export, Import, Mover, owner_of
from codesynapse.server.agents.scoping import Recheck, require_level, scope_of, scopes_in, sight_of
from codesynapse.server.clock import Clock, rfc3339
from codesynapse.server.tools.confirming import confirm
from codesynapse.server.tools.maintenance_shapes import (
    Counts,
    ExportArguments,
    Exported,
    ImportArguments,
    Imported,
    MergeArguments,
    Merged,
    MigrateArguments,
    Migrated,
    MoveView,
)
from codesynapse.server.tools.registry import Hold, Tool, ToolContext

TOOLSET = "maintenance"
DOWNLOADS = "/api/v1/downloads/"
SAMPLES_MAX = 10
PAGE = 500


class MovingTools:
    """The handlers. public_url: where clients reach the server; '' for links that begin at its root."""

    def __init__(
        self, agents: AgentMemory, mover: Mover, recheck: Recheck, clock: Clock, *, public_url: str = ""
    ) -> None:
        self._agents = agents
        self._mover = mover
        self._recheck = recheck
        self._clock = clock
        self._public_url = public_url.rstrip("/")

    async def export(self, execution: Execution, arguments: ExportArguments, context: ToolContext) -> Exported:
        """A client cannot read the server's disk: over HTTP it gets a link, unless it names a file."""
        scope = scope_of(execution, arguments.agent_id, self._clock())
        await require_level(self._agents, scope, Level.READ)
        await self._recheck(execution)
        if arguments.output_path is None and context.shared:
            link, export = await self._mover.to_link(scope, owner_of(scope.principal, execution.key_id))
            exported = _exported(scope, export)
            exported.url = f"{self._public_url}{DOWNLOADS}{link.token}"
            exported.expires_at = rfc3339(link.expires_at_ms)
            return exported
        path, export = await self._mover.to_file(scope, arguments.output_path or self._name(scope))
        exported = _exported(scope, export)
        exported.path = str(path)
        return exported

    async def import_(self, execution: Execution, arguments: ImportArguments, _: ToolContext) -> Imported:
        await self._recheck(execution)
        done = await self._import(execution, arguments, dry_run=arguments.dry_run)
        added, skipped = done.taken.added, done.taken.skipped
        return Imported(
            ok=True,
            dry_run=arguments.dry_run,
            agent_id=done.agent_id,
            imported_memories=added.memories,
            skipped_memories=skipped.memories,
            imported_episodes=added.episodes,
            skipped_episodes=skipped.episodes,
            profile_updated=added.profiles > 0,
            digest=done.seal.digest,
            future_timestamps=done.ahead or UNSET,
        )

    async def check_import(self, execution: Execution, arguments: ImportArguments) -> None:
        """A dry run refuses whatever a real one does."""
        await self._import(execution, arguments, dry_run=True)

    async def merge(self, execution: Execution, arguments: MergeArguments, context: ToolContext) -> Merged:
        if arguments.mode == "move" and not arguments.dry_run and context.can_ask("elicitation/create"):
            planned = (await self._merge(execution, arguments, dry_run=True)).removed
            await confirm(
                context,
                f"Move {planned.memories} memories, {planned.episodes} episodes and {planned.profiles} profiles from "
                f"agent {arguments.source_agent_id} to agent {arguments.target_agent_id}?",
            )
        await self._recheck(execution)
        taken = await self._merge(execution, arguments, dry_run=arguments.dry_run)
        merged = Merged(
            ok=True,
            source_agent_id=arguments.source_agent_id,
            target_agent_id=arguments.target_agent_id,
            strategy=arguments.strategy,
            mode=arguments.mode,
            dry_run=arguments.dry_run,
            merged_memories=taken.added.memories,
            skipped_memories=taken.skipped.memories,
            merged_episodes=taken.added.episodes,
            skipped_episodes=taken.skipped.episodes,
            profile_copied=taken.added.profiles > 0,
            skipped_profile=taken.skipped.profiles > 0,
        )
        if arguments.mode == "move":
            merged.source_deleted, merged.left_at_source = _counts(taken.removed), _counts(taken.skipped)
        return merged

    async def check_merge(self, execution: Execution, arguments: MergeArguments) -> None:
        """A dry run refuses whatever a real one does."""
        await self._merge(execution, arguments, dry_run=True)

    async def migrate(self, execution: Execution, arguments: MigrateArguments, _: ToolContext) -> Migrated:
        sight = sight_of(execution, arguments.agent_id, self._clock())
        done = Migrated(
            ok=True,
            dry_run=arguments.dry_run,
            scanned=0,
            migrated=0,
            globalized=0,
            unrecoverable=0,
            conflicts=0,
            samples=[],
        )
        for scope in await scopes_in(self._agents, sight, Level.WRITE):
            await self._migrate(execution, scope, arguments, done)
        return done

    async def _migrate(
        self, execution: Execution, scope: AgentScope, arguments: MigrateArguments, done: Migrated
    ) -> None:
        """One agent, in one transaction."""
        moves: dict[int, tuple[ChannelMove, bool]] = {}
        after = 0
        while page := await self._agents.scan(scope, after=after, limit=PAGE):
            after = page[-1].id
            for memory in page:
                if not isinstance(memory, Memory):
                    continue
                done.scanned += 1
                fate = fate_of(memory, globalize=arguments.globalize_unrecoverable)
                done.unrecoverable += fate.unrecoverable
                if fate.move is not None:
                    moves[memory.id] = fate.move, fate.recovered
        await self._recheck(execution)
        moved = await self._agents.move_channels(
            scope, [move for move, _ in moves.values()], dry_run=arguments.dry_run, now_ms=self._clock()
        )
        for each in moved:
            move, recovered = moves[each]
            done.migrated += recovered
            done.globalized += not recovered
            if len(done.samples) < SAMPLES_MAX:
                done.samples.append(
                    MoveView(
                        id=each, agent_id=scope.agent_id, from_channel=move.from_channel, to_channel=move.to_channel
                    )
                )
        done.conflicts += len(moves) - len(moved)

    async def _import(self, execution: Execution, arguments: ImportArguments, *, dry_run: bool) -> Import:
        principal = _principal(execution)
        target = arguments.target_agent_id
        if arguments.input_path is not None and arguments.upload_id is None:
            return await self._mover.from_file(principal, arguments.input_path, target, dry_run=dry_run)
        if arguments.upload_id is not None and arguments.input_path is None:
            return await self._mover.from_upload(principal, arguments.upload_id, target, dry_run=dry_run)
        raise Invalid(field="input_path", limit="either input_path or upload_id")

    async def _merge(self, execution: Execution, arguments: MergeArguments, *, dry_run: bool) -> TakenIn:
        now_ms = self._clock()
        source = scope_of(execution, arguments.source_agent_id, now_ms)
        target = scope_of(execution, arguments.target_agent_id, now_ms)
        return await self._agents.merge(source, target, mode=MergeMode(arguments.mode), dry_run=dry_run, now_ms=now_ms)

    def _name(self, scope: AgentScope) -> str:
        """A name for a file that nobody named."""
        day = rfc3339(self._clock())[:10]
        return f"export-{scope.agent_id[:64]}-{day}-{secrets.token_hex(4)}.jsonl"


def _principal(execution: Execution) -> Principal:
    identity = execution.identity
    return Principal(tenant_id=identity.tenant_id, subject_id=identity.subject_id)


def _exported(scope: AgentScope, export: Export) -> Exported:
    seal = export.seal
    return Exported(
        ok=True,
        agent_id=scope.agent_id,
        memories=seal.memories,
        episodes=seal.episodes,
        profiles=seal.profiles,
        bytes=len(export.data),
        digest=seal.digest,
    )


def _counts(tally: Tally) -> Counts:
    return Counts(memories=tally.memories, episodes=tally.episodes, profiles=tally.profiles)


def _import_kept(arguments: ImportArguments) -> Mapping[str, object]:
    return {"agent_id": arguments.target_agent_id or None}


def _merge_kept(arguments: MergeArguments) -> Mapping[str, object]:
    kept: dict[str, object] = {
        name: getattr(arguments, name) for name in ("source_agent_id", "target_agent_id", "strategy", "mode")
    }
    if arguments.mode == "move":
        kept |= dict.fromkeys(("source_deleted", "left_at_source"), Counts(memories=0, episodes=0, profiles=0))
    return kept


def file_tools(tools: MovingTools) -> list[Tool]:
    """Out and in."""
    return [
        Tool(
            name="export_memories",
            title="Export an agent",
            description=(
                "All that an agent remembers as one file: answers a link to GET once, with the same credential, within "
                "10 minutes, or a path on the server; with counts and a digest."
            ),
            toolset=TOOLSET,
            arguments=ExportArguments,
            answer=Exported,
            handler=tools.export,
            read_only=False,
        ),
        Tool(
            name="import_memories",
            title="Import an agent",
            description=(
                "Add what an export holds and the agent has not yet, all of it or nothing. Give input_path or "
                "upload_id; try dry_run first."
            ),
            toolset=TOOLSET,
            arguments=ImportArguments,
            answer=Imported,
            handler=tools.import_,
            hold=Hold(check=tools.check_import, kept=_import_kept),
            read_only=False,
            idempotent=True,
        ),
    ]


def merging_tools(tools: MovingTools) -> list[Tool]:
    """From one agent to another, and between channels."""
    return [
        Tool(
            name="merge_memories",
            title="Merge two agents",
            description=(
                "Copy or move what one agent remembers to another. What the target has already is skipped, and stays "
                "at the source. Try dry_run first."
            ),
            toolset=TOOLSET,
            arguments=MergeArguments,
            answer=Merged,
            handler=tools.merge,
            hold=Hold(check=tools.check_merge, kept=_merge_kept),
            read_only=False,
            destructive=True,
            idempotent=True,
        ),
        Tool(
            name="migrate_channel_axis",
            title="Put memories into their channels",
            description=(
                "Move memories that name their channel only in metadata or source, or are in a placeholder's, to the "
                "channel that is meant. By default it only says what would move."
            ),
            toolset=TOOLSET,
            arguments=MigrateArguments,
            answer=Migrated,
            handler=tools.migrate,
            read_only=False,
        ),
    ]
