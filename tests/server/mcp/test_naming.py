"""Names of streams: what they carry, for whom, and how much of it."""

from hypothesis import given
from hypothesis import strategies as st

from codesynapse.server.mcp.messages import NO_ID, RequestId
from codesynapse.server.mcp.naming import (
    ELSEWHERE,
    ID_CARRIED_MAX,
    NAME_MAX,
    NOWHERE,
    REPOSITORY,
    SESSION,
    UNKNOWN,
    Asked,
    Names,
    carried,
    commit_seed,
    name_digest,
    place,
)
from codesynapse.server.mcp.seal import Seal

SEAL = Seal(b"k" * 32)
places = st.one_of(
    st.sampled_from([NOWHERE, UNKNOWN]), st.builds(place, st.sampled_from([SESSION, REPOSITORY]), st.text(max_size=130))
)
ids = st.binary(min_size=1, max_size=1_024).map(RequestId)


def names(session: bytes = b"s", seal: Seal = SEAL) -> Names:
    return Names(seal, session)


@given(st.binary(min_size=1, max_size=ID_CARRIED_MAX).filter(lambda each: each != NO_ID), places)
def test_one_request_is_carried_whole_wherever_it_writes(request_id: bytes, where: object) -> None:
    asked = (Asked(RequestId(request_id), where),)  # type: ignore[arg-type]
    made = names()
    number = made.number()
    name = made.name(number, asked)
    assert carried(asked)
    read = names().read(name)
    assert read is not None
    assert (read.number, read.asked, read.own) == (number, asked, False)
    again = made.read(name)
    assert again is not None
    assert again.own


@given(st.lists(st.tuples(ids, places), max_size=60))
def test_a_name_is_bounded_and_carries_the_first_requests_in_their_order(sent: list[tuple[RequestId, object]]) -> None:
    asked = [Asked(*each) for each in sent]  # type: ignore[arg-type]
    made = names()
    name = made.name(made.number(), asked)
    assert len(name) <= NAME_MAX
    read = made.read(name)
    assert read is not None
    assert len(read.asked) <= len(asked)
    for told, each in zip(read.asked, asked, strict=False):
        assert told == each or told == Asked(NO_ID, UNKNOWN)
    if len(read.asked) < len(asked):
        assert read.asked[-1] == Asked(NO_ID, UNKNOWN)
        assert not carried(asked)


@given(st.binary(max_size=ID_CARRIED_MAX + 1), st.binary(min_size=1, max_size=4), st.binary(min_size=1, max_size=4))
def test_a_name_is_read_in_its_own_session_alone(request_id: bytes, mine: bytes, yours: bytes) -> None:
    made = names(mine)
    name = made.name(made.number(), (Asked(RequestId(request_id)),))
    assert (names(yours).read(name) is None) == (mine != yours)
    assert names(mine, Seal(b"l" * 32)).read(name) is None


@given(st.text(max_size=300))
def test_no_text_makes_reading_fail(text: str) -> None:
    assert names().read(text) is None


def test_a_longer_id_than_64_bytes_is_not_carried() -> None:
    fits, over = RequestId(b"x" * 64), RequestId(b"x" * 65)
    assert carried([Asked(fits)])
    assert not carried([Asked(over)])
    made = names()
    read = made.read(made.name(made.number(), [Asked(over), Asked(fits)]))
    assert read is not None
    assert read.asked == (Asked(NO_ID, UNKNOWN), Asked(fits))


def test_numbers_never_repeat_also_after_a_restart() -> None:
    made = [names() for _ in range(50)]
    numbers = [each.number() for each in made for _ in range(20)]
    assert len(set(numbers)) == 1_000
    assert {len(each) for each in numbers} == {10}


def test_the_seed_of_a_calls_commits_tells_session_stream_and_request_apart() -> None:
    seeds = {
        commit_seed(session, number, index)
        for session in (b"s" * 32, b"t" * 32)
        for number in (b"0" * 10, b"1" * 10)
        for index in range(3)
    }
    assert len(seeds) == 12
    assert {len(each) for each in seeds} == {16}


def test_a_place_says_what_it_is_by_a_digest_of_its_name() -> None:
    assert place(SESSION, "default").digest == place(REPOSITORY, "default").digest == name_digest("default")
    assert name_digest("default") != name_digest("Default")
    assert len(name_digest("\ud800" * 9)) == 6
    assert (NOWHERE.digest, UNKNOWN.kind) == (b"", ELSEWHERE)
