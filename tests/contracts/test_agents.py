"""Agent memory as values: axes, bounds, keys."""

from __future__ import annotations

import pytest

from codesynapse.contracts.agents import (
    AXIS_MAX,
    CONTENT_MAX,
    AgentScope,
    Bucket,
    NewEpisode,
    NewMemory,
    Principal,
    Reach,
    attached_json,
    content_key,
    episode_of,
    memory_of,
    require_content,
    require_profile,
    require_terms,
    require_text,
    source_id,
    source_matches,
)
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis


@pytest.mark.parametrize(
    ("reach", "projects", "channels"),
    [
        (Reach(), None, None),
        (Reach(project_id="", channel=""), ("",), None),
        (Reach(project_id="p", channel="c"), ("", "p"), ("", "c")),
        (Bucket().collides_with, ("",), ("",)),
        (Bucket(project_id="p", channel="c").collides_with, ("", "p"), ("", "c")),
    ],
)
def test_an_axis_tells_omitted_empty_and_named_apart(
    reach: Reach, projects: tuple[str, ...] | None, channels: tuple[str, ...] | None
) -> None:
    assert (reach.projects, reach.channels) == (projects, channels)


def test_a_reach_sees_its_own_bucket_and_the_shared_pool() -> None:
    reach = Reach(project_id="p", channel="c")
    assert all(reach.sees(Bucket(project_id=p, channel=c)) for p in ("", "p") for c in ("", "c"))
    assert not any(reach.sees(Bucket(project_id=p, channel=c)) for p, c in (("q", "c"), ("p", "d"), ("P", "c")))


@pytest.mark.parametrize("value", ["x" * (AXIS_MAX + 1), "a\nb", "\x00", "\ud800", 5, None])
def test_an_axis_takes_no_long_invisible_or_broken_value(value: str) -> None:
    for field in ("project_id", "channel"):
        if value is None:
            continue
        with pytest.raises(Invalid) as refusal:
            Bucket(**{field: value})
        assert refusal.value.field == field
        assert str(value) not in str(refusal.value) or value == 5
    Bucket(project_id="x" * AXIS_MAX, channel="discord:#general")


@pytest.mark.parametrize("agent_id", ["", " ", "a b", "a/b", "x" * 129, None])
def test_an_agent_has_a_name(agent_id: str) -> None:
    with pytest.raises(Invalid) as refusal:
        AgentScope(tenant_id="t", subject_id="u", agent_id=agent_id)
    assert refusal.value.field == "agent_id"
    scope = AgentScope(tenant_id="t", subject_id="u", agent_id="agent.main:1")
    assert scope.principal == Principal(tenant_id="t", subject_id="u")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", ""),
        ("content", "x" * (CONTENT_MAX + 1)),
        ("content", "a\udfffb"),
        ("id", "x" * 257),
        ("timestamp", "x" * 65),
        ("source", {"x": "y" * 8_000}),
        ("metadata", {"x": object()}),
        ("metadata", {"x": "\ud800"}),
        ("terms", ("a b",)),
        ("terms", ("",)),
        ("terms", ("x" * 65,)),
        ("terms", ("x",) * 4_097),
    ],
)
def test_a_memory_past_a_bound_is_refused_and_the_bound_named(field: str, value: object) -> None:
    given = {"content": "tea", ("message_id" if field == "id" else field): value}
    with pytest.raises(Invalid) as refusal:
        NewMemory(**given)  # type: ignore[arg-type]
    assert refusal.value.field == field
    assert refusal.value.limit is not None


@pytest.mark.parametrize(
    ("field", "value"),
    [("summary", ""), ("keywords", "x" * 2_001), ("start_time", "x" * 65), ("end_time", "x" * 65), ("terms", ("",))],
)
def test_an_episode_past_a_bound_is_refused(field: str, value: object) -> None:
    with pytest.raises(Invalid) as refusal:
        NewEpisode(**{"summary": "tea", field: value})  # type: ignore[arg-type]
    assert refusal.value.field == field


@pytest.mark.parametrize("text", ["", " \n", "x" * 2_001, "\ud800"])
def test_a_profile_is_neither_blank_nor_too_long(text: str) -> None:
    with pytest.raises(Invalid):
        require_profile(text)
    assert require_profile("Ana") == "Ana"


def test_a_new_content_is_as_bounded_as_a_memorys() -> None:
    assert require_content("tea", ["tea"]) == ("tea",)
    for content, terms in (("", []), ("x" * (CONTENT_MAX + 1), []), ("tea", ["a b"])):
        with pytest.raises(Invalid):
            require_content(content, terms)
    require_text("", field="x", maximum=1)
    require_terms(())


@pytest.mark.parametrize(
    ("asked", "held", "matches"),
    [
        ("", "ana", True),
        ("", "", True),
        ("ana", "ana", True),
        ("ana", "Ana", False),
        ("ana", "anabel", False),
        ("discord:", "discord:ana", True),
        ("discord:", "Discord:ana", False),
        ("discord:1", "discord:12", False),
        ("茶", "茶x", False),
    ],
)
def test_a_source_is_compared_exactly_or_by_its_namespace(asked: str, held: str, matches: bool) -> None:
    assert source_matches(asked, held) == matches


@pytest.mark.parametrize(("source", "named"), [({}, ""), ({"id": "ana"}, "ana"), ({"id": 5}, ""), ({"ID": "a"}, "")])
def test_a_source_without_a_name_is_nobody(source: dict[str, object], named: str) -> None:
    assert source_id(source) == named == NewMemory(content="tea", source=source).source_id


def test_equal_contents_have_one_key_and_others_have_another() -> None:
    assert content_key("tea") == content_key("tea")
    assert len({content_key(each) for each in ("tea", "Tea", "tea ", "te\u0301a", "t\u00e9a")}) == 5
    assert len(content_key("茶")) == 32


def test_the_json_of_what_is_attached_has_a_bound() -> None:
    assert attached_json({}, field="source") == b"{}"
    assert attached_json({"id": "ana"}, field="source") == b'{"id":"ana"}'
    with pytest.raises(Invalid):
        attached_json({"id": "x" * 8_000}, field="source")


def test_what_is_kept_is_what_was_given() -> None:
    memory = memory_of(NewMemory(content="tea", locked=True, terms=("tea",)), id=7, agent_id="a", now_ms=Millis(5))
    assert (memory.ref, memory.content, memory.locked, memory.created_at_ms) == ("mem:7", "tea", True, 5)
    episode = episode_of(NewEpisode(summary="tea", resolved=True), id=8, agent_id="a", now_ms=Millis(6))
    assert (episode.ref, episode.summary, episode.resolved, episode.created_at_ms) == ("ep:8", "tea", True, 6)
