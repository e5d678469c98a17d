"""Promises of seed 1, the declared session key, in the order of its sections."""

from __future__ import annotations

from codesynapse.contracts.ledger import Requirement

ROWS: tuple[Requirement, ...] = (
    Requirement(
        id="keyless:preserved",
        promise="A caller that declares no key gets the same bytes as from a server without the parameter.",
        source="seed 1 §3; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="keyless:both-transports",
        promise=(
            "A recorded keyless sequence gives the same answers over HTTP and over stdio as before, with no field "
            "added."
        ),
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="problem:foreign-pause",
        promise="Over one HTTP server, one client's declared pause leaves the writes of every other client alone.",
        source="seed 1 §1",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="problem:untold-session",
        promise=(
            "During an outage each declared session hears the full notice, not only the first caller of the process."
        ),
        source="seed 1 §1",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="key:in-arguments",
        promise=(
            "The declared key travels as an argument of the call and is read from no header, environment or transport "
            "id."
        ),
        source="seed 1 §1",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="key:opaque",
        promise="The server compares keys for equality and reads no meaning out of them.",
        source="seed 1 §2; seed 1 §3",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="key:not-authentication",
        promise="No declared key makes a refused call allowed or an allowed call refused.",
        source="seed 1 §2; product.md, The two identities",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="key:foreign-accepted",
        promise="Declaring the key of another session of one's own principal is accepted and joins its bucket.",
        source="seed 1 §2; decision 1",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="key:not-an-axis",
        promise="`recall` under one key, another key and none returns the same bytes.",
        source="seed 1 §2",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="key:filters-no-row",
        promise="No database statement has the declared key as a parameter.",
        source="seed 1 §2; product.md, The two identities",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="seam:value",
        promise=(
            "`resolve_session_key` takes the declared value and returns the effective key and whether it was declared."
        ),
        source="seed 1 §3; decision 4",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="seam:one-place",
        promise="Only the seam decides an effective key; no other module strips or defaults one.",
        source="seed 1 §3",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="seam:declared",
        promise="A string with visible content resolves to itself without outer whitespace, as declared.",
        source="seed 1 §3; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="seam:absent",
        promise="An absent key resolves to the transport bucket, as undeclared.",
        source="seed 1 §3; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="seam:empty",
        promise="An empty key resolves to the transport bucket, as undeclared.",
        source="seed 1 §3; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="seam:whitespace",
        promise="A key of whitespace alone resolves to the transport bucket, as undeclared.",
        source="seed 1 §3; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="seam:no-sanitising",
        promise="Apart from the outer whitespace a key is kept unchanged, whatever characters it has.",
        source="seed 1 §3",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="seam:unlimited",
        promise="A declared key may have any length.",
        source="seed 1 §3",
        decision=3,
    ),
    Requirement(
        id="seam:not-logged",
        promise="No log line has a declared key.",
        source="seed 1 §3; product.md, The two identities",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="fallback:constant",
        promise="The fallback key is one constant of the process.",
        source="seed 1 §3",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="fallback:underived",
        promise="The fallback key is computed from neither process, client nor connection.",
        source="seed 1 §3",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="fallback:shared",
        promise="All keyless callers of one HTTP process share one bucket.",
        source="seed 1 §3",
        decision=1,
    ),
    Requirement(
        id="fallback:literal",
        promise="A caller that declares the fallback's literal value joins the keyless bucket.",
        source="seed 1 §3; decision 4",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="partition:pause",
        promise="The pause of persistence has one entry for each key.",
        source="seed 1 §4",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="partition:advisory",
        promise="The memory of who was told about degraded recall has one entry for each key.",
        source="seed 1 §4",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="partition:complete",
        promise="Pauses and told keys are the only state that the key divides; the queue's attribution serves them.",
        source="seed 1 §4",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="partition:calibration",
        promise="Threshold, gate and beta of an agent are shared by all its sessions, whichever key calibrated them.",
        source="seed 1 §4",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="partition:precision",
        promise="Recall precision belongs to the agent and is the same under every key.",
        source="seed 1 §4",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="partition:profile",
        promise="A profile belongs to the agent and is the same under every key.",
        source="seed 1 §4",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="partition:in-memory",
        promise="Pauses and told keys lie in process memory: no table, column, migration or cleaning job holds them.",
        source="seed 1 §4; seed 1 §7",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="tools:advisory-pair",
        promise="`recall` and `recall_with_context` accept a session key.",
        source="seed 1 §5",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="tools:pause-trio",
        promise="`pause_persistence`, `resume_persistence` and `persistence_status` accept a session key.",
        source="seed 1 §5",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="tools:writers",
        promise="The sixteen tools that ask about the pause, and no further writer of the seed, accept a session key.",
        source="seed 1 §5",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="tools:export-keyless",
        promise="`export_memories` has no session key, since no pause concerns it.",
        source="seed 1 §5",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="tools:findings",
        promise="`get_session_findings` accepts a session key, and it changes the honesty flag alone.",
        source="seed 1 §1; seed 1 §5",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="staging:first-stage",
        promise="A pause stays process-wide and its answers tell who owns it, until the second stage.",
        source="seed 1 §5",
        not_testable="a step on the seed's way that its own second stage took back",
    ),
    Requirement(
        id="advisory:full-per-session",
        promise="In an outage every session that recalls gets the full notice once.",
        source="seed 1 §5; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="advisory:short-again",
        promise="The same key gets the short form the second time in one outage.",
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="advisory:two-keys",
        promise="Two keys each get the full notice during one outage.",
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="advisory:keyless-pair",
        promise="Two keyless remote callers keep the suppression of their shared bucket.",
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="advisory:scope-declared",
        promise='The advisory says `advisory_scope: "session"` to a caller that declared a key.',
        source="seed 1 §5; seed 1 §8",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="advisory:scope-keyless",
        promise='The advisory says `advisory_scope: "process"` to a keyless remote caller.',
        source="seed 1 §8",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="advisory:only-degraded",
        promise="A recall that is not degraded carries no advisory and no scope field.",
        source="seed 1 §8",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="pause:own-writes",
        promise="A session's pause skips the writes of that key.",
        source="seed 1 §5; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="pause:foreign-writes",
        promise="A session's pause leaves the writes of other keys and of keyless callers alone.",
        source="seed 1 §5; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="pause:keyless",
        promise="A keyless pause skips keyless writes and leaves those of declared keys alone.",
        source="seed 1 §5; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="pause:one-implementation",
        promise="One module holds the pauses of all buckets, the keyless one included.",
        source="seed 1 §5",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="pause:vendored-switch",
        promise="No call to the vendored pause switch exists in the package.",
        source="seed 1 §5; seed 1 §10",
        decision=10,
    ),
    Requirement(
        id="pause:vendored-ttl",
        promise="The TTL rules agree with the vendored module that they were copied from.",
        source="seed 1 §5; seed 1 §10",
        decision=10,
    ),
    Requirement(
        id="pause:skipped-shape",
        promise="A skipped write answers with that tool's own keys, its ids and action ids null.",
        source="seed 1 §5",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="pause:skipped-reason",
        promise="The reason of a skipped write names the pause's TTL in figures.",
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="pause:no-owner-fields",
        promise="No answer has `pause_owner_known` or `paused_by_self`.",
        source="seed 1 §5; seed 1 §8",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="pause:scope-declared",
        promise='Pause, resume and status say `scope: "session"` to a caller that declared a key.',
        source="seed 1 §5; seed 1 §8; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="pause:scope-keyless",
        promise='Pause, resume and status say `scope: "process"` to a keyless caller.',
        source="seed 1 §5; seed 1 §8; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="queue:drop",
        promise="A queued write is dropped when the key that queued it pauses before it runs.",
        source="seed 1 §5; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="queue:keep",
        promise="A queued write stays when another key pauses.",
        source="seed 1 §5; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="queue:unattributed",
        promise="A queued row of unknown origin follows the keyless bucket.",
        source="seed 1 §5; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="queue:restart",
        promise="After a restart a queued row has lost its key and follows the keyless bucket.",
        source="seed 1 §5; seed 1 §7",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="queue:no-column",
        promise="No row of the queue stores a key.",
        source="seed 1 §5",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="findings:out-of-scope",
        promise="`get_session_findings` lists nothing by the session that wrote it.",
        source="seed 1 §5",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="cost:per-tool",
        promise="The price of the parameter is known for each tool that carries it, in characters.",
        source="seed 1 §6",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="cost:by-deletion",
        promise="The price of a parameter is measured by deleting it from the live tool list.",
        source="seed 1 §6",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="cost:arms",
        promise="All four ways of describing the key are priced from the same live list.",
        source="seed 1 §6",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="cost:arm-d",
        promise=(
            "Two texts are shared: a full one on the two recall tools, a short one on the rest but "
            "`get_session_findings`."
        ),
        source="seed 1 §6",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="cost:clause",
        promise="The full and the short text both say that the key does not filter stored data.",
        source="seed 1 §6",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="cost:own-figures",
        promise=(
            "The seed's list costs 38,970 characters without the key, 41,719 after stage one and 46,113 after stage "
            "two."
        ),
        source="seed 1 §6",
        not_testable="figures of another program's tool list; ours are printed by tool-cost and held to the docs",
    ),
    Requirement(
        id="cost:true-descriptions",
        promise="The descriptions of the pause tools say that a pause concerns the caller's own key.",
        source="seed 1 §6",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="cost:twenty-two",
        promise="Of the seed's tools exactly 22 carry the key.",
        source="seed 1 §6; decision 6",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="lifetime:ttl",
        promise="A pause ends by its own TTL, key by key, on an injected clock.",
        source="seed 1 §7; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="lifetime:lazy",
        promise="An expired pause leaves the map when it is next looked at.",
        source="seed 1 §7",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="lifetime:told-bounded",
        promise="Told keys are bounded by a cap; an evicted key hears the full notice again, and nothing worse.",
        source="seed 1 §7",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="lifetime:pause-bounded",
        promise="Pauses are bounded by their own cap; the one nearest to its end is evicted.",
        source="seed 1 §7; decision 2",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="lifetime:attribution",
        promise="A task's attribution disappears together with its row.",
        source="seed 1 §7",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="lifetime:restart",
        promise="A restart forgets pauses, told keys and attributions.",
        source="seed 1 §7",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="honesty:shared-remote",
        promise="A keyless remote caller of `get_session_findings` reads `identity_shared: true`.",
        source="seed 1 §8; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="honesty:stdio",
        promise="Over stdio no answer has `identity_shared`.",
        source="seed 1 §8; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="version:ladder",
        promise="The two stages enter the release line as 2.5.7 beta and 2.5.8a1, the latter ending in 2.5.8.",
        source="seed 1 §9",
        not_testable="version numbers of another program",
    ),
    Requirement(
        id="version:stale-advice",
        promise="No document advises to look for parallel sessions before pausing.",
        source="seed 1 §9",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="resume:was-active",
        promise="`resume_persistence` reports `was_active` for the caller's own key only.",
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="mutation:strip",
        promise="Without the strip of outer whitespace a test fails that names the defect.",
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="mutation:empty-guard",
        promise="Without the guard against an empty key a test fails that names the defect.",
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="mutation:told-cap",
        promise="Without the cap on told keys a test fails that names the defect.",
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="mutation:pause-cap",
        promise="Without the cap on pauses a test fails that names the defect.",
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="mutation:pause-lookup",
        promise="When the pause lookup ignores the key a test fails that names the defect.",
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="mutation:reason-ttl",
        promise="Without the TTL in the reason of a skipped write a test fails that names the defect.",
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="mutation:attribution",
        promise="When the queue ignores its attribution a test fails that names the defect.",
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
)
