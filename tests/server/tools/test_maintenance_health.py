"""Both checks: each fault, planted, is found by its check alone, and a repair repairs it or says why not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec import structs

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agents import Bucket, Memory, NewEpisode, Tuning, episode_of
from codesynapse.server.agents.checks import DEEP, HEALTH, DeepCheck, HealthCheck
from codesynapse.server.agents.wording import terms_of
from codesynapse.server.clock import rfc3339
from tests.server.agents.here import AGENT
from tests.server.agents.maintained import Asked, Maintained, maintained

OF_THE_STORE = {name for name, check in HEALTH.items() if check.store is not None}
USER = {"type": "User", "id": "u"}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Maintained]:
    """One memory that nothing is wrong with."""
    async with maintained(tmp_path) as made:
        await made.store("green tea", source=USER)
        yield made


def plant(place: Maintained, content: str, **members: Any) -> None:
    """A memory as no tool would have stored it."""
    held = place.inside()
    first = next(iter(held.memories.values()))
    members = {"terms": terms_of(content), "message_id": "", "created_at_ms": place.clock(), **members}
    tenant = place.here.agents.tenants["acme"]  # type: ignore[attr-defined]
    held.add(structs.replace(first, id=tenant.new_id(), content=content, **members))


def plant_episode(place: Maintained, summary: str = "a talk", **members: Any) -> None:
    tenant = place.here.agents.tenants["acme"]  # type: ignore[attr-defined]
    new = NewEpisode(summary=summary, terms=terms_of(summary), **members)
    place.inside().add(episode_of(new, id=tenant.new_id(), agent_id=AGENT, now_ms=place.clock()))


def tuned(place: Maintained, **members: Any) -> None:
    place.inside().tuning = Tuning(revision=1, **members)


CALIBRATION = (
    '{"method":"separation","z_factor":2.0,"percentile":95.0,"sampled":10,"records":10,"pairs":90,"terms":30,'
    '"distribution":{"mean":0.1,"std":0.1,"median":0.1,"p95":0.2},"admitted":0.1,"threshold":0.3}'
)


def many(place: Maintained, count: int) -> None:
    for number in range(count):
        plant(place, f"cup number {number}")


def calibrated_long_ago(place: Maintained) -> None:
    many(place, 30)
    tuned(place, threshold=0.3, calibration=CALIBRATION)


PLANTED: dict[str, Callable[[Maintained], object]] = {
    "blank_content": lambda place: plant(place, " \u200b\n"),
    "wordless_content": lambda place: plant(place, "?! :)"),
    "stale_terms": lambda place: plant(place, "black tea", terms=("coffe",)),
    "marked_content": lambda place: plant(place, "[Memory from yesterday] black tea"),
    "bad_timestamp": lambda place: plant(place, "black tea", timestamp="yesterday"),
    "future_timestamp": lambda place: plant(place, "black tea", timestamp=rfc3339(place.clock() + 400_000)),
    "hidden_characters": lambda place: plant(place, "black\u202e tea"),
    "secret_content": lambda place: plant(place, "the key is AKIA" + "ABCDEFGHIJKLMNOP"),
    "duplicate_content": lambda place: plant(place, "green tea", bucket=Bucket(channel="c")),
    "placeholder_channel": lambda place: plant(place, "black tea", bucket=Bucket(channel="null")),
    "placeholder_project": lambda place: plant(place, "black tea", bucket=Bucket(project_id=" p ")),
    "episode_times": lambda place: plant_episode(
        place, start_time="2026-01-02T00:00:00Z", end_time="2026-01-01T00:00:00Z"
    ),
    "profile_missing": lambda place: many(place, 50),
    "tuning_invalid": lambda place: tuned(place, precision="exact"),
    "calibration_old": calibrated_long_ago,
    "queue_given_up": lambda place: setattr(place.inside(), "discarded", 2),
    "ownerless": lambda place: place.inside().grants.update(ana=Level.WRITE),
    "anonymous_source": lambda place: plant(place, "black tea", source={}),
    "short_content": lambda place: plant(place, "ok"),
    "near_duplicates": lambda place: (plant(place, "tea milk sugar"), plant(place, "sugar, milk; tea!")),
    "repeated_message_id": lambda place: [
        plant(place, f"tea {project}", message_id="m", bucket=Bucket(project_id=project)) for project in ("p", "q")
    ],
    "unreachable": lambda place: place.inside().index.clear(),
    "repeated_episode": lambda place: [plant_episode(place) for _ in range(2)],
    "never_recalled": lambda place: plant(place, "black tea", created_at_ms=place.clock() - 200 * 86_400_000),
    "unportable": lambda place: plant(place, "x" * 16_001, terms=()),
}


def test_the_names_of_the_schemas_are_those_of_the_tables() -> None:
    assert list(get_args(HealthCheck)) == list(HEALTH)
    assert list(get_args(DeepCheck)) == list(DEEP)
    assert len(HEALTH) >= 15
    assert len(DEEP) == 8


def test_every_check_is_planted_here_or_in_the_store_that_it_is_about() -> None:
    # The dicts have no index apart from their records, so the others are planted in SQLite (test_doctor.py).
    assert set(PLANTED) == {*HEALTH, *DEEP} - (OF_THE_STORE - {"ownerless"})


def test_what_nothing_repairs_says_why() -> None:
    for name, check in {**HEALTH, **DEEP}.items():
        assert check.repairable is not bool(check.why), name


async def test_nothing_is_wrong_with_what_is_well(place: Maintained) -> None:
    said = await place.call("check_health")
    assert (said["status"], said["issues"], said["total_memories"], said["fixed"]) == ("healthy", [], 1, False)
    assert said["checks_run"] == list(HEALTH)
    assert said["severity_summary"] == {"critical": 0, "warn": 0, "info": 0}
    assert said["stats"] == {"agents": 1, "episodes": 0, "profiles": 0, "pending_tasks": 0}
    deep = await place.call("deep_check", agent_id=AGENT)
    assert list(deep["results"]) == deep["checks_run"] == list(DEEP)
    assert {each["count"] for each in deep["results"].values()} == {0}
    assert deep["fixed"] is False


async def found(place: Maintained, name: str, *, fix: bool = False) -> dict[str, Any]:
    """What the check of this name says; empty where nothing is found."""
    if name in HEALTH:
        issues = (await place.call("check_health", fix=fix, checks=[name]))["issues"]
        return issues[0] if issues else {}
    result = (await place.call("deep_check", agent_id=AGENT, fix=fix, checks=[name]))["results"][name]
    return result if result["count"] else {}


@pytest.mark.parametrize("name", PLANTED)
async def test_a_planted_fault_is_found_and_repaired_or_it_is_said_why_not(place: Maintained, name: str) -> None:
    assert await found(place, name) == {}
    PLANTED[name](place)
    table = HEALTH if name in HEALTH else DEEP
    said = await found(place, name)
    assert said["count"] >= 1
    assert (said["severity"], said["repairable"]) == (table[name].severity, table[name].repairable)
    assert said["hint"]
    assert "fixed" not in said
    assert await found(place, name) == said
    repaired = await found(place, name, fix=True)
    if table[name].repairable and name != "unreachable":
        assert (repaired["fixed"], repaired.get("not_fixed")) == (said["count"], None)
        assert await found(place, name) == {}
    else:
        assert repaired["fixed"] == 0
        assert repaired["not_fixed"]
        assert await found(place, name) == said


@pytest.mark.parametrize("name", sorted(set(PLANTED) & set(HEALTH)))
async def test_no_other_check_is_misled_by_it(place: Maintained, name: str) -> None:
    PLANTED[name](place)
    said = await place.call("check_health")
    others = {"blank_content": {"wordless_content", "hidden_characters"}, "wordless_content": set()}
    assert {each["check"] for each in said["issues"]} - {name} <= others.get(name, set())
    severity = HEALTH[name].severity
    assert said["severity_summary"][severity] >= 1
    expected = {"critical": "unhealthy", "warn": "degraded", "info": "healthy"}[severity]
    assert said["status"] == expected or name in others


async def test_an_issue_names_agents_and_records_and_no_text_of_theirs(place: Maintained) -> None:
    secret = "AKIA" + "ABCDEFGHIJKLMNOP"
    plant(place, f"the key is {secret}")
    issue = (await place.call("check_health"))["issues"][0]
    assert (issue["type"], issue["agents"], issue["refs"]) == ("secret_content", [AGENT], ["mem:2"])
    assert secret not in str(issue)


async def test_what_is_locked_is_left_and_said(place: Maintained) -> None:
    plant(place, " ", locked=True)
    plant(place, "ok", locked=True)
    plant(place, "black tea", locked=True, bucket=Bucket(channel="null"))
    before = await place.everything()
    for name in ("blank_content", "short_content", "placeholder_channel"):
        said = await found(place, name, fix=True)
        assert said["fixed"] == 0
        assert "locked" in said["not_fixed"]
    assert await place.everything() == before


async def test_a_repair_that_deletes_is_confirmed_and_one_that_does_not_is_not(place: Maintained) -> None:
    plant(place, " ")
    asked = Asked("decline")
    said = await place.call("check_health", fix=True, context=asked.context)
    assert said["code"] == "not_confirmed"
    assert "1 records" in asked.asked[0]
    assert await found(place, "blank_content")
    asked = Asked("accept")
    said = await place.call("check_health", fix=True, context=asked.context)
    assert (said["fixed"], len(asked.asked)) == (True, 1)
    tuned(place, precision="exact")
    quiet = Asked("decline")
    assert (await place.call("check_health", fix=True, context=quiet.context))["fixed"] is True
    assert quiet.asked == []


async def test_health_sees_the_callers_readable_agents_and_repairs_the_writable_ones(place: Maintained) -> None:
    plant(place, " ")
    await place.here.execution("ben")
    nothing = await place.call("check_health", by="ben")
    assert (nothing["total_memories"], nothing["issues"], nothing["stats"]["agents"]) == (0, [], 0)
    await place.here.agents.set_level("acme", AGENT, "ben", Level.READ, now_ms=place.clock())
    said = await place.call("check_health", by="ben", fix=True)
    issue = next(each for each in said["issues"] if each["check"] == "blank_content")
    assert (issue["fixed"], "reading only" in issue["not_fixed"]) == (0, True)
    assert (await place.call("check_health", by="ben", fix=True, agent_id=AGENT))["code"] == "agent_forbidden"
    assert (await place.call("deep_check", by="ben", fix=True, agent_id=AGENT))["code"] == "agent_forbidden"
    assert (await place.call("deep_check", by="ben", agent_id=AGENT))["ok"] is True
    assert await found(place, "blank_content")


async def test_a_memory_that_got_better_meanwhile_is_not_deleted(place: Maintained) -> None:
    plant(place, " ")
    number = max(place.inside().memories)

    class Mending(Asked):
        async def _ask(self, requests: Any) -> Any:
            blank = place.inside().memories[number]
            assert isinstance(blank, Memory)
            place.inside().add(structs.replace(blank, content="black tea", terms=terms_of("black tea"), revision=2))
            return await super()._ask(requests)

    said = await place.call("check_health", fix=True, checks=["blank_content"], context=Mending("accept").context)
    assert (said["issues"][0]["fixed"], "black tea" in await place.contents()) == (0, True)
