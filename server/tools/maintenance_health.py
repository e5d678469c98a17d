"""Tools that look for what is wrong, of what the caller may read, and repair it."""

from collections.abc import Mapping, Sequence

from msgspec import UNSET

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_work import reaching
from codesynapse.contracts.agents import AgentScope
from codesynapse.contracts.identity import Execution
from codesynapse.server.agents.checks import DEEP, HEALTH, Check, Repair, status_of
from codesynapse.server.agents.doctor import Doctor, Examined, Repaired
from codesynapse.server.agents.inspecting import REFS_MAX
from codesynapse.server.agents.scoping import Recheck, require_level, scope_of, scopes_in, sight_of
from codesynapse.server.clock import Clock
from codesynapse.server.hints.findings import Finding
from codesynapse.server.tools.confirming import confirm
from codesynapse.server.tools.maintenance_shapes import (
    DeepArguments,
    DeepReport,
    DeepResult,
    HealthArguments,
    HealthReport,
    Issue,
    SeveritySummary,
    Stats,
)
from codesynapse.server.tools.registry import SILENT, Tool, ToolContext

TOOLSET = "maintenance"
AGENTS_SHOWN = 10
NO_GRANT = "Your grant on these agents allows reading only."
SEVERITIES = SeveritySummary.__struct_fields__
"""Of the checks, the gravest first."""
LEFT = "What is left is locked, has an equal, or changed meanwhile."

Done = Mapping[str, Repaired]


class HealthTools:
    """The handlers."""

    def __init__(self, agents: AgentMemory, doctor: Doctor, recheck: Recheck, clock: Clock) -> None:
        self._agents = agents
        self._doctor = doctor
        self._recheck = recheck
        self._clock = clock

    async def check_health(
        self, execution: Execution, arguments: HealthArguments, context: ToolContext
    ) -> HealthReport:
        """A named agent must be writable for a fix; of all, those that are, are fixed."""
        now_ms = self._clock()
        sight = sight_of(execution, arguments.agent_id, now_ms)
        names: list[str] = [*dict.fromkeys(arguments.checks)] or [*HEALTH]
        scopes = await scopes_in(self._agents, sight, Level.READ)
        if arguments.fix and arguments.agent_id is not None:
            await require_level(self._agents, scopes[0], Level.WRITE)
        examined = [await self._doctor.examine(scope, names, now_ms) for scope in scopes]
        done: dict[str, Done] = {}
        if arguments.fix:
            done = await self._fixed(execution, examined, context)
        tally = await self._agents.tally(sight)
        issues = [issue for name in names if (issue := _issue(name, examined, done, fix=arguments.fix)) is not None]
        severities = SeveritySummary()
        for each in issues:
            setattr(severities, each.severity, getattr(severities, each.severity) + 1)
        return HealthReport(
            ok=True,
            total_memories=tally.memories,
            issues=issues,
            severity_summary=severities,
            status=status_of({name: getattr(severities, name) for name in severities.__struct_fields__}),
            fixed=any(each.fixed for one in done.values() for each in one.values()),
            checks_run=names,
            stats=Stats(
                agents=len(scopes), episodes=tally.episodes, profiles=tally.profiles, pending_tasks=tally.tasks
            ),
        )

    async def deep_check(self, execution: Execution, arguments: DeepArguments, context: ToolContext) -> DeepReport:
        now_ms = self._clock()
        scope = scope_of(execution, arguments.agent_id, now_ms)
        names: list[str] = [*dict.fromkeys(arguments.checks)] or [*DEEP]
        await require_level(self._agents, scope, Level.WRITE if arguments.fix else Level.READ)
        examined = await self._doctor.examine(scope, names, now_ms)
        done: Done = {}
        if arguments.fix:
            done = (await self._fixed(execution, [examined], context)).get(scope.agent_id, {})
        return DeepReport(
            ok=True,
            agent_id=scope.agent_id,
            checks_run=names,
            results={name: _result(name, examined, done, fix=arguments.fix) for name in names},
            fixed=any(each.fixed for each in done.values()),
        )

    async def findings(self, execution: Execution, limit: int) -> list[Finding]:
        """What `check_health` tells of the agents that the caller may read, as findings, the gravest first."""
        report = await self.check_health(execution, HealthArguments(), SILENT)
        gravest = sorted(report.issues, key=lambda issue: SEVERITIES.index(issue.severity))
        return [
            Finding(
                kind="health",
                check=issue.check,
                severity=issue.severity,
                text=HEALTH[issue.check].means,
                count=issue.count,
                ref=next(iter(issue.refs), UNSET),
            )
            for issue in gravest[:limit]
        ]

    async def _fixed(self, execution: Execution, examined: Sequence[Examined], context: ToolContext) -> dict[str, Done]:
        """Repair what the caller may write; what was done at each agent. The user confirms what would be deleted."""
        writable = [each for each in examined if await self._may_write(each.scope)]
        doomed = sum(each.doomed() for each in writable)
        if doomed:
            await confirm(context, f"Delete {doomed} records that are blank, short or stored more than once, for good?")
        done: dict[str, Done] = {}
        for each in writable:
            await self._recheck(execution)
            done[each.scope.agent_id] = await self._doctor.repair(each, self._clock())
        return done

    async def _may_write(self, scope: AgentScope) -> bool:
        return await self._agents.level(scope) in reaching(Level.WRITE)


