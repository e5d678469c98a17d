"""What is told of a refused script."""

from codesynapse.backends.hugegraph.faults import ScriptRefused


def test_a_refused_script_names_its_status_and_nothing_else() -> None:
    refusal = ScriptRefused(597)
    assert (refusal.status, refusal.details) == (597, {"status": 597})
    assert str(refusal).endswith("Status: 597.")
