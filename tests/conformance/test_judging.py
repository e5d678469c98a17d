"""How the suite's, the auditor's and the clients' words become passed and failed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import audit, peers, suite
from tests.conformance.outcomes import Outcome, told

DOCS = Path(__file__).parent.parent.parent / "docs" / "protocol.md"
GOOD = {"id": "a", "status": "SUCCESS"}


@pytest.mark.parametrize(
    ("statuses", "passed"),
    [
        (["SUCCESS"], True),
        (["SUCCESS", "INFO", "SKIPPED"], True),
        (["SUCCESS", "WARNING"], False),
        (["SUCCESS", "FAILURE"], False),
        (["INFO", "SKIPPED"], False),
        ([], False),
    ],
)
def test_a_scenario_passes_where_a_check_succeeded_and_none_failed_or_warned(statuses: list[str], passed: bool) -> None:
    checks = [{"id": "a", "status": status} for status in statuses]
    assert suite.judged("part", "scenario", checks).passed is passed


def test_a_scenario_that_was_not_run_is_a_failure(tmp_path: Path) -> None:
    folder = tmp_path / "server-ping-2026-11-30T20-31-45-948Z"
    folder.mkdir()
    (folder / "checks.json").write_text(json.dumps([GOOD]))
    found = suite.checks_in(tmp_path)
    assert found == {"ping": [GOOD]}
    *_, whole = suite.outcomes("2025-11-25", found)
    assert not whole.passed
    without = {each.name: each.passed for each in suite.outcomes_without_fixtures("2025-11-25", found)}
    assert without == {name: name == "ping" for name in suite.NO_FIXTURE["2025-11-25"]}


def report(*, modern: bool, failed: str) -> dict[str, Any]:
    rule = {"rule_id": failed, "passed": False, "message": "no"}
    era = {"rule_id": "readiness_2026_server_discover", "passed": modern, "message": ""}
    return {"results": [{"rule_id": "good", "passed": True, "message": ""}, rule], "readiness": {"results": [era]}}


def test_the_auditor_is_heard_on_every_point_of_the_protocol_and_in_both_eras() -> None:
    outcomes = audit.outcomes("HTTP", report(modern=True, failed="transport_x"))
    assert [each.name for each in outcomes if not each.passed] == ["transport_x"]
    outcomes = audit.outcomes("HTTP", report(modern=True, failed="server_icons_present"))
    assert all(each.passed for each in outcomes)
    outcomes = audit.outcomes("HTTP", report(modern=False, failed="server_icons_present"))
    assert [each.passed for each in outcomes].count(False) == 2


TOLD = {
    "listed": ["upsert_graph_triples", "recall_context"],
    "added": 1,
    "unchanged": 0,
    "tries": 1,
    "version": peers.LEGACY,
    "recalled": [peers.FACT, peers.FACT],
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"listed": []},
        {"added": 0},
        {"unchanged": 1},
        {"tries": 2},
        {"version": peers.MODERN},
        {"recalled": [peers.FACT]},
    ],
    ids=str,
)
def test_a_client_that_tells_of_a_fault_has_failed(wrong: dict[str, Any]) -> None:
    peer = peers.Peer(name="a", script="a.py")
    assert peers.faults(peer, "http", TOLD, 1) == ""
    assert peers.faults(peer, "http", {**TOLD, **wrong}, 1)


def test_a_client_that_was_not_cut_has_shown_nothing() -> None:
    peer = peers.Peer(name="a", script="a.py")
    assert peers.faults(peer, "http", TOLD, 0)
    assert peers.faults(peer, "stdio", TOLD, 0) == ""


def test_every_client_has_its_script() -> None:
    assert {peer.script for peer in peers.PEERS} <= {path.name for path in peers.SCRIPTS.iterdir()}


def test_the_last_line_counts_and_nothing_asked_is_a_failure() -> None:
    good, bad = Outcome(part="p", name="n", passed=True), Outcome(part="p", name="n", passed=False, note="why")
    assert told([good]) == ("1 passed, 0 failed", 0)
    assert told([good, bad]) == ("1 passed, 1 failed", 1)
    assert told([]) == ("0 passed, 0 failed", 1)
    assert bad.line() == "FAILED p: n (why)"


def test_the_docs_name_whatever_is_left_out() -> None:
    text = DOCS.read_text("utf-8")
    missing = [name for name in (*suite.NOT_MET, *audit.METADATA) if f"`{name}`" not in text]
    assert missing == []
