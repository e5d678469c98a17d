"""Every script that is sent: constants, so that the server compiles each once and no value can become code.

Values travel as bindings. Vertices are read by `has('key', …)`, through an index, and never by id: reads by id go
through the server's cache, which was seen to serve an old vertex after a commit.
"""

PROBE = "org.apache.hugegraph.version.CoreVersion.VERSION.toString()"

SCHEMA_VERSION = """
graph.schema().getVertexLabels().any { it.name() == 'CodeSynapseSchema' }
    ? g.V().hasLabel('CodeSynapseSchema').has('key', 'schema').values('version').toList() : []
"""

# One script is one transaction, and the lock makes its checks and its writes one step. It holds within one server.
# An interrupted script timed out while it waited: whoever sent it has given up, so it must not write.
_LOCKED = """
synchronized (('codesynapse:' + lock).intern()) {
    if (Thread.interrupted()) throw new InterruptedException('late')
    graph.tx().rollback()
    try {
        %s
    } finally {
        graph.tx().rollback()
    }
}
"""

# Writes if the guard's version is the one that was read (its new one is among `puts`), and so are the properties named
# in `unchanged`. `common` are the properties that all of `vertices` and `edges` share. What goes is made anew and then
# removed, which needs no reading: what was stored is known from the document. A vertex is replaced by adding it.
APPLY = (
    _LOCKED
    % """
        def held = g.V().hasLabel(guard_label).has('key', guard).toList()
        if ((held.isEmpty() ? 0L : held[0].value('version')) != (expected as long)) return ['changed']
        for (u in unchanged) {
            def found = g.V().hasLabel(u[0]).has('key', u[1]).values(u[2]).toList()
            if ((found.isEmpty() ? '' : found[0]) != u[3]) return ['changed']
        }
        def wiped = []
        for (w in wipes) wiped.addAll(g.V().hasLabel('SessionMemoryVector').has(w[0], w[1]).toList())
        def add = { label, key, properties, more ->
            def all = [T.label, label, T.id, key, 'key', key]
            all.addAll(properties)
            all.addAll(more)
            graph.addVertex(all as Object[])
        }
        for (p in puts) add(p[0], p[1], p[2], [])
        def at = [:]
        for (v in vertices) at[v[0]] = add(vertex_label, v[0], v[1], common)
        for (v in gone_vertices) at[v[0]] = add(vertex_label, v[0], v[1], common)
        for (e in edges) {
            def all = ['fid', e[2]]
            all.addAll(e[3])
            all.addAll(common)
            at[e[0]].addEdge(edge_label, at[e[1]], all as Object[])
        }
        for (e in gone_edges) at[e[0]].addEdge(edge_label, at[e[1]], 'fid', e[2]).remove()
        for (v in gone_vertices) at[v[0]].remove()
        for (p in gone) add(p[0], p[1], p[2], []).remove()
        for (v in wiped) v.remove()
        if (Thread.interrupted()) throw new InterruptedException('late')
        graph.tx().commit()
        return ['done']
"""
)

_ROWS = """
        def one = { label, key, names ->
            def found = g.V().hasLabel(label).has('key', key).toList()
            found.isEmpty() ? null : names.collect { found[0].value(it) }
        }
"""
_SESSION_ROW = "['expires_at', 'revoked_at', 'namespaces']"
_SCOPE_ROW = "['ns', 'revision', 'expires_at', 'closed', 'live_facts', 'facts', 'written_at', 'commit_ids', 'doc']"

# A scope for reading. The session is read after the content: whoever removed it had laid the tombstone before.
LOAD = f"""
graph.tx().rollback()
try {{
    {_ROWS}
    def content = one('SessionMemoryScope', scope, {_SCOPE_ROW})
    [[content, one('SessionMemorySession', session, {_SESSION_ROW})]]
}} finally {{
    graph.tx().rollback()
}}
"""

# What the law asks of a scope, all of one moment.
FACTS = _LOCKED % (
    _ROWS
    + f"""
        return [[one('SessionMemoryTenant', tenant, ['version', 'roots', 'live_facts', 'quotas']),
                 one('SessionMemorySession', session, {_SESSION_ROW}),
                 one('SessionMemoryScope', scope, {_SCOPE_ROW})]]
"""
)

KEPT = f"""
graph.tx().rollback()
try {{
    {_ROWS}
    [[one('MemoryCommit', place, ['commit_id', 'revision', 'outcome'])]]
}} finally {{
    graph.tx().rollback()
}}
"""

QUOTAS = "graph.tx().rollback(); g.V().hasLabel('SessionMemoryTenant').has('key', tenant).values('quotas').toList()"

DUE = """
graph.tx().rollback()
g.V().hasLabel('SessionMemoryDue').has('expires_at', P.lte(now as long)).limit(limit as long)
    .toList().collect { [it.value('tenant_id'), it.value('session_id'), it.value('ns')] }
"""

# --- Vectors ---------------------------------------------------------------------------------------------------

