"""Records of agents read from SQLite, each time out of one snapshot."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from codesynapse.backends.sqlite import agent_access
from codesynapse.backends.sqlite.agent_access import Held
from codesynapse.backends.sqlite.agent_rows import episode_of_row, memory_of_row, token
from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.rows import json_array
from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_recall import (
    EPISODES_MAX,
    MEMORIES_MAX,
    POSTINGS_MAX,
    Candidate,
    Candidates,
    Question,
    choose,
    looked_up,
    weights_of,
)
from codesynapse.contracts.agent_work import Tally
from codesynapse.contracts.agents import EVERYWHERE, AgentScope, Episode, Kind, Memory, Reach, Sight
from codesynapse.contracts.triples import is_storable

_MEMORY_FREQUENCIES = """
SELECT term, doc FROM agent_memory_terms WHERE term IN (SELECT value FROM json_each(?))
"""
_EPISODE_FREQUENCIES = """
SELECT term, doc FROM agent_episode_terms WHERE term IN (SELECT value FROM json_each(?))
"""
_MEMORY_POSTINGS = "SELECT rowid FROM agent_memory_index WHERE agent_memory_index MATCH ? ORDER BY rowid DESC LIMIT ?"
_EPISODE_POSTINGS = (
    "SELECT rowid FROM agent_episode_index WHERE agent_episode_index MATCH ? ORDER BY rowid DESC LIMIT ?"
)

# A plus keeps the planner off an index: places and ids are few, and of an agent's newest few are wanted.

# The two axes and the source, as `Reach` and `source_matches` say.
_AXES = """
    (:all_projects OR project_id IN ('', :project)) AND (:all_channels OR channel IN ('', :channel))
"""
_SOURCE = """
    AND CASE WHEN :prefix THEN substr(source_id, 1, :length) = :source ELSE :source IN ('', source_id) END
"""
_MEMORIES_WITHIN = f"""
SELECT place FROM agent_memories
WHERE +tenant_id = :tenant AND place IN (SELECT value FROM json_each(:places)) AND {_AXES} {_SOURCE}
"""
_EPISODES_WITHIN = f"""
SELECT place FROM agent_episodes
WHERE +tenant_id = :tenant AND place IN (SELECT value FROM json_each(:places)) AND {_AXES}
"""
_MEMORY_CANDIDATES = """
SELECT place, id, created_at_ms, terms FROM agent_memories
WHERE +tenant_id = ? AND +agent = ? AND place IN (SELECT value FROM json_each(?))
"""
_EPISODE_CANDIDATES = """
SELECT place, id, created_at_ms, terms FROM agent_episodes
WHERE +tenant_id = ? AND +agent = ? AND place IN (SELECT value FROM json_each(?))
"""

_MEMORY = """
SELECT agent_id, m.id, project_id, channel, created_at_ms, locked, revision, recalled, recalled_at_ms, message_id,
    m.terms, timestamp, source, metadata, content
