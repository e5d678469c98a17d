"""Expiry, revocation and their tombstones: what has ended is gone, refuses, and is never brought back."""

import asyncio

import pytest
from msgspec import structs

from codesynapse.contracts.errors import (
    ExpiryChanged,
    NamespaceClosed,
    RevisionConflict,
    SessionExpired,
    SessionRevoked,
)
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import Committed, Scope
from codesynapse.contracts.ports import SessionMemory
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.gates import OnSessionMemory
from codesynapse.contracts.suite.worlds import (
    LIFETIME_MS,
    LONG_AGO,
    NOW,
    Chat,
    later,
    new_commit_id,
    new_scope,
    numbered,
    settled,
    sorted_content,
    triple,
    unique,
)

__all__ = ["TestExpiry", "TestRevival", "TestRevocation", "TestSweep"]


def beside(chat: Chat, ns: str = "other") -> Chat:
    """Another namespace of the same session."""
    scope = Scope(tenant_id=chat.scope.tenant_id, session_id=chat.scope.session_id, ns=ns)
    return Chat(chat.memory, scope, now_ms=chat.now_ms, expires_at_ms=chat.expires_at_ms)


async def holds_nothing(chat: Chat, now_ms: Millis) -> bool:
    """Whether nothing of a scope is served at a moment, by an empty answer or by a refusal."""
    try:
        return (await chat.load(now_ms)).facts == ()
    except (SessionExpired, SessionRevoked):
        return True


