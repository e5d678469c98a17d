"""What a process wrote last spares the next commit its reading, and is never taken for what another wrote meanwhile."""

from typing import Any

import pytest

from codesynapse.backends.neo4j import documents
from codesynapse.backends.neo4j.connection import Database
from codesynapse.backends.neo4j.held import NOTHING, SCOPES_HELD_MAX, Held
from codesynapse.backends.neo4j.store import Neo4jSessionMemory
from codesynapse.contracts.errors import SessionRevoked
from codesynapse.contracts.memory import Committed, Content, Outcome, Revision, Scope
from codesynapse.contracts.suite.worlds import Chat, new_commit_id, new_scope, triple, unique
from tests.backends.neo4j.conftest import Ask
from tests.backends.neo4j.test_edges import found, served


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The documents that were decoded."""
    decoded: list[str] = []
    read = documents.read

    def counted(doc: str) -> tuple[Revision, bool, Content]:
        decoded.append(doc)
        return read(doc)

    monkeypatch.setattr(documents, "read", counted)
    return decoded


async def propose(chat: Chat, *texts: Any, revision: int) -> Committed:
    """Commit without loading first."""
    return await chat.propose(chat.first(*texts), revision)


async def test_a_commit_behind_ones_own_reads_no_document(
    memory: Neo4jSessionMemory, ask: Ask, reads: list[str]
) -> None:
    chat = Chat(memory, new_scope())
    await propose(chat, "ana likes tea", "bo likes milk", revision=0)
    await propose(chat, "ana likes tea", "cy likes juice", revision=1)
    assert reads == []
    assert await found(ask, chat.scope, "ana", "bo", "cy") == await served(chat)


async def test_a_commit_behind_anothers_reads_what_that_one_left(
    memory: Neo4jSessionMemory, database: Database, ask: Ask, reads: list[str]
) -> None:
    chat = Chat(memory, new_scope())
    other = Chat(Neo4jSessionMemory(database), chat.scope)
    await propose(chat, "ana likes tea", revision=0)
    await propose(other, "ana likes tea", "bo likes milk", "cy likes juice", revision=1)
    reads.clear()
    await propose(chat, "ana likes tea", "dan likes rum", revision=2)
    assert len(reads) == 1
    # Edges that only the other one's content tells of are gone.
    assert await found(ask, chat.scope, "ana", "bo", "cy", "dan") == await served(chat)
    assert len(await served(chat)) == 2


async def test_nothing_of_a_session_that_ended_is_held(memory: Neo4jSessionMemory) -> None:
    chat = Chat(memory, new_scope())
    await chat.remember("ana likes tea")
    assert memory._held.get(chat.scope) is not NOTHING
    await memory.revoke(chat.scope.tenant_id, chat.scope.session_id, now_ms=chat.now_ms)
    assert memory._held.get(chat.scope) is NOTHING
    with pytest.raises(SessionRevoked):
        await chat.remember(triple("ana likes milk"))
    assert memory._held.get(chat.scope) is NOTHING


def test_so_many_scopes_are_held_and_the_oldest_goes() -> None:
    held, session = Held(), unique("session")
    scopes = [Scope(tenant_id="t", session_id=session, ns=f"n{number}") for number in range(SCOPES_HELD_MAX + 1)]
    for scope in scopes:
        held.put(scope, new_commit_id(), Committed(revision=Revision(1), outcome=Outcome()), ((), ()))
    assert [held.get(scope) is NOTHING for scope in scopes] == [True] + [False] * SCOPES_HELD_MAX
    held.forget(scopes[1])
    assert held.get(scopes[1]) is NOTHING
    held.forget_session("t", session)
    assert [scope for scope in scopes if held.get(scope) is not NOTHING] == []


def test_the_mark_is_that_of_one_commit_alone() -> None:
    held, scope, commit_id = Held(), new_scope(), new_commit_id()
    committed = Committed(revision=Revision(33), outcome=Outcome())
    held.put(scope, commit_id, committed, ((), ()))
    known = held.get(scope)
    slot, value = documents.kept_slot(commit_id, committed)
    assert (known.slot, value.startswith(known.mark)) == (slot, True)
    for other in (
        Committed(revision=Revision(3), outcome=Outcome()),
        Committed(revision=Revision(330), outcome=Outcome()),
    ):
        assert not documents.kept_slot(commit_id, other)[1].startswith(known.mark)
