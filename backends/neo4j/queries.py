"""Every Cypher statement of session memory and its vectors: constants, with values as parameters alone.

Written for what Neo4j 4.4, 5 and 2026 have in common.

A condition is read without a lock and not looked at again once a SET has waited for one, so that checking a revision
in a WHERE before the first SET loses updates. Hence every transaction that writes begins with a SET on the node of its
tenant, and only then reads what it decides on. A plain MERGE would not do: it takes no lock on a node that is there.
"""

from typing import LiteralString

LOCK: LiteralString = """
MERGE (t:SessionMemoryTenant {tenant_id: $tenant})
ON CREATE SET t.roots = 0, t.live_facts = 0, t.lock = $lock
ON MATCH SET t.lock = $lock
"""

# Read while nobody else can write for this tenant. All slots of kept commits are looked at: an id may stand in any.
# The document is left out where the commit that made it is the one whose content the caller still holds.
LOCK_AND_READ: LiteralString = (
    LOCK
    + """
WITH t
OPTIONAL MATCH (r:SessionMemoryRevocation {tenant_id: $tenant, session_id: $session})
WITH t, count(r) > 0 AS revoked
OPTIONAL MATCH (s:SessionMemoryScope {tenant_id: $tenant, session_id: $session, ns: $ns})
WITH t, revoked, s
OPTIONAL MATCH (o:SessionMemoryScope {tenant_id: $tenant, session_id: $session}) WHERE o.ns <> $ns
WITH t, revoked, s, count(o) AS namespaces, coalesce(sum(o.live_facts), 0) AS session_facts,
    min(o.expires_at_ms) AS session_expires_at_ms,
    coalesce(s.revision = $held.revision AND s[$held.slot] STARTS WITH $held.mark, false) AS held
RETURN held, revoked, namespaces, session_facts, session_expires_at_ms,
    t.roots AS roots, t.live_facts AS tenant_facts, t.quotas AS quotas,
    s.revision AS revision, s.expires_at_ms AS expires_at_ms, s.closed AS closed, s.live_facts AS live_facts,
    CASE WHEN held THEN null ELSE s.doc END AS doc, s.written_at_ms AS written_at_ms,
    [key IN keys(s) WHERE key STARTS WITH 'commit_' AND s[key] STARTS WITH $commit | s[key]] AS kept
"""
)

# The root carries its content in one property, and that names its revision: a reader without a lock may see some
# properties of a node as they were before a commit and others as they are behind it. The tombstone is looked at behind
# the content, so that what a revocation has emptied is never served as an empty memory.
READ: LiteralString = """
OPTIONAL MATCH (s:SessionMemoryScope {tenant_id: $tenant, session_id: $session, ns: $ns})
WITH s.doc AS doc, s.expires_at_ms AS expires_at_ms
OPTIONAL MATCH (o:SessionMemoryScope {tenant_id: $tenant, session_id: $session}) WHERE o.ns <> $ns
WITH doc, expires_at_ms, min(o.expires_at_ms) AS session_expires_at_ms
OPTIONAL MATCH (r:SessionMemoryRevocation {tenant_id: $tenant, session_id: $session})
RETURN doc, coalesce(expires_at_ms, session_expires_at_ms) AS deadline, count(r) > 0 AS revoked
"""

_WRITE_ROOT: LiteralString = """
MATCH (t:SessionMemoryTenant {tenant_id: $tenant})
SET t.roots = $roots, t.live_facts = $tenant_facts
MERGE (s:SessionMemoryScope {tenant_id: $tenant, session_id: $session, ns: $ns})
SET s += $root
WITH s
"""
_WRITE_NEW: LiteralString = """
FOREACH (row IN $changes.entities |
    MERGE (e:SessionMemoryEntity {tenant_id: $tenant, session_id: $session, ns: $ns, id: row.id})
    SET e.name = row.name, e.doc = row.doc, e.expires_at_ms = $expires_at_ms
)
FOREACH (row IN $changes.facts |
    MERGE (a:SessionMemoryEntity {tenant_id: $tenant, session_id: $session, ns: $ns, id: row.subject})
    MERGE (b:SessionMemoryEntity {tenant_id: $tenant, session_id: $session, ns: $ns, id: row.object})
    MERGE (a)-[f:SESSION_FACT {tenant_id: $tenant, session_id: $session, ns: $ns, id: row.id}]->(b)
    SET f.predicate = row.predicate, f.doc = row.doc, f.expires_at_ms = $expires_at_ms
)
"""

# What is new or differs. All lists are in one map: for lists of their own the server would plan this statement anew for
# each order of magnitude of their lengths, a quarter second each time.
WRITE: LiteralString = _WRITE_ROOT + _WRITE_NEW

