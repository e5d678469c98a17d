"""Promises of seed 0, session identity and inherited context, in the order of its sections."""

from __future__ import annotations

from codesynapse.contracts.ledger import PENDING, Requirement

ROWS: tuple[Requirement, ...] = (
    Requirement(
        id="identity:supplied",
        promise=(
            "The calling runtime names the primary session before its first tool call, and the server registers "
            "exactly that id."
        ),
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="identity:never-generated",
        promise=(
            "Every place that creates a session row takes the id from its caller; the server makes none of its own."
        ),
        source="seed 0, Primary session contract; product.md, The two identities",
        tests=PENDING,
    ),
    Requirement(
        id="identity:no-substitute",
        promise=(
            "A request id, transport session id, timestamp, key hash or default is never accepted as a primary "
            "session id."
        ),
        source="seed 0, Primary session contract; product.md, The two identities",
        tests=PENDING,
    ),
    Requirement(
        id="identity:stable:reconnect",
        promise=(
            "A client that comes back under its primary id, as after a cut or a compaction, finds the memory that it "
            "left."
        ),
        source="seed 0, Primary session contract; product.md, Who uses it",
        tests=PENDING,
    ),
    Requirement(
        id="identity:stable:retry",
        promise="A call that is tried again runs under the primary id of its first try.",
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="identity:fields",
        promise=(
            "An identity has a tenant, a subject, a primary and a parent session, and is refused when one of the four "
            "is missing."
        ),
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="identity:charset",
        promise=(
            "Each identifier is 1 to 128 ASCII letters, digits and signs . _ : - and nothing else, up to its very end."
        ),
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="identity:parent-equal",
        promise="An identity whose parent session differs from its primary session is refused.",
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="identity:immutable",
        promise="No field of an identity or of a bound execution can be changed after it was made.",
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="execution:require",
        promise="Work is refused before it begins when its execution is missing, cancelled or past its deadline.",
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="execution:every-service",
        promise="Every service function that reaches memory takes an execution as its argument.",
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="execution:apart-from-permission",
        promise="A valid execution opens no repository by itself; the repository's grant is asked for separately.",
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="transport:selects-no-memory",
        promise=(
            "Two transport sessions of one primary id share memory, and one transport session id never chooses what "
            "is read."
        ),
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="correlation:selects-no-memory",
        promise="Request, trace, job and task ids only label work; none of them decides which memory is touched.",
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="binding:global",
        promise="A primary id belongs to exactly one user of exactly one organisation in the whole installation.",
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="binding:idempotent",
        promise=(
            "Registering an id again as the same user in the same organisation changes nothing and returns the same "
            "binding."
        ),
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="binding:foreign",
        promise="Neither another user of the organisation nor a user of another one can register an id that is taken.",
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="binding:race",
        promise="When two participants register one id at the same moment, exactly one of them owns it afterwards.",
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="binding:membership",
        promise="As soon as its user's membership is withdrawn, a session's next call gets 403, over REST and MCP.",
        source=(
            "seed 0, Primary session contract; seed 0, Retention, audit and verification; product.md, Who is refused "
            "how"
        ),
        tests=PENDING,
    ),
    Requirement(
        id="binding:suspension",
        promise="While its user or its organisation is suspended, a session's calls get 403.",
        source="seed 0, Primary session contract; product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="binding:privilege",
        promise="A platform administrator without a registered session or without a grant reads and writes no memory.",
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="binding:expiry:seven-days",
        promise="A binding ends seven days after its registration.",
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="binding:expiry:fixed",
        promise="Using or registering a session again never moves its deadline: `expires_at` stays the same.",
        source="seed 0, Primary session contract; product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="binding:tombstone",
        promise=(
            "A revoked id, or one seen expired, stays recorded for good, and registering it again does not reopen it."
        ),
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="binding:limit:active",
        promise="An organisation holds at most 1,024 active bindings unless its setting says otherwise.",
        source="seed 0, Primary session contract; decision 12",
        tests=PENDING,
    ),
    Requirement(
        id="binding:limit:retained",
        promise="An organisation keeps at most 65,536 bindings, tombstones counted, unless its setting says otherwise.",
        source="seed 0, Primary session contract; decision 12",
        tests=PENDING,
    ),
    Requirement(
        id="binding:tombstones-stay",
        promise="Reaching the retained limit refuses registration and deletes no tombstone to make room.",
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="binding:no-silent-switch",
        promise="When a session expires its calls are refused, and nothing goes on under another id.",
        source="seed 0, Primary session contract",
        tests=PENDING,
    ),
    Requirement(
        id="accounts:required",
        promise="The server does not start without an accounts store.",
        source="seed 0, Runtime integration; decision 9",
        tests=PENDING,
    ),
    Requirement(
        id="register:route",
        promise=(
            "`POST /api/v1/execution/sessions` with a `session_id` registers it and answers with the validated "
            "identity."
        ),
        source="seed 0, Runtime integration",
        tests=PENDING,
    ),
    Requirement(
        id="register:key-organisation",
        promise="A personal API key alone decides in which organisation a session is registered.",
        source="seed 0, Runtime integration",
        tests=PENDING,
    ),
    Requirement(
        id="register:browser-organisation",
        promise="A browser session names its organisation by the organisation header when it registers.",
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="register:control-plane",
        promise="Registration works without the two execution headers.",
        source="seed 0, Runtime integration",
        tests=PENDING,
    ),
    Requirement(
        id="headers:both",
        promise="Each execution request names session and inherited parent; one with either header missing gets 403.",
        source="seed 0, Primary session contract; seed 0, Runtime integration; product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="headers:outside-arguments",
        promise=(
            "No tool schema has a field for tenant, subject, session or parent, and such an argument is refused as "
            "unknown."
        ),
        source="seed 0, Runtime integration; product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="headers:middleware",
        promise=(
            "A REST handler runs only after the caller was authenticated and the binding resolved, with an immutable "
            "execution."
        ),
        source="seed 0, Runtime integration",
        tests=PENDING,
    ),
    Requirement(
        id="mcp:resolve:each-call",
        promise="The binding is resolved from the accounts before every single tool call.",
        source="seed 0, Runtime integration; product.md, The two identities",
        tests=PENDING,
    ),
    Requirement(
        id="mcp:bind:once",
        promise="The first request with both headers binds a protocol session, and that binding never changes.",
        source="seed 0, Runtime integration; product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="mcp:bind:reconnect",
        promise="A new protocol session may be opened under a primary id that is still live.",
        source="seed 0, Runtime integration",
        tests=PENDING,
    ),
    Requirement(
        id="mcp:bind:no-switch",
        promise="A protocol session resumed or used under another primary id gets 403 and stays with its own.",
        source="seed 0, Runtime integration; seed 0, Retention, audit and verification; product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="mcp:bind:everywhere",
        promise="Listening by GET, resuming by event id and ending by DELETE check the binding as a POST does.",
        source="seed 0, Runtime integration",
        tests=PENDING,
    ),
    Requirement(
        id="mcp:initialize-alone",
        promise="A client that has only URL and key can initialise, and no tool does any work for it.",
        source="seed 0, Runtime integration",
        tests=PENDING,
    ),
    Requirement(
        id="stdio:credentials",
        promise="The stdio server needs a personal API key and both session variables when it starts.",
        source="seed 0, Runtime integration; product.md, Running it",
        tests=PENDING,
    ),
    Requirement(
        id="stdio:one-chat",
        promise="One stdio process serves one session from its first line to its last.",
        source="seed 0, Runtime integration; product.md, Running it",
        tests=PENDING,
    ),
    Requirement(
        id="stdio:environment-once",
        promise=(
            "A stdio process takes its ids from the environment at its start; a later change there changes nothing."
        ),
        source="seed 0, Runtime integration",
        tests=PENDING,
    ),
    Requirement(
        id="session-free:control",
        promise="Authentication, health, accounts and grants work without a chat session.",
        source="seed 0, Runtime integration",
        tests=PENDING,
    ),
    Requirement(
        id="session-free:dashboard",
        promise="Ordinary reads of the dashboard work without a chat session.",
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="session-required:memory",
        promise="Every change of memory and every tool call is refused without a registered session.",
        source="seed 0, Runtime integration",
        tests=PENDING,
    ),
    Requirement(
        id="session-required:ingest",
        promise="Ingesting, attaching and synchronising a repository are refused without a registered session.",
        source="seed 0, Runtime integration",
        to_come="Code graph and ingest",
    ),
    Requirement(
        id="session-required:jobs",
        promise="AI tasks and fix jobs are refused without a registered session.",
        source="seed 0, Runtime integration",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="legacy:service-token",
        promise="A service token without an account authorises no memory, tool or job operation.",
        source="seed 0, Runtime integration",
        decision=9,
    ),
    Requirement(
        id="dashboard:proxy",
        promise="The web proxy passes on no execution header that a browser sent.",
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="dashboard:cookie",
        promise="A request with a login cookie and no execution header runs in that login's own dashboard session.",
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="dashboard:id",
        promise=(
            "A dashboard id is `web:` and a hash over the login's token hash, the organisation and the seven-day "
            "window."
        ),
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="dashboard:own-browser",
        promise="Only the browser that signed in reaches its dashboard session, and nobody does after it signed out.",
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="dashboard:as-any",
        promise="A dashboard session is registered, audited, limited, tombstoned and rechecked like every other.",
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="dashboard:window",
        promise=(
            "A login that outlasts its window gets a new id at the boundary, while the old binding is still active."
        ),
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="dashboard:pruned",
        promise="The memory of an unreachable dashboard session is removed once it has expired.",
        source="seed 0, Runtime integration",
        to_come="Retention and erasure",
    ),
    Requirement(
        id="dashboard:not-for-keys",
        promise="An API key or service token without execution headers never gets a dashboard session.",
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="dashboard:no-fallback",
        promise=(
            "A browser request that names an unregistered session is refused and does not fall back to the dashboard's."
        ),
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="propagation:retrieval",
        promise="Graph and vector retrieval run with the execution of the call that asked for them.",
        source="seed 0, Propagation and jobs",
        tests=PENDING,
    ),
    Requirement(
        id="propagation:embedding",
        promise="Local embedding runs with the execution of the call that asked for it.",
        source="seed 0, Propagation and jobs",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="propagation:model",
        promise=(
            "A model call without an execution is refused before a provider is looked up or the network is touched."
        ),
        source="seed 0, Propagation and jobs",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="propagation:runners",
        promise="AI and fix runners without an execution stop before they read any store.",
        source="seed 0, Propagation and jobs",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="propagation:subprocess",
        promise=(
            "A subprocess gets the validated identity and no stray execution variable; the server's environment stays."
        ),
        source="seed 0, Propagation and jobs",
        to_come="Code graph and ingest",
    ),
    Requirement(
        id="jobs:identity",
        promise="A queued job holds a copy of the identity and the ids of its actor and key, and no bearer token.",
        source="seed 0, Propagation and jobs; seed 0, Retention, audit and verification",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="jobs:recheck",
        promise=(
            "A worker checks session, membership, key and grant again before its work and before it stores a result."
        ),
        source="seed 0, Propagation and jobs",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="jobs:schedule",
        promise="A schedule keeps its identity through a restart, and one without an identity does not run.",
        source="seed 0, Propagation and jobs",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="jobs:schedule:accountless",
        promise="A schedule does not run where there are no accounts.",
        source="seed 0, Propagation and jobs",
        decision=9,
    ),
    Requirement(
        id="jobs:same-session",
        promise="Delegated work, background work and each retry of a job run under the primary id that started it.",
        source="seed 0, Primary session contract; seed 0, Propagation and jobs",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="jobs:durable",
        promise=(
            "A queued job outlives a restart, and an interrupted one is claimed again only after its lease has run out."
        ),
        source="seed 0, Propagation and jobs",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="jobs:rebuild",
        promise="A job claimed again is rebuilt from its stored parameters after all checks have been repeated.",
        source="seed 0, Propagation and jobs",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="jobs:fix-once",
        promise="A fix job that was interrupted is never started again.",
        source="seed 0, Propagation and jobs",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="offload:memory-only",
        promise="Offloaded turns lie in process memory alone; a shutdown drops them and no restart replays them.",
        source="seed 0, Propagation and jobs",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="offload:redacted",
        promise="Turns are redacted and bounded before they enter the queue.",
        source="seed 0, Propagation and jobs",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="offload:local-model",
        promise="Extraction from turns uses the local memory model and no other.",
        source="seed 0, Propagation and jobs",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="offload:recheck",
        promise="Extraction checks the authorisation again before it stores a fact.",
        source="seed 0, Propagation and jobs",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="offload:old-route",
        promise="The old offload route of a repository answers 410 and stores nothing.",
        source="seed 0, Propagation and jobs",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="scope:session:access",
        promise=(
            "Session memory opens to its own user, tenant and primary session in an authorised repository namespace "
            "only."
        ),
        source="seed 0, Session and repository memory",
        tests=PENDING,
    ),
    Requirement(
        id="scope:session:separate",
        promise="Entities, facts and vectors of a session are kept apart from those of every other session.",
        source="seed 0, Session and repository memory",
        tests=PENDING,
    ),
    Requirement(
        id="scope:repository:permission",
        promise="Repository memory opens by organisation and repository grant, to whichever session the caller is in.",
        source="seed 0, Session and repository memory",
        tests=PENDING,
    ),
    Requirement(
        id="scope:repository:legacy",
        promise="A repository fact without an origin session is served without one; none is invented for it.",
        source="seed 0, Session and repository memory",
        tests=PENDING,
    ),
    Requirement(
        id="promotion:explicit",
        promise="Promotion copies only the current session facts whose ids the caller names.",
        source="seed 0, Session and repository memory",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="promotion:write-grant",
        promise="Promotion needs a write grant on the repository.",
        source="seed 0, Session and repository memory",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="recall:default-session",
        promise="`recall_context` without a scope answers from session memory.",
        source="seed 0, Session and repository memory",
        tests=PENDING,
    ),
    Requirement(
        id="recall:repository",
        promise='`recall_context` with `memory_scope: "repository"` answers from durable memory.',
        source="seed 0, Session and repository memory",
        tests=PENDING,
    ),
    Requirement(
        id="offload:session-only",
        promise="`offload_turns` stores into session memory and nowhere else.",
        source="seed 0, Session and repository memory",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="upsert:default-repository",
        promise="`upsert_graph_triples` without a scope writes repository memory.",
        source="seed 0, Session and repository memory",
        tests=PENDING,
    ),
    Requirement(
        id="graph-tools:repository",
        promise="`search_graph_nodes` and `query_subgraph` read the repository's graph and nothing of a session.",
        source="seed 0, Session and repository memory",
        tests=PENDING,
    ),
    Requirement(
        id="origin:recorded",
        promise="Each new durable write records the session that it came from.",
        source="seed 0, Session and repository memory",
        tests=PENDING,
    ),
    Requirement(
        id="rest:memory:read",
        promise=(
            "`GET …/session-memory` lists this session's facts by optional `q` and `history`, 50 or up to 512 of them."
        ),
        source="seed 0, Session and repository memory; product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="rest:memory:write",
        promise="`POST …/session-memory` validates and upserts triples with an optional source.",
        source="seed 0, Session and repository memory",
        tests=PENDING,
    ),
    Requirement(
        id="rest:memory:clear",
        promise="`DELETE …/session-memory` empties and closes this session's namespace: `{closed: true, removed}`.",
        source="seed 0, Session and repository memory; product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="rest:memory:recall",
        promise="`POST …/session-memory/recall` answers a query from the current facts of this session.",
        source="seed 0, Session and repository memory",
        tests=PENDING,
    ),
    Requirement(
        id="rest:memory:offload",
        promise="`POST …/session-memory/offload` queues local extraction from turns.",
        source="seed 0, Session and repository memory",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="rest:memory:promote",
        promise="`POST …/session-memory/promote` copies 1 to 50 named facts into durable memory.",
        source="seed 0, Session and repository memory",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="rest:memory:index",
        promise="`POST …/memory/index` refreshes a bounded batch of durable embeddings under this session's execution.",
        source="seed 0, Graph and vector schema; seed 0, Session and repository memory",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="rest:memory:guarded",
        promise=(
            "Every session-memory route refuses a request without the headers or without a grant on the repository."
        ),
        source="seed 0, Session and repository memory",
        tests=PENDING,
    ),
    Requirement(
        id="promotion:copies",
        promise="A promoted fact stays in session memory, and clearing that memory leaves the promoted one.",
        source="seed 0, Session and repository memory",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="cleared:closed",
        promise=(
            "A cleared namespace stays closed through reconnects and restarts: reads are empty, writes "
            "`namespace_closed`."
        ),
        source="seed 0, Session and repository memory; product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="jobs:own-list",
        promise="Lists and details of memory jobs show only those of the asking execution identity.",
        source="seed 0, Session and repository memory",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="store:contract:graph-servers",
        promise="Neo4j and HugeGraph pass the same session-memory contract as the memory store.",
        source="seed 0, Graph and vector schema",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="engine:scope",
        promise=(
            "An entity id or content that belongs to another tenant, session or namespace is refused before the commit."
        ),
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="engine:endpoints",
        promise="A fact whose subject or object is not an entity of the same snapshot is refused.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="engine:predicates",
        promise="A fact with a malformed predicate is refused before the commit.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="store:revision-check",
        promise=(
            "A store refuses a stale revision in its own transaction, also from a writer that goes past the engine."
        ),
        source="seed 0, Graph and vector schema; decision 15",
        tests=PENDING,
    ),
    Requirement(
        id="store:quota-check",
        promise=(
            "A store refuses what exceeds a quota in its own transaction, also from a writer that goes past the engine."
        ),
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="schema:scope",
        promise="A scope record has tenant, session, ns, bounded document, revision, expiry, tombstone and fact count.",
        source="seed 0, Graph and vector schema",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="schema:entity",
        promise=(
            "An entity record has the scope's fields, its id as `id` or `eid`, a redacted document, expiry and "
            "embedding."
        ),
        source="seed 0, Graph and vector schema",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="schema:fact",
        promise=(
            "A `SESSION_FACT` has the scope's fields on itself and both ends, a fact id, predicate, redacted document "
            "and expiry."
        ),
        source="seed 0, Graph and vector schema",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="schema:tenant-lock",
        promise="Neo4j checks quotas of concurrent commits under one lock record a tenant.",
        source="seed 0, Graph and vector schema",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="schema:apart",
        promise="No session entity carries the code graph's label `Node`, and no session edge is a durable `FACT`.",
        source="seed 0, Graph and vector schema",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="schema:shared-code",
        promise="Two sessions on one repository read one code graph; it is not copied for each.",
        source="seed 0, Graph and vector schema",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="schema:code-properties",
        promise="Session memory adds no property to the nodes of the code graph.",
        source="seed 0, Graph and vector schema",
        to_come="Code graph and ingest",
    ),
    Requirement(
        id="revocation:all-namespaces",
        promise="One revocation record closes every namespace of a session, also those that are opened later.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="limits:facts",
        promise="A namespace holds at most 512 facts.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="limits:entities",
        promise="A namespace holds at most 1,024 entities.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="limits:snapshot",
        promise="A serialised snapshot has at most 24 KiB.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="limits:namespaces",
        promise="A session keeps at most 16 namespaces.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="limits:session-facts",
        promise="A session holds at most 2,048 live facts over all its namespaces.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="limits:tenant-roots",
        promise="A tenant keeps at most 2,048 scope roots.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="limits:tenant-facts",
        promise="A tenant holds at most 65,536 live facts.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="limits:dead-roots-count",
        promise="Cleared and expired roots go on counting towards the caps of namespaces and roots.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="limits:size-first",
        promise="A snapshot over 24 KiB is refused although its counts are within their limits.",
        source="seed 0, Graph and vector schema; decision 13",
        tests=PENDING,
    ),
    Requirement(
        id="limits:backend-request",
        promise="A snapshot over the backend's own request limit is refused clearly before anything is sent.",
        source="seed 0, Graph and vector schema",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="limits:lifetime",
        promise="No sweep or clearing ever lowers the number of retained roots of a tenant.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="hugegraph:serialised",
        promise=(
            "Commits on one HugeGraph server happen one by one, and the docs promise nothing of the kind for a cluster."
        ),
        source="seed 0, Graph and vector schema",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="read:scope-filters",
        promise=(
            "A snapshot is loaded by tenant, session and namespace together; a wrong one of the three finds nothing."
        ),
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="read:traversal-scope",
        promise="A traversal keeps tenant, session and namespace on both ends of each edge.",
        source="seed 0, Graph and vector schema",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="queries:representative",
        promise="The seed's Cypher and Gremlin queries return from stored data what the engine returns.",
        source="seed 0, Graph and vector schema",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="queries:constant:graph",
        promise="Cypher and Gremlin scripts are constants, and values reach them only by parameters or bindings.",
        source="seed 0, Graph and vector schema",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="queries:constant:sql",
        promise="SQL statements are constants, and values reach them only by parameters.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="read:dead",
        promise="Loading a snapshot of a revoked or expired session is refused although its rows are still there.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="milvus:collections",
        promise="Session vectors have Milvus collections by model and dimension, with the tenant as partition key.",
        source="seed 0, Graph and vector schema",
        to_come="Milvus",
    ),
    Requirement(
        id="vectors:compound-ids",
        promise="The same logical id in two sessions gives two vectors; neither overwrites the other.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="milvus:filter",
        promise=(
            "A Milvus search filters by tenant, session, namespace and expiry after the present millisecond, by "
            "parameters."
        ),
        source="seed 0, Graph and vector schema",
        to_come="Milvus",
    ),
    Requirement(
        id="vectors:recheck",
        promise="Each vector hit is checked again for tenant, session, namespace, expiry and a valid score.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="vectors:hydrated",
        promise="A vector hit is answered only from a freshly loaded snapshot that still has it.",
        source="seed 0, Graph and vector schema",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="recall:lexical-fields",
        promise="Lexical session recall ranks by BM25 over names, aliases and types of the scope's entities.",
        source="seed 0, Graph and vector schema",
        tests=PENDING,
    ),
    Requirement(
        id="recall:rank-fusion",
        promise="Session recall joins bounded BM25 and dense vectors by reciprocal ranks with equal weights.",
        source="seed 0, Graph and vector schema",
        decision=8,
    ),
    Requirement(
        id="recall:without-embeddings",
        promise="Entities without an embedding are still found by their words.",
        source="seed 0, Graph and vector schema",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="neo4j:exact-vectors",
        promise="Neo4j compares session vectors exactly, bounded, inside the selected scope.",
        source="seed 0, Graph and vector schema",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="embedding:refresh",
        promise=(
            "Embeddings are refreshed under the execution that changed session or durable memory, never without one."
        ),
        source="seed 0, Graph and vector schema",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="embedding:optional",
        promise="When refreshing embeddings fails, the write stands and lexical recall works.",
        source="seed 0, Graph and vector schema",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="retention:expiry",
        promise=(
            "Every namespace of a session expires at its binding's deadline; a commit with another expiry is refused."
        ),
        source="seed 0, Graph and vector schema; seed 0, Retention, audit and verification; decision 12",
        tests=PENDING,
    ),
    Requirement(
        id="retention:revoke:blocks",
        promise="A revocation blocks the session's next call at once.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="retention:revoke:cleans",
        promise="A revocation tries to remove the session's graph and vectors at once.",
        source="seed 0, Retention, audit and verification",
        to_come="Retention and erasure",
    ),
    Requirement(
        id="retention:worker",
        promise="Every minute a worker retries cleaning up and removes expired sessions in bounded batches.",
        source="seed 0, Retention, audit and verification",
        to_come="Retention and erasure",
    ),
    Requirement(
        id="retention:on-access",
        promise="Access to an expired scope removes what is left of it.",
        source="seed 0, Retention, audit and verification",
        to_come="Retention and erasure",
    ),
    Requirement(
        id="retention:old-workers",
        promise="A commit that began before a revocation or expiry cannot bring data back afterwards.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="retention:failure",
        promise="A cleanup that fails gives nobody access again.",
        source="seed 0, Retention, audit and verification",
        to_come="Retention and erasure",
    ),
    Requirement(
        id="metrics:no-session-labels",
        promise="No metric label or span holds a primary or parent session id, or any offered one.",
        source="seed 0, Retention, audit and verification; product.md, Who is refused how",
        to_come="Observability",
    ),
    Requirement(
        id="audit:targets",
        promise="The audit may name a session as its target, and only those with access to the audit read it.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="errors:no-echo",
        promise="No answer or log line repeats an identifier that was offered and refused.",
        source="seed 0, Retention, audit and verification; product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="telemetry:no-content",
        promise="Prompt text and raw turns reach no log, span or metric.",
        source="seed 0, Retention, audit and verification",
        to_come="Observability",
    ),
    Requirement(
        id="suite:conflicting-identity",
        promise="The contract suite refuses a second owner for a taken session on every store.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="suite:cross-reads",
        promise="The contract suite finds nothing of one tenant or session from another.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="suite:guessed-ids",
        promise="The contract suite finds nothing by ids that were guessed.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="suite:duplicate-names",
        promise="The contract suite keeps equal names in different scopes apart.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="suite:dead-writes",
        promise="The contract suite sees writes to revoked and expired sessions refused.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="suite:revival",
        promise="The contract suite cannot revive a dead scope by calling the adapter directly.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="suite:immutable-expiry",
        promise="The contract suite cannot move the expiry of a scope.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="suite:retained-roots",
        promise="The contract suite meets the cap on retained roots.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="suite:foreign-vectors",
        promise="The contract suite sees planted foreign vector hits dropped.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="verified:propagation",
        promise="Ids from HTTP headers and from a stdio process's environment arrive at the stored fact unchanged.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="cancelled:writes-nothing",
        promise="A call that is cancelled before its commit stores nothing.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="release:lint",
        promise="The checks before a release run the linter and the type checker over all packages.",
        source="seed 0, Retention, audit and verification",
        tests=PENDING,
    ),
    Requirement(
        id="release:race-detector",
        promise="The checks before a release run the race detector and the vet tool of the original's language.",
        source="seed 0, Retention, audit and verification",
        not_testable="names another language's tools; here races are proved by transactions held open in the suite",
    ),
    Requirement(
        id="release:graph-servers",
        promise="The checks before a release run the contract on a real Neo4j and a real HugeGraph.",
        source="seed 0, Retention, audit and verification",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="release:milvus",
        promise="The checks before a release run the contract on a real Milvus.",
        source="seed 0, Retention, audit and verification",
        to_come="Milvus",
    ),
)
