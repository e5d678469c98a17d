"""Moving house: what one store gives away, another of its kind takes in, and nothing is lost or revived on the way."""

import pytest
import pytest_asyncio
from msgspec import structs

from codesynapse.contracts.errors import (
    AlreadyExists,
    CodeSynapseError,
    ExpiryChanged,
    Invalid,
    NamespaceClosed,
    RevisionConflict,
    SessionExpired,
    SessionRevoked,
)
from codesynapse.contracts.memory import Scope, digest
from codesynapse.contracts.portable import (
    EMPTY,
    Caps,
    Head,
    HeldScope,
    Item,
    RepositoryDigest,
    Rows,
    Tombstone,
    digest_of,
    name_of_item,
)
from codesynapse.contracts.ports import Backend, Portable
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import RepositoryScope
from codesynapse.contracts.suite.gates import requires
from codesynapse.contracts.suite.worlds import (
    NOW,
    Chat,
    Library,
    filled,
    later,
    new_commit_id,
    new_library,
    new_scope,
    numbered,
    sorted_content,
    triple,
    unique,
)

__all__ = ["TestMovingSessions", "TestScanning"]


async def items_of(portable: Portable, tenant: str, limit: int = 50) -> list[Item]:
    """Everything that a store holds of a tenant, in the order of its scan."""
    found: list[Item] = []
    cursor = None
    while True:
        batch = await portable.scan(after=cursor, limit=limit, tenant_id=tenant)
        found += batch.items
        cursor = batch.cursor
        if cursor is None:
            return found


def moved(item: Item, tenant: str) -> Item:
    """The item as another tenant's, so that it can be restored into the store that it comes from."""
    match item:
        case Caps() | Tombstone():
            return structs.replace(item, tenant_id=tenant)
        case _:
            return structs.replace(item, scope=structs.replace(item.scope, tenant_id=tenant))


async def move(portable: Portable, tenant: str) -> str:
    """Restore everything of a tenant under a new name, and answer that."""
    other = unique("moved")
    for item in await items_of(portable, tenant):
        await portable.restore(moved(item, other), now_ms=NOW)
    return other


def digests(items: list[Item], tenant: str) -> dict[tuple[str, ...], str]:
    """The digest of each thing, as if it were of one tenant."""
    repositories: dict[RepositoryScope, RepositoryDigest] = {}
    found: dict[tuple[str, ...], str] = {}
    for item in (moved(each, tenant) for each in items):
        if isinstance(item, Rows):
            repositories.setdefault(item.scope, RepositoryDigest()).add(item)
        elif isinstance(item, Head):
            rows = repositories.setdefault(item.scope, RepositoryDigest())
            assert rows.whole(item)
            found[name_of_item(item)] = rows.of(item)
        else:
            found[name_of_item(item)] = digest_of(item)
    return found


@requires("portable")
@pytest.mark.asyncio(loop_scope="session")
class OnPortable:
    """Tests that speak to a store that can be moved."""

    @pytest.fixture
    def portable(self, backend: Backend) -> Portable:
        assert backend.portable is not None
        return backend.portable

    @pytest.fixture
    def chat(self, backend: Backend) -> Chat:
        assert backend.session_memory is not None
        return Chat(backend.session_memory, new_scope())

    @pytest.fixture
    def library(self, backend: Backend) -> Library:
        assert backend.repository is not None
        return new_library(backend.repository)


def of_tenant(chat: Chat, tenant: str) -> Chat:
    """The same namespace of another tenant."""
    return Chat(chat.memory, structs.replace(chat.scope, tenant_id=tenant), expires_at_ms=chat.expires_at_ms)


