"""Reading agent memory as it is: contents by reference, lists, and the profile."""

import re
from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec import UNSET

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agents import Kind, Reach
from codesynapse.contracts.identity import Execution
from codesynapse.server.agents.scoping import scope_of, sight_of
from codesynapse.server.agents.views import (
    Contents,
    Episodes,
    Item,
    Memories,
    ProfileView,
    episode_row,
    item_of,
    memory_row,
)
from codesynapse.server.clock import Clock

CONTENTS_CHARS_MAX = 40_000
"""How many characters of JSON an answer spends on contents, and on a list; the first record is always whole."""

_ref = re.compile(r"(?P<kind>mem|ep):(?P<id>[0-9]{1,18})").fullmatch
T = TypeVar("T")


def parsed_ref(ref: str) -> tuple[Kind, int] | None:
    """What a reference names; None for what is none."""
    match = _ref(ref)
    return None if match is None else (Kind(match["kind"]), int(match["id"]))


class Reading:
    """The reads. Each sees only what the caller's grants reach."""

    def __init__(self, agents: AgentMemory, clock: Clock) -> None:
        self._agents = agents
        self._clock = clock

    async def contents(self, execution: Execution, agent_id: str, refs: Sequence[str]) -> Contents:
        """Records in full, in the order asked for. What is malformed, unknown or another's is missing."""
        scope = scope_of(execution, agent_id, self._clock())
        asked = list(dict.fromkeys(refs))
        known = {ref: parsed for ref in asked if (parsed := parsed_ref(ref)) is not None}
        found = {record.ref: item_of(record) for record in await self._agents.contents(scope, list(known.values()))}
        # `mem:007` names the same record as `mem:7`; it is answered under the name that was asked for.
        items = [_named(found, ref, f"{known[ref][0]}:{known[ref][1]}") for ref in known]
        served = [item for item in items if item is not None]
        whole = fitting(served, CONTENTS_CHARS_MAX)
        there = {item.ref for item in served}
        contents = Contents(items=served[:whole], missing=[ref for ref in asked if ref not in there], count=whole)
        if whole < len(served):
            contents.deferred, contents.budget_chars = [item.ref for item in served[whole:]], CONTENTS_CHARS_MAX
        return contents

    async def memories(
        self, execution: Execution, agent_id: str | None, project_id: str | None, limit: int
    ) -> Memories:
        """The newest memories of an agent, or with None of all that the caller may read."""
        sight = sight_of(execution, agent_id, self._clock())
        found = await self._agents.memories(sight, reach=Reach(project_id=project_id), source_id="", limit=limit)
        rows = [memory_row(each) for each in found]
        fit = fitting(rows, CONTENTS_CHARS_MAX)
        cut = fit < len(rows)
        return Memories(
            memories=rows[:fit],
            count=fit,
            budget_rows=fit if cut else UNSET,
            budget_chars=CONTENTS_CHARS_MAX if cut else UNSET,
        )

    async def episodes(
        self, execution: Execution, agent_id: str | None, project_id: str | None, limit: int
    ) -> Episodes:
        """The newest episodes, as `memories`."""
        sight = sight_of(execution, agent_id, self._clock())
        found = await self._agents.episodes(sight, reach=Reach(project_id=project_id), limit=limit)
        rows = [episode_row(each) for each in found]
        fit = fitting(rows, CONTENTS_CHARS_MAX)
        cut = fit < len(rows)
        return Episodes(
            episodes=rows[:fit],
            count=fit,
            budget_rows=fit if cut else UNSET,
            budget_chars=CONTENTS_CHARS_MAX if cut else UNSET,
        )

    async def profile(self, execution: Execution, agent_id: str) -> ProfileView:
        """The agent's profile."""
        return ProfileView(profile=(await self._agents.profile(scope_of(execution, agent_id, self._clock()))).text)


def fitting(rows: Sequence[object], chars_max: int) -> int:
    """How many of the first rows fit into so many characters of JSON, every field counted; one at least."""
    left = chars_max
    for index, row in enumerate(rows):
        left -= len(msgspec.json.encode(row).decode())
        if left < 0:
            return max(index, 1)
    return len(rows)


def _named(found: dict[str, Item], ref: str, canonical: str) -> Item | None:
    item = found.get(canonical)
    return None if item is None else msgspec.structs.replace(item, ref=ref)
