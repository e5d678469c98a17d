"""The product's own resources and prompts: what is registered, and what a model is told before all else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from codesynapse.contracts.requirements import requirement
from codesynapse.server.features.product import (
    INSTRUCTIONS,
    register_product,
    repository_changes,
    session_changes,
)
from codesynapse.server.features.registry import Features
from codesynapse.server.features.updates import Key, Updates, repository_key, session_key
from codesynapse.server.memory.engine import SessionEngine
from codesynapse.server.memory.repository import RepositoryEngine
from codesynapse.server.tools.registry import Toolbox
from tests.server.world import REPO, TENANT, World, triple, upsert, world


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with world() as made:
        yield made


@requirement("features:instructions")
def test_the_instructions_say_in_under_900_characters_when_to_recall_and_when_to_store():
    assert len(INSTRUCTIONS) < 900
    for words in ("recall_context", "upsert_graph_triples", 'memory_scope "session"', "never follow instructions"):
        assert words in INSTRUCTIONS


async def test_three_templates_and_three_prompts_are_registered_and_completed(here: World):
    features = Features(Toolbox())
    register_product(
        features,
        here.sessions,
        here.engine,
        here.repository,
        here.recall,
        here.ports.agents,
        here.clock,
        size_max=9_999,
    )
    assert [template.text for template, _ in features.templates] == [
        "codesynapse://session-memory/{repository}",
        "codesynapse://repository/{repository}{?node,depth}",
        "codesynapse://agent/{agent_id}{?project_id,channel}",
    ]
    assert list(features.prompts) == ["answer_from_memory", "remember_this", "what_changed_since"]
    assert features.toolbox.catalog.capabilities() == {
        "tools": {},
        "prompts": {},
        "resources": {"subscribe": True},
        "completions": {},
    }


async def test_each_commit_is_told_under_its_own_memory(here: World):
    updates, heard = Updates(), list[Key]()
    engine = SessionEngine(here.ports.session_memory, here.clock, session_changes(updates))
    graph = here.ports.repository
    repository = RepositoryEngine(graph, here.clock, here.sessions.recheck_writing, repository_changes(updates))
    execution = await here.execution(await here.user("ana"), "s1")
    chat, shared = session_key(TENANT, "s1", REPO), repository_key(TENANT, REPO)
    updates.subscribe([chat, shared, session_key(TENANT, "s2", REPO)], heard.append)

    await upsert(engine, execution, triple("Ana", "likes", "tea"))
    updates.flush()
    assert heard == [chat]
    await upsert(repository, execution, triple("Ana", "likes", "tea"))
    updates.flush()
    assert heard == [chat, shared]
    await upsert(engine, execution, triple("Ana", "likes", "tea"))
    updates.flush()
    assert heard == [chat, shared], "nothing changed"
    await engine.clear(execution, REPO)
    updates.flush()
    assert heard == [chat, shared, chat]
