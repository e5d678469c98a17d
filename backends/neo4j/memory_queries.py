"""Every Cypher statement of repository memory: constants, with values as parameters alone. See `queries` for locks.

A fact is a node MemoryFact, found by its ends and by its terms, with the whole of it in one property. Facts that hold
are FACT edges between MemoryEntity nodes as well, for whoever walks the graph. turns_ms: the last moment at which a
fact begins or ends to hold; from there on it holds if and only if it is live.
"""

from typing import LiteralString

LOCK: LiteralString = """
MERGE (g:MemoryRepository {tenant_id: $tenant, repository: $repository})
ON CREATE SET g.revision = 0, g.entities = 0, g.facts = 0, g.terms = 0, g.live_facts = 0, g.live_terms = 0,
    g.lock = $lock
ON MATCH SET g.lock = $lock
"""
LOCK_AND_READ: LiteralString = (
    LOCK
    + """
WITH g
OPTIONAL MATCH (t:MemoryTenant {tenant_id: $tenant})
WITH g, t.quotas AS quotas
OPTIONAL MATCH (f:MemoryFact {tenant_id: $tenant, repository: $repository}) WHERE f.id IN $facts
WITH g, quotas, count(f) AS facts_before, sum(coalesce(f.terms, 0)) AS terms_before,
    sum(CASE WHEN f.live THEN 1 ELSE 0 END) AS live_before,
    sum(CASE WHEN f.live THEN f.terms ELSE 0 END) AS live_terms_before
OPTIONAL MATCH (e:MemoryEntity {tenant_id: $tenant, repository: $repository}) WHERE e.id IN $entities
WITH g, quotas, facts_before, terms_before, live_before, live_terms_before, collect(e.id) AS present
RETURN quotas, facts_before, terms_before, live_before, live_terms_before, present,
    g.revision AS revision, g.entities AS entities, g.facts AS facts, g.terms AS terms,
    g.live_facts AS live_facts, g.live_terms AS live_terms,
    [key IN keys(g) WHERE key STARTS WITH 'commit_' AND g[key] STARTS WITH $commit | g[key]] AS kept
"""
)
KEPT: LiteralString = """
MATCH (g:MemoryRepository {tenant_id: $tenant, repository: $repository})
RETURN [key IN keys(g) WHERE key STARTS WITH 'commit_' AND g[key] STARTS WITH $commit | g[key]] AS kept
"""

WRITE_ROOT: LiteralString = """
MATCH (g:MemoryRepository {tenant_id: $tenant, repository: $repository}) SET g += $root
"""
WRITE_ENTITIES: LiteralString = """
UNWIND $rows AS row
MERGE (e:MemoryEntity {tenant_id: $tenant, repository: $repository, id: row.id})
SET e.name = row.name, e.type = row.type, e.folded = row.folded, e.search_text = row.search_text, e.doc = row.doc
WITH e, row
OPTIONAL MATCH (e)-[old:ANSWERS_TO]->(:MemoryName)
DELETE old
WITH DISTINCT e, row
UNWIND row.answers AS folded
MERGE (n:MemoryName {tenant_id: $tenant, repository: $repository, folded: folded})
CREATE (e)-[:ANSWERS_TO]->(n)
"""
WRITE_FACTS: LiteralString = """
UNWIND $rows AS row
MERGE (f:MemoryFact {tenant_id: $tenant, repository: $repository, id: row.id})
SET f.subject = row.subject, f.predicate = row.predicate, f.object = row.object, f.doc = row.doc,
    f.recorded_at_ms = row.recorded_at_ms, f.live = row.live, f.turns_ms = row.turns_ms, f.terms = row.terms,
    f.origin_session_id = row.origin_session_id
WITH f, row
OPTIONAL MATCH (f)-[old:CARRIES]->(:MemoryTerm)
DELETE old
WITH DISTINCT f, row
UNWIND row.carried AS term
MERGE (t:MemoryTerm {tenant_id: $tenant, repository: $repository, term: term})
CREATE (f)-[:CARRIES]->(t)
"""
DROP_EDGES: LiteralString = """
UNWIND $rows AS row
MATCH (:MemoryEntity {tenant_id: $tenant, repository: $repository, id: row.subject})-[f:FACT {id: row.id}]->()
DELETE f
"""
WRITE_EDGES: LiteralString = """
UNWIND $rows AS row
MATCH (a:MemoryEntity {tenant_id: $tenant, repository: $repository, id: row.subject})
MATCH (b:MemoryEntity {tenant_id: $tenant, repository: $repository, id: row.object})
MERGE (a)-[f:FACT {tenant_id: $tenant, repository: $repository, id: row.id}]->(b)
SET f.predicate = row.predicate, f.doc = row.doc, f.origin_session_id = row.origin_session_id
"""
SET_QUOTAS: LiteralString = "MERGE (t:MemoryTenant {tenant_id: $tenant}) SET t.quotas = $quotas"

