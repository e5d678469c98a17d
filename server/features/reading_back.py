"""Results of writes read back: what a call committed is told, also by a server that did not run it.

A write's result is recorded with the write, in its transaction, under its commit id. A namespace or a repository keeps
the results of its last 32 commits.
"""

from collections.abc import Mapping

import msgspec

from codesynapse.contracts.errors import SessionExpired, SessionRevoked
from codesynapse.contracts.identity import CommitIds, Execution
from codesynapse.contracts.memory import CommitId
from codesynapse.contracts.ports import Accounts
from codesynapse.server.clock import Clock
from codesynapse.server.mcp.connection import Run, has_structured_content
from codesynapse.server.mcp.messages import RequestId, ascii_safe
from codesynapse.server.mcp.naming import NOWHERE, REPOSITORY, SESSION, UNKNOWN, Place, name_digest
from codesynapse.server.memory.engine import SessionEngine
from codesynapse.server.memory.repository import RepositoryEngine
from codesynapse.server.memory.views import Upserted, upserted
from codesynapse.server.tools.dispatch import answer_json, last_day
from codesynapse.server.tools.registry import Answer, Toolbox


class ReadBack:
    """Where calls write, and what they wrote there."""

    def __init__(
        self, toolbox: Toolbox, accounts: Accounts, session: SessionEngine, repository: RepositoryEngine, clock: Clock
    ) -> None:
        self._toolbox = toolbox
        self._accounts = accounts
        self._session = session
        self._repository = repository
        self._clock = clock

    def place(self, run: Run) -> Place:
        """Where a request may write, as far as its result could be read back from there."""
        if run.method != "tools/call":
            return NOWHERE
        tool = self._toolbox.tool(run.name)
        if tool.read_only:
            return NOWHERE
        return UNKNOWN if tool.writes is None else tool.writes(run.params)

    async def response(
        self, execution: Execution, where: Place, seed: bytes, request_id: RequestId, version: str
    ) -> bytes | None:
        """The response of a call, from what it committed; None where no commit of it is kept. Raises Unavailable."""
        if where.kind not in (SESSION, REPOSITORY):
            return None
        commit_id = CommitId(CommitIds(seed).take())
        for held in await self._accounts.repositories(execution.identity.tenant_id):
            if name_digest(held.repository) == where.digest:
                found = await self._found(execution, where.kind, held.repository, commit_id)
                if found is not None:
                    return self._bytes(execution, request_id, version, *found)
        return None

    async def _found(
        self, execution: Execution, kind: int, name: str, commit_id: CommitId
    ) -> tuple[Upserted, Mapping[str, object]] | None:
        if kind == SESSION:
            try:
                done = await self._session.result(execution, name, commit_id)
            except (SessionExpired, SessionRevoked):
                return None  # Its memory has ended, and the results with it.
            return None if done is None else (done, {})
        committed = await self._repository.result(execution, name, commit_id)
        if committed is None:
            return None
        # Facts are not found by their ids there; the ids were recorded.
        ids = {"codesynapse/fact_ids": committed.outcome.fact_ids}
        return upserted(committed.outcome, (), (), committed.revision), ids

    def _bytes(
        self, execution: Execution, request_id: RequestId, version: str, done: Upserted, meta: Mapping[str, object]
    ) -> bytes:
        answer = Answer(
            structured=msgspec.json.encode(done),
            is_error=False,
            expires_at_ms=last_day(execution.deadline_ms, self._clock()),
        )
        more = {"codesynapse/read_back": True, **meta}
        result = answer_json(answer, structured=has_structured_content(version), meta=more)
        return ascii_safe(b'{"jsonrpc":"2.0","id":' + request_id + b',"result":' + result + b"}")