@requires("session_memory", "repository")
class TestScanning(OnPortable):
    """A scan meets everything once, in an order that stays, in batches that are bounded."""

    @pytest_asyncio.fixture(loop_scope="session")
    async def tenant(self, chat: Chat, library: Library) -> str:
        """A tenant with some of everything."""
        tenant = chat.scope.tenant_id
        for number in range(5):
            scope = Scope(tenant_id=tenant, session_id=f"session{number}", ns="default")
            await Chat(chat.memory, scope).remember("ana likes tea")
        await chat.memory.revoke(tenant, "never-written", now_ms=NOW)
        await chat.memory.set_quotas(tenant, Quotas(tenant_roots_max=99))
        await library.graph.set_quotas(tenant, Quotas(repository_facts_max=99))
        books = Library(library.graph, RepositoryScope(tenant_id=tenant, repository="books"))
        await books.remember(*numbered(7))
        return tenant

    @pytest.mark.parametrize("limit", [1, 3, 1_000])
    async def test_everything_is_met_once_whatever_the_size_of_a_batch(
        self, portable: Portable, tenant: str, limit: int
    ) -> None:
        items = await items_of(portable, tenant, limit=limit)
        whole = [name_of_item(item) for item in items if not isinstance(item, Rows)]
        assert len(whole) == len(set(whole)) == 2 + 1 + 5 + 1
        rows = [item for item in items if isinstance(item, Rows)]
        assert all(len(item.entities) + len(item.facts) <= limit for item in rows)
        assert sum(len(item.entities) for item in rows) == 8
        assert sum(len(item.facts) for item in rows) == 7

    async def test_everything_is_met_once_while_others_are_written_beside_it(
        self, portable: Portable, chat: Chat, tenant: str
    ) -> None:
        names: list[tuple[str, ...]] = []
        cursor = None
        while True:
            batch = await portable.scan(after=cursor, limit=1, tenant_id=tenant)
            names.extend(name_of_item(item) for item in batch.items if not isinstance(item, Rows))
            cursor = batch.cursor
            if cursor is None:
                break
            for _ in range(3):
                await Chat(chat.memory, new_scope()).remember("bo likes cake")
        assert len(names) == len(set(names)) == 2 + 1 + 5 + 1

    async def test_only_one_tenants_items_are_met_or_everybodys(self, portable: Portable, tenant: str) -> None:
        assert {name_of_item(item)[1] for item in await items_of(portable, tenant)} == {tenant}
        assert await items_of(portable, unique("tenant")) == []
        first = await portable.scan(after=None, limit=1, tenant_id=None)
        assert len(first.items) == 1
        assert first.cursor is not None

    async def test_the_order_is_the_same_again_and_heads_come_last(self, portable: Portable, tenant: str) -> None:
        first = await items_of(portable, tenant, limit=4)
        assert first == await items_of(portable, tenant, limit=4)
        kinds = list(dict.fromkeys(type(item) for item in first))
        assert kinds == [Caps, Tombstone, HeldScope, Rows, Head]

    async def test_the_digests_do_not_depend_on_the_batches(self, portable: Portable, tenant: str) -> None:
        assert digests(await items_of(portable, tenant, limit=2), tenant) == digests(
            await items_of(portable, tenant, limit=1_000), tenant
        )

    @pytest.mark.parametrize("limit", [0, -1, 1_001])
    async def test_a_limit_out_of_bounds_is_refused(self, portable: Portable, limit: int) -> None:
        with pytest.raises(Invalid):
            await portable.scan(after=None, limit=limit, tenant_id=None)

    @pytest.mark.parametrize("cursor", ["", "nonsense", "WzksIiJd", "é"])
    async def test_a_foreign_cursor_is_refused(self, portable: Portable, cursor: str) -> None:
        with pytest.raises(Invalid):
            await portable.scan(after=cursor, limit=1, tenant_id=None)


