"""Session memory in HugeGraph: facts are read with their version, the law decides, a script writes if none changed."""

from contextlib import suppress
from functools import partial
from typing import NoReturn

import msgspec

from codesynapse.backends.hugegraph import plans, scripts
from codesynapse.backends.hugegraph.faults import Lost
from codesynapse.backends.hugegraph.held import Content, Facts, Held, content_row, session_of, tenant_of
from codesynapse.backends.hugegraph.keys import commit_key, scope_key, session_key, tenant_key
from codesynapse.backends.hugegraph.session import Plan, Server
from codesynapse.contracts.commit import check_commit, check_readable
from codesynapse.contracts.errors import Refused, SessionExpired, StoreBusy, Unavailable
from codesynapse.contracts.identity import Millis, require_id, require_ids
from codesynapse.contracts.memory import CommitId, Committed, Outcome, Revision, Scope, Snapshot
from codesynapse.contracts.quotas import Quotas

ATTEMPTS_MAX = 1_000
"""How often a write starts again because another process wrote in between; the deadline comes long before."""

_outcome = msgspec.json.Decoder(Outcome).decode
_quotas = msgspec.json.Decoder(Quotas).decode


class GremlinSessionMemory:
    """The port `SessionMemory`."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._held = Held()

    async def load(self, scope: Scope, *, now_ms: Millis) -> Snapshot:
        content = await self._readable(scope, now_ms)
        if content is None:
            return Snapshot(scope=scope)
        entities, facts = content.content
        return Snapshot(
            scope=scope,
            revision=content.root.revision,
            entities=entities,
            facts=facts,
            expires_at_ms=content.root.expires_at_ms,
            closed=content.root.closed,
        )

    async def commit(
        self,
        proposed: Snapshot,
        *,
        read_revision: Revision,
        commit_id: CommitId,
        outcome: Outcome,
        now_ms: Millis,
    ) -> Committed:
        scope = proposed.scope
        decided = partial(
            check_commit,
            proposed=proposed,
            read_revision=read_revision,
            commit_id=commit_id,
            outcome=outcome,
            now_ms=now_ms,
        )
        async with self._server.queue(scope.tenant_id):
            facts = self._held.get(scope)
            for _ in range(ATTEMPTS_MAX):
                # Nothing is refused, or answered as a replay, on what was not just read.
                fresh = facts is None
                facts = facts or await self._facts(scope)
                try:
                    accepted = decided(facts.stored(scope, await self._earlier(scope, facts, commit_id)))
                except Refused as refusal:
                    if fresh:
                        await self._refuse(scope, refusal)
                else:
                    if accepted.root is None and fresh:
                        return accepted.committed
                    if accepted.root is not None:
                        content = (proposed.entities, proposed.facts)
                        plan = plans.committing(scope, facts, accepted, commit_id, now_ms, content)
                        if await self._write(scope, facts, *plan):
                            return accepted.committed
                facts = None
        raise StoreBusy

    async def _refuse(self, scope: Scope, refusal: Refused) -> NoReturn:
        if isinstance(refusal, SessionExpired):
            await self._forget(scope)
        raise refusal

    async def committed(self, scope: Scope, commit_id: CommitId, *, now_ms: Millis) -> Committed | None:
        require_id(commit_id, field="commit_id")
        content = await self._readable(scope, now_ms)
        return None if content is None else await self._kept(scope, content, commit_id)

    async def revoke(self, tenant_id: str, session_id: str, *, now_ms: Millis) -> int:
        require_ids(tenant_id=tenant_id, session_id=session_id)
        any_scope = Scope(tenant_id=tenant_id, session_id=session_id, ns="default")
        async with self._server.queue(tenant_id):
            while (facts := await self._facts(any_scope)).session.revoked_at_ms is None:
                await self._write(any_scope, facts, *plans.revoking(any_scope, facts, now_ms))
            removed = 0
            for ns, (_, held) in facts.session.counts.items():
                if held:
                    removed += await self._empty(Scope(tenant_id=tenant_id, session_id=session_id, ns=ns))
            return removed

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        due = await self._server.run(scripts.DUE, now=now_ms, limit=limit) if limit > 0 else []
        emptied = 0
        for tenant_id, session_id, ns in due:
            async with self._server.queue(tenant_id):
                scope = Scope(tenant_id=tenant_id, session_id=session_id, ns=ns)
                emptied += await self._empty(scope) > 0
        return emptied

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        require_id(tenant_id, field="tenant_id")
        scope = Scope(tenant_id=tenant_id, session_id="none", ns="none")
        async with self._server.queue(tenant_id):
            while True:
                facts = await self._facts(scope)
                after = msgspec.structs.replace(facts.tenant, version=facts.tenant.version + 1, quotas=quotas)
                plan = plans.writing_tenant(tenant_id, facts.tenant, after)
                if await self._write(scope, facts, plan, msgspec.structs.replace(facts, tenant=after)):
                    return

    async def quotas(self, tenant_id: str) -> Quotas:
        require_id(tenant_id, field="tenant_id")
        found = await self._server.run(scripts.QUOTAS, tenant=tenant_key(tenant_id))
        return _quotas(found[0]) if found else Quotas()

    async def probe(self) -> None:
        await self._server.probe()

    async def facts(self, scope: Scope) -> Facts:
        """What the law asks of a scope, for the vectors beside it."""
        return await self._facts(scope)

    async def _facts(self, scope: Scope) -> Facts:
        ((tenant, session, content),) = await self._server.run(
            scripts.FACTS,
            lock=tenant_key(scope.tenant_id),
            tenant=tenant_key(scope.tenant_id),
            session=session_key(scope.tenant_id, scope.session_id),
            scope=scope_key(scope),
        )
        facts = Facts(tenant=tenant_of(tenant), session=session_of(session), content=content_row(content))
        self._held.put(scope, facts)
        return facts

    async def _write(self, scope: Scope, facts: Facts, plan: Plan, after: Facts) -> bool:
        """Write a plan; False where the facts must be read again: someone wrote, or nobody knows whether we did."""
        try:
            written = await self._server.apply(plan)
        except Lost as error:
            self._held.forget(scope.tenant_id)
            await self._server.reached(error)
            return False
        except BaseException:
            self._held.forget(scope.tenant_id)
            raise
        if written:
            self._held.put(scope, after, follows=facts.tenant.version)
        else:
            self._held.forget(scope.tenant_id)
        return written

    async def _readable(self, scope: Scope, now_ms: Millis) -> Content | None:
        """What is held of a scope, if it may be read; an expired one is emptied on this access."""
        ((row, session_row),) = await self._server.run(
            scripts.LOAD,
            scope=scope_key(scope),
            session=session_key(scope.tenant_id, scope.session_id),
        )
        content, session = content_row(row), session_of(session_row)
        try:
            check_readable(
                None if content is None else content.root,
                revoked=session.revoked_at_ms is not None,
                expires_at_ms=session.expires_at_ms,
                now_ms=now_ms,
            )
        except SessionExpired:
            async with self._server.queue(scope.tenant_id):
                await self._forget(scope)
            raise
        return content

    async def _earlier(self, scope: Scope, facts: Facts, commit_id: CommitId) -> Committed | None:
        return None if facts.content is None else await self._kept(scope, facts.content, commit_id)

    async def _kept(self, scope: Scope, content: Content, commit_id: CommitId) -> Committed | None:
        """The result of one of the newest commits. Its place follows from its position among them."""
        if commit_id not in content.commit_ids:
            return None
        revision = content.root.revision - len(content.commit_ids) + 1 + content.commit_ids.index(commit_id)
        ((row,),) = await self._server.run(scripts.KEPT, place=commit_key(scope_key(scope), revision))
        if row is None or row[0] != commit_id or row[1] != revision:
            return None
        return Committed(revision=Revision(revision), outcome=_outcome(row[2]))

    async def _empty(self, scope: Scope) -> int:
        """Remove the content of a scope; how many facts went. The caller holds the tenant's queue."""
        for _ in range(ATTEMPTS_MAX):
            facts = await self._facts(scope)
            if facts.content is None or not facts.content.facts:
                return 0
            if await self._write(scope, facts, *plans.emptying(scope, facts)):
                return facts.content.facts
        raise StoreBusy

    async def _forget(self, scope: Scope) -> None:
        """Empty an expired scope. It is refused in any case, so what fails here is left to the sweep."""
        with suppress(Unavailable):
            await self._empty(scope)
