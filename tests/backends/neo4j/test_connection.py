"""Lost answers, a killed server, other processes, and what cannot be reached: settled, survived, told."""

import asyncio
import os
import socket
import sys
from pathlib import Path

import pytest

from codesynapse.backends.neo4j import open_neo4j, queries
from codesynapse.backends.neo4j.connection import Database, Transaction, open_database
from codesynapse.backends.neo4j.options import Options, options_of
from codesynapse.backends.neo4j.repository import Neo4jRepositoryGraph
from codesynapse.backends.neo4j.store import Neo4jSessionMemory
from codesynapse.contracts.errors import StoreBusy, StoreFault, Unavailable
from codesynapse.contracts.memory import CommitId, Committed
from codesynapse.contracts.ports import Backend
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.worlds import NOW, Chat, new_commit_id, new_library, new_scope, settled, unique
from tests.backends.neo4j.proxy import proxied
from tests.servers.own import OwnServer
from tests.servers.processes import free_port
from tests.servers.running import Record

ROOT = Path(__file__).parents[3]
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
        rounds = 100 if FULL else 5
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


async def race(url: str, what: str, tenant: str, count: int) -> list[int]:
    """Two processes that write at once; what each acknowledged."""
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.backends.neo4j.racing", url, what, tenant, name, str(count)),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        for name in ("one", "two")
    ]
    printed = [(await process.communicate())[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    return [int(text) for text in printed]


class TestTwoProcesses:
    """Two adapters in two processes: none overwrites what it has not read, and a quota is not passed by one fact."""

    async def test_no_update_is_lost_on_one_namespace(self, neo4j_server: Record, memory: Neo4jSessionMemory) -> None:
        tenant, count = unique("tenant"), 32 if FULL else 8
        acknowledged = await race(neo4j_server.url, "namespace", tenant, count)
        snapshot = await Chat(memory, new_scope(tenant=tenant, session="shared", ns="shared")).load()
        assert sum(acknowledged) == 2 * count
        assert (snapshot.revision, len(snapshot.facts)) == (2 * count, 2 * count)

    async def test_a_tenants_quota_is_reached_and_not_passed(
        self, neo4j_server: Record, memory: Neo4jSessionMemory, database: Database
    ) -> None:
        tenant, cap = unique("tenant"), 200 if FULL else 40
        await memory.set_quotas(tenant, Quotas(tenant_facts_max=cap))
        acknowledged = await race(neo4j_server.url, "tenant", tenant, 16 if FULL else 4)
        assert sum(acknowledged) == cap
        assert min(acknowledged) > 0
        statement = "MATCH ()-[f:SESSION_FACT {tenant_id: $tenant}]->() RETURN count(f) AS facts"
        assert [row["facts"] for row in await database.rows(statement, {"tenant": tenant})] == [cap]


class TestKilledServer:
    """The server is killed during commits: what was acknowledged is there, and what was not is settled right."""

    async def test_acknowledged_commits_survive_and_unknown_ones_are_settled(self, own_server: OwnServer) -> None:
        for _ in range(5 if FULL else 1):
            await self.kill_during_commits(own_server, commits=500 if FULL else 20)

    async def kill_during_commits(self, own_server: OwnServer, *, commits: int) -> None:
        """Four writers go on until the server is killed in their midst, and then once more when it is back."""
        async with open_neo4j({"url": own_server.url, "deadline_ms": "60000"}) as backend:
            chats = [Chat(memory_of(backend), new_scope()) for _ in range(4)]
            busy = asyncio.Event()
            results: dict[CommitId, Committed | Exception] = {}

            async def write(chat: Chat) -> None:
                for number in range(commits):
                    commit_id = new_commit_id()
                    proposed = chat.first(f"ana likes tea{number}")
                    read = sum(isinstance(each, Committed) and key[0] is chat for key, each in done.items())
                    result = await settled(chat.propose(proposed, read, commit_id=commit_id), Unavailable)
                    results[commit_id] = result
                    done[chat, commit_id] = result
                    if number == commits // 2:
                        busy.set()

            done: dict[tuple[Chat, CommitId], Committed | Exception] = {}
            tasks = [asyncio.create_task(write(chat)) for chat in chats]
            await busy.wait()
            await own_server.kill()
            await own_server.start()
            await asyncio.gather(*tasks)
            for chat in chats:
                mine = [key for key in done if key[0] is chat]
                kept = [await chat.memory.committed(chat.scope, commit_id, now_ms=NOW) for _, commit_id in mine[-32:]]
                assert kept == [done[key] for key in mine[-32:]]
                assert (await chat.load()).revision == commits


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

    async def test_a_server_that_comes_back_is_found_without_opening_again(self, own_server: OwnServer) -> None:
        await own_server.kill()
        async with open_neo4j({"url": own_server.url, "deadline_ms": "60000"}) as backend:
            chat = Chat(memory_of(backend), new_scope())
            with pytest.raises(StoreBusy):
                await chat.load()
            await own_server.start()
            await chat.remember("ana likes tea")
            assert len((await chat.load()).facts) == 1


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