FROM agent_memories AS m JOIN agents AS a ON a.id = m.agent
"""
_EPISODE = """
SELECT agent_id, e.id, project_id, channel, created_at_ms, resolved, e.terms, start_time, end_time, keywords, summary
FROM agent_episodes AS e JOIN agents AS a ON a.id = e.agent
"""
_MEMORIES = f"""
{_MEMORY} WHERE +m.tenant_id = :tenant AND m.agent = :agent AND {_AXES} {_SOURCE}
ORDER BY created_at_ms DESC, m.id DESC LIMIT :limit
"""
_EPISODES = f"""
{_EPISODE} WHERE +e.tenant_id = :tenant AND e.agent = :agent AND {_AXES}
ORDER BY created_at_ms DESC, e.id DESC LIMIT :limit
"""
_MEMORIES_BY_ID = f"""
{_MEMORY} WHERE m.tenant_id = ? AND +m.agent = ? AND m.id IN (SELECT value FROM json_each(?))
"""
_EPISODES_BY_ID = f"""
{_EPISODE} WHERE e.tenant_id = ? AND +e.agent = ? AND e.id IN (SELECT value FROM json_each(?))
"""
_MEMORIES_BEHIND = f"{_MEMORY} WHERE m.tenant_id = ? AND +m.agent = ? AND m.id > ? ORDER BY m.id LIMIT ?"
_EPISODES_BEHIND = f"{_EPISODE} WHERE e.tenant_id = ? AND +e.agent = ? AND e.id > ? ORDER BY e.id LIMIT ?"
_TALLY = """
SELECT coalesce(sum(memories), 0), coalesce(sum(episodes), 0), coalesce(sum(profile <> ''), 0) FROM agents
WHERE tenant_id = ? AND id IN (SELECT value FROM json_each(?))
"""
_TASKS = "SELECT count(*) FROM agent_tasks WHERE tenant_id = ? AND agent IN (SELECT value FROM json_each(?))"

SCANNED = 256


def candidates(connection: Connection, held: Held, question: Question) -> Candidates:
    """What the law chooses of an agent's records."""
    named = {token(held.salt, term): term for term in question.asked}
    memories = _frequencies(connection.execute(_MEMORY_FREQUENCIES, (json_array(named),)), named)
    episodes = _frequencies(connection.execute(_EPISODE_FREQUENCIES, (json_array(named),)), named)
    frequencies = {
        term: memories.get(term, 0) + episodes.get(term, 0)
        for term in question.asked
        if term in memories or term in episodes
    }
    total = held.memories + held.episodes
    weights = weights_of(question.asked, frequencies, total)
    terms = looked_up(weights, frequencies)
    rows = _memory_candidates(connection, held, question, [each for each in terms if each in memories], weights)
    if question.with_episodes:
        rows += _episode_candidates(connection, held, question, [each for each in terms if each in episodes], weights)
    return Candidates(rows=tuple(rows), total=total, total_terms=held.terms, frequencies=frequencies)


def _frequencies(rows: Iterator[Any], named: Mapping[str, str]) -> dict[str, int]:
    return {named[each]: count for each, count in rows}


def _memory_candidates(
    connection: Connection, held: Held, question: Question, terms: Sequence[str], weights: Mapping[str, float]
) -> list[Candidate]:
    def postings() -> Iterator[tuple[str, list[int]]]:
        for term in terms:
            found = connection.execute(_MEMORY_POSTINGS, _asked(held, question, term)).fetchall()
            places = [place for (place,) in found]
            if question.reach != EVERYWHERE or question.source_id:
                within = {**_bounds(question.reach), **_source(question.source_id), "tenant": held.tenant_id}
                asked = {**within, "places": agent_access.numbers(places)}
                places = sorted((place for (place,) in connection.execute(_MEMORIES_WITHIN, asked)), reverse=True)
            yield term, places[:POSTINGS_MAX]

    chosen = choose(postings(), weights, MEMORIES_MAX)
    rows = connection.execute(_MEMORY_CANDIDATES, (held.tenant_id, held.number, agent_access.numbers(chosen)))
    return _in_order(Kind.MEMORY, chosen, rows)


def _episode_candidates(
    connection: Connection, held: Held, question: Question, terms: Sequence[str], weights: Mapping[str, float]
) -> list[Candidate]:
    def postings() -> Iterator[tuple[str, list[int]]]:
        for term in terms:
            found = connection.execute(_EPISODE_POSTINGS, _asked(held, question, term)).fetchall()
            places = [place for (place,) in found]
            if question.reach != EVERYWHERE:
                asked = {**_bounds(question.reach), "tenant": held.tenant_id, "places": agent_access.numbers(places)}
                places = sorted((place for (place,) in connection.execute(_EPISODES_WITHIN, asked)), reverse=True)
            yield term, places[:POSTINGS_MAX]

    chosen = choose(postings(), weights, EPISODES_MAX)
    rows = connection.execute(_EPISODE_CANDIDATES, (held.tenant_id, held.number, agent_access.numbers(chosen)))
    return _in_order(Kind.EPISODE, chosen, rows)


def _asked(held: Held, question: Question, term: str) -> tuple[str, int]:
    """A term for the index and how many of its records are wanted: all, where not all of them are within reach."""
    unbounded = question.reach != EVERYWHERE or question.source_id
    return f'"{token(held.salt, term)}"', -1 if unbounded else POSTINGS_MAX


def _in_order(kind: Kind, chosen: Sequence[int], rows: Iterator[Any]) -> list[Candidate]:
    found = {place: Candidate(kind, number, created_at_ms, terms) for place, number, created_at_ms, terms in rows}
    return [found[place] for place in chosen if place in found]


