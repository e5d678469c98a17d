"""What the audit says of agents: who made one, whose grant changed, and who removed all that one had."""

import pytest

from codesynapse.contracts.accounts import Action, AuditRecord, Level
from codesynapse.contracts.agent_work import MergeMode
from codesynapse.contracts.errors import AgentForbidden, NotFound, QuotaExceeded
from codesynapse.contracts.ports import Accounts, Backend
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.gates import OnAgents, requires
from codesynapse.contracts.suite.keepers import Keeper, records
from codesynapse.contracts.suite.organizations import records_since
from codesynapse.contracts.suite.worlds import NOW, later

__all__ = ["TestAgentAudit"]

CREATED, PURGED = Action.AGENT_CREATED, Action.AGENT_PURGED
SET, WITHDRAWN = Action.AGENT_GRANT_SET, Action.AGENT_GRANT_WITHDRAWN


@requires("accounts")
class TestAgentAudit(OnAgents):
    """As of repositories: in the transaction of what it is about, once, and never a word of what was remembered."""

    @pytest.fixture
    def accounts(self, backend: Backend) -> Accounts:
        assert backend.accounts is not None
        return backend.accounts

    async def test_an_agent_is_audited_once_by_whichever_write_makes_it(
        self, accounts: Accounts, keeper: Keeper
    ) -> None:
        start = await accounts.audit_end()
        await keeper.store("tea", now_ms=NOW)
        await keeper.store("coffee", now_ms=later(NOW, 1))
        others = [keeper.on(f"agent{number}") for number in range(5)]
        await others[0].archive("a talk")
        await others[1].agents.set_profile(others[1].scope, "likes tea", now_ms=NOW)
        await others[2].agents.take_in(others[2].scope, records("milk"), dry_run=False, now_ms=NOW)
        await others[3].agents.merge(keeper.scope, others[3].scope, mode=MergeMode.COPY, dry_run=False, now_ms=NOW)
        await others[4].agents.enqueue(others[4].scope, "archive_episode", "{}", once=None, now_ms=NOW)
        found = await self.of(accounts, start, keeper)
        assert [record.action for record in found] == [CREATED] * 6
        assert [record.target for record in found] == [each.scope.agent_id for each in (keeper, *others)]
        assert {(record.tenant_id, record.subject_id, record.at_ms) for record in found} == {
            (keeper.scope.tenant_id, keeper.scope.subject_id, NOW)
        }

    async def test_a_grant_and_its_withdrawal_are_audited_with_whose_and_how_far(
        self, accounts: Accounts, keeper: Keeper
    ) -> None:
        await keeper.keep("tea")
        other, start = keeper.another(), await accounts.audit_end()
        place = (keeper.scope.tenant_id, keeper.scope.agent_id, other.scope.subject_id)
        for number, level in enumerate((Level.READ, Level.READ, Level.WRITE, None, None)):
            await keeper.agents.set_level(*place, level, now_ms=later(NOW, number))
        found = await self.of(accounts, start, keeper)
        assert [(record.action, record.detail, record.at_ms) for record in found] == [
            (SET, "read", NOW),
            (SET, "write", later(NOW, 2)),
            (WITHDRAWN, None, later(NOW, 3)),
        ]
        assert {(record.subject_id, record.target) for record in found} == {place[:0:-1]}

    async def test_a_purge_is_audited_with_who_did_it_and_how_much_went(
        self, accounts: Accounts, keeper: Keeper
    ) -> None:
        await keeper.keep("tea", "coffee")
        await keeper.archive("a talk")
        start = await accounts.audit_end()
        await keeper.agents.purge(keeper.scope, now_ms=NOW)
        await keeper.agents.purge(keeper.scope, now_ms=NOW)
        (record,) = await self.of(accounts, start, keeper)
        assert (record.action, record.subject_id, record.target, record.detail) == (
            *(PURGED, keeper.scope.subject_id, keeper.scope.agent_id),
            "memories=2 episodes=1",
        )

    async def test_a_move_is_audited_with_who_did_it_and_how_much_went_and_a_copy_is_not(
        self, accounts: Accounts, keeper: Keeper
    ) -> None:
        await keeper.keep("tea", "coffee")
        await keeper.archive("a talk")
        other = keeper.on("other")
        await other.keep("tea")
        start = await accounts.audit_end()
        for mode, dry_run in ((MergeMode.COPY, True), (MergeMode.MOVE, True), (MergeMode.MOVE, False)):
            await keeper.agents.merge(keeper.scope, other.scope, mode=mode, dry_run=dry_run, now_ms=NOW)
        await other.agents.merge(other.scope, keeper.scope, mode=MergeMode.COPY, dry_run=False, now_ms=NOW)
        (record,) = await self.of(accounts, start, keeper)
        assert (record.action, record.subject_id, record.target, record.detail, record.at_ms) == (
            *(Action.AGENT_MOVED, keeper.scope.subject_id, keeper.scope.agent_id),
            *("memories=1 episodes=1", NOW),
        )

    async def test_what_is_refused_or_only_tried_leaves_no_record(self, accounts: Accounts, keeper: Keeper) -> None:
        await keeper.keep("tea")
        reader, fresh = await keeper.granted(Level.READ), keeper.on("fresh")
        start = await accounts.audit_end()
        for refused in (reader.store("milk"), reader.agents.purge(reader.scope, now_ms=NOW)):
            with pytest.raises(AgentForbidden):
                await refused
        place = (keeper.scope.tenant_id, "nobody", keeper.scope.subject_id)
        with pytest.raises(NotFound):
            await keeper.agents.set_level(*place, Level.READ, now_ms=NOW)
        await keeper.agents.take_in(fresh.scope, records("milk"), dry_run=True, now_ms=NOW)
        await keeper.agents.merge(keeper.scope, fresh.scope, mode=MergeMode.COPY, dry_run=True, now_ms=NOW)
        await keeper.agents.set_quotas(keeper.scope.tenant_id, Quotas(agents_max=1))
        with pytest.raises(QuotaExceeded):
            await fresh.store("milk")
        assert await self.of(accounts, start, keeper) == []

    async def test_a_first_write_that_is_refused_after_it_made_the_agent_leaves_no_record(
        self, accounts: Accounts, keeper: Keeper
    ) -> None:
        await keeper.agents.set_quotas(keeper.scope.tenant_id, Quotas(agent_tasks_max=1))
        await keeper.agents.enqueue(keeper.scope, "archive_episode", "{}", once=None, now_ms=NOW)
        other, start = keeper.on("other"), await accounts.audit_end()
        with pytest.raises(QuotaExceeded):
            await other.agents.enqueue(other.scope, "archive_episode", "{}", once=None, now_ms=NOW)
        assert await self.of(accounts, start, keeper) == []

    async def of(self, accounts: Accounts, start: int, keeper: Keeper) -> list[AuditRecord]:
        """What the audit says of a tenant since then."""
        return await records_since(accounts, start, keeper.scope.tenant_id)