VECTORS = """
graph.tx().rollback()
g.V().hasLabel('SessionMemoryVector').has('scope', scope).toList()
    .findAll { it.value('model') == model && it.value('expires_at') > (now as long) }
    .collect { [it.value('eid'), it.value('expires_at'), it.value('embedding')] }
"""

DROP_VECTORS = (
    _LOCKED
    % """
        def found = g.V().hasLabel('SessionMemoryVector').has(by, owner).toList()
        for (v in found) v.remove()
        graph.tx().commit()
        return [found.size()]
"""
)

SWEEP_VECTORS = """
graph.tx().rollback()
def found = g.V().hasLabel('SessionMemoryVector').has('expires_at', P.lte(now as long)).limit(limit as long).toList()
for (v in found) v.remove()
graph.tx().commit()
found.size()
"""

# --- Repository memory -----------------------------------------------------------------------------------------

_REPOSITORY = (
    _ROWS
    + """
        def root = one('RepositoryMemory', repository, ['version', 'figures', 'commit_ids'])
        def many = { label, property, values, names ->
            def rows = [:]
            for (value in values) {
                for (v in g.V().hasLabel(label).has(property, value).toList())
                    rows[v.value('key')] = names.collect { v.value(it) }
            }
            rows.values() as List
        }
"""
)
_CARRYING = "org.apache.hugegraph.traversal.optimize.ConditionP.contains"

# Facts by their keys, by (subject, predicate) and by ends, and entities, all of one moment.
SLICE = _LOCKED % (
    _REPOSITORY
    + """
        def quotas = g.V().hasLabel('RepositoryMemoryTenant').has('key', tenant).values('quotas').toList()
        def rows = many('MemoryFact', 'key', facts, ['doc', 'word_counts'])
        rows.addAll(many('MemoryFact', 'pair', pairs, ['doc', 'word_counts']))
        rows.addAll(many('MemoryFact', 'subject', ends, ['doc', 'word_counts']))
        rows.addAll(many('MemoryFact', 'object', ends, ['doc', 'word_counts']))
        def ends_rows = many('MemoryEntity', 'key', entities, ['doc']).flatten()
        return [[root, quotas.isEmpty() ? '' : quotas[0], rows, ends_rows]]
"""
)

# Facts that carry a term, and those whose time line turns after a moment.
CARRYING = _LOCKED % (
    _REPOSITORY
    + f"""
        def found = [:]
        for (term in terms) {{
            for (v in g.V().hasLabel('MemoryFact').has('terms', {_CARRYING}(term)).toList())
                found[v.value('key')] = [v.value('doc'), v.value('word_counts')]
        }}
        def turning = g.V().hasLabel('MemoryFact').has('repository_key', repository).has('turns_at', P.gt(now as long))
            .toList()
        return [[root, found.values() as List, turning.collect {{ [it.value('doc'), it.value('word_counts')] }}]]
"""
)

NAMED = _LOCKED % (
    _REPOSITORY
    + f"""
        def rows = [:]
        if (root != null && root[0] == -1L) return [[[]]]
        for (answer in answers) {{
            for (v in g.V().hasLabel('MemoryEntity').has('answers', {_CARRYING}(answer)).toList())
                rows[v.value('key')] = v.value('doc')
        }}
        for (v in many('MemoryEntity', 'key', ids, ['key', 'doc'])) rows[v[0]] = v[1]
        return [[rows.values() as List]]
"""
)

# A repository that is only half restored has no nodes to show.
FIND_NODES = """
graph.tx().rollback()
def version = g.V().hasLabel('RepositoryMemory').has('key', repository).values('version').toList()
version == [-1L] ? [] : g.V().hasLabel('MemoryEntity').has('repository_key', repository).toList()
    .findAll { it.value('search_text').contains(word) }.collect { it.value('doc') }
"""

# --- Moving house ----------------------------------------------------------------------------------------------

# Some vertices of a label from a place on: of a page, those with a later key than `behind`. All pages are in the order
# of the keys. A page may have grown since it was last asked for, and the next one may begin with what was met already.
SCAN = """
graph.tx().rollback()
def traversal = g.V().hasLabel(vertex_label).has('~page', page).limit(page_size as long)
def found = traversal.toList().findAll { it.value('key') > behind }
def next = org.apache.hugegraph.traversal.optimize.TraversalUtil.page(traversal)
def rows = []
int at = 0
while (at < found.size() && rows.size() < (limit as int)) {
    def v = found[at++]
    if (tenant == '' || v.value('tenant_id') == tenant) rows.add(names.collect { v.value(it) })
}
if (at < found.size()) return [[rows, page, found[at - 1].value('key')]]
next ? [[rows, next, found.isEmpty() ? behind : found[-1].value('key')]] : [[rows, '', '']]
"""

KEPT_ALL = """
graph.tx().rollback()
def rows = []
for (place in places)
    for (v in g.V().hasLabel('MemoryCommit').has('key', place).toList())
        rows.add([place, v.value('commit_id'), v.value('revision'), v.value('outcome'), v.value('origin_session_id')])
rows
"""

ENTITIES_COUNTED = """
graph.tx().rollback()
g.V().hasLabel('MemoryEntity').has('repository_key', repository).count().next()
"""
