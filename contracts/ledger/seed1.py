"""Promises of seed 1, the declared session key, in the order of its sections."""

from __future__ import annotations

from codesynapse.contracts.ledger import Requirement

ROWS: tuple[Requirement, ...] = (
    Requirement(
        id="keyless:preserved",
        promise=(
            "A recorded keyless sequence gives, over HTTP and stdio, the same bytes with the parameter and without it."
        ),
        source="seed 1 §3; seed 1 §8; seed 1 §10",
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
        promise="A key is compared and nothing else: apart from outer whitespace it is kept as it came.",
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
        id="key:reaches-no-row",
        promise="No database statement, row, log line or metric label contains a declared key.",
        source="seed 1 §2; seed 1 §3; seed 1 §7; product.md, The two identities",
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
        id="seam:undeclared",
        promise="An absent, empty or blank key resolves to the transport bucket, as undeclared.",
        source="seed 1 §3; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="seam:unlimited",
        promise="A declared key may have any length.",
        source="seed 1 §3",
        decision=3,
    ),
    Requirement(
        id="fallback:constant",
        promise="The fallback key is one constant of the process, derived from neither client nor connection.",
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
        id="partition:complete",
        promise="Pauses and told keys are the only state that the key divides; the queue's attribution serves them.",
        source="seed 1 §4",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="partition:by-agent",
        promise="Calibration, recall precision and profiles belong to the agent and are the same under every key.",
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
        promise="The two recall tools and the three pause tools accept a session key.",
        source="seed 1 §5",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="tools:writers",
        promise=(
            "The sixteen tools that ask about the pause accept a session key; `export_memories`, which does not, has "
            "none."
        ),
        source="seed 1 §5",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="tools:findings",
        promise="`get_session_findings` takes a key under a text of its own, and it changes the honesty flag alone.",
        source="seed 1 §1; seed 1 §5; seed 1 §6",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="staging:first-stage",
        promise="A pause stays process-wide and its answers tell who owns it, until the second stage.",
        source="seed 1 §5",
        not_testable="a step on the seed's way that its own second stage took back",
    ),
    Requirement(
        id="advisory:once-a-key",
        promise="During one outage each key gets the full notice once and the short form from then on.",
        source="seed 1 §1; seed 1 §5; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="advisory:keyless-pair",
        promise="Two keyless remote callers keep the suppression of their shared bucket.",
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="advisory:scope",
        promise=(
            "`advisory_scope` is `session` for a caller that declared a key and `process` for a keyless remote one."
        ),
        source="seed 1 §5; seed 1 §8",
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
        promise="A declared pause skips the writes of its key and no one else's, keyless callers included.",
        source="seed 1 §1; seed 1 §5; seed 1 §10",
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
        id="pause:scope",
        promise="Pause, resume and status answer scope `session` to a declared key and `process` to a keyless caller.",
        source="seed 1 §5; seed 1 §8; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="queue:drop",
        promise="A queued write is dropped when the key that queued it pauses, and kept when another one does.",
        source="seed 1 §5; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="queue:unattributed",
        promise="A queued row of unknown origin, as every one after a restart, follows the keyless bucket.",
        source="seed 1 §5; seed 1 §7; seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="findings:out-of-scope",
        promise="`get_session_findings` lists nothing by the session that wrote it.",
        source="seed 1 §5",
        to_come="Agent memory and the declared session key",
    ),
    Requirement(
        id="cost:by-deletion",
        promise="The price of a parameter, tool by tool, is measured by deleting it from the live tool list.",
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
            "One full text serves the two recall tools and one short text the others; both say that no data is "
            "filtered."
        ),
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
        promise="A pause ends by its own TTL on an injected clock and leaves the map when it is next looked at.",
        source="seed 1 §7; seed 1 §10",
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
        id="mutation:proof",
        promise="Each of the seven named mutations of the key's handling fails a test that names the defect.",
        source="seed 1 §10",
        to_come="Agent memory and the declared session key",
    ),
)
