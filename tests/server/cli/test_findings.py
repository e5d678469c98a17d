"""A report is one line a check, or one JSON object, and says whether all is well."""

from __future__ import annotations

import json

import pytest

from codesynapse.server.cli.findings import ok, problem, report, warning


def test_each_check_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    report([ok("home", "is there"), warning("server", "is away"), problem("key", "is wrong")], as_json=False)
    assert capsys.readouterr().out == "ok: home: is there\nwarning: server: is away\nproblem: key: is wrong\n"


@pytest.mark.parametrize("as_json", [True, False])
def test_only_a_problem_makes_it_unhealthy(as_json: bool) -> None:
    assert report([ok("a", "b"), warning("a", "b")], as_json=as_json)
    assert not report([ok("a", "b"), problem("a", "b")], as_json=as_json)


def test_the_same_is_told_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    report([problem("key", "is wrong")], as_json=True)
    said = {"ok": False, "findings": [{"level": "problem", "check": "key", "text": "is wrong"}]}
    assert json.loads(capsys.readouterr().out) == said