def _issue(name: str, examined: Sequence[Examined], done: Mapping[str, Done], *, fix: bool) -> Issue | None:
    """What one check found at all agents together; None for nothing."""
    check = HEALTH[name]
    about = [each for each in examined if each.found[name].count]
    if not about:
        return None
    count = sum(each.found[name].count for each in about)
    issue = Issue(
        type=name,
        check=name,
        severity=check.severity,
        count=count,
        repairable=check.repairable,
        agents=[each.scope.agent_id for each in about][:AGENTS_SHOWN],
        refs=[ref for each in about for ref in each.found[name].refs][:REFS_MAX],
        hint=check.hint,
    )
    if fix:
        repaired = [done[each.scope.agent_id].get(name) for each in about if each.scope.agent_id in done]
        issue.fixed = sum(each.fixed for each in repaired if each is not None)
        issue.not_fixed = _why(check, issue.fixed, count, granted=len(repaired) == len(about)) or UNSET
    return issue


def _result(name: str, examined: Examined, done: Done, *, fix: bool) -> DeepResult:
    check, found = DEEP[name], examined.found[name]
    result = DeepResult(count=found.count, severity=check.severity, repairable=check.repairable, refs=list(found.refs))
    if found.count:
        result.hint = check.hint
        if fix:
            result.fixed = done[name].fixed if name in done else 0
            result.not_fixed = _why(check, result.fixed, found.count, granted=True) or UNSET
    return result


def _why(check: Check, fixed: int, count: int, *, granted: bool) -> str:
    """Why something was not repaired; '' where all of it was."""
    if check.repair is Repair.NONE:
        return check.why
    if fixed >= count:
        return ""
    return LEFT if granted else NO_GRANT


def health_tools(tools: HealthTools) -> list[Tool]:
    """Both."""
    return [
        Tool(
            name="check_health",
            title="Check memory's health",
            description=(
                "Look for faults in the memory of agents that you may read: broken indexes, duplicates, secrets, "
                "hidden text. Answers what was found, how bad it is and what to do; fix repairs what it can."
            ),
            toolset=TOOLSET,
            arguments=HealthArguments,
            answer=HealthReport,
            handler=tools.check_health,
            read_only=False,
            destructive=True,
        ),
        Tool(
            name="deep_check",
            title="Check one agent closely",
            description=(
                "A closer and slower look at one agent: records that cannot be found, near duplicates, what nobody "
                "needs. Answers each check's count and examples; fix repairs what it can."
            ),
            toolset=TOOLSET,
            arguments=DeepArguments,
            answer=DeepReport,
            handler=tools.deep_check,
            read_only=False,
            destructive=True,
        ),
    ]