@requires("session_memory")
class TestMovingSessions(OnPortable):
    """Session memory with its revisions, commit ids, deadlines and tombstones."""

    async def test_a_moved_scope_serves_and_digests_the_same(self, portable: Portable, chat: Chat) -> None:
        await chat.remember(triple("ana lives_in Bern", functional=True), "ána mag Tee\u2028und Milch 🍵")
        await chat.remember(triple("ana lives_in Thun", functional=True))
        before = await chat.load()
        tenant = await move(portable, chat.scope.tenant_id)
        served = await of_tenant(chat, tenant).load()
        assert sorted_content(served) == sorted_content(before)
        assert (served.revision, served.expires_at_ms, served.closed) == (2, chat.expires_at_ms, False)
        assert digest(served) == digest(before)
        assert digests(await items_of(portable, tenant), "t") == digests(
            await items_of(portable, chat.scope.tenant_id), "t"
        )

    async def test_commit_ids_answer_and_revisions_refuse_after_the_move(self, portable: Portable, chat: Chat) -> None:
        made = {}
        for number in range(40):
            commit_id = new_commit_id()
            made[commit_id] = await chat.remember(f"ana knows person{number}", commit_id=commit_id)
        again = of_tenant(chat, await move(portable, chat.scope.tenant_id))
        for number, (commit_id, first) in enumerate(made.items()):
            kept = await again.memory.committed(again.scope, commit_id, now_ms=NOW)
            assert kept == (None if number < 8 else first)
        replayed = await again.propose(again.first(), 0, commit_id=commit_id)
        assert replayed == structs.replace(first, replayed=True)
        with pytest.raises(RevisionConflict):
            await again.propose(again.first(), 39)
        assert (await again.remember("ana likes milk")).revision == 41
        assert await again.memory.committed(again.scope, list(made)[8], now_ms=NOW) is None

    async def test_the_deadline_moves_too_and_still_ends_the_session(self, portable: Portable, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        again = of_tenant(chat, await move(portable, chat.scope.tenant_id))
        moved_on = structs.replace(again.first("bo likes milk"), expires_at_ms=later(chat.expires_at_ms, 1))
        with pytest.raises(ExpiryChanged):
            await again.propose(moved_on, 1)
        assert len((await again.load(later(chat.expires_at_ms, -1))).facts) == 1
        with pytest.raises(SessionExpired):
            await again.load(chat.expires_at_ms)

    async def test_closed_stays_closed(self, portable: Portable, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        await chat.clear()
        again = of_tenant(chat, await move(portable, chat.scope.tenant_id))
        assert (await again.load()).closed
        with pytest.raises(NamespaceClosed):
            await again.propose(again.first("ana likes tea"), 2)

    async def test_tombstones_still_refuse_also_of_a_session_that_never_wrote(
        self, portable: Portable, chat: Chat
    ) -> None:
        await chat.remember("ana likes tea")
        for session in (chat.scope.session_id, "never-written"):
            await chat.memory.revoke(chat.scope.tenant_id, session, now_ms=NOW)
        tenant = await move(portable, chat.scope.tenant_id)
        never = Chat(chat.memory, Scope(tenant_id=tenant, session_id="never-written", ns="default"))
        for each in (of_tenant(chat, tenant), never):
            with pytest.raises(SessionRevoked):
                await each.load()
            with pytest.raises(SessionRevoked):
                await each.propose(each.first("ana likes tea"), 1)
        assert digests(await items_of(portable, tenant), "t") == digests(
            await items_of(portable, chat.scope.tenant_id), "t"
        )

    async def test_caps_and_what_counts_in_them_move(self, portable: Portable, chat: Chat) -> None:
        await chat.memory.set_quotas(chat.scope.tenant_id, Quotas(tenant_roots_max=1, tenant_facts_max=3))
        await chat.remember("ana likes tea", "ana likes milk")
        tenant = await move(portable, chat.scope.tenant_id)
        again = of_tenant(chat, tenant)
        assert await again.memory.quotas(tenant) == Quotas(tenant_roots_max=1, tenant_facts_max=3)
        with pytest.raises(CodeSynapseError, match="tenant_facts"):
            await again.remember("ana likes juice", "ana likes water")
        with pytest.raises(CodeSynapseError, match="tenant_roots"):
            await Chat(chat.memory, new_scope(tenant=tenant)).remember("bo likes tea")

    @pytest.mark.parametrize("character", ["x", "ж", "🍵"])
    async def test_a_snapshot_of_the_largest_size_moves(self, portable: Portable, chat: Chat, character: str) -> None:
        await chat.propose(filled(chat.scope, Quotas().snapshot_bytes_max, character=character), 0)
        again = of_tenant(chat, await move(portable, chat.scope.tenant_id))
        assert digest(await again.load()) == digest(await chat.load())

    async def test_what_exists_is_refused_and_left_as_it_is(self, portable: Portable, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        await chat.memory.revoke(chat.scope.tenant_id, "other", now_ms=NOW)
        await chat.memory.set_quotas(chat.scope.tenant_id, Quotas(tenant_roots_max=99))
        items = await items_of(portable, chat.scope.tenant_id)
        assert len(items) == 3
        await chat.remember("ana likes milk")
        before = await items_of(portable, chat.scope.tenant_id)
        for item in items:
            with pytest.raises(AlreadyExists):
                await portable.restore(item, now_ms=NOW)
        assert await items_of(portable, chat.scope.tenant_id) == before

    async def test_the_content_of_a_revoked_session_does_not_come_back(self, portable: Portable, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        (item,) = await items_of(portable, chat.scope.tenant_id)
        tenant = unique("tenant")
        await chat.memory.revoke(tenant, chat.scope.session_id, now_ms=NOW)
        with pytest.raises(SessionRevoked):
            await portable.restore(moved(item, tenant), now_ms=NOW)
        assert [type(each) for each in await items_of(portable, tenant)] == [Tombstone]

    async def test_a_damaged_scope_is_refused(self, portable: Portable, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        (item,) = await items_of(portable, chat.scope.tenant_id)
        assert isinstance(item, HeldScope)
        tenant = unique("tenant")
        for damaged in (
            structs.replace(item, document=b""),
            structs.replace(item, document=b"[1, [],[]]"),
            structs.replace(item, document=item.document.replace(b"likes", b"LIKES")),
            structs.replace(item, closed=True),
            structs.replace(item, revision=2),
            structs.replace(item, commits=()),
            structs.replace(item, commits=item.commits * 2, revision=2),
        ):
            with pytest.raises(CodeSynapseError):
                await portable.restore(moved(damaged, tenant), now_ms=NOW)
        assert await items_of(portable, tenant) == []

    async def test_a_foreign_deadline_in_one_session_is_refused(self, portable: Portable, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        (item,) = await items_of(portable, chat.scope.tenant_id)
        assert isinstance(item, HeldScope)
        other = structs.replace(
            item, scope=structs.replace(item.scope, ns="other"), expires_at_ms=later(item.expires_at_ms, 1)
        )
        with pytest.raises(ExpiryChanged):
            await portable.restore(other, now_ms=NOW)

    async def test_an_emptied_scope_moves_without_content(self, portable: Portable, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        await chat.memory.revoke(chat.scope.tenant_id, chat.scope.session_id, now_ms=NOW)
        tombstone, item = await items_of(portable, chat.scope.tenant_id)
        assert isinstance(tombstone, Tombstone)
        assert isinstance(item, HeldScope)
        assert (item.document, item.revision, len(item.commits)) == (EMPTY, 1, 1)

    async def test_another_tenants_memory_is_not_touched(self, portable: Portable, chat: Chat) -> None:
        other = Chat(chat.memory, structs.replace(chat.scope, tenant_id=unique("tenant")))
        await chat.remember("ana likes tea")
        await other.remember("bo likes milk")
        before = await items_of(portable, other.scope.tenant_id)
        tenant = await move(portable, chat.scope.tenant_id)
        assert await items_of(portable, other.scope.tenant_id) == before
        assert {name_of_item(item)[1] for item in await items_of(portable, tenant)} == {tenant}
