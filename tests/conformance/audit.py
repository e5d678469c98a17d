"""The auditor `mcpscore` on the product's own server: every point that the protocol asks for, in both eras."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.conformance.installing import Tools
from tests.conformance.outcomes import Outcome

STANDING = "a list that never changes is not announced; clients would hold a stream for it"
NAMED = "a name that says all costs every client fewer characters than its explanation"
METADATA = {
    "capability_tools_list_changed": STANDING,
    "capability_resources_list_changed": STANDING,
    "capability_prompts_list_changed": STANDING,
    "readiness_2026_deprecated_features": "logging is announced to sessions alone, whose revisions have it",
    "security_tls_enabled": "the audited server listens on loopback, where TLS is the proxy's or the operator's choice",
    "server_websiteurl_present": "a self-hosted server has no page that is the same for all",
    "server_icons_present": "there is no picture of it",
    "tools_input_properties_documented": NAMED,
    "tools_output_properties_documented": NAMED,
}
"""Rules about how a server describes itself, not points of the protocol, that it does not meet, and why."""
RUN_S = 300


async def run(tools: Tools, target: list[str], env: Mapping[str, str]) -> dict[str, Any]:
    """The auditor's report. target: a URL, or `--stdio` and a command."""
    child = await asyncio.create_subprocess_exec(
        str(tools.mcpscore),
        "--json",
        "--no-config",
        *target,
        env=dict(env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(RUN_S):
            report, errors = await child.communicate()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    assert report, errors.decode()[-2000:]
    return json.loads(report)  # type: ignore[no-any-return]


def kept(report: dict[str, Any], out: Path) -> dict[str, Any]:
    """The same report, written down for who looks closer."""
    out.write_text(json.dumps(report, indent=1), "utf-8")
    return report


def outcomes(name: str, report: dict[str, Any]) -> list[Outcome]:
    """One for each rule of the protocol that was assessed, and one for each era that must have been."""
    part, readiness = f"mcpscore {name}", report["readiness"]
    rules = [*report["results"], *readiness["results"]]
    asked = [each for each in rules if each["rule_id"] not in METADATA]
    results = [
        Outcome(
            part=part,
            name=each["rule_id"],
            passed=each["passed"],
            note="" if each["passed"] else each["message"],
        )
        for each in asked
    ]
    found = [each for each in readiness["results"] if each["rule_id"] == "readiness_2026_server_discover"]
    modern = any(each["passed"] for each in found)
    return [*results, Outcome(part=part, name="the stateless era was audited", passed=modern)]
