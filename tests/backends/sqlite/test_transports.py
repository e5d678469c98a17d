"""Protocol sessions in SQLite: shared by processes, gone with what ends access, found without a scan."""

from pathlib import Path

import pytest
from msgspec import structs

from codesynapse.backends.sqlite import open_sqlite, transports
from codesynapse.backends.sqlite.database import open_database
from codesynapse.backends.sqlite.transports import SqliteTransports
from codesynapse.contracts.accounts import ENDING, Action, Caller
from codesynapse.contracts.suite.worlds import NOW, later
from codesynapse.contracts.transports import TransportRecord, transport_key

ANA = Caller(tenant_id="acme", subject_id="ana", key_id="k1")


def made(name: str) -> TransportRecord:
    return TransportRecord(
        key=transport_key(name),
        caller=ANA,
        version="2025-11-25",
        capabilities=b"{}",
        opened_at_ms=NOW,
        used_at_ms=NOW,
    )


@pytest.mark.parametrize("action", sorted(Action))
async def test_every_ending_takes_its_sessions_along_and_nothing_else_does(path: Path, action: Action) -> None:
    async with open_database(path, deadline_s=10) as database:
        kept = SqliteTransports(database)
        for target in ("ana", "k1", "chat"):
            record = structs.replace(made(target), session_id="chat")
            await kept.open(record, spared=(), own_max=9, all_max=9)
            await database.write(lambda connection, at=target: transports.end(connection, action, "acme", at))
        left = [await kept.find(transport_key(each)) for each in ("ana", "k1", "chat")]
        assert (None in left) == (action in ENDING)


async def test_two_processes_on_one_file_see_each_others_sessions_and_their_ends(path: Path) -> None:
    options = {"path": str(path)}
    async with open_sqlite(options) as one, open_sqlite(options) as two:
        assert one.transports is not None
        assert two.transports is not None
        await one.transports.open(made("id"), spared=(), own_max=9, all_max=9)
        assert await two.transports.find(transport_key("id")) == made("id")
        start = await one.transports.ends_end()
        await two.transports.close(transport_key("id"), now_ms=NOW)
        assert [each.key for each in await one.transports.ends(after=start, limit=9)] == [transport_key("id")]


async def test_the_number_of_an_end_outlives_the_table_and_the_process(path: Path) -> None:
    options = {"path": str(path)}
    async with open_sqlite(options) as backend:
        assert backend.transports is not None
        await backend.transports.open(made("id"), spared=(), own_max=9, all_max=9)
        await backend.transports.close(transport_key("id"), now_ms=NOW)
        await backend.transports.sweep(idle_since_ms=NOW, new_since_ms=NOW, now_ms=later(NOW, 9**9), limit=9)
        assert await backend.transports.ends(after=0, limit=9) == []
    async with open_sqlite(options) as backend:
        assert backend.transports is not None
        assert await backend.transports.ends_end() == 1


@pytest.mark.parametrize("statement", ["_FIND", "_OLDEST", "_OWN", "_CHANGE", "_CLOSE", "_TOUCH", "_SWEEP"])
async def test_no_statement_of_a_request_reads_the_whole_table(path: Path, statement: str) -> None:
    sql = str(getattr(transports, statement))
    bounds: object
    bounds = dict.fromkeys(("idle", "new", "now", "limit"), 1) if ":" in sql else ["1"] * sql.count("?")
    if statement == "_OLDEST":
        bounds = ["1", "1", "[]", 1]
    async with open_database(path, deadline_s=10) as database:
        plan = await database.ask(
            lambda connection: [row[-1] for row in connection.execute("EXPLAIN QUERY PLAN " + sql, bounds)]
        )
        assert SqliteTransports(database) is not None
    assert [each for each in plan if each.startswith("SCAN transports")] == []