class TestExpiry(OnSessionMemory):
    """The expiry is the binding's: fixed at the first commit, equal in all namespaces, never moved."""

    async def test_the_first_commit_sets_an_expiry_at_most_a_lifetime_ahead(self, chat: Chat) -> None:
        for wrong in (LIFETIME_MS + 1, 0, -1, -NOW):
            with pytest.raises(ExpiryChanged):
                await chat.propose(structs.replace(chat.first("ana likes tea"), expires_at_ms=later(NOW, wrong)), 0)
        await chat.propose(structs.replace(chat.first("ana likes tea"), expires_at_ms=later(NOW, LIFETIME_MS)), 0)
        assert (await chat.load()).expires_at_ms == NOW + LIFETIME_MS

    async def test_the_lifetime_is_the_one_on_the_tenants_root(self, chat: Chat) -> None:
        await chat.memory.set_quotas(chat.scope.tenant_id, Quotas(session_lifetime_ms=1_000))
        with pytest.raises(ExpiryChanged):
            await chat.propose(structs.replace(chat.first("ana likes tea"), expires_at_ms=later(NOW, 1_001)), 0)
        await chat.propose(structs.replace(chat.first("ana likes tea"), expires_at_ms=later(NOW, 1_000)), 0)

    @pytest.mark.parametrize("moved_ms", [1, -1, LIFETIME_MS, -LIFETIME_MS - NOW])
    async def test_a_commit_never_moves_the_expiry(self, chat: Chat, moved_ms: int) -> None:
        await chat.remember("ana likes tea")
        moved = structs.replace(chat.first("bo likes milk"), expires_at_ms=later(chat.expires_at_ms, moved_ms))
        with pytest.raises(ExpiryChanged):
            await chat.propose(moved, 1)
        with pytest.raises(ExpiryChanged):
            await chat.propose(structs.replace(moved, closed=True, facts=(), entities=()), 1)
        assert (await chat.load()).expires_at_ms == chat.expires_at_ms
        assert (await chat.load()).revision == 1

    async def test_a_later_commit_does_not_extend_the_session(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        chat.now_ms = later(chat.expires_at_ms, -1)
        await chat.remember("ana likes milk")
        with pytest.raises(SessionExpired):
            await chat.load(chat.expires_at_ms)

    async def test_the_expiry_is_equal_in_all_namespaces_of_a_session(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        other = beside(chat)
        for wrong in (1, -1):
            moved = structs.replace(other.first("bo likes milk"), expires_at_ms=later(chat.expires_at_ms, wrong))
            with pytest.raises(ExpiryChanged):
                await other.propose(moved, 0)
        other.now_ms = later(NOW, 1_000)
        await other.remember("bo likes milk")
        assert (await other.load()).expires_at_ms == chat.expires_at_ms

    async def test_up_to_its_last_millisecond_a_session_is_served(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        last = later(chat.expires_at_ms, -1)
        assert len((await chat.load(last)).facts) == 1

    @pytest.mark.parametrize("after_ms", [0, 1, LIFETIME_MS])
    async def test_from_its_expiry_on_a_session_refuses_everything(self, chat: Chat, after_ms: int) -> None:
        commit_id = new_commit_id()
        await chat.remember("ana likes tea", commit_id=commit_id)
        moment = later(chat.expires_at_ms, after_ms)
        with pytest.raises(SessionExpired):
            await chat.propose(chat.first("bo likes milk"), 1, now_ms=moment)
        with pytest.raises(SessionExpired):
            await chat.propose(chat.first("ana likes tea"), 0, commit_id=commit_id, now_ms=moment)
        with pytest.raises(SessionExpired):
            await chat.memory.committed(chat.scope, commit_id, now_ms=moment)
        with pytest.raises(SessionExpired):
            await chat.load(moment)

    async def test_an_expired_session_cannot_open_another_namespace(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        other = beside(chat)
        other.now_ms, other.expires_at_ms = chat.expires_at_ms, later(chat.expires_at_ms, LIFETIME_MS)
        with pytest.raises(SessionExpired):
            await other.propose(other.first("bo likes milk"), 0)
        with pytest.raises(SessionExpired):
            await other.load()

    async def test_reading_an_expired_scope_removes_its_content(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        with pytest.raises(SessionExpired):
            await chat.load(chat.expires_at_ms)
        assert await holds_nothing(chat, NOW)


class TestRevocation(OnSessionMemory):
    """A revocation covers every namespace, written or not, and stays."""

    async def test_a_revoked_session_is_neither_read_nor_written(self, chat: Chat) -> None:
        commit_id = new_commit_id()
        await chat.remember("ana likes tea", commit_id=commit_id)
        await chat.memory.revoke(chat.scope.tenant_id, chat.scope.session_id, now_ms=NOW)
        with pytest.raises(SessionRevoked):
            await chat.load()
        with pytest.raises(SessionRevoked):
            await chat.propose(chat.first("bo likes milk"), 1)
        with pytest.raises(SessionRevoked):
            await chat.memory.committed(chat.scope, commit_id, now_ms=NOW)

    async def test_it_covers_every_namespace_also_one_that_was_never_written(self, chat: Chat) -> None:
        other, never = beside(chat, "other"), beside(chat, "never")
        await chat.remember("ana likes tea")
        await other.remember("bo likes milk", "bo likes tea")
        assert await chat.memory.revoke(chat.scope.tenant_id, chat.scope.session_id, now_ms=NOW) == 3
        for each in (chat, other, never):
            with pytest.raises(SessionRevoked):
                await each.load()
            with pytest.raises(SessionRevoked):
                await each.propose(each.first("cy likes juice"), 0)

    async def test_it_blocks_a_session_before_its_first_commit(self, chat: Chat) -> None:
        assert await chat.memory.revoke(chat.scope.tenant_id, chat.scope.session_id, now_ms=NOW) == 0
        with pytest.raises(SessionRevoked):
            await chat.propose(chat.first("ana likes tea"), 0)
        with pytest.raises(SessionRevoked):
            await chat.load()

    async def test_it_tells_how_many_facts_it_removed_superseded_ones_too(self, chat: Chat) -> None:
        await chat.remember(triple("ana lives_in Bern", functional=True), "ana likes tea")
        await chat.remember(triple("ana lives_in Thun", functional=True))
        assert await chat.memory.revoke(chat.scope.tenant_id, chat.scope.session_id, now_ms=NOW) == 3

    async def test_it_can_be_repeated(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        counts = [
            await chat.memory.revoke(chat.scope.tenant_id, chat.scope.session_id, now_ms=later(NOW, by))
            for by in (0, 1_000, 2_000)
        ]
        assert counts == [1, 0, 0]
        with pytest.raises(SessionRevoked):
            await chat.load()

    async def test_it_outweighs_the_expiry(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        await chat.memory.revoke(chat.scope.tenant_id, chat.scope.session_id, now_ms=NOW)
        with pytest.raises(SessionRevoked):
            await chat.load(chat.expires_at_ms)


class TestRevival(OnSessionMemory):
    """A worker that was under way when a session ended cannot bring it back, whatever it holds."""

    @pytest.mark.parametrize("read", [0, 1, 2])
    async def test_no_revision_revives_a_revoked_session(self, chat: Chat, read: int) -> None:
        await chat.remember("ana likes tea")
        await chat.remember("ana likes milk")
        held = await chat.load()
        await chat.memory.revoke(chat.scope.tenant_id, chat.scope.session_id, now_ms=NOW)
        for moment in (NOW, later(NOW, -10_000), later(NOW, 10_000)):
            with pytest.raises(SessionRevoked):
                await chat.propose(held, read, now_ms=moment)
            with pytest.raises(SessionRevoked):
                await chat.load(moment)

    async def test_a_replayed_commit_id_does_not_revive_a_revoked_session(self, chat: Chat) -> None:
        commit_id = new_commit_id()
        await chat.remember("ana likes tea", commit_id=commit_id)
        await chat.memory.revoke(chat.scope.tenant_id, chat.scope.session_id, now_ms=NOW)
        with pytest.raises(SessionRevoked):
            await chat.propose(chat.first("ana likes tea"), 0, commit_id=commit_id)

    @pytest.mark.parametrize("read", [0, 1])
    async def test_a_new_expiry_does_not_revive_an_expired_session(self, chat: Chat, read: int) -> None:
        await chat.remember("ana likes tea")
        moment = chat.expires_at_ms
        with pytest.raises(SessionExpired):
            await chat.load(moment)
        revived = structs.replace(chat.first("ana likes tea"), expires_at_ms=later(moment, LIFETIME_MS))
        with pytest.raises(SessionExpired):
            await chat.propose(revived, read, now_ms=moment)
        with pytest.raises(SessionExpired):
            await chat.load(moment)

    async def test_what_was_read_before_a_clearing_does_not_reopen_the_namespace(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        held = await chat.load()
        await chat.clear()
        for read in (1, 2):
            with pytest.raises(NamespaceClosed):
                await chat.propose(held, read)
        assert ((await chat.load()).closed, await chat.facts()) == (True, 0)

    async def test_commits_that_race_a_revocation_leave_nothing_behind(self, memory: SessionMemory) -> None:
        tenant = unique("tenant")
        await memory.set_quotas(tenant, Quotas(tenant_facts_max=10))
        chats = [Chat(memory, new_scope(tenant=tenant)) for _ in range(5)]
        commits = (settled(chat.propose(chat.first(*numbered(2)), 0), SessionRevoked) for chat in chats)
        revocations = (memory.revoke(tenant, chat.scope.session_id, now_ms=NOW) for chat in chats)
        await asyncio.gather(*(call for pair in zip(commits, revocations, strict=True) for call in pair))
        for chat in chats:
            with pytest.raises(SessionRevoked):
                await chat.load()
        # All of the tenant's room is free again.
        await Chat(memory, new_scope(tenant=tenant)).remember(*numbered(10))

    async def test_of_a_clearing_and_writes_at_once_exactly_one_wins(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        proposals = [chat.first(f"writer{number} was here") for number in range(6)]
        proposals.insert(3, chat.closing(await chat.load()))
        calls = (settled(chat.propose(each, 1), RevisionConflict, NamespaceClosed) for each in proposals)
        results = await asyncio.gather(*calls)
        (won,) = [each for each, result in zip(proposals, results, strict=True) if isinstance(result, Committed)]
        served = await chat.load()
        assert (served.closed, sorted_content(served)) == (won.closed, sorted_content(won))
        assert served.revision == 2

    async def test_a_swept_session_does_not_come_back(self, memory: SessionMemory) -> None:
        chat = Chat(memory, new_scope(), now_ms=LONG_AGO, expires_at_ms=later(LONG_AGO, 1_000))
        await chat.remember("ana likes tea")
        held = await chat.load()
        while await memory.sweep(now_ms=chat.expires_at_ms, limit=100):
            pass
        with pytest.raises(SessionExpired):
            await chat.propose(held, 1, now_ms=chat.expires_at_ms)
        assert await holds_nothing(chat, LONG_AGO)


class TestSweep(OnSessionMemory):
    """Retention removes the content of expired scopes in bounded batches."""

    async def test_a_sweep_empties_at_most_its_limit(self, memory: SessionMemory) -> None:
        chats = [Chat(memory, new_scope(), now_ms=LONG_AGO, expires_at_ms=later(LONG_AGO, 1_000)) for _ in range(5)]
        for chat in chats:
            await chat.remember(*numbered(2))
        emptied = await memory.sweep(now_ms=later(LONG_AGO, 1_000), limit=2)
        gone = [await holds_nothing(chat, LONG_AGO) for chat in chats]
        assert 1 <= emptied <= 2
        assert sum(gone) <= 2

    async def test_sweeps_empty_all_that_is_expired_and_end(self, memory: SessionMemory) -> None:
        session = unique("session")
        chats = [
            Chat(memory, new_scope(tenant=tenant, session=session, ns=ns), now_ms=LONG_AGO)
            for tenant in (unique("tenant"), unique("tenant"))
            for ns in ("one", "two")
        ]
        for chat in chats:
            chat.expires_at_ms = later(LONG_AGO, 1_000)
            await chat.remember("ana likes tea")
        rounds = [await memory.sweep(now_ms=later(LONG_AGO, 1_000), limit=3) for _ in range(2)]
        while rounds[-1]:
            rounds.append(await memory.sweep(now_ms=later(LONG_AGO, 1_000), limit=3))
        assert sum(rounds) >= 4
        assert max(rounds) <= 3
        assert [await holds_nothing(chat, LONG_AGO) for chat in chats] == [True] * 4

    async def test_a_sweep_leaves_what_is_not_expired(self, memory: SessionMemory) -> None:
        living = Chat(memory, new_scope(), now_ms=LONG_AGO, expires_at_ms=later(LONG_AGO, 2_000))
        await living.remember("ana likes tea")
        while await memory.sweep(now_ms=later(LONG_AGO, 1_999), limit=100):
            pass
        assert await living.facts() == 1
        while await memory.sweep(now_ms=later(LONG_AGO, 2_000), limit=100):
            pass
        assert await holds_nothing(living, LONG_AGO)
