"""The caps of a tenant, enforced inside the store's transaction (seed 0, "Graph and vector schema")."""

import asyncio
from collections.abc import Callable

import pytest

from codesynapse.contracts.errors import QuotaExceeded
from codesynapse.contracts.memory import Committed
from codesynapse.contracts.ports import SessionMemory
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.gates import OnSessionMemory
from codesynapse.contracts.suite.worlds import NOW, Chat, later, new_scope, numbered, settled, triple, unique

__all__ = ["TestQuotas", "TestQuotasUnderLoad", "TestRetainedRoots"]


def namespaces(memory: SessionMemory, count: int) -> list[Chat]:
    """As many namespaces of one session."""
    tenant, session = unique("tenant"), unique("session")
    return [Chat(memory, new_scope(tenant=tenant, session=session, ns=f"repo{number}")) for number in range(count)]


def sessions(memory: SessionMemory, count: int) -> list[Chat]:
    """As many sessions of one tenant."""
    tenant = unique("tenant")
    return [Chat(memory, new_scope(tenant=tenant)) for _ in range(count)]


async def limit(chat: Chat, **caps: int) -> None:
    await chat.memory.set_quotas(chat.scope.tenant_id, Quotas(**caps))


class TestQuotas(OnSessionMemory):
    """Each cap lets its number pass and refuses the next, naming the cap."""

    async def test_the_caps_are_the_seeds_until_others_are_written(self, chat: Chat) -> None:
        assert await chat.memory.quotas(chat.scope.tenant_id) == Quotas()
        other = Quotas(namespace_facts_max=7, session_lifetime_ms=1_000)
        await chat.memory.set_quotas(chat.scope.tenant_id, other)
        assert await chat.memory.quotas(chat.scope.tenant_id) == other

    async def test_a_namespace_holds_so_many_facts(self, chat: Chat) -> None:
        await limit(chat, namespace_facts_max=3)
        await chat.remember(*numbered(3))
        with pytest.raises(QuotaExceeded) as refusal:
            await chat.remember("ana likes tea")
        assert (refusal.value.field, refusal.value.limit) == ("namespace_facts", 3)
        assert ((await chat.load()).revision, await chat.facts()) == (1, 3)

    async def test_a_namespace_holds_so_many_entities(self, chat: Chat) -> None:
        await limit(chat, namespace_entities_max=4)
        await chat.remember(*numbered(3))
        with pytest.raises(QuotaExceeded) as refusal:
            await chat.remember("ana likes tea")
        assert (refusal.value.field, refusal.value.limit) == ("namespace_entities", 4)
        await chat.remember("ana likes person00000")

    async def test_a_session_holds_so_many_facts_in_all_its_namespaces(self, memory: SessionMemory) -> None:
        first, second = namespaces(memory, 2)
        await limit(first, session_facts_max=5)
        await first.remember(*numbered(3))
        await second.remember(*numbered(2))
        for chat in (first, second):
            with pytest.raises(QuotaExceeded) as refusal:
                await chat.remember("ana likes tea")
            assert (refusal.value.field, refusal.value.limit) == ("session_facts", 5)
        assert (await first.facts(), await second.facts()) == (3, 2)

    async def test_a_tenant_holds_so_many_facts_in_all_its_sessions(self, memory: SessionMemory) -> None:
        first, second = sessions(memory, 2)
        await limit(first, tenant_facts_max=5)
        await first.remember(*numbered(3))
        await second.remember(*numbered(2))
        for chat in (first, second):
            with pytest.raises(QuotaExceeded) as refusal:
                await chat.remember("ana likes tea")
            assert (refusal.value.field, refusal.value.limit) == ("tenant_facts", 5)
        assert (await first.facts(), await second.facts()) == (3, 2)

    async def test_facts_that_go_make_room_for_others(self, memory: SessionMemory) -> None:
        first, second = sessions(memory, 2)
        await limit(first, tenant_facts_max=2)
        await first.remember(*numbered(2))
        await first.propose(first.first(), 1)
        await second.remember(*numbered(2))
        await second.clear()
        await first.remember(*numbered(2))

    async def test_superseded_and_retracted_facts_do_not_count(self, chat: Chat) -> None:
        await limit(chat, namespace_facts_max=2, session_facts_max=2, tenant_facts_max=2)
        await chat.remember(triple("ana lives_in Bern", functional=True), "ana likes tea")
        await chat.remember(triple("ana lives_in Thun", functional=True))
        await chat.remember(triple("ana likes tea", retract=True), "ana likes milk")
        assert await chat.facts() == 4
        with pytest.raises(QuotaExceeded):
            await chat.remember("ana likes juice")

    async def test_a_cap_that_was_lowered_lets_one_tidy_up_and_not_grow(self, chat: Chat) -> None:
        await chat.remember(*numbered(5))
        await limit(chat, namespace_facts_max=2)
        await chat.propose(chat.first(*numbered(4)), 1)
        await chat.propose(chat.first(*numbered(4, start=1)), 2)
        with pytest.raises(QuotaExceeded):
            await chat.propose(chat.first(*numbered(5)), 3)

    async def test_a_cap_that_was_raised_lets_more_in(self, chat: Chat) -> None:
        await limit(chat, namespace_facts_max=1)
        await chat.remember("ana likes tea")
        with pytest.raises(QuotaExceeded):
            await chat.remember("ana likes milk")
        await limit(chat, namespace_facts_max=2)
        await chat.remember("ana likes milk")