def contents(connection: Connection, held: Held, refs: Sequence[tuple[Kind, int]]) -> list[Memory | Episode]:
    """These records, in this order."""
    found: dict[tuple[Kind, int], Memory | Episode] = {}
    wanted = {kind: agent_access.numbers([each for of, each in refs if of is kind]) for kind in Kind}
    for row in connection.execute(_MEMORIES_BY_ID, (held.tenant_id, held.number, wanted[Kind.MEMORY])):
        found[Kind.MEMORY, row[1]] = memory_of_row(row)
    for row in connection.execute(_EPISODES_BY_ID, (held.tenant_id, held.number, wanted[Kind.EPISODE])):
        found[Kind.EPISODE, row[1]] = episode_of_row(row)
    return [found[each] for each in refs if each in found]


def memories(connection: Connection, sight: Sight, reach: Reach, source_id: str, limit: int) -> list[Memory]:
    """The newest memories within reach."""
    asked = {**_bounds(reach), **_source(source_id), "tenant": sight.tenant_id, "limit": max(limit, 0)}
    found: list[Memory] = []
    for agent in agent_access.seen(connection, sight, Level.READ):
        found += [memory_of_row(row) for row in connection.execute(_MEMORIES, {**asked, "agent": agent})]
        found = sorted(found, key=_newest)[: max(limit, 0)]
    return found


def episodes(connection: Connection, sight: Sight, reach: Reach, limit: int) -> list[Episode]:
    """The newest episodes within reach."""
    asked = {**_bounds(reach), "tenant": sight.tenant_id, "limit": max(limit, 0)}
    found: list[Episode] = []
    for agent in agent_access.seen(connection, sight, Level.READ):
        found += [episode_of_row(row) for row in connection.execute(_EPISODES, {**asked, "agent": agent})]
        found = sorted(found, key=_newest)[: max(limit, 0)]
    return found


def scan(connection: Connection, held: Held, after: int, limit: int) -> list[Memory | Episode]:
    """An agent's records behind an id, in the order of their ids."""
    asked = (held.tenant_id, held.number, after, max(limit, 0))
    found: list[Memory | Episode] = [memory_of_row(row) for row in connection.execute(_MEMORIES_BEHIND, asked)]
    found += [episode_of_row(row) for row in connection.execute(_EPISODES_BEHIND, asked)]
    return sorted(found, key=lambda each: each.id)[: max(limit, 0)]


def everything(connection: Connection, held: Held) -> Iterator[Memory | Episode]:
    """All of an agent's records, in the order of their ids; what the caller writes meanwhile is not among them."""
    after, last = 0, agent_access.last_id(connection, held.tenant_id)
    while batch := scan(connection, held, after, SCANNED):
        for record in batch:
            if record.id > last:
                return
            yield record
        after = batch[-1].id


def tally(connection: Connection, sight: Sight) -> Tally:
    """How many records there are in sight."""
    agents = agent_access.numbers(agent_access.seen(connection, sight, Level.READ))
    held, archived, profiles = connection.execute(_TALLY, (sight.tenant_id, agents)).fetchone()
    (tasks,) = connection.execute(_TASKS, (sight.tenant_id, agents)).fetchone()
    return Tally(memories=held, episodes=archived, profiles=profiles, tasks=tasks)


def readable(connection: Connection, scope: AgentScope) -> Held:
    """The agent, for who may read it."""
    return agent_access.agent(connection, scope, Level.READ)


def _newest(record: Memory | Episode) -> tuple[int, int]:
    return (-record.created_at_ms, -record.id)


def _bounds(reach: Reach) -> dict[str, Any]:
    projects, channels = reach.projects, reach.channels
    return {
        "all_projects": projects is None,
        "project": "" if projects is None else projects[-1],
        "all_channels": channels is None,
        "channel": "" if channels is None else channels[-1],
    }


def _source(source_id: str) -> dict[str, Any]:
    """How a source is compared; one that cannot be stored is nobody's, and finds nothing that is."""
    prefix = bool(source_id) and not source_id[-1].isalnum()
    return {
        "source": source_id if is_storable(source_id) else "\0",
        "prefix": prefix,
        "length": len(source_id),
    }