# The same where something goes: gone edges first, then gone entities. They are looked for among all of the scope's.
WRITE_AND_REMOVE: LiteralString = (
    _WRITE_ROOT
    + """
OPTIONAL MATCH (a:SessionMemoryEntity {tenant_id: $tenant, session_id: $session, ns: $ns})-[f:SESSION_FACT]->()
WHERE a.id IN $changes.gone_subjects AND f.id IN $changes.gone_facts
DELETE f
WITH DISTINCT s
OPTIONAL MATCH (e:SessionMemoryEntity {tenant_id: $tenant, session_id: $session, ns: $ns})
WHERE e.id IN $changes.gone_entities
DETACH DELETE e
WITH DISTINCT s
"""
    + _WRITE_NEW
)

REVOKE: LiteralString = """
MERGE (r:SessionMemoryRevocation {tenant_id: $tenant, session_id: $session})
ON CREATE SET r.revoked_at_ms = $now
"""

NAMESPACES: LiteralString = """
MATCH (s:SessionMemoryScope {tenant_id: $tenant, session_id: $session})
RETURN s.ns AS ns, s.facts AS facts ORDER BY ns
"""

# The root stays, and counts; its commit ids stay with it.
EMPTY_ROOT: LiteralString = """
MATCH (s:SessionMemoryScope {tenant_id: $tenant, session_id: $session, ns: $ns})
MATCH (t:SessionMemoryTenant {tenant_id: $tenant})
SET t.live_facts = t.live_facts - s.live_facts
SET s.live_facts = 0, s.facts = 0,
    s.doc = '{"revision":' + toString(s.revision) + ',"closed":' + toString(s.closed) + ',"content":[1,[],[]]}'
REMOVE s.sweep_at_ms
"""
EMPTY_ENTITIES: LiteralString = """
MATCH (e:SessionMemoryEntity {tenant_id: $tenant, session_id: $session, ns: $ns}) WHERE e.id IS NOT NULL
DETACH DELETE e
"""

EXPIRED: LiteralString = """
MATCH (s:SessionMemoryScope) WHERE s.sweep_at_ms <= $now
RETURN s.tenant_id AS tenant, s.session_id AS session, s.ns AS ns, s.sweep_at_ms AS ended
ORDER BY ended, tenant, session, ns LIMIT $limit
"""
STILL_FULL: LiteralString = """
MATCH (s:SessionMemoryScope {tenant_id: $tenant, session_id: $session, ns: $ns}) WHERE s.sweep_at_ms <= $now
RETURN s.facts AS facts
"""

QUOTAS: LiteralString = "MATCH (t:SessionMemoryTenant {tenant_id: $tenant}) RETURN t.quotas AS quotas"
SET_QUOTAS: LiteralString = """
MERGE (t:SessionMemoryTenant {tenant_id: $tenant})
ON CREATE SET t.roots = 0, t.live_facts = 0, t.quotas = $quotas
ON MATCH SET t.quotas = $quotas
"""

# --- Vectors. ------------------------------------------------------------------------------------------------------

ENDED: LiteralString = """
OPTIONAL MATCH (r:SessionMemoryRevocation {tenant_id: $tenant, session_id: $session})
WITH count(r) > 0 AS revoked
OPTIONAL MATCH (s:SessionMemoryScope {tenant_id: $tenant, session_id: $session, ns: $ns})
RETURN revoked OR coalesce(s.closed, false) OR coalesce(s.expires_at_ms <= $now, false) AS ended
"""
PUT_VECTORS: LiteralString = """
UNWIND $rows AS row
MERGE (v:SessionMemoryVector {id: row.id})
SET v.tenant_id = $tenant, v.session_id = $session, v.ns = $ns, v.entity = row.entity, v.model = row.model,
    v.dimension = row.dimension, v.expires_at_ms = row.expires_at_ms, v.embedding = row.embedding
"""
VECTORS: LiteralString = """
MATCH (v:SessionMemoryVector {tenant_id: $tenant, session_id: $session, ns: $ns})
WHERE v.model = $model AND v.dimension = $dimension AND v.expires_at_ms > $now
RETURN v.entity AS entity, v.expires_at_ms AS expires_at_ms, v.embedding AS embedding
"""
DROP_VECTORS_OF_SCOPE: LiteralString = """
MATCH (v:SessionMemoryVector {tenant_id: $tenant, session_id: $session, ns: $ns})
WITH collect(v) AS gone
FOREACH (v IN gone | DETACH DELETE v)
RETURN size(gone) AS removed
"""
DROP_VECTORS_OF_SESSION: LiteralString = """
MATCH (v:SessionMemoryVector {tenant_id: $tenant, session_id: $session}) WHERE v.ns IS NOT NULL
WITH collect(v) AS gone
FOREACH (v IN gone | DETACH DELETE v)
RETURN size(gone) AS removed
"""
SWEEP_VECTORS: LiteralString = """
MATCH (v:SessionMemoryVector) WHERE v.expires_at_ms <= $now
WITH v ORDER BY v.expires_at_ms LIMIT $limit
WITH collect(v) AS gone
FOREACH (v IN gone | DETACH DELETE v)
RETURN size(gone) AS removed
"""
