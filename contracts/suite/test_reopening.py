"""Opening: what a backend declares is what it offers, and what a durable one has committed outlives its closing."""

import pytest
from msgspec import structs

from codesynapse.contracts.agent_work import Once, Tally
from codesynapse.contracts.errors import (
    Invalid,
    NamespaceClosed,
    QuotaExceeded,
    RevisionConflict,
    SessionExpired,
    SessionRevoked,
)
from codesynapse.contracts.memory import entity_id
from codesynapse.contracts.ports import Backend
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.fixtures import Opening
from codesynapse.contracts.suite.gates import requires, without
from codesynapse.contracts.suite.keepers import Keeper, new_keeper
from codesynapse.contracts.suite.organizations import new_user, records_since
from codesynapse.contracts.suite.worlds import (
    LIFETIME_MS,
    NOW,
    Chat,
    Library,
    later,
    new_commit_id,
    new_library,
    new_scope,
    sorted_content,
    unique,
)
from codesynapse.contracts.vectors import VectorRecord

__all__ = ["TestFeatures", "TestReopening"]


@requires()
@pytest.mark.asyncio(loop_scope="session")
class TestFeatures:
    """A port is there where the Features say so, and nowhere else."""

    @requires("session_memory")
    async def test_declared_session_memory_is_there(self, backend: Backend) -> None:
        assert backend.session_memory is not None

    @without("session_memory")
    async def test_session_memory_that_is_not_declared_is_absent(self, backend: Backend) -> None:
        assert backend.session_memory is None

    @requires("repository")
    async def test_declared_repository_memory_is_there(self, backend: Backend) -> None:
        assert backend.repository is not None

    @without("repository")
    async def test_repository_memory_that_is_not_declared_is_absent(self, backend: Backend) -> None:
        assert backend.repository is None

    @requires("vectors")
    async def test_declared_vectors_are_there(self, backend: Backend) -> None:
        assert backend.vectors is not None

    @without("vectors")
    async def test_vectors_that_are_not_declared_are_absent(self, backend: Backend) -> None:
        assert backend.vectors is None

    @requires("accounts")
    async def test_declared_accounts_are_there(self, backend: Backend) -> None:
        assert backend.accounts is not None

    @without("accounts")
    async def test_accounts_that_are_not_declared_are_absent(self, backend: Backend) -> None:
        assert backend.accounts is None

    @requires("transports")
    async def test_declared_transports_are_there(self, backend: Backend) -> None:
        assert backend.transports is not None

    @without("transports")
    async def test_transports_that_are_not_declared_are_absent(self, backend: Backend) -> None:
        assert backend.transports is None

    @requires("portable")
    async def test_a_declared_way_to_move_house_is_there(self, backend: Backend) -> None:
        assert backend.portable is not None

    @without("portable")
    async def test_a_way_to_move_house_that_is_not_declared_is_absent(self, backend: Backend) -> None:
        assert backend.portable is None

    @requires("agents")
    async def test_declared_agent_memory_is_there(self, backend: Backend) -> None:
        assert backend.agents is not None

    @without("agents")
    async def test_agent_memory_that_is_not_declared_is_absent(self, backend: Backend) -> None:
        assert backend.agents is None

    async def test_an_unknown_option_is_refused(self, reopening: Opening) -> None:
        with pytest.raises(Invalid):
            async with reopening(no_backend_knows_this="1"):
                pass


def memory_of(backend: Backend, chat: Chat) -> Chat:
    """The same namespace on a backend that was opened anew."""
    assert backend.session_memory is not None
    return Chat(backend.session_memory, chat.scope, expires_at_ms=chat.expires_at_ms)


