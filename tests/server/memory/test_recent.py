"""What the embedder said a moment ago: used by who asked it, for a minute, and bounded."""

from __future__ import annotations

from codesynapse.contracts.identity import Identity, Millis
from codesynapse.server.memory.recent import RECENT_MAX, RECENT_MS, Recent

VECTOR = (1.0, 0.0)


def who(subject: str = "ana", tenant: str = "acme") -> Identity:
    return Identity(tenant_id=tenant, subject_id=subject, session_id="s", parent_session_id="s")


def test_an_answer_is_known_to_its_principal_for_a_minute():
    recent = Recent()
    recent.keep(who(), ["tea"], [VECTOR], Millis(0))
    assert recent.vectors(who(), ["tea"], Millis(RECENT_MS - 1)) == [VECTOR]
    assert recent.vectors(who("ben"), ["tea"], Millis(0)) is None
    assert recent.vectors(who(tenant="other"), ["tea"], Millis(0)) is None
    assert recent.vectors(who(), ["Tea"], Millis(0)) is None
    assert recent.vectors(who(), ["tea"], Millis(RECENT_MS)) is None
    assert len(recent) == 0


def test_texts_of_which_one_is_unknown_are_not_known():
    recent = Recent()
    recent.keep(who(), ["tea"], [VECTOR], Millis(0))
    assert recent.vectors(who(), ["tea", "coffee"], Millis(0)) is None
    assert recent.vectors(who(), [], Millis(0)) is None


def test_the_oldest_make_room_and_a_repeated_one_is_new():
    recent = Recent()
    for number in range(RECENT_MAX):
        recent.keep(who(), [str(number)], [VECTOR], Millis(number))
    recent.keep(who(), ["0"], [VECTOR], Millis(RECENT_MAX))
    recent.keep(who(), ["new"], [VECTOR], Millis(RECENT_MAX))
    assert len(recent) == RECENT_MAX
    known = [recent.vectors(who(), [text], Millis(RECENT_MAX)) is not None for text in ("0", "1", "2", "new")]
    assert known == [True, False, True, True]


def test_neither_a_text_nor_a_surrogate_of_one_is_kept():
    recent = Recent()
    recent.keep(who(), ["my secret question \ud800"], [VECTOR], Millis(0))
    assert "secret" not in repr(vars(recent))
