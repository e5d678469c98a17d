"""`contract NAME` is the suite's one command, for our stores and for a stranger's."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import jsonschema
import msgspec
import pytest

from codesynapse.contracts.report import Report
from codesynapse.contracts.requirements import REQUIREMENTS
from tests.integration.harness import command
from tests.server.cli.conftest import CommandLine
from tests.servers.running import Record

SOME = ("-q", "-k", "TestSize")


async def test_the_suite_runs_on_the_named_backend_and_ends_as_pytest_does(tmp_path: Path) -> None:
    code, out, _ = await command(tmp_path, "contract", "memory", *SOME)
    assert code == 0, out
    assert " passed" in out.splitlines()[-1]


async def test_a_report_of_the_whole_suite_is_written_where_it_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    code, out, _ = await command(tmp_path, "contract", "memory", "-q", "--report", "json", "--output", str(path))
    assert code == 0, out
    assert f"contract report: {path}" in out
    report = msgspec.json.decode(path.read_bytes(), type=Report)
    jsonschema.validate(json.loads(path.read_bytes()), msgspec.json.schema(Report))
    (backend,) = report.backends
    assert backend.name == "memory"
    assert backend.distribution is not None
    assert backend.distribution.startswith("codesynapse ")
    # A store in memory lacks what a durable one has; all else is shown, and everything that it lacks is named.
    assert set(backend.counts) - {"passed", "not_declared"} == {
        each for each, count in backend.counts.items() if not count
    }
    assert {"durable"} == {each for row in backend.rows for test in row.tests for each in test.lacks}
    assert {each.feature for each in backend.undeclared} == {"durable"}
    # Every case that pytest counts is in one test of the report.
    tests = {test.test: test.cases for row in backend.rows for test in row.tests}
    assert out.splitlines()[-1].startswith(f"{sum(tests.values())} passed")
    # Every promise whose evidence is a test of the suite has its row.
    rows = {row.id for row in REQUIREMENTS if any(test.startswith("contracts/suite/") for test in row.tests or ())}
    assert rows == {row.id for row in backend.rows} - {None}


async def test_a_server_that_refuses_us_is_an_error_of_the_run_and_no_broken_promise(
    tmp_path: Path, graph_server: Record
) -> None:
    wrong = graph_server.url.replace(":not-a-secret@", ":wrong-one@")
    assert wrong != graph_server.url
    store = wrong.partition(":")[0].partition("+")[0].replace("bolt", "neo4j")
    # Elsewhere, where nobody says which servers this repository has.
    alone = ("-c", os.devnull, "--rootdir", str(tmp_path))
    code, out, _ = await command(tmp_path, "contract", f"{store}={wrong}", *alone, *SOME, folder=tmp_path)
    assert code == 1, out
    last = out.splitlines()[-1]
    assert " error" in last
    assert "failed" not in last
    assert "passed" not in last
    assert "user and" in out
    assert "wrong-one" not in out


def test_a_report_of_an_unknown_form_or_without_a_form_is_refused(cli: CommandLine) -> None:
    assert "'html', 'json'" in cli.refused("contract", "memory", "--report", "pdf", code=2)
    assert "--report" in cli.refused("contract", "memory", "--output", "x.html", code=2)


async def test_a_report_that_cannot_be_written_is_refused_before_the_suite_runs(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "report.html"
    code, out, err = await command(tmp_path, "contract", "memory", "--report", "html", "--output", str(path))
    assert (code, out) == (4, "")
    assert str(path) in err


async def test_a_backend_that_is_not_installed_is_refused_by_name(tmp_path: Path) -> None:
    code, out, err = await command(tmp_path, "contract", "nowhere", *SOME)
    assert code == 4, out
    assert "no backend 'nowhere'" in err
    assert "hugegraph, memory, neo4j, sqlite" in err


def test_without_the_extra_it_says_what_to_install(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "codesynapse[suite]" in cli.refused("contract", "memory", code=2)
