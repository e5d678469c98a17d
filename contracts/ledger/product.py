"""Promises of product.md that the seeds do not make, its decisions included, in its own order."""

from __future__ import annotations

from codesynapse.contracts.ledger import PENDING, Requirement

ROWS: tuple[Requirement, ...] = (
    Requirement(
        id="reach:transports",
        promise="An official MCP client stores and recalls over Streamable HTTP, over stdio and through the bridge.",
        source="product.md, Introduction",
        tests=PENDING,
    ),
    Requirement(
        id="survive:restart",
        promise="A fact that was acknowledged is found again after the server was killed and started anew.",
        source="product.md, Who uses it",
        tests=PENDING,
    ),
    Requirement(
        id="survive:disconnect",
        promise="A write whose connection was cut is whole or absent, and its session goes on.",
        source="product.md, Who uses it",
        tests=PENDING,
    ),
    Requirement(
        id="errors:actionable",
        promise="An error for bad input names the field and the limit.",
        source="product.md, Who uses it",
        tests=PENDING,
    ),
    Requirement(
        id="suite:local-stores",
        promise="The memory store and the SQLite store pass one shared contract suite.",
        source="product.md, Introduction",
        tests=PENDING,
    ),
    Requirement(
        id="suite:one-command",
        promise="One command runs the shared suite on a backend named by an entry point or options.",
        source="product.md, Introduction; product.md, Who uses it",
        tests=PENDING,
    ),
    Requirement(
        id="suite:stranger",
        promise=(
            "The suite runs from a wheel in another's repository that has its own `server` and `contracts` folders."
        ),
        source="product.md, Who uses it",
        tests=PENDING,
    ),
    Requirement(
        id="suite:finds-faults",
        promise="A backend with one planted fault fails the suite's row that names this fault.",
        source="product.md, Who uses it",
        tests=PENDING,
    ),
    Requirement(
        id="suite:no-skips",
        promise="What a backend declares as not offered is deselected at collection, so no run reports a skip.",
        source="product.md, Who uses it",
        tests=PENDING,
    ),
    Requirement(
        id="growing:same-data",
        promise="Pointing a server at another store changes settings and no data model.",
        source="product.md, Who uses it",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="identity:web-prefix",
        promise="Registration refuses an id that begins with `web:`.",
        source="product.md, The two identities",
        tests=PENDING,
    ),
    Requirement(
        id="identity:web-function",
        promise="One named function alone makes `web:` ids.",
        source="product.md, The two identities",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="hints:principal",
        promise="The same key declared in two organisations, or by two users of one, means two buckets.",
        source="decision 1",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="hints:principal:keyless",
        promise="A keyless pause reaches only the keyless callers of the same principal.",
        source="decision 1",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="hints:pauses:principal-cap",
        promise=(
            "Past 256 pauses a principal loses its own nearest to its end, and the answer says `evicted_nearest: true`."
        ),
        source="decision 2",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="hints:pauses:process-cap",
        promise="At 4,096 pauses in the process a further one is refused, and no other principal loses any.",
        source="decision 2",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="hints:told-caps",
        promise="Told keys are capped at 256 a principal and 4,096 in all, the oldest leaving first.",
        source="decision 2",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="hints:key:length",
        promise=(
            "A session key over 256 characters, counted before the strip, is refused, and each schema states the limit."
        ),
        source="decision 3",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="hints:flags-resolved",
        promise="Honesty flags follow the resolved key: a key of whitespace counts as undeclared.",
        source="decision 5",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="hints:graph:now",
        promise="`upsert_graph_triples` obeys the pause and `recall_context` the advisory of the declared key.",
        source="decision 6",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="hints:graph:later",
        promise="`offload_turns` and `promote_facts` obey the pause of the declared key.",
        source="decision 6",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="hints:validate-first",
        promise="Invalid input gets its own error although the caller is paused.",
        source="decision 7",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="ranking:default",
        promise="The default ranking fuses z-scores with features of the entities.",
        source="decision 8",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="ranking:rrf",
        promise="`CODESYNAPSE_FUSION=rrf` ranks by the seed's reciprocal rank formula.",
        source="decision 8; product.md, Settings",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="ranking:store-free",
        promise="Equal memory and an equal question give the same order on every store.",
        source="decision 8",
        tests=PENDING,
    ),
    Requirement(
        id="accounts:memory-graph-durable",
        promise="Accounts in memory beside a durable graph store keep the server from starting.",
        source="decision 9",
        tests=PENDING,
    ),
    Requirement(
        id="hints:only-pauses",
        promise="Only the pause module holds pause state.",
        source="decision 10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="hints:ttl-table",
        promise=(
            'TTLs of true, false, 0, -1, 86,401, 1.0, "60" and null are refused with `ttl_seconds` and 1 to 86,400 '
            "named."
        ),
        source="decision 10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="order:recall-context",
        promise="`recall_context` answers best first.",
        source="decision 11",
        tests=PENDING,
    ),
    Requirement(
        id="order:recall",
        promise="`recall` answers best first, and `recall_with_context` merges by time.",
        source="decision 11",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="quotas:setting",
        promise="Each cap of the first seed is a setting of the organisation with the seed's number as default.",
        source="decision 12",
        tests=PENDING,
    ),
    Requirement(
        id="quotas:audited",
        promise="Raising a cap of an organisation writes an audit record.",
        source="decision 12",
        tests=PENDING,
    ),
    Requirement(
        id="quotas:on-root",
        promise="The caps in force lie on the tenant root, written by `set_quotas`; where absent the seed's hold.",
        source="decision 12",
        tests=PENDING,
    ),
    Requirement(
        id="quotas:not-by-caller",
        promise="A commit has no argument for quotas, so its caller cannot choose them.",
        source="decision 12",
        tests=PENDING,
    ),
    Requirement(
        id="expiry:first-commit",
        promise="The first commit of a scope fixes its expiry, and one later than seven days from now is refused.",
        source="decision 12",
        tests=PENDING,
    ),
    Requirement(
        id="snapshot:size",
        promise=(
            "A snapshot's size is the number of UTF-8 bytes of its canonical JSON, which omits what can be derived."
        ),
        source="decision 13",
        tests=PENDING,
    ),
    Requirement(
        id="snapshot:digest",
        promise="A snapshot has the same digest on every store.",
        source="decision 13",
        tests=PENDING,
    ),
    Requirement(
        id="snapshot:drops-history",
        promise="A commit that does not fit drops superseded facts first, the oldest first.",
        source="decision 13",
        tests=PENDING,
    ),
    Requirement(
        id="snapshot:too-large",
        promise="A commit that does not fit without history is refused with the limit and its size.",
        source="decision 13",
        tests=PENDING,
    ),
    Requirement(
        id="snapshot:live-count",
        promise="Superseded and retracted facts count in the bytes and not in the 512 or 2,048.",
        source="decision 13; decision 14",
        tests=PENDING,
    ),
    Requirement(
        id="facts:functional",
        promise="A functional triple closes the current fact of its subject and predicate.",
        source="decision 14",
        tests=PENDING,
    ),
    Requirement(
        id="facts:recall-current",
        promise="Recall answers from current facts; history stays in the snapshot's bounds and can be asked for.",
        source="decision 14",
        tests=PENDING,
    ),
    Requirement(
        id="facts:id",
        promise="A fact's id follows from subject, predicate and object; repeating an upsert costs no revision.",
        source="decision 14",
        tests=PENDING,
    ),
    Requirement(
        id="facts:late-functional",
        promise="A functional triple that is valid from before the current one enters as history.",
        source="decision 14",
        tests=PENDING,
    ),
    Requirement(
        id="facts:retract",
        promise="`retract: true` closes a fact; asserting a closed one again opens a new interval and counts as added.",
        source="decision 14",
        tests=PENDING,
    ),
    Requirement(
        id="facts:intervals",
        promise="A fact is stored once an id with its intervals; answers show the newest, `history: true` all.",
        source="decision 14",
        tests=PENDING,
    ),
    Requirement(
        id="facts:alias-only",
        promise="An upsert that only adds an alias or a type counts as unchanged and costs a revision.",
        source="decision 14",
        tests=PENDING,
    ),
    Requirement(
        id="facts:absent-valid-from",
        promise="An upsert without `valid_from` leaves the beginning of a current fact as it is.",
        source="decision 14",
        tests=PENDING,
    ),
    Requirement(
        id="facts:future",
        promise="A fact that is valid from a future moment is not current before it.",
        source="decision 14",
        tests=PENDING,
    ),
    Requirement(
        id="facts:orphans",
        promise="An entity leaves the snapshot with its last fact.",
        source="decision 14",
        tests=PENDING,
    ),
    Requirement(
        id="commits:named",
        promise="Every commit names the revision that it read and a commit id.",
        source="decision 15",
        tests=PENDING,
    ),
    Requirement(
        id="commits:remembered",
        promise="The last 32 commit ids with revision, counts and fact ids are kept outside the 24 KiB.",
        source="decision 15",
        tests=PENDING,
    ),
    Requirement(
        id="commits:settled",
        promise="Repeating a remembered commit id returns its first result and writes nothing.",
        source="decision 15",
        tests=PENDING,
    ),
    Requirement(
        id="commits:repository",
        promise=(
            "A repository's counter rises by one a changing commit; commit ids and `expected_revision` work as in a "
            "session."
        ),
        source="decision 15",
        tests=PENDING,
    ),
    Requirement(
        id="commits:retry",
        promise="After a conflict the engine reads, applies and commits again a bounded number of times.",
        source="decision 15",
        tests=PENDING,
    ),
    Requirement(
        id="commits:expected",
        promise="A caller that passes `expected_revision` gets the conflict with the current revision and no retry.",
        source="decision 15",
        tests=PENDING,
    ),
    Requirement(
        id="copies:clear",
        promise="Clearing a namespace removes the copies of its memory within a minute.",
        source="decision 16",
        to_come="Retention and erasure",
    ),
    Requirement(
        id="copies:end",
        promise="Revoking, expiring and erasing a session remove the copies of its memory within a minute.",
        source="decision 16",
        to_come="Retention and erasure",
    ),
    Requirement(
        id="copies:job-parameters",
        promise="The parameters of a job hold neither raw turns nor a session key.",
        source="decision 16",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="names:distribution",
        promise="The distribution, the command and the import root are all called `codesynapse`.",
        source="product.md, Names",
        tests=PENDING,
    ),
    Requirement(
        id="names:headers",
        promise="The execution headers are `X-CodeSynapse-Session` and `X-CodeSynapse-Parent-Session`.",
        source="product.md, Names",
        tests=PENDING,
    ),
    Requirement(
        id="names:organisation-header",
        promise="The organisation header of browser sessions is `X-CodeSynapse-Organization`.",
        source="product.md, Names",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="key:form",
        promise="An API key is `csk_` and 32 random bytes, sent as a bearer token.",
        source="product.md, Names",
        tests=PENDING,
    ),
    Requirement(
        id="key:secret",
        promise="Only an API key's SHA-256 is stored, and the key is shown when it is made and never again.",
        source="product.md, Names",
        tests=PENDING,
    ),
    Requirement(
        id="names:environment",
        promise=(
            "Stdio and launcher read `CODESYNAPSE_API_KEY`, `CODESYNAPSE_SESSION_ID` and "
            "`CODESYNAPSE_PARENT_SESSION_ID`."
        ),
        source="product.md, Names",
        tests=PENDING,
    ),
    Requirement(
        id="names:endpoint",
        promise="MCP answers at `/mcp` and at `/mcp/` without a redirect.",
        source="product.md, Names",
        tests=PENDING,
    ),
    Requirement(
        id="names:rest",
        promise="The REST routes lie under `/api/v1/`.",
        source="product.md, Names",
        tests=PENDING,
    ),
    Requirement(
        id="names:healthz",
        promise="`/healthz` answers while the process serves, to anyone.",
        source="product.md, Names",
        tests=PENDING,
    ),
    Requirement(
        id="names:readyz",
        promise="`/readyz` tells when a store is down.",
        source="product.md, Names",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="names:metrics",
        promise="`/metrics` serves the server's metrics.",
        source="product.md, Names",
        to_come="Observability",
    ),
    Requirement(
        id="names:openapi",
        promise="`/openapi.json` describes every REST route that exists.",
        source="product.md, Names",
        to_come="Packaging and release",
    ),
    Requirement(
        id="names:other-tool",
        promise="The README says in one sentence that the public Rust tool of the same name is another program.",
        source="product.md, Names",
        tests=PENDING,
    ),
    Requirement(
        id="install:base",
        promise="The base installation serves on SQLite without any extra.",
        source="product.md, Names",
        tests=PENDING,
    ),
    Requirement(
        id="install:extras",
        promise="The extras neo4j, hugegraph, milvus, postgres, suite and all can be installed.",
        source="product.md, Names",
        tests=PENDING,
    ),
    Requirement(
        id="install:extras:embedders",
        promise="The extras embed and embed-static each install an embedder.",
        source="product.md, Names",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="install:contracts",
        promise="The contracts import msgspec and the standard library and nothing else.",
        source="product.md, Names",
        tests=PENDING,
    ),
    Requirement(
        id="settings:sources",
        promise="A setting comes from the environment, a TOML file or the command line.",
        source="product.md, Settings",
        tests=PENDING,
    ),
    Requirement(
        id="settings:table",
        promise="One table in the docs lists every `CODESYNAPSE_*` setting, and a test holds it to the code.",
        source="product.md, Settings",
        tests=PENDING,
    ),
    Requirement(
        id="settings:masked",
        promise="Passwords in URLs are masked wherever a setting is shown.",
        source="product.md, Settings",
        tests=PENDING,
    ),
    Requirement(
        id="settings:home",
        promise="Embedded stores lie in `CODESYNAPSE_HOME`, by default the user's data folder.",
        source="product.md, Settings",
        tests=PENDING,
    ),
    Requirement(
        id="home:several",
        promise="Server, stdio processes and the command line write one home at the same time and lose nothing.",
        source="product.md, Settings",
        tests=PENDING,
    ),
    Requirement(
        id="home:second-serve",
        promise="A second `serve` on one home refuses to start.",
        source="product.md, Settings",
        tests=PENDING,
    ),
    Requirement(
        id="listen:default",
        promise="The server listens on 127.0.0.1 and port 8420 by default, and port 0 picks a free one.",
        source="product.md, Settings",
        tests=PENDING,
    ),
    Requirement(
        id="listen:line",
        promise="`listening on http://HOST:PORT/mcp` is printed once requests are served.",
        source="product.md, Settings",
        tests=PENDING,
    ),
    Requirement(
        id="listen:beyond-loopback",
        promise="A bind beyond loopback refuses without TLS, a trusted proxy or `--insecure-http`.",
        source="product.md, Settings",
        tests=PENDING,
    ),
    Requirement(
        id="graph:default",
        promise="The graph store is SQLite by default, and `memory` keeps it in memory.",
        source="product.md, Settings",
        tests=PENDING,
    ),
    Requirement(
        id="graph:servers",
        promise=(
            "Neo4j, bolt and HugeGraph URLs in `CODESYNAPSE_GRAPH` open those servers, encrypted where they say so."
        ),
        source="product.md, Settings",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="graph:entry-point",
        promise="The entry-point name of another's backend in `CODESYNAPSE_GRAPH` opens it.",
        source="product.md, Settings",
        tests=PENDING,
    ),
    Requirement(
        id="accounts:default",
        promise="Accounts are kept in SQLite by default, and `memory` keeps them in memory.",
        source="product.md, Settings",
        tests=PENDING,
    ),
    Requirement(
        id="accounts:postgresql",
        promise="A PostgreSQL URL in `CODESYNAPSE_ACCOUNTS` keeps the accounts there.",
        source="product.md, Settings",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="vectors:default",
        promise="Vectors lie beside the graph by default, in whichever store it is.",
        source="product.md, Settings",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="vectors:none",
        promise="With `CODESYNAPSE_VECTORS=none` recall works by words alone.",
        source="product.md, Settings",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="vectors:milvus",
        promise="A Milvus URL in `CODESYNAPSE_VECTORS` keeps the vectors there.",
        source="product.md, Settings",
        to_come="Milvus",
    ),
    Requirement(
        id="embedder:choice",
        promise="`CODESYNAPSE_EMBEDDER` chooses the best installed embedder, a named one or none.",
        source="product.md, Settings",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="secret:file",
        promise=(
            "The key for signed states is a 0600 file in the home or the one set, and all processes of one server "
            "share it."
        ),
        source="product.md, Settings",
        to_come="MCP complete",
    ),
    Requirement(
        id="hosts:model",
        promise="Model calls reach only the configured hosts, loopback by default.",
        source="product.md, Settings",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="hosts:ingest",
        promise="Ingest reaches only the configured hosts, none by default.",
        source="product.md, Settings",
        to_come="Code graph and ingest",
    ),
    Requirement(
        id="settings:operating-context",
        promise="`get_operating_context` reads the file that the operator's setting names.",
        source="product.md, Settings",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="limits:body",
        promise="A body over 4 MiB and JSON nested deeper than 64 are refused.",
        source="product.md, Limits",
        tests=PENDING,
    ),
    Requirement(
        id="limits:calls",
        promise="A principal has at most 64 calls in flight.",
        source="product.md, Limits",
        tests=PENDING,
    ),
    Requirement(
        id="limits:transport:own",
        promise=(
            "A principal's 65th transport session ends its own least recently used idle one; with none idle it gets "
            "429."
        ),
        source="product.md, Limits",
        tests=PENDING,
    ),
    Requirement(
        id="limits:transport:total",
        promise="At 10,000 transport sessions a further one gets 503 with `Retry-After`.",
        source="product.md, Limits",
        tests=PENDING,
    ),
    Requirement(
        id="limits:transport:idle",
        promise="A transport session ends after 30 idle minutes.",
        source="product.md, Limits",
        tests=PENDING,
    ),
    Requirement(
        id="limits:ring",
        promise="Event rings hold at most 256 events and 1 MiB a session, and 64 MiB in all.",
        source="product.md, Limits",
        tests=PENDING,
    ),
    Requirement(
        id="limits:store-deadline",
        promise="A store that does not answer within 10 s ends the call with an error.",
        source="product.md, Limits",
        tests=PENDING,
    ),
    Requirement(
        id="limits:response-kept",
        promise="A response is kept until delivered, for 10 minutes, or to its session's byte cap.",
        source="product.md, Limits",
        to_come="MCP complete",
    ),
    Requirement(
        id="limits:response-own",
        promise="At the total a principal loses its own finished responses, then gets 503; nobody else loses any.",
        source="product.md, Limits",
        to_come="MCP complete",
    ),
    Requirement(
        id="limits:retry-hint",
        promise="The SSE retry hint is 2,000 ms unless `CODESYNAPSE_SSE_RETRY_MS` says otherwise.",
        source="product.md, Limits",
        tests=PENDING,
    ),
    Requirement(
        id="limits:by-setting",
        promise="A limit is raised by its setting, and the server obeys the raised one.",
        source="product.md, Limits",
        tests=PENDING,
    ),
    Requirement(
        id="start:key-line",
        promise="The first start prints `CODESYNAPSE_API_KEY=csk_…` alone on a line, and no later start prints a key.",
        source="product.md, First start",
        tests=PENDING,
    ),
    Requirement(
        id="start:container",
        promise="In a container the first key goes into a 0600 file instead.",
        source="product.md, First start",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="start:creates",
        promise="The first start makes one organisation, one user and the repository `default`.",
        source="product.md, First start",
        tests=PENDING,
    ),
    Requirement(
        id="start:init",
        promise="`codesynapse init` does the same without serving.",
        source="product.md, First start",
        tests=PENDING,
    ),
    Requirement(
        id="start:client-lines",
        promise="The printed client lines use `codesynapse bridge` and contain no session header.",
        source="product.md, First start",
        tests=PENDING,
    ),
    Requirement(
        id="commands:make",
        promise=(
            "The Makefile offers setup, serve, test, test-all, contract, lint and the benches, each ending non-zero "
            "on failure."
        ),
        source="product.md, Commands",
        tests=PENDING,
    ),
    Requirement(
        id="commands:setup",
        promise="`make setup` installs what needs rights: Java, Maven and PostgreSQL.",
        source="product.md, Commands",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="commands:fresh",
        promise="`make serve` and `make test` install what they need on a machine with Python and make.",
        source="product.md, Commands",
        tests=PENDING,
    ),
    Requirement(
        id="commands:contract:local",
        promise="`make contract STORE=memory` and `STORE=sqlite` run the suite and end with pytest's line.",
        source="product.md, Commands",
        tests=PENDING,
    ),
    Requirement(
        id="commands:contract:graph",
        promise="`make contract` runs the suite on Neo4j and on HugeGraph 1.5 and 1.7.",
        source="product.md, Commands",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="commands:contract:postgres",
        promise="`make contract STORE=postgres` runs the suite on PostgreSQL.",
        source="product.md, Commands",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="commands:contract:milvus",
        promise="`make contract STORE=milvus` runs the suite on Milvus.",
        source="product.md, Commands",
        to_come="Milvus",
    ),
    Requirement(
        id="commands:conformance",
        promise="`make conformance` ends with the numbers of passed and failed checks.",
        source="product.md, Commands",
        to_come="MCP complete",
    ),
    Requirement(
        id="commands:bench-mcp",
        promise="`make bench-mcp` prints its table and writes the JSON under `build/bench/`.",
        source="product.md, Commands",
        tests=PENDING,
    ),
    Requirement(
        id="commands:bench-stores",
        promise="`make bench-stores` prints its table and writes the JSON under `build/bench/`.",
        source="product.md, Commands",
        to_come="Neo4j and Apache HugeGraph",
    ),
    Requirement(
        id="commands:bench-agents",
        promise="`make bench-agents` prints its table and writes the JSON under `build/bench/`.",
        source="product.md, Commands",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="commands:bench-recall",
        promise="`make bench-recall` prints its table and writes the JSON under `build/bench/`.",
        source="product.md, Commands",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="commands:bench-service",
        promise="`make bench-service` prints its table and writes the JSON under `build/bench/`.",
        source="product.md, Commands",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="commands:tool-cost",
        promise=(
            "`codesynapse tool-cost --json` counts characters, tokens and tools of names, descriptions and input "
            "schemas."
        ),
        source="product.md, Commands",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="shapes:shared",
        promise="REST routes and tools take and return the same objects and refuse an unknown argument.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="triple:names",
        promise="Subject and object have 1 to 256 characters in NFC without control characters.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="triple:aliases",
        promise="A side of a triple takes at most 8 aliases of at most 128 characters.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="triple:predicate",
        promise="A predicate is a lower-case letter and up to 63 lower-case letters, digits or underscores.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="triple:valid-from",
        promise="`valid_from` is an RFC 3339 time; anything else is refused by name.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="entity:identity",
        promise="Two spellings of a name that differ in case are one entity, unless their types differ.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="fact:shape",
        promise="A fact has the triple's fields, its id, times and, where known, origin session and score.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="upsert:arguments",
        promise="`upsert_graph_triples` takes 1 to 50 triples, into a session's memory where the scope says so.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="upsert:answer",
        promise="`upsert_graph_triples` answers with the facts, four counts that are numbers, and the revision.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="recall:shape",
        promise="`recall_context` returns 10 facts or a limit of 1 to 50, and the revision of what it read.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="recall:max-chars",
        promise="`max_chars` bounds the length of a recall's answer.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="recall:explain",
        promise="`explain` adds to each hit why it was found.",
        source="product.md, Shapes",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="recall:all",
        promise='With `memory_scope: "all"` each hit names its scope and kind, and there is no revision.',
        source="product.md, Shapes",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="recall:empty-note",
        promise="An empty session recall says how many facts of the repository match.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="search:shape",
        promise=(
            "`search_graph_nodes` pages by labels and an opaque cursor, 20 or up to 100 nodes, losing and repeating "
            "none."
        ),
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="subgraph:shape",
        promise=(
            "`query_subgraph` takes 1 to 20 nodes by id or name, depth 1 to 3, limit 1 to 300, and says when it was "
            "cut off."
        ),
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="node:memory-label",
        promise="Entities of repository memory carry the label `MemoryEntity`.",
        source="product.md, Shapes; product.md, Memory, in three scopes",
        tests=PENDING,
    ),
    Requirement(
        id="node:code-label",
        promise="Nodes of the code graph carry the label `Node`.",
        source="product.md, Shapes; product.md, Memory, in three scopes",
        to_come="Code graph and ingest",
    ),
    Requirement(
        id="offload:shape",
        promise=(
            "`offload_turns` takes 1 to 50 turns of at most 8,000 characters and answers with a task id and `queued`."
        ),
        source="product.md, Shapes",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="promote:shape",
        promise="`promote_facts` takes 1 to 50 ids and answers with two counts and the missing ids.",
        source="product.md, Shapes",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="register:created",
        promise="The first registration answers 201, a repetition by the same user 200, with the same fields.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="register:conflict",
        promise="Anyone else's registration of a live or dead id answers 409 with one and the same body.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="register:list",
        promise="`GET /api/v1/execution/sessions` lists the caller's own sessions and no others.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="ids:not-in-paths",
        promise="No route or resource URI contains a session id; revocation takes it in the body.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="expiry:told",
        promise="In a session's last 24 hours tool results and REST answers carry its end in `_meta` and in a header.",
        source="product.md, Shapes",
        tests=PENDING,
    ),
    Requirement(
        id="toolsets:choice",
        promise="Toolsets are chosen by setting, header or query parameter, all by default; a hidden tool is unknown.",
        source="product.md, Shapes; product.md, Tools",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="idempotency:replay",
        promise="An agent's idempotency key returns the kept answer for 24 hours; other content under it is an error.",
        source="product.md, Shapes",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="refused:order",
        promise="Credential, transport session, execution and arguments are judged in this order.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="refused:credential",
        promise="No credential and a wrong one get 401.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="refused:transport-unknown",
        promise="An unknown transport session, and one of another credential, get 404.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="refused:indistinct",
        promise="A foreign session, live or dead, gets the same 403 as an id that never existed, registration apart.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="refused:owner-told",
        promise="The owner of an expired or revoked session is told which it is, with 403, on use and on registration.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="refused:header-bad",
        promise="A repeated or malformed header, and a parent other than the session, get 400 with the header's name.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="refused:no-transport-id",
        promise="GET and DELETE without a transport session id get 405.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="refused:register-caps",
        promise="Registration gets 429 at the cap of active bindings and 409 `capacity` at that of retained ones.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="refused:revoke-unknown",
        promise="Revoking an unknown or foreign id gets 404.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="refused:arguments-mcp",
        promise="What arguments decide is a result with `isError` and `structuredContent` of ok, code and error.",
        source="product.md, Who is refused how; product.md, Tools",
        tests=PENDING,
    ),
    Requirement(
        id="refused:arguments-rest",
        promise="What arguments decide is over REST the same object under 403, 404, 409, 422 or 429.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="refused:json-rpc",
        promise="Only an unknown tool or method is a JSON-RPC error.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="refused:repository",
        promise="A repository that does not exist answers as one without a grant does.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="refused:read-grant",
        promise="A read grant does not suffice to write, and a withdrawn grant ends with the next call.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="unbound:methods",
        promise="An unbound protocol session answers initialize, ping, logging and the static lists only.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="unbound:get",
        promise="GET on an unbound protocol session without the headers gets 403.",
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="streams:closed",
        promise=(
            "Revoking, expiring, suspending or deleting the key closes open streams within a second; no event follows."
        ),
        source="product.md, Who is refused how",
        tests=PENDING,
    ),
    Requirement(
        id="memory:repository",
        promise=(
            "Repository memory belongs to tenant and repository, outlives every session and has quotas that are "
            "settings."
        ),
        source="product.md, Memory, in three scopes",
        tests=PENDING,
    ),
    Requirement(
        id="memory:agent",
        promise="Agent memory is durable by tenant, agent, project and channel and has quotas that are settings.",
        source="product.md, Memory, in three scopes",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="memory:namespace",
        promise="A namespace of session memory is a repository that the caller may read.",
        source="product.md, Memory, in three scopes",
        tests=PENDING,
    ),
    Requirement(
        id="memory:agent-grants",
        promise="An agent is a resource with read, write and admin grants; its first writer in a tenant owns it.",
        source="product.md, Memory, in three scopes",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="tools:graph:four",
        promise="The graph toolset offers recall, upsert, search and subgraph.",
        source="product.md, Tools",
        tests=PENDING,
    ),
    Requirement(
        id="tools:graph:six",
        promise="The graph toolset offers `offload_turns` and `promote_facts` too.",
        source="product.md, Tools",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="tools:agents",
        promise="The memory toolset offers its twelve tools, session its six and maintenance its twelve.",
        source="product.md, Tools",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="tools:described",
        promise="Every tool has a title, annotations, described parameters and a schema that admits no others.",
        source="product.md, Tools",
        tests=PENDING,
    ),
    Requirement(
        id="tools:output",
        promise="A tool's `structuredContent` conforms to its `outputSchema`, and its text is the same JSON.",
        source="product.md, Tools",
        tests=PENDING,
    ),
    Requirement(
        id="tools:marked-data",
        promise="What memory returns is marked as data with its source.",
        source="product.md, Tools",
        tests=PENDING,
    ),
    Requirement(
        id="run:serve",
        promise="`codesynapse serve` runs on loopback with one home folder and nothing configured.",
        source="product.md, Running it",
        tests=PENDING,
    ),
    Requirement(
        id="bridge:forwards",
        promise="The bridge registers its environment's session id and sends both headers on every request.",
        source="product.md, Running it",
        tests=PENDING,
    ),
    Requirement(
        id="bridge:new-thread",
        promise="With `--thread new` the bridge mints one id for its process, and without it none.",
        source="product.md, Running it",
        tests=PENDING,
    ),
    Requirement(
        id="bridge:no-switch",
        promise="At expiry or revocation the bridge answers every call with that error and keeps its id.",
        source="product.md, Running it",
        tests=PENDING,
    ),
    Requirement(
        id="stdio:refuses",
        promise="The stdio server without key, ids or a live binding exits 2 before it reads and names the variable.",
        source="product.md, Running it",
        tests=PENDING,
    ),
    Requirement(
        id="stdio:no-bootstrap",
        promise="The stdio server creates no organisation, user or key.",
        source="product.md, Running it",
        tests=PENDING,
    ),
    Requirement(
        id="run:several-servers",
        promise=(
            "Several servers share PostgreSQL and the stores; the docs name what stays in one process and how to route."
        ),
        source="product.md, Running it",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="good:unmeasured-in-tests",
        promise="No test fails because a machine is slow: a deadline is tested with ten times its margin.",
        source="product.md, What good means",
        not_testable="a rule for whoever writes a test, judged in review",
    ),
    Requirement(
        id="good:cpu-per-call",
        promise="A bound, authenticated read-only call costs at most 0.35 ms of CPU over SSE and 0.25 over JSON.",
        source="product.md, What good means",
        not_testable="measured by make bench-mcp beside a peer, never in a timed test",
    ),
    Requirement(
        id="good:idle-session",
        promise="An idle session with an open stream costs at most 25 KB.",
        source="product.md, What good means",
        to_come="MCP complete",
    ),
    Requirement(
        id="good:resume",
        promise="A resumed stream loses no message and delivers none twice.",
        source="product.md, What good means",
        tests=PENDING,
    ),
    Requirement(
        id="good:conformance",
        promise="Every scored scenario of both requirement sets of the MCP conformance suite passes.",
        source="product.md, What good means",
        to_come="MCP complete",
    ),
    Requirement(
        id="good:recall-latency",
        promise="Lexical recall over a full namespace takes at most 15 ms at the 99th percentile.",
        source="product.md, What good means",
        not_testable="measured by make bench-recall beside a peer, never in a timed test",
    ),
    Requirement(
        id="good:recall-scores",
        promise="The recall benchmark's scores fail CI when they fall.",
        source="product.md, What good means",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="good:commit-latency",
        promise="A full commit takes 2 ms in memory, 3 on SQLite and 1.3 times the bare client on Neo4j and HugeGraph.",
        source="product.md, What good means",
        not_testable="measured by make bench-stores beside the floor, never in a timed test",
    ),
)
