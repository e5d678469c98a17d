"""Whose memory a call is about, and what a write would be refused with."""

from __future__ import annotations

import pytest

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agents import AgentScope, Kind, Principal
from codesynapse.contracts.errors import AgentForbidden, ExecutionExpired, Invalid, NotFound
from codesynapse.server.agents.scoping import require_level, require_record, require_writer, scope_of, sight_of
from tests.server.agents.here import AGENT, here


async def test_an_agent_without_a_name_is_none_and_an_omitted_one_is_all():
    async with here() as place:
        ana, now_ms = await place.execution(), place.world.clock()
        assert scope_of(ana, AGENT, now_ms) == place.scope()
        assert sight_of(ana, None, now_ms) == Principal(tenant_id="acme", subject_id="ana")
        assert isinstance(sight_of(ana, AGENT, now_ms), AgentScope)
        for wrong in ("", " ", "a b", "x" * 129):
            with pytest.raises(Invalid):
                scope_of(ana, wrong, now_ms)
            with pytest.raises(Invalid):
                sight_of(ana, wrong, now_ms)
        with pytest.raises(ExecutionExpired):
            sight_of(ana, None, ana.deadline_ms)


async def test_whoever_may_write_passes_and_others_learn_nothing():
    async with here() as place:
        await require_writer(place.agents, place.scope())
        await place.store("tea")
        await require_writer(place.agents, place.scope())
        with pytest.raises(AgentForbidden):
            await require_writer(place.agents, place.scope(by="ben"))
        await place.agents.set_level("acme", AGENT, "ben", Level.READ, now_ms=place.world.clock())
        with pytest.raises(AgentForbidden):
            await require_writer(place.agents, place.scope(by="ben"))
        await require_level(place.agents, place.scope(by="ben"), Level.READ)
        with pytest.raises(AgentForbidden):
            await require_level(place.agents, place.scope("nobody"), Level.READ)


async def test_a_record_is_found_among_all_that_one_may_write_and_nowhere_else():
    async with here() as place:
        (memory_id,) = await place.store("tea")
        ana, ben = (Principal(tenant_id="acme", subject_id=name) for name in ("ana", "ben"))
        for sight in (ana, place.scope()):
            found = await require_record(place.agents, sight, Kind.MEMORY, memory_id, field="memory_id")
            assert found.id == memory_id
            with pytest.raises(NotFound):
                await require_record(place.agents, sight, Kind.EPISODE, memory_id, field="episode_id")
        await place.agents.set_level("acme", AGENT, "ben", Level.READ, now_ms=place.world.clock())
        with pytest.raises(NotFound):
            await require_record(place.agents, ben, Kind.MEMORY, memory_id, field="memory_id")
