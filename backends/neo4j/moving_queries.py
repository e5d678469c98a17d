"""Every Cypher statement of moving house: constants, with values as parameters alone.

A page is sought by a composite index: with a condition on each of its properties, and ordered by all of them.
"""

from typing import LiteralString

from codesynapse.backends.neo4j.memory_queries import LOCK

CAPS: LiteralString = """
MATCH (t:SessionMemoryTenant)
WHERE $tenant <= t.tenant_id <= $last AND (t.tenant_id > $tenant OR $of = '') AND t.quotas IS NOT NULL
RETURN t.tenant_id AS tenant, 'caps' AS of, t.quotas AS quotas ORDER BY tenant LIMIT $limit
"""
REPOSITORY_CAPS: LiteralString = """
MATCH (t:MemoryTenant)
WHERE $tenant <= t.tenant_id <= $last AND (t.tenant_id > $tenant OR $of = '') AND t.quotas IS NOT NULL
RETURN t.tenant_id AS tenant, 'caps' AS of, t.quotas AS quotas ORDER BY tenant LIMIT $limit
"""
TOMBSTONES: LiteralString = """
MATCH (r:SessionMemoryRevocation)
WHERE $tenant <= r.tenant_id <= $last AND r.session_id IS NOT NULL
    AND (r.tenant_id > $tenant OR r.session_id > $session)
RETURN r.tenant_id AS tenant, r.session_id AS session, r.revoked_at_ms AS revoked_at_ms
ORDER BY tenant, session LIMIT $limit
"""
SCOPES: LiteralString = """
MATCH (s:SessionMemoryScope)
WHERE $tenant <= s.tenant_id <= $last AND s.session_id IS NOT NULL AND s.ns IS NOT NULL
    AND (s.tenant_id > $tenant OR s.session_id > $session OR (s.session_id = $session AND s.ns > $ns))
WITH s ORDER BY s.tenant_id, s.session_id, s.ns LIMIT $limit
RETURN s.tenant_id AS tenant, s.session_id AS session, s.ns AS ns, s.doc AS doc, s.expires_at_ms AS expires_at_ms,
    [key IN keys(s) WHERE key STARTS WITH 'commit_' | s[key]] AS kept
ORDER BY tenant, session, ns
"""
ENTITIES: LiteralString = """
MATCH (e:MemoryEntity)
WHERE $tenant <= e.tenant_id <= $last AND e.repository IS NOT NULL AND e.id IS NOT NULL
    AND (e.tenant_id > $tenant OR e.repository > $repository OR (e.repository = $repository AND e.id > $id))
WITH e ORDER BY e.tenant_id, e.repository, e.id LIMIT $limit
RETURN e.tenant_id AS tenant, e.repository AS repository, e.id AS id, e.doc AS doc ORDER BY tenant, repository, id
"""
FACTS: LiteralString = """
MATCH (f:MemoryFact)
WHERE $tenant <= f.tenant_id <= $last AND f.repository IS NOT NULL AND f.id IS NOT NULL
    AND (f.tenant_id > $tenant OR f.repository > $repository OR (f.repository = $repository AND f.id > $id))
WITH f ORDER BY f.tenant_id, f.repository, f.id LIMIT $limit
RETURN f.tenant_id AS tenant, f.repository AS repository, f.id AS id, f.doc AS doc, f.terms AS occurrences,
    [(f)-[:CARRIES]->(t:MemoryTerm) | t.term] AS terms
ORDER BY tenant, repository, id
"""
REVISION: LiteralString = """
MATCH (g:MemoryRepository {tenant_id: $tenant, repository: $repository}) RETURN g.revision AS revision
"""
# A root of revision 0 was made by a lock alone; it holds nothing.
HEADS: LiteralString = """
MATCH (g:MemoryRepository)
WHERE $tenant <= g.tenant_id <= $last AND g.repository IS NOT NULL
    AND (g.tenant_id > $tenant OR g.repository > $repository)
WITH g ORDER BY g.tenant_id, g.repository LIMIT $limit
RETURN g.tenant_id AS tenant, g.repository AS repository, g.revision AS revision,
    g.entities AS entities, g.facts AS facts,
    [key IN keys(g) WHERE key STARTS WITH 'commit_' |
        [g[key], coalesce(g['origin_' + substring(key, 7)], '')]] AS kept
ORDER BY tenant, repository
"""

# --- Writing. --------------------------------------------------------------------------------------------------------

TENANT: LiteralString = "MATCH (t:SessionMemoryTenant {tenant_id: $tenant}) RETURN t.quotas AS quotas"
REPOSITORY_TENANT: LiteralString = """
MERGE (t:MemoryTenant {tenant_id: $tenant}) ON CREATE SET t.lock = $lock ON MATCH SET t.lock = $lock
RETURN t.quotas AS quotas
"""
TOMBSTONE: LiteralString = """
MATCH (r:SessionMemoryRevocation {tenant_id: $tenant, session_id: $session}) RETURN r.revoked_at_ms AS revoked_at_ms
"""
RESTORING: LiteralString = LOCK + "RETURN g.revision AS revision"
BEGIN: LiteralString = """
MATCH (g:MemoryRepository {tenant_id: $tenant, repository: $repository}) SET g.revision = $revision
"""
COUNTS: LiteralString = """
MATCH (e:MemoryEntity {tenant_id: $tenant, repository: $repository}) WHERE e.id IS NOT NULL
WITH count(e) AS entities
OPTIONAL MATCH (f:MemoryFact {tenant_id: $tenant, repository: $repository}) WHERE f.id IS NOT NULL
RETURN entities, count(f) AS facts, coalesce(sum(f.terms), 0) AS terms,
    coalesce(sum(CASE WHEN f.live THEN 1 ELSE 0 END), 0) AS live_facts,
    coalesce(sum(CASE WHEN f.live THEN f.terms ELSE 0 END), 0) AS live_terms
"""
