"""What `doctor` finds: one line a check. No finding holds a key or an id."""

from collections.abc import Iterable
from typing import Literal

import click
import msgspec
from msgspec import Struct


class Finding(Struct, frozen=True, kw_only=True):
    """The outcome of one check. text: what was found and, unless all is well, what to do."""

    level: Literal["ok", "warning", "problem"]
    check: str
    text: str


def ok(check: str, text: str) -> Finding:
    """All is well."""
    return Finding(level="ok", check=check, text=text)


def warning(check: str, text: str) -> Finding:
    """It works, or may work; but somebody should look."""
    return Finding(level="warning", check=check, text=text)


def problem(check: str, text: str) -> Finding:
    """It does not work."""
    return Finding(level="problem", check=check, text=text)


def report(findings: Iterable[Finding], *, as_json: bool) -> bool:
    """Print the findings; whether there is no problem among them."""
    listed = list(findings)
    healthy = all(finding.level != "problem" for finding in listed)
    if as_json:
        click.echo(msgspec.json.encode({"ok": healthy, "findings": listed}).decode())
    else:
        for finding in listed:
            click.echo(f"{finding.level}: {finding.check}: {finding.text}")
    return healthy
