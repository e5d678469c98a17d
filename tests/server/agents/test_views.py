"""Records as they are answered."""

from __future__ import annotations

from msgspec import UNSET

from codesynapse.contracts.agents import Bucket, NewEpisode, NewMemory, episode_of, memory_of
from codesynapse.contracts.identity import Millis
from codesynapse.server.agents.views import content_of, episode_row, item_of, memory_row, time_of
from tests.server.world import START_MS

AT = "2027-01-15T08:00:00.000Z"
NOW = Millis(START_MS)


def test_a_memory_tells_when_it_was_said_or_else_when_it_was_stored():
    said = memory_of(NewMemory(content="tea", timestamp="yesterday"), id=7, agent_id="bob", now_ms=NOW)
    silent = memory_of(NewMemory(content="tea", message_id="m"), id=8, agent_id="bob", now_ms=NOW)
    assert (time_of(said), time_of(silent)) == ("yesterday", AT)
    assert (item_of(said).id, item_of(silent).id, item_of(silent).ref) == (UNSET, "m", "mem:8")
    row = memory_row(silent)
    assert (row.id, row.timestamp, row.created_at, row.locked) == (8, "", AT, False)


def test_an_episode_is_marked_as_one_and_ends_with_its_history():
    new = NewEpisode(summary="a talk", bucket=Bucket(channel="c"), end_time="2026-01-01T00:00:00Z", resolved=True)
    episode = episode_of(new, id=3, agent_id="bob", now_ms=NOW)
    assert (content_of(episode), time_of(episode)) == ("[Episode] a talk", "2026-01-01T00:00:00Z")
    assert (item_of(episode).ref, item_of(episode).resolved) == ("ep:3", True)
    assert (episode_row(episode).channel, episode_row(episode).summary) == ("c", "a talk")