@requires("durable")
@pytest.mark.asyncio(loop_scope="session")
class TestReopening:
    """Closed and opened again with the same options, everything that was committed is there."""

    @requires("session_memory")
    async def test_snapshots_revisions_and_commit_ids_are_there(self, reopening: Opening) -> None:
        commit_id = new_commit_id()
        async with reopening() as backend:
            assert backend.session_memory is not None
            chat = Chat(backend.session_memory, new_scope())
            await chat.remember("ana likes tea")
            first = await chat.remember("ana lives_in before\u2028after", commit_id=commit_id)
            before = await chat.load()
        async with reopening() as backend:
            again = memory_of(backend, chat)
            served = await again.load()
            assert sorted_content(served) == sorted_content(before)
            assert (served.revision, served.expires_at_ms) == (2, before.expires_at_ms)
            replayed = await again.propose(again.first(), 0, commit_id=commit_id)
            assert replayed == structs.replace(first, replayed=True)
            with pytest.raises(RevisionConflict):
                await again.propose(again.first(), 1)
            await again.remember("ana likes milk")

    @requires("session_memory")
    async def test_tombstones_and_caps_are_there(self, reopening: Opening) -> None:
        async with reopening() as backend:
            assert backend.session_memory is not None
            closed, revoked, expired = (Chat(backend.session_memory, new_scope()) for _ in range(3))
            for chat in (closed, revoked, expired):
                await chat.remember("ana likes tea")
            await closed.clear()
            await backend.session_memory.revoke(revoked.scope.tenant_id, revoked.scope.session_id, now_ms=NOW)
            await backend.session_memory.set_quotas(closed.scope.tenant_id, Quotas(tenant_roots_max=1))
        async with reopening() as backend:
            assert backend.session_memory is not None
            with pytest.raises(NamespaceClosed):
                await memory_of(backend, closed).propose(closed.first("ana likes tea"), 2)
            with pytest.raises(SessionRevoked):
                await memory_of(backend, revoked).load()
            with pytest.raises(SessionExpired):
                await memory_of(backend, expired).load(expired.expires_at_ms)
            assert await backend.session_memory.quotas(closed.scope.tenant_id) == Quotas(tenant_roots_max=1)

    @requires("repository")
    async def test_repository_memory_is_there(self, reopening: Opening) -> None:
        commit_id = new_commit_id()
        async with reopening() as backend:
            assert backend.repository is not None
            library = new_library(backend.repository)
            first = await library.remember("ana likes tea", commit_id=commit_id)
        async with reopening() as backend:
            assert backend.repository is not None
            again = Library(backend.repository, library.scope)
            served = await again.read("ana likes tea")
            assert (served.revision, len(served.facts)) == (1, 1)
            assert served.facts[0].origin_session_id == library.session_id
            found = await backend.repository.candidates(library.scope, ["tea"], limit=9, now_ms=NOW, history=False)
            assert (found.total, found.total_terms, len(found.slice.facts)) == (1, 3, 1)
            kept = await backend.repository.committed(library.scope, commit_id)
            assert kept is not None
            assert kept.outcome == first.outcome

    @requires("vectors")
    async def test_vectors_are_there(self, reopening: Opening) -> None:
        scope, entity = new_scope(), entity_id("ana", "")
        record = VectorRecord(
            scope=scope, entity=entity, model="m", values=(1.0, 0.0), expires_at_ms=later(NOW, LIFETIME_MS)
        )
        async with reopening() as backend:
            assert backend.vectors is not None
            await backend.vectors.put([record], now_ms=NOW)
        async with reopening() as backend:
            assert backend.vectors is not None
            hits = await backend.vectors.search(scope, (1.0, 0.0), model="m", limit=5, now_ms=NOW)
            assert [(hit.scope, hit.entity) for hit in hits] == [(scope, entity)]

    @requires("accounts")
    async def test_accounts_bindings_and_the_audit_are_there(self, reopening: Opening) -> None:
        session, revoked = unique("session"), unique("session")
        async with reopening() as backend:
            assert backend.accounts is not None
            start = await backend.accounts.audit_end()
            user = await new_user(backend.accounts)
            made = await user.register(session)
            await user.register(revoked)
            await user.revoke(revoked)
            records = await records_since(backend.accounts, start, user.tenant_id)
        async with reopening() as backend:
            assert backend.accounts is not None
            user.accounts = backend.accounts
            assert (await user.authorize(session)).binding == made.binding
            assert isinstance((await user.authorize(revoked)).refusal, SessionRevoked)
            assert not (await user.register(session, now_ms=later(NOW, 1))).created
            assert await records_since(backend.accounts, start, user.tenant_id) == records
            await user.register(unique("session"))
            sequences = [each.sequence for each in await records_since(backend.accounts, start, user.tenant_id)]
            assert sequences == sorted(set(sequences))
            assert len(sequences) == len(records) + 1

    @requires("agents")
    async def test_agent_memory_its_queue_and_its_caps_are_there(self, reopening: Opening) -> None:
        async with reopening() as backend:
            assert backend.agents is not None
            keeper = new_keeper(backend.agents)
            await keeper.store("green tea", message_id="m", project="p", once=Once(key="k", digest="d"))
            await keeper.archive("tea was had")
            await keeper.agents.enqueue(keeper.scope, "archive", "{}", once=None, now_ms=NOW)
            await keeper.agents.set_profile(keeper.scope, "Ana", now_ms=NOW)
            await keeper.agents.set_quotas(keeper.scope.tenant_id, Quotas(agent_memories_max=1))
            before = await keeper.agents.scan(keeper.scope, after=0, limit=9)
        async with reopening() as backend:
            assert backend.agents is not None
            again = Keeper(backend.agents, keeper.scope)
            assert await again.agents.scan(again.scope, after=0, limit=9) == before
            assert set(await again.recall("tea")) == {"green tea", "tea was had"}
            assert (await again.store("green tea", project="p", once=Once(key="k", digest="d"))).replayed
            assert await again.agents.tally(again.scope) == Tally(memories=1, episodes=1, profiles=1, tasks=1)
            with pytest.raises(QuotaExceeded):
                await again.store("milk")
            assert ((await again.archive("more tea")).id or 0) > before[-1].id
