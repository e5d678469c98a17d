-- Version 1 of the schema: one file for every port. Moments are milliseconds since the Unix epoch, flags 0 or 1.
-- What is counted is counted by triggers, so that a row that was written past the adapters counts as well.

-- Session memory. The root of a tenant: what its scopes hold together, and its caps as JSON (null: the defaults).
CREATE TABLE tenants (
    tenant_id TEXT PRIMARY KEY,
    roots INTEGER NOT NULL DEFAULT 0,
    live_facts INTEGER NOT NULL DEFAULT 0,
    quotas TEXT
) WITHOUT ROWID;

-- The root of a scope; it stays for good. facts: how many its content holds, live or not; 0 without content.
CREATE TABLE scopes (
    id INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    ns TEXT NOT NULL,
    revision INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    closed INTEGER NOT NULL,
    live_facts INTEGER NOT NULL,
    facts INTEGER NOT NULL,
    UNIQUE (tenant_id, session_id, ns)
);
CREATE INDEX scopes_to_sweep ON scopes (expires_at_ms, tenant_id, session_id, ns) WHERE facts > 0;

CREATE TRIGGER scopes_counted AFTER INSERT ON scopes BEGIN
    INSERT OR IGNORE INTO tenants (tenant_id) VALUES (new.tenant_id);
    UPDATE tenants SET roots = roots + 1, live_facts = live_facts + new.live_facts WHERE tenant_id = new.tenant_id;
END;
CREATE TRIGGER scopes_recounted AFTER UPDATE OF live_facts ON scopes WHEN new.live_facts <> old.live_facts BEGIN
    UPDATE tenants SET live_facts = live_facts + new.live_facts - old.live_facts WHERE tenant_id = new.tenant_id;
END;

-- The canonical JSON of a scope's snapshot, apart from its root: a commit then rewrites one place alone.
CREATE TABLE contents (
    scope_id INTEGER PRIMARY KEY REFERENCES scopes (id),
    document BLOB NOT NULL
);

-- The newest commit ids of a scope, each with its result.
CREATE TABLE scope_commits (
    scope_id INTEGER NOT NULL REFERENCES scopes (id),
    commit_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    outcome BLOB NOT NULL,
    PRIMARY KEY (scope_id, commit_id)
) WITHOUT ROWID;

-- Tombstones of sessions; never removed.
CREATE TABLE revocations (
    tenant_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    revoked_at_ms INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, session_id)
) WITHOUT ROWID;

-- Vectors of session memory, by compound id. embedding: 64-bit floats in the machine's order.
CREATE TABLE vectors (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    ns TEXT NOT NULL,
    entity TEXT NOT NULL,
    model TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    embedding BLOB NOT NULL
);
CREATE INDEX vectors_of_scope ON vectors (tenant_id, session_id, ns);
CREATE INDEX vectors_to_sweep ON vectors (expires_at_ms);

-- Repository memory. live_*: of facts whose newest interval is open. terms: the sum of term counts.
CREATE TABLE graphs (
    id INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    repository TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0,
    entities INTEGER NOT NULL DEFAULT 0,
    facts INTEGER NOT NULL DEFAULT 0,
    terms INTEGER NOT NULL DEFAULT 0,
    live_facts INTEGER NOT NULL DEFAULT 0,
    live_terms INTEGER NOT NULL DEFAULT 0,
    UNIQUE (tenant_id, repository)
);

