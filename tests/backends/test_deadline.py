"""A graph store asks how much time the call has left, and begins nothing where that is none."""

import pytest

from codesynapse.backends import open_backend
from codesynapse.contracts.deadlines import within
from codesynapse.contracts.errors import StoreBusy
from codesynapse.contracts.memory import Outcome
from codesynapse.contracts.suite.worlds import NOW, new_commit_id, new_scope, new_snapshot
from tests.servers.kinds import KINDS
from tests.servers.running import Record


async def test_a_call_that_has_had_its_time_gets_no_more_from_a_store(
    graph_server: Record, request: pytest.FixtureRequest
) -> None:
    kind = KINDS[request.node.callspec.params["graph_server"]]
    async with open_backend(kind.store, graph_server.options) as backend:
        memory, scope = backend.session_memory, new_scope()
        assert memory is not None
        proposed, commit_id = new_snapshot(scope, "ana knows bo"), new_commit_id()
        assert (await memory.load(scope, now_ms=NOW)).revision == 0
        with within(0):
            with pytest.raises(StoreBusy):
                await memory.load(scope, now_ms=NOW)
            with pytest.raises(StoreBusy):
                await memory.commit(
                    proposed, read_revision=proposed.revision, commit_id=commit_id, outcome=Outcome(added=1), now_ms=NOW
                )
        assert (await memory.load(scope, now_ms=NOW)).revision == 0
        assert await memory.committed(scope, commit_id, now_ms=NOW) is None
