"""What a change of a scope writes: its root, its commit, and the entities and edges that differ. Pure.

Materialised are all entities of the snapshot, and an edge for each fact that holds from the commit's moment on, without
an end: so that a raw traversal serves nothing that was superseded, retracted or removed, or lies ahead.
"""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from codesynapse.backends.hugegraph.held import Content, Facts, Session, Tenant, counted
from codesynapse.backends.hugegraph.keys import commit_key, scope_key, session_key, tenant_key
from codesynapse.backends.hugegraph.session import Plan, Properties
from codesynapse.contracts.commit import Accepted, Root
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import COMMITS_KEPT, Entity, Fact, Outcome, Revision, Scope, entity_row

Put = tuple[str, str, Properties]


def text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def committing(
    scope: Scope,
    facts: Facts,
    accepted: Accepted,
    commit_id: str,
    now_ms: Millis,
    read: tuple[tuple[Entity, ...], tuple[Fact, ...]],
) -> tuple[Plan, Facts]:
    """The plan of an accepted commit of this content, and the facts once it is written."""
    root, outcome = accepted.root, accepted.committed.outcome
    assert root is not None
    before = facts.content
    kept = () if before is None else before.commit_ids
    content = Content(
        root=root,
        facts=len(read[1]),
        written_at_ms=now_ms,
        commit_ids=(*kept, commit_id)[-COMMITS_KEPT:],
        document=accepted.document.decode() if read[1] else "",
        content=read,
    )
    return _changing(scope, facts, content, commit=(commit_id, outcome), wipes=root.closed)


def emptying(scope: Scope, facts: Facts) -> tuple[Plan, Facts]:
    """The plan that removes the content of a scope; its root stays, and counts."""
    before = facts.content
    assert before is not None
    root = structs.replace(before.root, live_facts=0)
    content = structs.replace(before, root=root, facts=0, document="", content=((), ()))
    return _changing(scope, facts, content, commit=None, wipes=True)


def revoking(scope: Scope, facts: Facts, now_ms: Millis) -> tuple[Plan, Facts]:
    """The plan that lays a session's tombstone. scope: any of the session's."""
    tenant = structs.replace(facts.tenant, version=facts.tenant.version + 1)
    session = structs.replace(facts.session, revoked_at_ms=now_ms)
    where = session_key(scope.tenant_id, scope.session_id)
    tombstone = ["tenant_id", scope.tenant_id, "session_id", scope.session_id, "revoked_at", now_ms]
    plan = _plan(
        scope.tenant_id,
        facts.tenant,
        puts=(
            tenant_put(scope.tenant_id, tenant),
            _session_put(scope, session),
            ("SessionMemoryRevocation", f"x{where}", tombstone),
        ),
        wipes=(("session", where),),
    )
    return plan, structs.replace(facts, tenant=tenant, session=session)


def restoring(
    scope: Scope, facts: Facts, content: Content, commits: Sequence[tuple[str, Revision, Outcome]]
) -> tuple[Plan, list[Put]]:
    """The plan that writes a scope, which is not there, as another store had it, and what keeps its commits."""
    plan, _ = _changing(scope, facts, content, commit=None, wipes=False)
    root = content.root
    kept = [
        _commit_put(scope, structs.replace(root, revision=revision), commit_id, outcome)
        for commit_id, revision, outcome in commits
    ]
    return plan, kept


def tenant_put(tenant_id: str, tenant: Tenant) -> Put:
    properties = ["tenant_id", tenant_id, "version", tenant.version, "roots", tenant.roots]
    more = ["live_facts", tenant.live_facts, "quotas", text(tenant.quotas)]
    return ("SessionMemoryTenant", tenant_key(tenant_id), [*properties, *more])


def writing_tenant(tenant_id: str, before: Tenant, after: Tenant) -> Plan:
    """The plan that replaces a tenant's root alone."""
    return _plan(tenant_id, before, puts=(tenant_put(tenant_id, after),))


def _plan(tenant_id: str, tenant: Tenant, **parts: object) -> Plan:
    place = tenant_key(tenant_id)
    return structs.replace(
        Plan(lock=place, guard_label="SessionMemoryTenant", guard=place, expected=tenant.version), **parts
    )


