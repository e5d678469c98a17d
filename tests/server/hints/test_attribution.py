"""The queue's tasks by the key that queued them: whose pause drops them, and when they are forgotten."""

from __future__ import annotations

import pytest

from codesynapse.server.hints.attribution import ATTRIBUTED_MAX, CHUNK, Attribution, dropped
from codesynapse.server.hints.pauses import Pauses
from tests.server.hints.buckets import NOW, bucket, later

ANA = ("acme", "ana")


def drops(attribution: Attribution, task_id: int, *paused: str | None, derived: bool = False) -> bool:
    pauses = Pauses()
    for key in paused:
        pauses.pause(bucket(key), 60, NOW)
    return dropped(attribution, pauses, task_id, ANA, NOW, derived=derived)


def test_a_task_is_dropped_when_the_key_that_queued_it_pauses_and_kept_when_another_does():
    attribution = Attribution()
    attribution.record(1, bucket("A"))
    assert drops(attribution, 1, "A")
    assert not drops(attribution, 1, "B", None)
    assert not drops(attribution, 1)


def test_a_task_of_unknown_origin_follows_the_keyless_bucket_of_its_principal():
    attribution = Attribution()
    attribution.record(1, bucket(None))
    for task_id in (1, 2):
        assert drops(attribution, task_id, None)
        assert not drops(attribution, task_id, "A")


def test_after_a_restart_a_task_follows_the_keyless_bucket_whoever_queued_it():
    before = Attribution()
    before.record(1, bucket("A"))
    assert drops(Attribution(), 1, None)
    assert not drops(Attribution(), 1, "A")


def test_a_pause_of_another_principal_drops_nothing():
    attribution, pauses = Attribution(), Pauses()
    attribution.record(1, bucket("A"))
    for other in (bucket("A", tenant="other"), bucket(None, subject="ben")):
        pauses.pause(other, 60, NOW)
    assert not dropped(attribution, pauses, 1, ANA, NOW, derived=False)
    # A row of another principal under a known id: its own keyless bucket, never the entry's.
    assert attribution.bucket(1, ("other", "ana")) == bucket(None, tenant="other")


def test_a_pause_that_is_over_drops_nothing():
    attribution, pauses = Attribution(), Pauses()
    attribution.record(1, bucket("A"))
    pauses.pause(bucket("A"), 60, NOW)
    assert not dropped(attribution, pauses, 1, ANA, later(60), derived=False)


def test_work_that_follows_from_what_is_stored_is_never_dropped():
    attribution = Attribution()
    attribution.record(1, bucket("A"))
    assert not drops(attribution, 1, "A", None, derived=True)


def test_an_entry_goes_with_its_row():
    attribution = Attribution()
    for task_id in (1, 2):
        attribution.record(task_id, bucket("A"))
    attribution.forget("acme", [1, 99])
    assert len(attribution) == 1
    assert not drops(attribution, 1, "A")
    assert drops(attribution, 2, "A")


def test_tasks_of_two_tenants_may_have_one_number():
    attribution = Attribution()
    for tenant in ("acme", "other"):
        assert attribution.record(1, bucket("A", tenant=tenant))
    assert len(attribution) == 2
    attribution.forget("other", [1])
    assert drops(attribution, 1, "A")


def test_rows_that_others_took_away_are_forgotten_when_the_store_is_asked():
    attribution = Attribution()
    for task_id in range(1, 6):
        attribution.record(task_id, bucket("A", tenant="acme" if task_id < 5 else "other"))
    there = {"acme": [2, 4], "other": [5]}
    for tenant_id, asked in attribution.chunks():
        attribution.reconcile(tenant_id, asked, there[tenant_id])
    assert [list(ids) for _, ids in attribution.chunks()] == [[2, 4], [5]]
    assert drops(attribution, 2, "A")
    assert not drops(attribution, 1, "A")


def test_a_store_is_asked_about_no_more_ids_at_once_than_it_can_take():
    attribution = Attribution(per_principal_max=2 * CHUNK + 1)
    for task_id in range(2 * CHUNK + 1):
        attribution.record(task_id, bucket("A"))
    assert [len(ids) for _, ids in attribution.chunks()] == [CHUNK, CHUNK, 1]


def test_a_full_principal_loses_its_own_lowest_id():
    attribution = Attribution(per_principal_max=2)
    attribution.record(1, bucket("A", tenant="other"))
    for task_id in (2, 3, 4):
        assert attribution.record(task_id, bucket("A"))
    assert [list(ids) for _, ids in attribution.chunks()] == [[3, 4], [1]]


def test_where_all_is_full_the_newcomer_goes_without_and_nobody_loses_anything():
    attribution = Attribution(most=2)
    for task_id in (1, 2):
        attribution.record(task_id, bucket("A", tenant=f"t{task_id}"))
    assert not attribution.record(3, bucket("A"))
    assert [list(ids) for _, ids in attribution.chunks()] == [[1], [2]]
    assert ATTRIBUTED_MAX == 4_096


@pytest.mark.parametrize("key", [None, " ", "transport"])
def test_keyless_callers_take_no_room(key: str | None):
    attribution = Attribution()
    assert not attribution.record(1, bucket(key))
    assert len(attribution) == 0
