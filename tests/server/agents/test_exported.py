"""The form of an export: what goes in comes out, and whatever is not whole and as it was written is refused."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from codesynapse.contracts.agent_work import EpisodeRecord, MemoryRecord, ProfileRecord
from codesynapse.contracts.agents import Episode, Memory, Profile, episode_of, memory_of
from codesynapse.contracts.errors import ImportRefused
from codesynapse.contracts.suite.keepers import episode, memory, terms_in
from codesynapse.contracts.suite.worlds import NOW
from codesynapse.server.agents.exported import FORMAT, VERSION, Writer, header_of, records_of, seal_of

RECORDS = [
    Profile(text="Ana"),
    memory_of(
        memory("tea", project="p", channel="c", message_id="m1", source="u"), id=7, agent_id="helper", now_ms=NOW
    ),
    episode_of(episode("tea was had"), id=9, agent_id="helper", now_ms=NOW),
]


def written(*records: Memory | Episode | Profile, agent_id: str = "helper") -> list[bytes]:
    """The lines of an export."""
    lines: list[bytes] = []
    writer = Writer(agent_id, lines.append)
    for each in records or RECORDS:
        writer.record(each)
    writer.end()
    return lines


def why(lines: list[bytes]) -> str:
    """Why a file is refused."""
    with pytest.raises(ImportRefused) as refused:
        seal_of(lines, terms_in)
    return str(refused.value.limit)


def test_what_is_written_is_read_again_with_terms_of_this_servers_own() -> None:
    profile, kept, told = records_of(written(), terms_in)
    assert profile == ProfileRecord(text="Ana")
    assert isinstance(kept, MemoryRecord)
    assert kept.memory == memory("tea", project="p", channel="c", message_id="m1", source="u")
    assert kept.created_at_ms == NOW
    assert isinstance(told, EpisodeRecord)
    assert told.episode == episode("tea was had")


def test_the_digest_is_over_what_was_remembered_and_not_over_whose_it_is_or_its_ids() -> None:
    other = [RECORDS[0], *(type(each)(**{**fields(each), "id": 70 + each.id}) for each in RECORDS[1:])]  # type: ignore[union-attr]
    one, another = seal_of(written(), terms_in), seal_of(written(*other, agent_id="else"), terms_in)
    assert one.digest == another.digest
    assert one.whole != another.whole
    assert seal_of(written(*RECORDS[:2]), terms_in).digest != one.digest


def fields(record: Memory | Episode | Profile) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def test_an_agent_that_remembers_nothing_has_a_file_of_two_lines() -> None:
    lines: list[bytes] = []
    seal = Writer("helper", lines.append).end()
    assert len(lines) == 2
    assert seal_of(lines, terms_in) == seal
    assert header_of(lines[0]).agent_id == "helper"


def changed(number: int, **members: object) -> Callable[[list[bytes]], list[bytes]]:
    """A change of some members of one line."""

    def change(lines: list[bytes]) -> list[bytes]:
        line = {**json.loads(lines[number]), **members}
        return [*lines[:number], json.dumps(line).encode() + b"\n", *lines[number + 1 :]]

    return change if number >= 0 else lambda lines: change([*lines])


BROKEN: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "empty": (lambda _: [], "truncated"),
    "without its last line": (lambda lines: lines[:-1], "truncated: its last line is missing"),
    "cut within a line": (lambda lines: [*lines[:2], lines[2][:10]], "truncated: its last line is not whole"),
    "cut before the last end of a line": (lambda lines: [*lines[:-1], lines[-1][:-1]], "truncated"),
    "a line missing": (lambda lines: [*lines[:2], *lines[3:]], "the number of its memories"),
    "a line twice": (lambda lines: [*lines[:2], *lines[1:]], "the number of its profiles"),
    "two lines exchanged": (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "its digest"),
    "another content": (changed(2, content="coffee"), "its digest"),
    "another owner": (changed(0, agent_id="other"), "its digest"),
    "another digest": (lambda lines: [*lines[:-1], lines[-1].replace(b'"digest":"', b'"digest":"0')], "its digest"),
    "something behind": (lambda lines: [*lines, b"{}\n"], "something follows"),
    "two in one": (lambda lines: [*lines, *lines], "something follows"),
    "a header in the middle": (lambda lines: [lines[0], lines[0], *lines[1:]], "line 2 is a second header"),
    "no JSON": (lambda lines: [lines[0], b"nothing\n", *lines[1:]], "line 2 cannot be read"),
    "an unknown member": (changed(2, more=1), "line 3 cannot be read"),
    "a moment before time": (changed(2, created_at_ms=-1), "line 3 cannot be read"),
    "a lone surrogate": (
        lambda lines: [*lines[:2], lines[2].replace(b'"tea"', b'"\\ud800"'), *lines[3:]],
        "line 3 cannot be read",
    ),
    "an empty content": (changed(2, content=""), "line 3: content must be"),
    "too long a profile": (changed(1, text="x" * 2_001), "line 2: profile must be"),
    "deep nesting": (lambda lines: [lines[0], b"[" * 100_000 + b"\n"], "line 2 cannot be read"),
    "another version": (changed(0, version=VERSION + 1), f"its version is not {VERSION}"),
    "another format": (changed(0, format="x" + FORMAT), "no export of an agent"),
    "a picture": (lambda _: [b"\x89PNG\r\n"], "no export of an agent"),
    "records alone": (lambda lines: lines[1:], "no export of an agent"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_file_that_is_not_whole_and_as_it_was_written_is_refused_with_the_reason(case: str) -> None:
    change, reason = BROKEN[case]
    said = why(change(written()))
    assert reason in said
    assert "coffee" not in said


def test_a_reader_that_stops_early_was_told_nothing_of_the_whole() -> None:
    reading = records_of(BROKEN["another content"][0](written()), terms_in)
    assert next(reading) == ProfileRecord(text="Ana")
    with pytest.raises(ImportRefused):
        list(reading)
