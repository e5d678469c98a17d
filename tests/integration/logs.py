"""Everything that is logged while a test runs, ours and the libraries', as an operator would read it."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import structlog

from codesynapse.server.telemetry import LibraryLogs, configure_logging


@contextmanager
def logged(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """Log into a text, at the lowest level, as `serve` does to standard error."""
    text = io.StringIO()
    monkeypatch.setattr(sys, "stderr", text)
    configure_logging("debug")
    try:
        yield text
    finally:
        monkeypatch.undo()
        structlog.reset_defaults()
        root = logging.getLogger()
        for handler in [each for each in root.handlers if isinstance(each, LibraryLogs)]:
            root.removeHandler(handler)
