"""Sealed texts: opened where they were sealed, by nobody else and nowhere else."""

from hypothesis import given
from hypothesis import strategies as st

from codesynapse.server.mcp.seal import TAG_BYTES, Seal

SEAL = Seal(b"k" * 32)
OTHER = Seal(b"l" * 32)


@given(st.binary(max_size=300), st.binary(max_size=80))
def test_what_was_sealed_opens_in_its_context(plain: bytes, context: bytes) -> None:
    text = SEAL.seal(plain, context)
    assert SEAL.open(text, context) == plain
    assert len(text) == -(-(TAG_BYTES + len(plain)) * 4 // 3)
    assert text.isascii()
    assert not set(text) & set("+/=\n ")


@given(st.binary(max_size=80), st.binary(max_size=40), st.binary(max_size=40))
def test_another_key_or_another_context_opens_nothing(plain: bytes, context: bytes, elsewhere: bytes) -> None:
    text = SEAL.seal(plain, context)
    assert OTHER.open(text, context) is None
    if elsewhere != context:
        assert SEAL.open(text, elsewhere) is None


@given(st.binary(min_size=1, max_size=80), st.data())
def test_a_text_that_was_changed_anywhere_does_not_open(plain: bytes, data: st.DataObject) -> None:
    text = SEAL.seal(plain, b"")
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from([each for each in "AZaz09-_." if each != text[place]]))
    assert SEAL.open(text[:place] + other + text[place + 1 :], b"") is None


@given(st.binary(min_size=1, max_size=80))
def test_one_sealing_has_one_text(plain: bytes) -> None:
    text = SEAL.seal(plain, b"")
    if len(text) % 4:
        assert SEAL.open(text + "=" * (-len(text) % 4), b"") is None
    if set(text) & set("-_"):
        assert SEAL.open(text.replace("-", "+").replace("_", "/"), b"") is None


@given(st.text(max_size=300))
def test_no_text_makes_it_fail(text: str) -> None:
    assert SEAL.open(text, b"") is None


@given(st.binary(min_size=24, max_size=80))
def test_the_text_does_not_hold_what_was_sealed(plain: bytes) -> None:
    first, second = SEAL.seal(plain, b"one"), SEAL.seal(plain, b"two")
    assert first != second
    assert OTHER.seal(plain, b"one") != first
