"""The schema is made once, beside others, and one that is newer than we are is left alone."""

import asyncio

import neo4j as driver
import pytest

from codesynapse.backends.neo4j import schema
from codesynapse.backends.neo4j.connection import open_database
from codesynapse.backends.neo4j.options import Options, options_of
from codesynapse.backends.neo4j.schema import VERSION, check_server, prepare
from codesynapse.contracts.errors import StoreFault
from tests.backends.neo4j.conftest import Ask
from tests.servers.own import OwnServer


class Answers:
    """Stands for the server: what was run, and what version it tells."""

    def __init__(self, *versions: int) -> None:
        self.versions = list(versions)
        self.ran: list[str] = []

    async def run(self, statement: str, parameters: dict[str, int] | None = None) -> list[dict[str, int]]:
        self.ran.append(statement)
        if statement is schema.VERSION_WRITTEN and parameters is not None:
            self.versions = [parameters["version"]]
        return [{"version": version} for version in self.versions]


async def test_the_version_is_written_last_and_nothing_is_made_where_it_is_there() -> None:
    fresh, known = Answers(), Answers(VERSION)
    await prepare(fresh.run)
    await prepare(known.run)
    assert fresh.ran[-2:] == [schema.AWAITED, schema.VERSION_WRITTEN]
    assert known.ran == [schema.VERSION_READ]


async def test_a_newer_schema_is_refused_with_both_versions() -> None:
    with pytest.raises(StoreFault) as fault:
        await prepare(Answers(VERSION + 1).run)
    assert (fault.value.field, fault.value.limit, fault.value.details) == ("schema", VERSION, {"version": VERSION + 1})


@pytest.mark.parametrize("agent", ["Neo4j/3.5.35", "Neo4j/4.3.9"])
def test_a_server_that_is_too_old_is_refused(agent: str) -> None:
    with pytest.raises(StoreFault, match=r"Neo4j 4\.4 or newer"):
        check_server(agent)


@pytest.mark.parametrize("agent", ["Neo4j/4.4.0", "Neo4j/5.26.30", "Neo4j/2026.08.1", "Other/1.0", "Neo4j/dev"])
def test_a_newer_server_and_one_that_cannot_be_told_are_let_pass(agent: str) -> None:
    check_server(agent)


async def unmake(options: Options) -> None:
    """Leave the database as it was before anybody prepared it."""
    address, credentials = options.address, (options.user or "", options.password)
    statements = [f"DROP {each.split()[1]} {each.split()[2]} IF EXISTS" for each in schema.CREATED]
    async with (
        driver.AsyncGraphDatabase.driver(address, auth=credentials) as bare,
        bare.session(database=options.database) as session,
    ):
        for statement in ["MATCH (n:CodeSynapseSchema) DELETE n", *statements]:
            await (await session.run(statement)).consume()


async def test_several_who_find_no_schema_make_one(own_server: OwnServer) -> None:
    options = options_of({"url": own_server.url, "deadline_ms": "120000"})
    await unmake(options)

    async def indexes() -> list[str]:
        async with open_database(options) as database:
            rows = await database.rows("SHOW INDEXES YIELD name, state WHERE state = 'ONLINE' RETURN name", {})
            return sorted(row["name"] for row in rows)

    names = await asyncio.gather(*(indexes() for _ in range(4)))
    assert all(each == names[0] for each in names)
    assert len(names[0]) >= len(schema.CREATED)


async def test_all_lookups_use_an_index(options: Options, ask: Ask) -> None:
    names = {row["name"] for row in await ask("SHOW INDEXES YIELD name RETURN name")}
    assert {statement.split()[2] for statement in schema.CREATED} <= names
