"""Isolation: no scope ever reads, changes or counts what belongs to another."""

import pytest

from codesynapse.contracts.errors import QuotaExceeded
from codesynapse.contracts.memory import Scope, Snapshot
from codesynapse.contracts.ports import SessionMemory
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.gates import OnSessionMemory
from codesynapse.contracts.suite.worlds import NOW, Chat, later, new_commit_id, new_scope, sorted_content, unique

__all__ = ["TestIsolation", "TestIsolationOfEndings"]


def elsewhere(scope: Scope) -> dict[str, Scope]:
    """Scopes that share something with this one, and are others."""
    tenant, session, ns = scope.tenant_id, scope.session_id, scope.ns
    return {
        "another tenant": Scope(tenant_id=unique("tenant"), session_id=session, ns=ns),
        "another session": Scope(tenant_id=tenant, session_id=unique("session"), ns=ns),
        "another namespace": Scope(tenant_id=tenant, session_id=session, ns="other"),
        "tenant in other case": Scope(tenant_id=tenant.upper(), session_id=session, ns=ns),
        "session in other case": Scope(tenant_id=tenant, session_id=session.upper(), ns=ns),
        "namespace in other case": Scope(tenant_id=tenant, session_id=session, ns=ns.upper()),
        "session cut short": Scope(tenant_id=tenant, session_id=session[:-1], ns=ns),
        "session made longer": Scope(tenant_id=tenant, session_id=f"{session}.", ns=ns),
        "parts swapped": Scope(tenant_id=session, session_id=tenant, ns=ns),
        "parts joined by a colon": Scope(tenant_id=f"{tenant}:{session}", session_id=ns, ns=ns),
        "colon moved": Scope(tenant_id=tenant, session_id=f"{session}:{ns}", ns=ns),
    }


OTHERS = list(elsewhere(new_scope()))


class TestIsolation(OnSessionMemory):
    """Cross-tenant and cross-session reads, guessed ids and duplicate names (seed 0, "Shared contracts cover")."""

    @pytest.mark.parametrize("other", OTHERS)
    async def test_another_scope_is_never_served_this_ones_memory(self, chat: Chat, other: str) -> None:
        commit_id = new_commit_id()
        await chat.remember("ana likes tea", commit_id=commit_id)
        foreign = Chat(chat.memory, elsewhere(chat.scope)[other])
        assert (await foreign.load()).facts == ()
        assert (await foreign.load()).revision == 0
        assert await foreign.memory.committed(foreign.scope, commit_id, now_ms=NOW) is None

    @pytest.mark.parametrize("other", OTHERS)
    async def test_writing_to_another_scope_changes_nothing_here(self, chat: Chat, other: str) -> None:
        await chat.remember("ana likes tea")
        before = await chat.load()
        foreign = Chat(chat.memory, elsewhere(chat.scope)[other])
        assert (await foreign.remember("ana likes poison")).revision == 1
        assert await chat.load() == before
        assert len((await foreign.load()).facts) == 1

    async def test_a_guessed_session_id_looks_like_one_that_never_was(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        guessed = Scope(tenant_id=unique("tenant"), session_id=chat.scope.session_id, ns=chat.scope.ns)
        never = Scope(tenant_id=guessed.tenant_id, session_id=unique("session"), ns=chat.scope.ns)
        assert await chat.memory.load(guessed, now_ms=NOW) == Snapshot(scope=guessed)
        assert await chat.memory.load(never, now_ms=NOW) == Snapshot(scope=never)

    async def test_the_same_names_in_two_sessions_are_two_memories(self, chat: Chat) -> None:
        other = Chat(chat.memory, new_scope(tenant=chat.scope.tenant_id))
        await chat.remember("Ana lives_in Bern", "Ana knows Bo")
        await other.remember("Ana lives_in Bern", "Bo knows Ana")
        assert sorted_content(await chat.load()) == sorted_content(chat.first("Ana lives_in Bern", "Ana knows Bo"))
        assert sorted_content(await other.load()) == sorted_content(other.first("Ana lives_in Bern", "Bo knows Ana"))

    async def test_one_commit_id_in_two_scopes_is_two_commits(self, chat: Chat) -> None:
        commit_id = new_commit_id()
        for scope in (chat.scope, *elsewhere(chat.scope).values()):
            committed = await Chat(chat.memory, scope).remember("ana likes tea", commit_id=commit_id)
            assert (committed.revision, committed.replayed) == (1, False)

    async def test_sessions_have_expiries_of_their_own(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        other = Chat(chat.memory, new_scope(tenant=chat.scope.tenant_id), expires_at_ms=later(NOW, 5_000))
        await other.remember("bo likes milk")
        assert (await other.load()).expires_at_ms == NOW + 5_000
        assert (await chat.load(later(NOW, 5_000))).expires_at_ms == chat.expires_at_ms

    async def test_the_caps_of_one_tenant_do_not_bind_another(self, memory: SessionMemory) -> None:
        small, other = Chat(memory, new_scope()), Chat(memory, new_scope())
        await memory.set_quotas(small.scope.tenant_id, Quotas(namespace_facts_max=1))
        with pytest.raises(QuotaExceeded):
            await small.remember("ana likes tea", "ana likes milk")
        await other.remember("ana likes tea", "ana likes milk")
        assert await memory.quotas(other.scope.tenant_id) == Quotas()

    async def test_what_another_tenant_holds_does_not_count_here(self, memory: SessionMemory) -> None:
        session = unique("session")
        chats = [Chat(memory, new_scope(session=session)) for _ in range(3)]
        for chat in chats:
            await memory.set_quotas(chat.scope.tenant_id, Quotas(tenant_roots_max=1, tenant_facts_max=1))
            await chat.remember("ana likes tea")


class TestIsolationOfEndings(OnSessionMemory):
    """Clearing, revoking and expiring end what they name, and nothing beside it."""

    @pytest.mark.parametrize("other", OTHERS)
    async def test_clearing_a_namespace_leaves_the_others_open(self, chat: Chat, other: str) -> None:
        foreign = Chat(chat.memory, elsewhere(chat.scope)[other])
        await foreign.remember("bo likes milk")
        await chat.remember("ana likes tea")
        await chat.clear()
        assert len((await foreign.load()).facts) == 1
        await foreign.remember("bo likes juice")

    @pytest.mark.parametrize("other", [each for each in OTHERS if "namespace" not in each])
    async def test_revoking_a_session_leaves_the_others_alone(self, chat: Chat, other: str) -> None:
        foreign = Chat(chat.memory, elsewhere(chat.scope)[other])
        await foreign.remember("bo likes milk")
        await chat.remember("ana likes tea")
        assert await chat.memory.revoke(chat.scope.tenant_id, chat.scope.session_id, now_ms=NOW) == 1
        assert len((await foreign.load()).facts) == 1
        await foreign.remember("bo likes juice")
