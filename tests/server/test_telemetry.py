"""Logs and metrics: only what is on the lists, and never the text of an exception."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from prometheus_client.parser import text_string_to_metric_families

from codesynapse.contracts.errors import Invalid, ServerFull, StoreBusy, StoreFault
from codesynapse.server.telemetry import (
    ALLOWED_FIELDS,
    ALLOWED_LABELS,
    LibraryLogs,
    Metrics,
    configure_logging,
    fault,
    log,
    unanswered,
)

MARK = "q7MARKq7"


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    structlog.reset_defaults()
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, LibraryLogs)]:
        root.removeHandler(handler)


def logged(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The lines of standard error; nothing may stand on standard output, which is the protocol's."""
    out, err = capsys.readouterr()
    assert out == ""
    assert MARK not in err
    return [json.loads(line) for line in err.splitlines()]


def test_a_field_that_is_not_on_the_list_is_dropped(capsys: pytest.CaptureFixture[str]):
    configure_logging("info")
    log.info("happened", count=3, session_id=MARK, arguments=MARK)
    (line,) = logged(capsys)
    assert line["event"] == "happened"
    assert line["count"] == 3
    assert set(line) <= ALLOWED_FIELDS


def test_what_is_less_severe_than_the_level_is_not_logged(capsys: pytest.CaptureFixture[str]):
    configure_logging("error")
    log.info("happened")
    log.error("broke")
    assert [line["event"] for line in logged(capsys)] == ["broke"]


def test_a_fault_tells_kind_and_place_and_not_the_text(capsys: pytest.CaptureFixture[str]):
    configure_logging("info")
    try:
        raise ValueError(MARK)
    except ValueError as error:
        fault("somewhere", error)
    fault("nowhere", ValueError(MARK))
    first, second = logged(capsys)
    assert (first["event"], first["kind"]) == ("somewhere", "ValueError")
    assert first["exception"].startswith("test_a_fault_tells_kind_and_place_and_not_the_text:")
    assert second["exception"] == "?"


def test_a_library_that_repeats_itself_is_logged_once_in_a_while_with_how_often(capsys: pytest.CaptureFixture[str]):
    configure_logging("info")
    (handler,) = [each for each in logging.getLogger().handlers if isinstance(each, LibraryLogs)]
    for line, second in ((7, 0.0), (7, 1.0), (8, 1.0), (7, 9.9), (7, 10.0), (7, 20.0)):
        record = logging.LogRecord("asyncio", logging.ERROR, "base_events.py", line, MARK, None, None)
        record.created = second
        handler.handle(record)
    assert [line.get("count") for line in logged(capsys)] == [None, None, 2, None]


def test_a_stores_fault_tells_what_the_store_names_as_its_cause(capsys: pytest.CaptureFixture[str]):
    configure_logging("info")
    full = StoreFault()
    full.cause = "SQLITE_FULL"
    unanswered("somewhere", full)
    unanswered("somewhere", StoreBusy())
    first, second = logged(capsys)
    assert (first["event"], first["kind"], first["code"]) == ("somewhere", "StoreFault", "SQLITE_FULL")
    assert (second["kind"], "code" in second) == ("StoreBusy", False)


def test_a_refusal_and_a_full_server_are_no_faults(capsys: pytest.CaptureFixture[str]):
    configure_logging("info")
    for error in (Invalid(field=MARK), ServerFull()):
        unanswered("somewhere", error)
    assert logged(capsys) == []


def test_of_a_library_only_its_name_and_severity_are_logged(capsys: pytest.CaptureFixture[str]):
    configure_logging("info")
    configure_logging("info")
    logging.getLogger("aiohttp.server").error("text with %s", MARK)
    try:
        raise ValueError(MARK)
    except ValueError:
        logging.getLogger("asyncio").exception(MARK)
    logging.getLogger("quiet").info(MARK)
    assert [(line["event"], line["kind"], line["code"]) for line in logged(capsys)] == [
        ("library", "aiohttp.server", "ERROR"),
        ("library", "asyncio", "ERROR"),
    ]


def test_every_label_is_on_the_list_and_no_field_of_a_log_could_hold_an_id():
    metrics = Metrics()
    metrics.call("tool", "answered")
    metrics.request("GET", 200)
    families = list(text_string_to_metric_families(metrics.text().decode()))
    labels = {name for family in families for sample in family.samples for name in sample.labels}
    assert labels <= ALLOWED_LABELS
    assert not [name for name in ALLOWED_FIELDS | ALLOWED_LABELS if "id" in name or "key" in name or "session" in name]


def test_counters_count_each_label_apart():
    metrics = Metrics()
    for _ in range(2):
        metrics.request("GET", 200)
    metrics.request("GET", 404)
    text = metrics.text().decode()
    assert 'codesynapse_http_requests_total{method="GET",status="200"} 2.0' in text
    assert 'codesynapse_http_requests_total{method="GET",status="404"} 1.0' in text


def test_two_servers_of_one_process_count_apart():
    first, second = Metrics(), Metrics()
    first.call("tool", "answered")
    assert "tool=" not in second.text().decode()
