"""Every statement about agents carries its tenant: a number alone opens nothing."""

from __future__ import annotations

import ast
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.errors import AgentForbidden
from codesynapse.contracts.suite.keepers import Keeper

ADAPTER = Path(__file__).parents[3] / "backends" / "sqlite"
STATEMENT = re.compile("(?:SELECT|INSERT|UPDATE|DELETE) ")

# The worker of the queue serves all tenants, and a sweep takes what is nobody's any more. The indexes know no tenants:
# their terms are hashed under the salt of one agent, and what they find is looked up with its tenant.
OF_ALL = {("agent_queue.py", "_DUE"), ("agent_queue.py", "_TASK"), ("agents.py", "_SWEEP")}
INDEX = re.compile("agent_(?:memory|episode)_(?:index|terms)")
# The heads of other statements, which name the tenant where they end.
HEADS = {("agent_reading.py", "_MEMORY"), ("agent_reading.py", "_EPISODE")}


def statements() -> dict[tuple[str, str], str]:
    """The SQL constants of the adapter of agents, by module and name."""
    found = {}
    for path in [*ADAPTER.glob("agent_*.py"), ADAPTER / "agents.py"]:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                text = ast.unparse(node.value)
                if STATEMENT.search(text) or "{_MEMORY}" in text or "{_EPISODE}" in text or "{_TASK}" in text:
                    found[path.name, node.targets[0].id] = text
    return found


def test_every_statement_names_its_tenant() -> None:
    known = statements()
    assert len(known) > 60
    assert set(known) >= OF_ALL | HEADS
    assert [
        place
        for place, text in known.items()
        if place not in OF_ALL | HEADS and not INDEX.search(text) and "tenant_id" not in text
    ] == []


async def test_a_grant_of_another_tenant_on_the_same_number_opens_nothing(
    keeper: Keeper, another: Callable[[], sqlite3.Connection]
) -> None:
    stranger = keeper.another()
    another().execute(
        "INSERT INTO agent_grants (tenant_id, subject_id, agent, level) SELECT 'elsewhere', ?, id, 'admin' FROM agents",
        (stranger.scope.subject_id,),
    )
    assert await stranger.agents.level(stranger.scope) is None
    with pytest.raises(AgentForbidden):
        await stranger.memories()
    assert await keeper.agents.level(keeper.scope) is Level.ADMIN
