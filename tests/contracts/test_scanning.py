"""Stages one after another, and cursors that nobody else can make."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import Revision
from codesynapse.contracts.portable import Item, Rows, Tombstone
from codesynapse.contracts.repository import RepositoryScope
from codesynapse.contracts.scanning import Stage, grouped, parts_of, position_of, walk
from codesynapse.contracts.suite.worlds import stated


def stage(*sessions: str, skips: bool = False) -> Stage:
    """A stage of tombstones; skips: it answers nothing at first, and goes on."""

    async def of(position: str, limit: int) -> tuple[Sequence[Item], str]:
        if skips and not position:
            return [], position_of("0")
        start = int(parts_of(position, count=1)[0] or 0)
        chosen = sessions[start : start + limit]
        items = [Tombstone(tenant_id="acme", session_id=each, revoked_at_ms=Millis(1)) for each in chosen]
        return items, position_of(str(start + limit)) if start + limit < len(sessions) else ""

    return of


async def walked(stages: Sequence[Stage], limit: int) -> list[list[str]]:
    batches, cursor = [], None
    while True:
        batch = await walk(stages, cursor, limit)
        batches.append([item.session_id for item in batch.items if isinstance(item, Tombstone)])
        cursor = batch.cursor
        if cursor is None:
            return batches


async def test_stages_follow_one_another_and_no_batch_is_of_two() -> None:
    stages = [stage("a", "b", "c"), stage(), stage("d", skips=True)]
    assert await walked(stages, 2) == [["a", "b"], ["c"], ["d"]]
    assert await walked(stages, 1_000) == [["a", "b", "c"], ["d"]]


async def test_a_store_that_holds_nothing_answers_one_empty_batch() -> None:
    assert await walked([stage(), stage(skips=True)], 5) == [[]]
    assert await walked([], 5) == [[]]


@pytest.mark.parametrize("limit", [0, -1, 1_001])
async def test_a_limit_out_of_bounds_is_refused(limit: int) -> None:
    with pytest.raises(Invalid):
        await walk([stage("a")], None, limit)


@pytest.mark.parametrize("cursor", ["", "x", "é", "WzEsIiJd", "Wy0xLCIiXQ=="])
async def test_a_foreign_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(Invalid):
        await walk([stage("a")], cursor, 1)


def test_a_position_begins_before_all_or_before_a_tenant_and_comes_back() -> None:
    assert parts_of("", count=2) == ["", ""]
    assert parts_of("", count=2, tenant_id="acme") == ["acme", ""]
    assert parts_of(position_of("a", "ж"), count=2, tenant_id="acme") == ["a", "ж"]


@pytest.mark.parametrize("position", ["[1]", "x", '["a"]', '["a","b","c"]'])
def test_a_foreign_position_is_refused(position: str) -> None:
    with pytest.raises(Invalid):
        parts_of(position, count=2)


def test_neighbouring_rows_of_one_repository_and_revision_become_one() -> None:
    graph = stated("ana likes tea")
    scopes = [RepositoryScope(tenant_id="acme", repository=name) for name in ("books", "songs")]

    def row(scope: RepositoryScope, revision: int) -> Rows:
        return Rows(scope=scope, revision=Revision(revision), entities=graph.entities[:1], ends=graph.entities)

    found = grouped([row(scopes[0], 1), row(scopes[0], 1), row(scopes[1], 1), row(scopes[1], 2)])
    assert [(each.scope, each.revision, len(each.entities), len(each.ends)) for each in found] == [
        (scopes[0], 1, 2, 2),
        (scopes[1], 1, 1, 2),
        (scopes[1], 2, 1, 2),
    ]
