"""What a process keeps by key, and that a notice can be silenced."""

from __future__ import annotations

from codesynapse.server.hints.health import Cause
from codesynapse.server.hints.state import Hints
from tests.server.hints.buckets import NOW, bucket, identity, later

ANA = identity()


def test_the_key_divides_pauses_told_keys_and_attributions_and_nothing_else():
    state = {name.lstrip("_"): type(value).__name__ for name, value in vars(Hints()).items()}
    assert state == {
        "pauses": "Pauses",
        "told": "Told",
        "attribution": "Attribution",
        "health": "Health",
        "advisories": "bool",
    }


def test_a_fresh_process_knows_no_pause_no_told_key_and_no_attribution():
    hints = Hints()
    hints.pauses.pause(bucket("A"), 60, NOW)
    hints.attribution.record(1, bucket("A"))
    hints.advice(ANA, "A", shared=True)
    again = Hints()
    assert (len(again.pauses), len(again.told), len(again.attribution)) == (0, 0, 0)


def test_what_is_written_by_the_way_is_withheld_from_a_paused_key_alone():
    hints = Hints()
    hints.pauses.pause(bucket("A"), 60, NOW)
    assert hints.paused(ANA, " A ", NOW)
    assert not hints.paused(ANA, None, NOW)
    assert not hints.paused(ANA, "A", later(60))


def test_the_notice_follows_the_embedder():
    hints = Hints(embedder=True)
    assert hints.advice(ANA, "A", shared=True) is None
    for _ in range(2):
        hints.embedding_failed(Cause.ENDPOINT)
    assert hints.advice(ANA, "A", shared=True) is not None
    hints.embedded(cached=True)
    assert hints.advice(ANA, "A", shared=True) is not None
    hints.embedded()
    assert hints.advice(ANA, "A", shared=True) is None


def test_an_operator_can_silence_the_notice():
    assert Hints().advice(ANA, "A", shared=True) is not None
    assert Hints(advisories=False).advice(ANA, "A", shared=True) is None
