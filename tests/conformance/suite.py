"""The official conformance suite: run on a server, and judged scenario by scenario.

Its exit code counts the scored scenarios alone, and forgives warnings and checks that were never reached. Here a
scenario passes where a check of it succeeded, and none failed or warned.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

from tests.conformance.installing import Tools
from tests.conformance.outcomes import Outcome

REQUIREMENTS = {"2025-11-25": 33, "2026-07-28": 50}
"""Each set of requirements, and how many scenarios it has, scored or not."""
NOT_MET = {"tasks-status-notifications": "the suite leaves it out by itself until it is written anew"}
"""Unscored scenarios that are not met, and why; docs/protocol.md says the same."""
NO_FIXTURE = {
    "2025-11-25": frozenset(
        {
            "server-initialize",
            "logging-set-level",
            "ping",
            "tools-list",
            "server-sse-multiple-streams",
            "resources-list",
            "prompts-list",
            "dns-rebinding-protection",
            "server-session-lifecycle",
        }
    ),
    "2026-07-28": frozenset(
        {
            "tools-list",
            "server-sse-multiple-streams",
            "resources-list",
            "sep-2164-resource-not-found",
            "prompts-list",
            "dns-rebinding-protection",
            "caching",
            "input-required-result-unsupported-methods",
            "http-header-validation",
        }
    ),
}
"""Scenarios that ask for nothing but a server that has tools, resources and prompts."""
RUN_S = 300
FOLDER = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


async def run(tools: Tools, url: str, requirements: str, out: Path) -> dict[str, list[dict[str, str]]]:
    """Run one set of requirements; the checks of each scenario that was run."""
    arguments = ["server", "--url", url, "--requirements", requirements, "-o", str(out)]
    child = await asyncio.create_subprocess_exec(
        str(tools.node),
        str(tools.suite),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(RUN_S):
            printed, _ = await child.communicate()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    out.mkdir(parents=True, exist_ok=True)
    (out / "printed.txt").write_bytes(printed)
    return checks_in(out)


def checks_in(out: Path) -> dict[str, list[dict[str, str]]]:
    """The checks of each scenario, from the files that the suite writes."""
    found = {}
    for path in sorted(out.glob("server-*/checks.json")):
        named = FOLDER.fullmatch(path.parent.name)
        assert named, path
        found[named[1]] = json.loads(path.read_text("utf-8"))
    return found


def judged(part: str, scenario: str, checks: list[dict[str, str]]) -> Outcome:
    """What came of a scenario."""
    wrong = [each for each in checks if each["status"] in ("FAILURE", "WARNING")]
    notes = [f"{each['id']}: {each.get('errorMessage', each['status'])}" for each in wrong]
    met = any(each["status"] == "SUCCESS" for each in checks)
    if not wrong and not met:
        notes = ["no check of it was reached"]
    return Outcome(part=part, name=scenario, passed=met and not wrong, note="; ".join(notes))


def outcomes(requirements: str, found: dict[str, list[dict[str, str]]]) -> list[Outcome]:
    """What is asked of the server with the fixtures: every scenario of the set."""
    part = f"suite {requirements}"
    results = [judged(part, name, checks) for name, checks in found.items() if name not in NOT_MET]
    whole = len(found) == REQUIREMENTS[requirements]
    note = "" if whole else f"{len(found)} scenarios were run, not {REQUIREMENTS[requirements]}"
    return [*results, Outcome(part=part, name="every scenario was run", passed=whole, note=note)]


def outcomes_without_fixtures(requirements: str, found: dict[str, list[dict[str, str]]]) -> list[Outcome]:
    """What is asked of the product's own server: every scenario that needs no fixture."""
    part = f"product {requirements}"
    return [judged(part, name, found.get(name, [])) for name in sorted(NO_FIXTURE[requirements])]
