"""The lines of a conversation beside recalled memories."""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from codesynapse.server.agents.conversation import Conversation
from codesynapse.server.agents.views import Hit


def test_lines_are_merged_by_the_moment_that_they_name_and_undated_ones_come_first():
    hits = [Hit(ref="mem:2", timestamp="2026-01-03T00:00:00Z"), Hit(ref="mem:1", timestamp="2026-01-01T00:00:00Z")]
    lines = [
        {"role": "user", "content": "later", "timestamp": "2026-01-02T01:00:00+02:00", "name": "Ana", "user_id": "u7"},
        {"role": "assistant", "content": "undated"},
    ]
    merged = msgspec.to_builtins(Conversation(lines).merged(hits))
    assert [each.get("ref") or each["content"] for each in merged] == ["undated", "mem:1", "later", "mem:2"]
    assert merged[2]["source"] == {"type": "User", "id": "u7", "name": "Ana"}
    assert merged[0]["source"] == {"type": "Agent", "id": "self"}
    assert {each.get("context_type") for each in merged} == {None, "conversation"}


def test_every_line_keeps_its_like_away_and_only_two_roles_are_merged():
    conversation = Conversation([{"role": "tool", "content": "a"}, {"role": "user", "content": "b"}, {"content": "c"}])
    assert conversation.contents == ("a", "b", "c")
    assert [each.content for each in conversation.merged([])] == ["b"]
    assert conversation.filter_only is not None
    assert conversation.filter_only.roles == ["", "tool"]
    assert Conversation([{"role": "user", "content": "b"}]).filter_only is None


def test_a_line_is_shown_as_far_as_a_memory_is_previewed_and_keeps_all_of_its_like_away():
    long = {"role": "user", "content": "x" * 3_000, "user_id": "u" * 999, "name": "n" * 999, "timestamp": "t" * 99}
    conversation = Conversation([long])
    (line,) = conversation.merged([])
    assert (line.content, line.content_truncated, line.content_len) == ("x" * 500, True, 3_000)
    assert (line.source, line.timestamp) == ({"type": "User", "id": "u" * 256, "name": "n" * 256}, "")
    assert conversation.contents == ("x" * 3_000,)
    (short,) = Conversation([{"role": "user", "content": "x" * 500}]).merged([])
    assert (len(str(short.content)), short.content_len) == (500, UNSET)


def test_fields_that_are_no_texts_are_read_as_absent_and_named():
    conversation = Conversation([{"role": "user", "content": 5}, {"role": None, "name": ["x"], "more": 1}])
    assert conversation.contents == ()
    assert msgspec.to_builtins(conversation.field_issues)["entries"] == [
        {"index": 0, "fields": ["content"]},
        {"index": 1, "fields": ["name"]},
    ]
    assert Conversation([{"role": "user", "more": 5}]).field_issues is None