# --- Reading. ------------------------------------------------------------------------------------------------------

HEAD: LiteralString = """
MATCH (g:MemoryRepository {tenant_id: $tenant, repository: $repository})
RETURN g.revision AS revision, g.facts AS facts, g.terms AS terms, g.live_facts AS live_facts,
    g.live_terms AS live_terms
"""
ENTITIES: LiteralString = """
MATCH (e:MemoryEntity {tenant_id: $tenant, repository: $repository}) WHERE e.id IN $ids
RETURN e.doc AS doc
"""
OF_PAIRS: LiteralString = """
UNWIND $pairs AS pair
MATCH (f:MemoryFact {tenant_id: $tenant, repository: $repository, subject: pair[0], predicate: pair[1]})
RETURN f.doc AS doc
"""
SETTLED_FROM: LiteralString = """
MATCH (f:MemoryFact {tenant_id: $tenant, repository: $repository})
WHERE f.subject IN $entities AND f.predicate IS NOT NULL AND f.live AND f.turns_ms <= $now
RETURN f.doc AS doc ORDER BY f.id LIMIT $limit
"""
SETTLED_TO: LiteralString = """
MATCH (f:MemoryFact {tenant_id: $tenant, repository: $repository})
WHERE f.object IN $entities AND f.live AND f.turns_ms <= $now
RETURN f.doc AS doc ORDER BY f.id LIMIT $limit
"""
TURNING_TOUCHING: LiteralString = """
MATCH (f:MemoryFact {tenant_id: $tenant, repository: $repository})
WHERE f.turns_ms > $now AND (f.subject IN $entities OR f.object IN $entities)
RETURN f.doc AS doc
"""
SETTLED_CARRYING: LiteralString = """
MATCH (t:MemoryTerm {tenant_id: $tenant, repository: $repository}) WHERE t.term IN $terms
MATCH (f:MemoryFact)-[:CARRIES]->(t) WHERE $history OR (f.live AND f.turns_ms <= $now)
WITH f, count(t) AS carried
RETURN f.doc AS doc, carried ORDER BY carried DESC, f.recorded_at_ms DESC, f.id LIMIT $limit
"""
FREQUENCIES: LiteralString = """
MATCH (t:MemoryTerm {tenant_id: $tenant, repository: $repository}) WHERE t.term IN $terms
MATCH (f:MemoryFact)-[:CARRIES]->(t) WHERE $history OR (f.live AND f.turns_ms <= $now)
RETURN t.term AS term, count(f) AS facts
"""
TURNING: LiteralString = """
MATCH (f:MemoryFact {tenant_id: $tenant, repository: $repository}) WHERE f.turns_ms > $now
RETURN f.doc AS doc, f.terms AS terms, [(f)-[:CARRIES]->(t:MemoryTerm) WHERE t.term IN $terms | t.term] AS carried
"""
# A repository that is only half restored has no nodes to show.
FIND_NODES: LiteralString = """
MATCH (g:MemoryRepository {tenant_id: $tenant, repository: $repository}) WHERE g.revision > 0
MATCH (e:MemoryEntity {tenant_id: $tenant, repository: $repository})
WHERE e.folded >= $folded AND (e.folded > $folded OR e.id > $id)
    AND all(word IN $words WHERE e.search_text CONTAINS word)
RETURN e.doc AS doc ORDER BY e.folded, e.id LIMIT $limit
"""
NAMED: LiteralString = """
MATCH (g:MemoryRepository {tenant_id: $tenant, repository: $repository}) WHERE g.revision > 0
MATCH (e:MemoryEntity {tenant_id: $tenant, repository: $repository}) WHERE e.id IN $ids
RETURN e.doc AS doc
UNION
MATCH (g:MemoryRepository {tenant_id: $tenant, repository: $repository}) WHERE g.revision > 0
MATCH (n:MemoryName {tenant_id: $tenant, repository: $repository}) WHERE n.folded IN $folded
MATCH (e:MemoryEntity)-[:ANSWERS_TO]->(n)
RETURN e.doc AS doc
"""
