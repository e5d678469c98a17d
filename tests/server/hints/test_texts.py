"""What the schemas say of the key: where it matters in full, elsewhere in short, and both draw the line."""

from __future__ import annotations

from codesynapse.server.hints.texts import CLAUSE, FINDINGS, FULL, SHORT


def test_the_full_and_the_short_text_say_that_the_key_does_not_filter_stored_data():
    assert "NOT filter stored data (use agent_id / project_id / channel for that)" in CLAUSE
    assert CLAUSE in FULL
    assert CLAUSE in SHORT


def test_the_findings_text_is_its_own_and_promises_nothing_but_the_flag():
    assert FINDINGS not in (FULL, SHORT)
    assert "identity_shared" in FINDINGS


def test_the_short_text_is_worth_having():
    assert len(FINDINGS) < len(SHORT) < len(FULL) / 2