CREATE TABLE graph_quotas (
    tenant_id TEXT PRIMARY KEY,
    quotas TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE graph_commits (
    graph_id INTEGER NOT NULL REFERENCES graphs (id),
    commit_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    outcome BLOB NOT NULL,
    origin_session_id TEXT,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (graph_id, commit_id)
) WITHOUT ROWID;

-- folded: the casefolded name. aliases: a JSON array. search_text: what a search for nodes looks into.
CREATE TABLE entities (
    id INTEGER PRIMARY KEY,
    graph_id INTEGER NOT NULL REFERENCES graphs (id),
    entity_id TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    aliases TEXT NOT NULL,
    folded TEXT NOT NULL,
    search_text TEXT NOT NULL,
    UNIQUE (graph_id, entity_id)
);
CREATE INDEX entities_in_order ON entities (graph_id, folded, entity_id);
CREATE TRIGGER entities_counted AFTER INSERT ON entities BEGIN
    UPDATE graphs SET entities = entities + 1 WHERE id = new.graph_id;
END;

-- What an entity answers to, casefolded: its name and its aliases.
CREATE TABLE answers (
    graph_id INTEGER NOT NULL,
    folded TEXT NOT NULL,
    entity INTEGER NOT NULL REFERENCES entities (id),
    PRIMARY KEY (graph_id, folded, entity)
) WITHOUT ROWID;
CREATE INDEX answers_of_entity ON answers (entity);

-- intervals: a JSON array. live: the newest is open. turns_ms: the last moment at which the fact begins or ends to
-- hold; from there on it holds if and only if it is live. terms: the sum of its term counts.
CREATE TABLE facts (
    id INTEGER PRIMARY KEY,
    graph_id INTEGER NOT NULL REFERENCES graphs (id),
    fact_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    predicate TEXT NOT NULL,
    object TEXT NOT NULL,
    functional INTEGER NOT NULL,
    recorded_at_ms INTEGER NOT NULL,
    source TEXT,
    origin_session_id TEXT,
    intervals TEXT NOT NULL,
    live INTEGER NOT NULL,
    turns_ms INTEGER NOT NULL,
    terms INTEGER NOT NULL,
    UNIQUE (graph_id, fact_id)
);
CREATE INDEX facts_of_pair ON facts (graph_id, subject, predicate);
CREATE INDEX facts_of_object ON facts (graph_id, object);
CREATE INDEX facts_turning ON facts (graph_id, turns_ms);
CREATE TRIGGER facts_counted AFTER INSERT ON facts BEGIN
    UPDATE graphs SET facts = facts + 1, terms = terms + new.terms,
        live_facts = live_facts + new.live, live_terms = live_terms + new.live * new.terms
    WHERE id = new.graph_id;
END;
CREATE TRIGGER facts_recounted AFTER UPDATE OF live, terms ON facts
WHEN new.live <> old.live OR new.terms <> old.terms BEGIN
    UPDATE graphs SET terms = terms + new.terms - old.terms,
        live_facts = live_facts + new.live - old.live,
        live_terms = live_terms + new.live * new.terms - old.live * old.terms
    WHERE id = new.graph_id;
END;

-- Which facts a term finds, and how often each carries it.
CREATE TABLE terms (
    graph_id INTEGER NOT NULL,
    term TEXT NOT NULL,
    fact INTEGER NOT NULL REFERENCES facts (id),
    occurrences INTEGER NOT NULL,
    PRIMARY KEY (graph_id, term, fact)
) WITHOUT ROWID;
CREATE INDEX terms_of_fact ON terms (fact);

-- Accounts.
CREATE TABLE organizations (
    tenant_id TEXT PRIMARY KEY,
    suspended INTEGER NOT NULL DEFAULT 0,
    quotas TEXT,
    created_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE users (
    subject_id TEXT PRIMARY KEY,
    suspended INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE members (
    tenant_id TEXT NOT NULL REFERENCES organizations (tenant_id),
    subject_id TEXT NOT NULL REFERENCES users (subject_id),
    member INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, subject_id)
) WITHOUT ROWID;

CREATE TABLE repositories (
    tenant_id TEXT NOT NULL REFERENCES organizations (tenant_id),
    repository TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, repository)
) WITHOUT ROWID;

CREATE TABLE grants (
    tenant_id TEXT NOT NULL,
    subject_id TEXT NOT NULL REFERENCES users (subject_id),
    repository TEXT NOT NULL,
    level TEXT NOT NULL,
    PRIMARY KEY (tenant_id, subject_id, repository),
    FOREIGN KEY (tenant_id, repository) REFERENCES repositories (tenant_id, repository)
) WITHOUT ROWID;

CREATE TABLE keys (
    key_hash TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    tenant_id TEXT NOT NULL REFERENCES organizations (tenant_id),
    subject_id TEXT NOT NULL REFERENCES users (subject_id),
    created_at_ms INTEGER NOT NULL,
    revoked_at_ms INTEGER,
    UNIQUE (tenant_id, key_id)
) WITHOUT ROWID;

-- The registry: a chat session belongs to one participant in the whole world, and its row is never removed.
-- cleaned: the memory of a revoked session is known to be gone.
CREATE TABLE bindings (
    session_id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    registered_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    revoked_at_ms INTEGER,
    expired_at_ms INTEGER,
    cleaned INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX bindings_of_participant ON bindings (tenant_id, subject_id, registered_at_ms DESC);
CREATE INDEX bindings_active ON bindings (tenant_id, expires_at_ms)
WHERE revoked_at_ms IS NULL AND expired_at_ms IS NULL;
CREATE INDEX bindings_owed ON bindings (revoked_at_ms, session_id) WHERE revoked_at_ms IS NOT NULL AND NOT cleaned;

CREATE TABLE registries (
    tenant_id TEXT PRIMARY KEY,
    retained INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TRIGGER bindings_counted AFTER INSERT ON bindings BEGIN
    INSERT OR IGNORE INTO registries (tenant_id) VALUES (new.tenant_id);
    UPDATE registries SET retained = retained + 1 WHERE tenant_id = new.tenant_id;
END;

-- AUTOINCREMENT: a number is never used twice, so that whoever follows the audit misses nothing.
CREATE TABLE audit (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    action TEXT NOT NULL,
    tenant_id TEXT,
    subject_id TEXT,
    target TEXT,
    detail TEXT
);

PRAGMA application_id = 0x43534E50;
PRAGMA user_version = 1;
