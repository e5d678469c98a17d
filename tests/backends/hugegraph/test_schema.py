"""The schema on real servers."""

from __future__ import annotations

import pytest

from codesynapse.backends.hugegraph import faults, schema
from codesynapse.backends.hugegraph.connection import Connection
from codesynapse.backends.hugegraph.schema import CREATE, VERSION, Schema
from codesynapse.contracts.errors import StoreFault


async def test_the_script_may_run_again_and_changes_nothing(connection: Connection) -> None:
    # Another test makes the code graph's label, which is not ours to make.
    labels = (
        "graph.schema().getVertexLabels().collect { it.name() }.findAll { it != 'Node' }.sort()"
        " + graph.schema().getIndexLabels().size()"
    )
    before = await connection.run(labels, {})
    assert await connection.run(CREATE, {"version": VERSION}) == [VERSION]
    assert await connection.run(labels, {}) == before
    assert "SessionMemoryScope" in before
    assert "Node" not in CREATE


async def test_a_newer_schema_and_an_older_server_are_refused_and_looked_at_again(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking = Schema(connection)
    with monkeypatch.context() as patch:
        patch.setattr(schema, "VERSION", 0)
        with pytest.raises(StoreFault) as newer:
            await looking.ready()
    assert newer.value.field == faults.NEWER_SCHEMA
    with monkeypatch.context() as patch:
        patch.setattr(schema, "OLDEST", (99, 0))
        with pytest.raises(StoreFault) as older:
            await looking.ready()
    assert older.value.field == faults.TOO_OLD
    await looking.ready()
    await looking.close()
