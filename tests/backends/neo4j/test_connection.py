"""Lost answers, what cannot be reached, and deadlines: settled, told, kept."""

import asyncio
import os
import socket

import pytest

from codesynapse.backends.neo4j import open_neo4j, queries
from codesynapse.backends.neo4j.connection import Database, Transaction, open_database
from codesynapse.backends.neo4j.options import Options, options_of
from codesynapse.backends.neo4j.repository import Neo4jRepositoryGraph
from codesynapse.backends.neo4j.store import Neo4jSessionMemory
from codesynapse.contracts.errors import StoreBusy, StoreFault
from codesynapse.contracts.ports import Backend
from codesynapse.contracts.suite.worlds import Chat, new_commit_id, new_library, new_scope
from tests.backends.neo4j.proxy import proxied
from tests.servers.own import OwnServer
from tests.servers.processes import free_port
from tests.servers.running import Record

FULL = os.environ.get("CODESYNAPSE_FULL") == "1"


def memory_of(backend: Backend) -> Neo4jSessionMemory:
    assert isinstance(backend.session_memory, Neo4jSessionMemory)
    return backend.session_memory


def through(options: Options, port: int) -> dict[str, str]:
    """The same server by another port."""
    return {"url": f"bolt://{options.user}:{options.password}@127.0.0.1:{port}", "deadline_ms": "60000"}


class TestLostAnswers:
    """A commit whose answer is lost is looked for by its id, and is done once."""

    @pytest.mark.parametrize("after_answer", [True, False], ids=["answered", "sent"])
    async def test_a_commit_is_acknowledged_and_done_once(self, options: Options, after_answer: bool) -> None:
        rounds = 100 if FULL else 10
        async with proxied(int(options.address.rpartition(":")[2])) as proxy:
            proxy.after_answer = after_answer
            async with open_neo4j(through(options, proxy.port)) as backend:
                chat = Chat(memory_of(backend), new_scope())
                for number in range(rounds):
                    proxy.armed = 1
                    committed = await chat.remember(f"ana likes tea{number}")
                    assert (committed.revision, committed.replayed) == (number + 1, False)
                assert proxy.cuts == rounds
                snapshot = await chat.load()
                assert (snapshot.revision, len(snapshot.facts)) == (rounds, rounds)

    async def test_a_commit_to_repository_memory_as_well(self, options: Options) -> None:
        async with (
            proxied(int(options.address.rpartition(":")[2])) as proxy,
            open_database(options_of(through(options, proxy.port))) as database,
        ):
            library = new_library(Neo4jRepositoryGraph(database))
            for number in range(3):
                change, revision = library.change(f"ana likes tea{number}"), number
                proxy.armed = 1
                committed = await library.propose(change, revision)
                assert (committed.revision, committed.replayed) == (number + 1, False)
            assert proxy.cuts == 3

    async def test_what_is_repeated_by_the_caller_is_a_replay(self, memory: Neo4jSessionMemory) -> None:
        chat, commit_id = Chat(memory, new_scope()), new_commit_id()
        await chat.remember("ana likes tea", commit_id=commit_id)
        assert (await chat.propose(chat.first("x is y"), 1, commit_id=commit_id)).replayed


class TestUnreachable:
    """What is wrong is told in one line that says what to do, within five seconds."""

    async def told(self, options: dict[str, str], *error: type[Exception]) -> str:
        """The message of the first call, of a second one, and of a write: the same."""
        async with asyncio.timeout(5), open_neo4j(options) as backend:
            chat = Chat(memory_of(backend), new_scope())
            messages = []
            for call in (chat.load, chat.load, lambda: chat.remember("ana likes tea")):
                with pytest.raises(error) as fault:
                    await call()
                messages.append(str(fault.value))
        assert len(set(messages)) == 1
        assert "\n" not in messages[0]
        return messages[0]

    async def test_a_wrong_password(self, options: Options) -> None:
        url = f"{options.address.replace('://', '://neo4j:wrong-secret@')}"
        message = await self.told({"url": url}, StoreFault)
        assert "the user and the password" in message
        assert "wrong-secret" not in message

    async def test_a_host_where_nobody_listens(self) -> None:
        message = await self.told({"url": f"bolt://a:b@127.0.0.1:{free_port()}"}, StoreBusy)
        assert "Field: url. Limit: a Neo4j server that answers" in message

    async def test_a_host_that_takes_the_connection_and_says_nothing(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"bolt://a:b@127.0.0.1:{silent.getsockname()[1]}"
            async with open_neo4j({"url": url, "deadline_ms": "300"}) as backend:
                with pytest.raises(StoreBusy):
                    await Chat(memory_of(backend), new_scope()).load()

    async def test_another_database(self, options: Options, neo4j_server: Record) -> None:
        assert "Field: database" in await self.told({"url": neo4j_server.url, "database": "nowhere"}, StoreFault)

    async def test_a_schema_that_is_newer_than_ours(self, own_server: OwnServer) -> None:
        change = "MATCH (n:CodeSynapseSchema) SET n.version = n.version + $by"
        async with open_database(options_of({"url": own_server.url, "deadline_ms": "60000"})) as database:
            await database.prepare()

            async def move(by: int) -> None:
                async def work(transaction: Transaction) -> None:
                    await transaction.rows(change, {"by": by})

                await database.write("schema", work)

            await move(1)
            try:
                assert "Field: schema. Limit: 1. Version: 2." in await self.told({"url": own_server.url}, StoreFault)
            finally:
                await move(-1)


async def test_a_call_ends_at_its_deadline_while_another_holds_the_lock(
    database: Database, neo4j_server: Record
) -> None:
    scope = new_scope()
    locking, release = asyncio.Event(), asyncio.Event()

    async def hold(transaction: Transaction) -> None:
        await transaction.rows(queries.LOCK, {"tenant": scope.tenant_id, "lock": 1})
        locking.set()
        await release.wait()

    holder = asyncio.create_task(database.write("held", hold))
    await locking.wait()
    async with open_neo4j({"url": neo4j_server.url, "deadline_ms": "500"}) as backend:
        with pytest.raises(StoreBusy):
            await Chat(memory_of(backend), scope).remember("ana likes tea")
    release.set()
    await holder