class TestRetainedRoots(OnSessionMemory):
    """Roots are counted for life: closed, expired and revoked ones as well."""

    async def test_a_session_keeps_so_many_namespaces(self, memory: SessionMemory) -> None:
        *chats, extra = namespaces(memory, 4)
        await limit(extra, session_namespaces_max=3)
        for chat in chats:
            await chat.remember("ana likes tea")
        with pytest.raises(QuotaExceeded) as refusal:
            await extra.remember("ana likes tea")
        assert (refusal.value.field, refusal.value.limit) == ("session_namespaces", 3)
        assert (await extra.load()).revision == 0
        await chats[0].remember("ana likes milk")

    async def test_a_tenant_keeps_so_many_roots(self, memory: SessionMemory) -> None:
        *chats, extra = sessions(memory, 4)
        await limit(extra, tenant_roots_max=3)
        for chat in chats:
            await chat.remember("ana likes tea")
        with pytest.raises(QuotaExceeded) as refusal:
            await extra.remember("ana likes tea")
        assert (refusal.value.field, refusal.value.limit) == ("tenant_roots", 3)
        await chats[0].remember("ana likes milk")

    async def test_a_session_keeps_16_namespaces_by_default(self, memory: SessionMemory) -> None:
        *chats, extra = namespaces(memory, 17)
        for chat in chats:
            await chat.propose(chat.first(), 0)
        with pytest.raises(QuotaExceeded) as refusal:
            await extra.propose(extra.first(), 0)
        assert refusal.value.limit == 16

    async def test_closed_namespaces_count(self, memory: SessionMemory) -> None:
        *chats, extra = namespaces(memory, 3)
        await limit(extra, session_namespaces_max=2)
        for chat in chats:
            await chat.remember("ana likes tea")
            await chat.clear()
        with pytest.raises(QuotaExceeded):
            await extra.remember("ana likes tea")

    @pytest.mark.parametrize("swept", [False, True], ids=["read", "swept"])
    async def test_expired_roots_count_and_their_facts_do_not(self, memory: SessionMemory, swept: bool) -> None:
        old, new, extra = sessions(memory, 3)
        old.now_ms, old.expires_at_ms = later(NOW, -5_000), later(NOW, -1)
        await limit(extra, tenant_roots_max=2, tenant_facts_max=3)
        await old.remember(*numbered(3))
        if swept:
            while await memory.sweep(now_ms=later(NOW, -1), limit=1_000):
                pass
        else:
            await settled(old.load(NOW), Exception)
        await new.remember(*numbered(3))
        with pytest.raises(QuotaExceeded) as refusal:
            await extra.remember("ana likes tea")
        assert refusal.value.field == "tenant_roots"

    async def test_revoked_roots_count_and_their_facts_do_not(self, memory: SessionMemory) -> None:
        old, new, extra = sessions(memory, 3)
        await limit(extra, tenant_roots_max=2, tenant_facts_max=3)
        await old.remember(*numbered(3))
        assert await memory.revoke(old.scope.tenant_id, old.scope.session_id, now_ms=NOW) == 3
        await new.remember(*numbered(3))
        with pytest.raises(QuotaExceeded) as refusal:
            await extra.remember("ana likes tea")
        assert refusal.value.field == "tenant_roots"

    async def test_a_refused_root_does_not_count(self, memory: SessionMemory) -> None:
        first, second = sessions(memory, 2)
        await limit(first, tenant_roots_max=1, namespace_facts_max=1)
        with pytest.raises(QuotaExceeded):
            await first.remember(*numbered(2))
        await second.remember("ana likes tea")


Chats = Callable[[SessionMemory, int], list[Chat]]


class TestQuotasUnderLoad(OnSessionMemory):
    """Commits that start together at the edge of a cap: exactly the cap is reached."""

    @pytest.mark.parametrize(
        ("cap", "made"),
        [
            ("session_namespaces_max", namespaces),
            ("tenant_roots_max", namespaces),
            ("tenant_roots_max", sessions),
            ("session_facts_max", namespaces),
            ("tenant_facts_max", namespaces),
            ("tenant_facts_max", sessions),
        ],
    )
    async def test_first_commits_at_once_reach_exactly_the_cap(
        self, memory: SessionMemory, cap: str, made: Chats
    ) -> None:
        chats = made(memory, 20)
        await limit(chats[0], **{cap: 7})
        calls = (settled(chat.propose(chat.first("ana likes tea"), 0), QuotaExceeded) for chat in chats)
        results = await asyncio.gather(*calls)
        refusals = [each for each in results if isinstance(each, QuotaExceeded)]
        assert len(results) - len(refusals) == 7
        assert {each.field for each in refusals} == {cap.removesuffix("_max")}
        assert sum([await chat.facts() for chat in chats]) == 7

    @pytest.mark.parametrize(("cap", "made"), [("session_facts_max", namespaces), ("tenant_facts_max", sessions)])
    async def test_growing_at_once_reaches_exactly_the_cap(self, memory: SessionMemory, cap: str, made: Chats) -> None:
        chats = made(memory, 12)
        for chat in chats:
            await chat.remember("ana likes tea")
        await limit(chats[0], **{cap: 20})
        calls = (settled(chat.propose(chat.first(*numbered(3)), 1), QuotaExceeded) for chat in chats)
        results = await asyncio.gather(*calls)
        assert sum(isinstance(each, Committed) for each in results) == 4
        assert sum([await chat.facts() for chat in chats]) == 20

    async def test_writers_to_one_namespace_at_once_reach_exactly_the_cap(self, chat: Chat) -> None:
        await limit(chat, namespace_facts_max=5)

        async def write(number: int) -> object:
            while True:
                result = await settled(chat.remember(f"writer{number} was here"), Exception)
                if isinstance(result, Committed | QuotaExceeded):
                    return result

        results = await asyncio.gather(*(write(number) for number in range(9)))
        assert sum(isinstance(each, Committed) for each in results) == 5
        assert await chat.facts() == 5
