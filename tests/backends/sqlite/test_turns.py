"""Who comes next."""

from codesynapse.backends.sqlite.turns import Turns


def waiting(share: int, text: str) -> Turns[str]:
    """A job a word, whose key is the word's first letter."""
    turns: Turns[str] = Turns(share=share)
    for word in text.split():
        turns.add(word[0], word)
    return turns


def taken(turns: Turns[str], limit: int) -> list[str]:
    batches = []
    while turns:
        batches.append(" ".join(turns.take(limit)))
    return batches


def test_jobs_of_one_key_keep_their_order() -> None:
    assert taken(waiting(9, "a1 a2 a3"), 9) == ["a1 a2 a3"]
    assert taken(waiting(1, "a1 a2 a3"), 9) == ["a1", "a2", "a3"]


def test_a_key_with_many_jobs_does_not_hold_up_another() -> None:
    assert taken(waiting(1, "a1 a2 a3 a4 b1 b2 c1"), 9) == ["a1 b1 c1", "a2 b2", "a3", "a4"]


def test_who_had_a_turn_goes_behind_those_who_had_none() -> None:
    assert taken(waiting(1, "a1 a2 b1 b2 c1 c2"), 2) == ["a1 b1", "c1 a2", "b2 c2"]


def test_who_comes_later_has_a_turn_before_the_rest_of_those_who_came_first() -> None:
    turns = waiting(1, "a1 a2 a3")
    assert turns.take(9) == ["a1"]
    turns.add("b", "b1")
    assert turns.take(9) == ["a2", "b1"]


def test_no_more_are_taken_than_asked_for() -> None:
    assert taken(waiting(9, "a1 a2 a3"), 2) == ["a1 a2", "a3"]
    assert not waiting(1, "")
