-- Version 3 of the schema: agent memory. Every row carries its tenant, and so does every statement.

-- last_id, last_task: the newest numbers given to a record and to a task. quotas: JSON; null: the defaults.
CREATE TABLE agent_tenants (
    tenant_id TEXT PRIMARY KEY,
    last_id INTEGER NOT NULL DEFAULT 0,
    last_task INTEGER NOT NULL DEFAULT 0,
    agents INTEGER NOT NULL DEFAULT 0,
    tasks INTEGER NOT NULL DEFAULT 0,
    quotas TEXT
) WITHOUT ROWID;

-- salt: what its terms are hashed with. terms: the sum of term counts. tuning: JSON; null: the defaults.
CREATE TABLE agents (
    id INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    salt BLOB NOT NULL,
    memories INTEGER NOT NULL DEFAULT 0,
    episodes INTEGER NOT NULL DEFAULT 0,
    terms INTEGER NOT NULL DEFAULT 0,
    keys INTEGER NOT NULL DEFAULT 0,
    discarded INTEGER NOT NULL DEFAULT 0,
    profile TEXT NOT NULL DEFAULT '',
    profile_at_ms INTEGER,
    tuning TEXT,
    UNIQUE (tenant_id, agent_id)
);
CREATE TRIGGER agents_counted AFTER INSERT ON agents BEGIN
    UPDATE agent_tenants SET agents = agents + 1 WHERE tenant_id = new.tenant_id;
END;

CREATE TABLE agent_grants (
    tenant_id TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    agent INTEGER NOT NULL REFERENCES agents (id),
    level TEXT NOT NULL,
    PRIMARY KEY (tenant_id, subject_id, agent)
) WITHOUT ROWID;
CREATE INDEX agent_grants_of_agent ON agent_grants (agent);

-- place: a higher one is newer; what the index calls the row. id: the number within the tenant. content_key: what
-- equal contents have in common. terms: one blank between. source, metadata: JSON.
CREATE TABLE agent_memories (
    place INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    agent INTEGER NOT NULL REFERENCES agents (id),
    id INTEGER NOT NULL,
    project_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    source_id TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    term_count INTEGER NOT NULL,
    locked INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    recalled INTEGER NOT NULL,
    recalled_at_ms INTEGER,
    message_id TEXT NOT NULL,
    content_key TEXT NOT NULL,
    terms TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    source TEXT NOT NULL,
    metadata TEXT NOT NULL,
    content TEXT NOT NULL
);
CREATE UNIQUE INDEX agent_memories_by_id ON agent_memories (tenant_id, id);
CREATE UNIQUE INDEX agent_memories_by_content ON agent_memories (agent, content_key, project_id, channel);
CREATE UNIQUE INDEX agent_memories_by_message ON agent_memories (agent, message_id, project_id) WHERE message_id <> '';
CREATE INDEX agent_memories_newest ON agent_memories (agent, created_at_ms DESC, id DESC);
CREATE TRIGGER agent_memories_counted AFTER INSERT ON agent_memories BEGIN
    UPDATE agents SET memories = memories + 1, terms = terms + new.term_count WHERE id = new.agent;
END;
CREATE TRIGGER agent_memories_recounted AFTER UPDATE OF term_count ON agent_memories BEGIN
    UPDATE agents SET terms = terms + new.term_count - old.term_count WHERE id = new.agent;
END;
CREATE TRIGGER agent_memories_uncounted AFTER DELETE ON agent_memories BEGIN
    UPDATE agents SET memories = memories - 1, terms = terms - old.term_count WHERE id = old.agent;
END;

CREATE TABLE agent_episodes (
    place INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    agent INTEGER NOT NULL REFERENCES agents (id),
    id INTEGER NOT NULL,
    project_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    term_count INTEGER NOT NULL,
    resolved INTEGER NOT NULL,
    summary_key TEXT NOT NULL,
    terms TEXT NOT NULL,
    start_time TEXT NOT NULL,
    end_time TEXT NOT NULL,
    keywords TEXT NOT NULL,
    summary TEXT NOT NULL
);
CREATE UNIQUE INDEX agent_episodes_by_id ON agent_episodes (tenant_id, id);
CREATE INDEX agent_episodes_by_summary ON agent_episodes (agent, summary_key, project_id, channel);
CREATE INDEX agent_episodes_newest ON agent_episodes (agent, created_at_ms DESC, id DESC);
CREATE TRIGGER agent_episodes_counted AFTER INSERT ON agent_episodes BEGIN
    UPDATE agents SET episodes = episodes + 1, terms = terms + new.term_count WHERE id = new.agent;
END;
CREATE TRIGGER agent_episodes_uncounted AFTER DELETE ON agent_episodes BEGIN
    UPDATE agents SET episodes = episodes - 1, terms = terms - old.term_count WHERE id = old.agent;
END;

-- The full-text indexes hold which record carries which term, and nothing else. A term is a hash of it under the
-- agent's salt: no agent's question meets another's entries, any text is one word, and what a merge of the index has
-- not yet cleared away says nothing once the salt is gone. The second of each pair tells how many carry a term.
CREATE VIRTUAL TABLE agent_memory_index USING fts5 (
    terms, content = '', columnsize = 0, detail = none, tokenize = 'ascii'
);
CREATE VIRTUAL TABLE agent_memory_terms USING fts5vocab (agent_memory_index, row);
CREATE VIRTUAL TABLE agent_episode_index USING fts5 (
    terms, content = '', columnsize = 0, detail = none, tokenize = 'ascii'
);
CREATE VIRTUAL TABLE agent_episode_terms USING fts5vocab (agent_episode_index, row);

-- Answers to idempotency keys, each for a day. answer: JSON.
CREATE TABLE agent_keys (
    tenant_id TEXT NOT NULL,
    agent INTEGER NOT NULL REFERENCES agents (id),
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    made_at_ms INTEGER NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (agent, key)
) WITHOUT ROWID;
CREATE INDEX agent_keys_to_sweep ON agent_keys (made_at_ms);
CREATE TRIGGER agent_keys_counted AFTER INSERT ON agent_keys BEGIN
    UPDATE agents SET keys = keys + 1 WHERE id = new.agent;
END;
CREATE TRIGGER agent_keys_uncounted AFTER DELETE ON agent_keys BEGIN
    UPDATE agents SET keys = keys - 1 WHERE id = old.agent;
END;

-- Writes that wait, each with who asked for it.
CREATE TABLE agent_tasks (
    tenant_id TEXT NOT NULL,
    task_id INTEGER NOT NULL,
    subject_id TEXT NOT NULL,
    agent INTEGER NOT NULL REFERENCES agents (id),
    agent_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    enqueued_at_ms INTEGER NOT NULL,
    due_at_ms INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    payload TEXT NOT NULL,
    PRIMARY KEY (tenant_id, task_id)
) WITHOUT ROWID;
CREATE INDEX agent_tasks_due ON agent_tasks (due_at_ms, enqueued_at_ms, tenant_id, task_id);
CREATE INDEX agent_tasks_of_agent ON agent_tasks (agent);
CREATE TRIGGER agent_tasks_counted AFTER INSERT ON agent_tasks BEGIN
    UPDATE agent_tenants SET tasks = tasks + 1 WHERE tenant_id = new.tenant_id;
END;
CREATE TRIGGER agent_tasks_uncounted AFTER DELETE ON agent_tasks BEGIN
    UPDATE agent_tenants SET tasks = tasks - 1 WHERE tenant_id = old.tenant_id;
END;

PRAGMA user_version = 3;
