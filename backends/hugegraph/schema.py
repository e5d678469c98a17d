"""The schema, as one script that may be run again, and its version."""

import asyncio

from codesynapse.backends.hugegraph.connection import Connection
from codesynapse.backends.hugegraph.faults import FOREIGN_SCHEMA, NEWER_SCHEMA, TOO_OLD, ScriptRefused
from codesynapse.backends.hugegraph.scripts import PROBE, SCHEMA_VERSION
from codesynapse.contracts.errors import StoreBusy, StoreFault

VERSION = 1
OLDEST = (1, 5)

# Labels are seed 0's. Ids are ours: a hash of the scope, and `key` is the same text once more, indexed.
CREATE = """
def schema = graph.schema()
for (name in ['key', 'tenant_id', 'session_id', 'ns', 'eid', 'fid', 'doc', 'quotas', 'namespaces', 'commit_ids',
              'commit_id', 'outcome', 'predicate', 'scope', 'session', 'model', 'embedding', 'repository',
              'repository_key', 'pair', 'subject', 'object', 'search_text', 'word_counts', 'figures',
              'origin_session_id'])
    schema.propertyKey(name).asText().ifNotExist().create()
for (name in ['version', 'revision', 'expires_at', 'live_facts', 'facts', 'roots', 'revoked_at', 'written_at',
              'turns_at'])
    schema.propertyKey(name).asLong().ifNotExist().create()
schema.propertyKey('closed').asBoolean().ifNotExist().create()
for (name in ['terms', 'answers']) schema.propertyKey(name).asText().valueSet().ifNotExist().create()

def vertices = [
    CodeSynapseSchema: [['version'], []],
    SessionMemoryTenant: [['tenant_id', 'version', 'roots', 'live_facts', 'quotas'], []],
    SessionMemorySession: [['tenant_id', 'session_id', 'expires_at', 'revoked_at', 'namespaces'], []],
    SessionMemoryRevocation: [['tenant_id', 'session_id', 'revoked_at'], []],
    SessionMemoryScope: [['tenant_id', 'session_id', 'ns', 'doc', 'revision', 'expires_at', 'closed', 'live_facts',
                          'facts', 'written_at', 'commit_ids'], []],
    SessionMemoryDue: [['tenant_id', 'session_id', 'ns', 'expires_at'], []],
    SessionMemoryEntity: [['tenant_id', 'session_id', 'ns', 'eid', 'doc', 'expires_at'], ['doc']],
    SessionMemoryVector: [['tenant_id', 'session_id', 'ns', 'scope', 'session', 'eid', 'model', 'embedding',
                           'expires_at'], []],
    MemoryCommit: [['commit_id', 'revision', 'outcome', 'origin_session_id'], []],
    RepositoryMemoryTenant: [['tenant_id', 'quotas'], []],
    RepositoryMemory: [['tenant_id', 'repository', 'version', 'figures', 'commit_ids'], []],
    MemoryEntity: [['tenant_id', 'repository', 'repository_key', 'eid', 'doc', 'search_text', 'answers'], []],
    MemoryFact: [['tenant_id', 'repository', 'repository_key', 'fid', 'pair', 'subject', 'object', 'doc', 'turns_at',
                  'terms', 'word_counts'], ['terms']],
]
vertices.each { label, properties ->
    schema.vertexLabel(label).useCustomizeStringId().properties((['key'] + properties[0]) as String[])
        .nullableKeys(properties[1] as String[]).ifNotExist().create()
    schema.indexLabel(label + 'ByKey').onV(label).secondary().by('key').ifNotExist().create()
}
def session = ['tenant_id', 'session_id', 'ns', 'fid', 'predicate', 'doc', 'expires_at']
schema.edgeLabel('SESSION_FACT').sourceLabel('SessionMemoryEntity').targetLabel('SessionMemoryEntity')
    .properties(session as String[]).multiTimes().sortKeys('fid')
    .nullableKeys((session - 'fid') as String[]).ifNotExist().create()
def repository = ['tenant_id', 'repository', 'repository_key', 'fid', 'predicate', 'doc']
schema.edgeLabel('FACT').sourceLabel('MemoryEntity').targetLabel('MemoryEntity')
    .properties(repository as String[]).multiTimes().sortKeys('fid')
    .nullableKeys((repository - 'fid') as String[]).ifNotExist().create()

schema.indexLabel('SessionMemoryEntityOfScope').onV('SessionMemoryEntity').secondary()
    .by('tenant_id', 'session_id', 'ns', 'eid').ifNotExist().create()
for (label in ['SessionMemoryDue', 'SessionMemoryVector'])
    schema.indexLabel(label + 'ByExpiry').onV(label).range().by('expires_at').ifNotExist().create()
for (name in ['scope', 'session'])
    schema.indexLabel('SessionMemoryVectorBy_' + name).onV('SessionMemoryVector').secondary().by(name)
        .ifNotExist().create()
for (name in ['repository_key', 'answers'])
    schema.indexLabel('MemoryEntityBy_' + name).onV('MemoryEntity').secondary().by(name).ifNotExist().create()
for (name in ['pair', 'subject', 'object', 'terms'])
    schema.indexLabel('MemoryFactBy_' + name).onV('MemoryFact').secondary().by(name).ifNotExist().create()
schema.indexLabel('MemoryFactTurning').onV('MemoryFact').shard().by('repository_key', 'turns_at')
    .ifNotExist().create()

graph.tx().rollback()
graph.addVertex(T.label, 'CodeSynapseSchema', T.id, 'schema', 'key', 'schema', 'version', version)
graph.tx().commit()
version
"""


