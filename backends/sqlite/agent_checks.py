"""What an agent's rows in SQLite can have wrong with themselves, and what puts it right."""

from typing import Any

from codesynapse.backends.sqlite.agent_access import Held
from codesynapse.backends.sqlite.agent_rows import token, tokens
from codesynapse.backends.sqlite.connection import Connection
from codesynapse.contracts.agent_work import StoreCheck
from codesynapse.contracts.agents import KEYS_KEPT_MS, content_key
from codesynapse.contracts.identity import Millis

_MEMORY_TERMS = "SELECT place, terms FROM agent_memories WHERE tenant_id = ? AND agent = ?"
_EPISODE_TERMS = "SELECT place, terms FROM agent_episodes WHERE tenant_id = ? AND agent = ?"
_MEMORY_POSTINGS = "SELECT rowid FROM agent_memory_index WHERE agent_memory_index MATCH ?"
_EPISODE_POSTINGS = "SELECT rowid FROM agent_episode_index WHERE agent_episode_index MATCH ?"
_INDEX_MEMORY = "INSERT INTO agent_memory_index (rowid, terms) VALUES (?, ?)"
_INDEX_EPISODE = "INSERT INTO agent_episode_index (rowid, terms) VALUES (?, ?)"
_FORGET_MEMORY = "INSERT INTO agent_memory_index (agent_memory_index, rowid, terms) VALUES ('delete', ?, ?)"
_FORGET_EPISODE = "INSERT INTO agent_episode_index (agent_episode_index, rowid, terms) VALUES ('delete', ?, ?)"
_COUNTED = """
SELECT memories, episodes, terms, keys FROM agents WHERE tenant_id = ? AND id = ?
"""
_COUNTS = """
SELECT (SELECT count(*) FROM agent_memories WHERE tenant_id = ?1 AND agent = ?2),
    (SELECT count(*) FROM agent_episodes WHERE tenant_id = ?1 AND agent = ?2),
    (SELECT coalesce(sum(term_count), 0) FROM agent_memories WHERE tenant_id = ?1 AND agent = ?2)
    + (SELECT coalesce(sum(term_count), 0) FROM agent_episodes WHERE tenant_id = ?1 AND agent = ?2),
    (SELECT count(*) FROM agent_keys WHERE tenant_id = ?1 AND agent = ?2)
"""
_SET_COUNTS = """
UPDATE agents SET memories = ?, episodes = ?, terms = ?, keys = ? WHERE tenant_id = ? AND id = ?
"""
_CONTENTS = "SELECT place, content_key, content FROM agent_memories WHERE tenant_id = ? AND agent = ?"
# A key that another row has by right is left to whoever compares the two.
_SET_KEY = "UPDATE OR IGNORE agent_memories SET content_key = ? WHERE tenant_id = ? AND place = ?"
_OWNED = "SELECT EXISTS (SELECT 1 FROM agent_grants WHERE tenant_id = ? AND agent = ? AND level = 'admin')"
_EXPIRED = "SELECT count(*) FROM agent_keys WHERE tenant_id = ? AND agent = ? AND made_at_ms <= ?"
_DROP_EXPIRED = "DELETE FROM agent_keys WHERE tenant_id = ? AND agent = ? AND made_at_ms <= ?"
_LOST = "SELECT count(*) FROM agent_tasks WHERE tenant_id = ? AND agent = ? AND agent_id <> ?"
_DROP_LOST = "DELETE FROM agent_tasks WHERE tenant_id = ? AND agent = ? AND agent_id <> ?"


def check(connection: Connection, held: Held, kind: StoreCheck, now_ms: Millis) -> int:
    """How many faults of a kind an agent has."""
    place = (held.tenant_id, held.number)
    match kind:
        case StoreCheck.INDEX_MISSING:
            return len(_missing(connection, held)[0]) + len(_missing(connection, held)[1])
        case StoreCheck.INDEX_ORPHANS:
            return sum(len(each) for each in _orphans(connection, held))
        case StoreCheck.COUNTS_WRONG:
            return int(connection.execute(_COUNTED, place).fetchone() != connection.execute(_COUNTS, place).fetchone())
        case StoreCheck.KEYS_WRONG:
            return len(_wrong_keys(connection, held))
        case StoreCheck.OWNERLESS:
            return int(not connection.execute(_OWNED, place).fetchone()[0])
        case StoreCheck.KEYS_EXPIRED:
            return int(connection.execute(_EXPIRED, (*place, now_ms - KEYS_KEPT_MS)).fetchone()[0])
        case StoreCheck.TASKS_LOST:
            return int(connection.execute(_LOST, (*place, held.agent_id)).fetchone()[0])