def _changing(
    scope: Scope,
    facts: Facts,
    content: Content,
    *,
    commit: tuple[str, Outcome] | None,
    wipes: bool,
) -> tuple[Plan, Facts]:
    before, root = facts.content, content.root
    live_before = 0 if before is None else before.root.live_facts
    tenant = structs.replace(
        facts.tenant,
        version=facts.tenant.version + 1,
        roots=facts.tenant.roots + (before is None),
        live_facts=facts.tenant.live_facts + root.live_facts - live_before,
    )
    session = counted(facts.session, scope.ns, root.live_facts, content.facts)
    session = structs.replace(session, expires_at_ms=root.expires_at_ms)
    puts = [tenant_put(scope.tenant_id, tenant), _scope_put(scope, content)]
    if session != facts.session:
        puts.append(_session_put(scope, session))
    if commit is not None:
        puts.append(_commit_put(scope, root, *commit))
    due = _due(scope, root)
    held = 0 if before is None else before.facts
    material = _material(scope, before, content)
    plan = _plan(
        scope.tenant_id,
        facts.tenant,
        puts=[*puts, due] if content.facts and not held else puts,
        gone=[due] if held and not content.facts else [],
        wipes=[("scope", scope_key(scope))] if wipes else [],
        **material,
    )
    return plan, Facts(tenant=tenant, session=session, content=content)


def _scope_put(scope: Scope, content: Content) -> Put:
    root = content.root
    properties = [*place(scope), "doc", content.document, "revision", root.revision, "expires_at", root.expires_at_ms]
    figures = ["closed", root.closed, "live_facts", root.live_facts, "facts", content.facts]
    return (
        "SessionMemoryScope",
        scope_key(scope),
        [*properties, *figures, "written_at", content.written_at_ms, "commit_ids", text(content.commit_ids)],
    )


def _session_put(scope: Scope, session: Session) -> Put:
    properties = ["tenant_id", scope.tenant_id, "session_id", scope.session_id, "namespaces", text(session.counts)]
    ends = ["expires_at", session.expires_at_ms or 0, "revoked_at", session.revoked_at_ms or 0]
    where = session_key(scope.tenant_id, scope.session_id)
    return ("SessionMemorySession", where, [*properties, *ends])


def _commit_put(scope: Scope, root: Root, commit_id: str, outcome: Outcome) -> Put:
    properties = ["commit_id", commit_id, "revision", root.revision, "outcome", text(outcome)]
    where = commit_key(scope_key(scope), root.revision)
    return ("MemoryCommit", where, [*properties, "origin_session_id", scope.session_id])


def _due(scope: Scope, root: Root) -> Put:
    return ("SessionMemoryDue", f"d{scope_key(scope)}", [*place(scope), "expires_at", root.expires_at_ms])


def place(scope: Scope) -> list[object]:
    return ["tenant_id", scope.tenant_id, "session_id", scope.session_id, "ns", scope.ns]


def _material(scope: Scope, before: Content | None, after: Content) -> dict[str, object]:
    """The entities and edges that differ. What an edge ends at is written with it."""
    owner, (entities, facts) = scope_key(scope), after.content
    old_entities, old_facts = ((), ()) if before is None else before.content
    known = {entity.id: entity for entity in old_entities}
    now = {entity.id: entity for entity in entities}
    shown = {} if before is None else {fact.id: fact for fact in old_facts if _shows(fact, before.written_at_ms)}
    showing = {fact.id: fact for fact in facts if _shows(fact, after.written_at_ms)}
    edges = [fact for fact in showing.values() if shown.get(fact.id) != fact]
    gone_edges = [fact for fact in shown.values() if fact.id not in showing]
    gone = [entity for entity in old_entities if entity.id not in now]
    touched = {end for fact in (*edges, *gone_edges) for end in (fact.subject, fact.object)}
    written = [entity for entity in entities if entity.id in touched or known.get(entity.id) != entity]
    return {
        "vertex_label": "SessionMemoryEntity",
        "edge_label": "SESSION_FACT",
        "common": [*place(scope), "expires_at", after.root.expires_at_ms],
        "vertices": [(f"{owner}-{each.id}", ["eid", each.id, "doc", text(entity_row(each))]) for each in written],
        "gone_vertices": [(f"{owner}-{each.id}", ["eid", each.id]) for each in gone],
        "edges": [
            (*_ends(owner, each), each.id, ["predicate", each.predicate, "doc", _fact_text(each)]) for each in edges
        ],
        "gone_edges": [(*_ends(owner, each), each.id) for each in gone_edges],
    }


def _shows(fact: Fact, moment: Millis) -> bool:
    start, end = fact.intervals[-1]
    return end is None and start <= moment


def _ends(owner: str, fact: Fact) -> tuple[str, str]:
    return f"{owner}-{fact.subject}", f"{owner}-{fact.object}"


def _fact_text(fact: Fact) -> str:
    return text((int(fact.functional), fact.recorded_at_ms, fact.source, fact.origin_session_id, fact.intervals))