CREATING_S = 120.0
"""HugeGraph makes an index in a quarter of a second; this is for all of them, once."""


class Schema:
    """A server's schema: looked at once, before the first use, and made where it is not there."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._looking: asyncio.Task[None] | None = None

    async def ready(self) -> None:
        """Return once the schema is there. Raises StoreFault for too old a server and too new a schema.

        Making it goes on when the call that began it has reached its deadline, which raises StoreBusy.
        """
        looking = self._looking
        if looking is None or (looking.done() and (looking.cancelled() or looking.exception() is not None)):
            looking = self._looking = asyncio.create_task(self._look())
        if not looking.done():
            try:
                async with asyncio.timeout(self._connection.deadline_s):
                    await asyncio.shield(looking)
            except TimeoutError:
                raise StoreBusy from None
        looking.result()

    async def close(self) -> None:
        if self._looking is not None and not self._looking.done():
            self._looking.cancel()
            await asyncio.wait([self._looking])

    async def _look(self) -> None:
        await server_version(self._connection)
        if (await schema_version(self._connection) or 0) < VERSION:
            try:
                await self._connection.run(CREATE, {"version": VERSION}, within_s=CREATING_S)
            except ScriptRefused as error:
                raise StoreFault(field=FOREIGN_SCHEMA) from error


async def server_version(connection: Connection) -> str:
    """What the server calls itself. Raises StoreFault for one that is too old."""
    try:
        (version,) = await connection.run(PROBE, {})
    except ScriptRefused:
        raise StoreFault(field=TOO_OLD) from None
    if _numbers(version) < OLDEST:
        raise StoreFault(field=TOO_OLD)
    return str(version)


async def schema_version(connection: Connection) -> int | None:
    """The version of the schema, None where there is none. Raises StoreFault for one that is newer than ours."""
    found: int | None = max(await connection.run(SCHEMA_VERSION, {}), default=None)
    if found is not None and found > VERSION:
        raise StoreFault(field=NEWER_SCHEMA)
    return found


def _numbers(version: str) -> tuple[int, int]:
    """The first two numbers of a version."""
    numbers = [int(part) if part.isdecimal() else 0 for part in version.split(".")]
    return (numbers[0], numbers[1]) if len(numbers) > 1 else (0, 0)
