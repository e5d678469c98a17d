"""What integration tests share beside the harness: the server's log, overheard."""

import sys
from collections.abc import Iterator
from io import StringIO

import pytest
import structlog

from codesynapse.server.telemetry import configure_logging
from tests.integration.refusals_world import Overheard


@pytest.fixture
def overheard(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Overheard]:
    """Everything that a server of this process logs, at the lowest level."""
    lines = StringIO()
    monkeypatch.setattr(sys, "stderr", lines)
    configure_logging("debug")
    caplog.set_level("DEBUG")
    yield Overheard(lines=lines, records=caplog)
    structlog.reset_defaults()
