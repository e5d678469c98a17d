-- Version 2 of the schema: protocol sessions, which outlive the server that opened them.

-- key: a hash of the session's id. capabilities: JSON. session_id, expires_at_ms: its binding, null until it is bound.
CREATE TABLE transports (
    key TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    key_id TEXT NOT NULL,
    version TEXT NOT NULL,
    capabilities BLOB NOT NULL,
    opened_at_ms INTEGER NOT NULL,
    used_at_ms INTEGER NOT NULL,
    initialized INTEGER NOT NULL,
    log_level TEXT NOT NULL,
    session_id TEXT,
    expires_at_ms INTEGER
) WITHOUT ROWID;
CREATE INDEX transports_of_principal ON transports (subject_id, tenant_id, used_at_ms);
CREATE INDEX transports_of_session ON transports (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX transports_to_sweep ON transports (used_at_ms);
CREATE INDEX transports_expiring ON transports (expires_at_ms) WHERE expires_at_ms IS NOT NULL;

-- Which were closed, for the other servers on this file; each for an hour. AUTOINCREMENT: no number is used twice.
CREATE TABLE transport_ends (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL,
    at_ms INTEGER NOT NULL
);
CREATE INDEX transport_ends_to_sweep ON transport_ends (at_ms);

PRAGMA user_version = 2;
