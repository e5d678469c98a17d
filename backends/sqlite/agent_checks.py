"""What an agent's rows in SQLite can have wrong with themselves, and what puts it right."""

from typing import Any

from codesynapse.backends.sqlite.agent_access import Held
from codesynapse.backends.sqlite.agent_rows import attached_of, token, tokens
from codesynapse.backends.sqlite.connection import Connection
from codesynapse.contracts.agent_work import StoreCheck
from codesynapse.contracts.agents import KEYS_KEPT_MS, content_key, source_id
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
_TENANT_COUNTED = "SELECT agents, tasks FROM agent_tenants WHERE tenant_id = ?"
_TENANT_COUNTS = """
SELECT (SELECT count(*) FROM agents WHERE tenant_id = ?1), (SELECT count(*) FROM agent_tasks WHERE tenant_id = ?1)
"""
_SET_TENANT_COUNTS = "UPDATE agent_tenants SET agents = ?, tasks = ? WHERE tenant_id = ?"
# Terms stand with one blank between.
_TERMS_IN = "CASE terms WHEN '' THEN 0 ELSE length(terms) - length(replace(terms, ' ', '')) + 1 END"
_MISCOUNTED = f"""
SELECT (SELECT count(*) FROM agent_memories WHERE tenant_id = ?1 AND agent = ?2 AND term_count <> {_TERMS_IN})
    + (SELECT count(*) FROM agent_episodes WHERE tenant_id = ?1 AND agent = ?2 AND term_count <> {_TERMS_IN})
"""
_RECOUNT_MEMORIES = f"""
UPDATE agent_memories SET term_count = {_TERMS_IN} WHERE tenant_id = ? AND agent = ? AND term_count <> {_TERMS_IN}
"""
_RECOUNT_EPISODES = f"""
UPDATE agent_episodes SET term_count = {_TERMS_IN} WHERE tenant_id = ? AND agent = ? AND term_count <> {_TERMS_IN}
"""
_ATTACHED = "SELECT place, source, metadata FROM agent_memories WHERE tenant_id = ? AND agent = ?"
_SET_ATTACHED = "UPDATE agent_memories SET source = ?, metadata = ?, source_id = ? WHERE tenant_id = ? AND place = ?"
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
            return _miscounted(connection, held)
        case StoreCheck.KEYS_WRONG:
            return len(_wrong_keys(connection, held))
        case StoreCheck.DETAILS_UNREADABLE:
            return len(_unreadable(connection, held))
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
            return _recount(connection, held)
        case StoreCheck.KEYS_WRONG:
            wrong_keys = _wrong_keys(connection, held)
            return sum(connection.execute(_SET_KEY, (key, held.tenant_id, each)).rowcount for each, key in wrong_keys)
        case StoreCheck.DETAILS_UNREADABLE:
            return sum(connection.execute(_SET_ATTACHED, row).rowcount for row in _unreadable(connection, held))
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


def _miscounted(connection: Connection, held: Held) -> int:
    """How many figures are not those of the records: of records, of the agent, of its tenant."""
    place, tenant = (held.tenant_id, held.number), (held.tenant_id,)
    records = int(connection.execute(_MISCOUNTED, place).fetchone()[0])
    agent = connection.execute(_COUNTED, place).fetchone() != connection.execute(_COUNTS, place).fetchone()
    sums = (
        connection.execute(_TENANT_COUNTED, tenant).fetchone() != connection.execute(_TENANT_COUNTS, tenant).fetchone()
    )
    return records + int(agent) + int(sums)


def _recount(connection: Connection, held: Held) -> int:
    """Count anew; how many figures were wrong. Records come first, since their agent's sum follows from them."""
    place, tenant = (held.tenant_id, held.number), (held.tenant_id,)
    wrong = _miscounted(connection, held)
    connection.execute(_RECOUNT_MEMORIES, place)
    connection.execute(_RECOUNT_EPISODES, place)
    connection.execute(_SET_COUNTS, (*connection.execute(_COUNTS, place).fetchone(), *place))
    connection.execute(_SET_TENANT_COUNTS, (*connection.execute(_TENANT_COUNTS, tenant).fetchone(), *tenant))
    return wrong


def _unreadable(connection: Connection, held: Held) -> list[tuple[str, str, str, str, int]]:
    """The memories whose source or metadata means nothing: (source, metadata, source_id, tenant_id, place), mended."""
    found = []
    for place, *texts in connection.execute(_ATTACHED, (held.tenant_id, held.number)):
        read = [attached_of(each) for each in texts]
        if None in read:
            source, metadata = (text if known is not None else "{}" for text, known in zip(texts, read, strict=True))
            found.append((source, metadata, source_id(read[0] or {}), held.tenant_id, place))
    return found