def mend(connection: Connection, held: Held, kind: StoreCheck, now_ms: Millis) -> int:
    """Repair the faults of a kind; how many."""
    place = (held.tenant_id, held.number)
    match kind:
        case StoreCheck.INDEX_MISSING:
            memories, episodes = _missing(connection, held)
            _reindex(connection, held, memories, episodes)
            return len(memories) + len(episodes)
        case StoreCheck.INDEX_ORPHANS:
            return _drop_orphans(connection, held)
        case StoreCheck.COUNTS_WRONG:
            wrong = check(connection, held, kind, now_ms)
            connection.execute(_SET_COUNTS, (*connection.execute(_COUNTS, place).fetchone(), *place))
            return wrong
        case StoreCheck.KEYS_WRONG:
            wrong_keys = _wrong_keys(connection, held)
            return sum(connection.execute(_SET_KEY, (key, held.tenant_id, each)).rowcount for each, key in wrong_keys)
        case StoreCheck.OWNERLESS:
            return 0
        case StoreCheck.KEYS_EXPIRED:
            return connection.execute(_DROP_EXPIRED, (*place, now_ms - KEYS_KEPT_MS)).rowcount
        case StoreCheck.TASKS_LOST:
            return connection.execute(_DROP_LOST, (*place, held.agent_id)).rowcount


_Rows = list[tuple[int, str]]


def _missing(connection: Connection, held: Held) -> tuple[_Rows, _Rows]:
    """The memories and the episodes that not all of their terms find, with their terms."""
    place = (held.tenant_id, held.number)
    memories, episodes = connection.execute(_MEMORY_TERMS, place).fetchall(), connection.execute(_EPISODE_TERMS, place)
    found: dict[tuple[bool, str], set[int]] = {}

    def lacks(row: Any, *, episode: bool) -> bool:
        number, terms = row
        return any(number not in _found(connection, held, found, term, episode=episode) for term in set(terms.split()))

    return (
        [each for each in memories if lacks(each, episode=False)],
        [each for each in episodes.fetchall() if lacks(each, episode=True)],
    )


def _found(
    connection: Connection, held: Held, found: dict[tuple[bool, str], set[int]], term: str, *, episode: bool
) -> set[int]:
    """The records that a term finds; each term is asked for once."""
    if (episode, term) not in found:
        asked = (f'"{token(held.salt, term)}"',)
        rows = connection.execute(_EPISODE_POSTINGS, asked) if episode else connection.execute(_MEMORY_POSTINGS, asked)
        found[episode, term] = {place for (place,) in rows}
    return found[episode, term]


def _reindex(connection: Connection, held: Held, memories: _Rows, episodes: _Rows) -> None:
    """Write these into the index anew. A part that was there goes first, so that none is there twice."""
    for place, terms in memories:
        there = [each for each in set(terms.split()) if place in _found(connection, held, {}, each, episode=False)]
        if there:
            connection.execute(_FORGET_MEMORY, (place, tokens(held.salt, there)))
        connection.execute(_INDEX_MEMORY, (place, tokens(held.salt, terms.split())))
    for place, terms in episodes:
        there = [each for each in set(terms.split()) if place in _found(connection, held, {}, each, episode=True)]
        if there:
            connection.execute(_FORGET_EPISODE, (place, tokens(held.salt, there)))
        connection.execute(_INDEX_EPISODE, (place, tokens(held.salt, terms.split())))


def _orphans(connection: Connection, held: Held) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """What terms of this agent find in the index and no row carries: the terms of each place.

    Terms that no record of the agent has any more cannot be asked for, so nobody is misled by them.
    """
    place = (held.tenant_id, held.number)
    result: list[dict[int, list[str]]] = []
    memories, episodes = connection.execute(_MEMORY_TERMS, place).fetchall(), connection.execute(_EPISODE_TERMS, place)
    every = [dict(memories), dict(episodes.fetchall())]
    known = {term for rows in every for terms in rows.values() for term in terms.split()}
    for episode, rows in enumerate(every):
        carried = {number: set(terms.split()) for number, terms in rows.items()}
        orphans: dict[int, list[str]] = {}
        for term in known:
            for number in _found(connection, held, {}, term, episode=bool(episode)):
                if term not in carried.get(number, ()):
                    orphans.setdefault(number, []).append(term)
        result.append(orphans)
    return result[0], result[1]


def _drop_orphans(connection: Connection, held: Held) -> int:
    memories, episodes = _orphans(connection, held)
    connection.executemany(_FORGET_MEMORY, [(each, tokens(held.salt, terms)) for each, terms in memories.items()])
    connection.executemany(_FORGET_EPISODE, [(each, tokens(held.salt, terms)) for each, terms in episodes.items()])
    return len(memories) + len(episodes)


def _wrong_keys(connection: Connection, held: Held) -> list[tuple[int, str]]:
    """The memories whose key is not their content's, and the right one."""
    rows = connection.execute(_CONTENTS, (held.tenant_id, held.number))
    return [(place, content_key(content)) for place, key, content in rows if key != content_key(content)]
