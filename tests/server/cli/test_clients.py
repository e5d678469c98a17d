"""What `doctor --client` says of a client's configuration."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from codesynapse.server.cli.clients import check_client_file
from codesynapse.server.cli.findings import Finding

KEY = "csk_" + "k" * 43
ID = "chat-4711"
HERE = "http://127.0.0.1:8420/mcp"
BRIDGE: dict[str, Any] = {
    "command": sys.executable,
    "args": ["-m", "codesynapse.server", "bridge", "--url", HERE, "--thread", "new"],
    "env": {"CODESYNAPSE_API_KEY": KEY},
}
PARENT = "X-CodeSynapse-Parent-Session"
DIRECT: dict[str, Any] = {
    "type": "http",
    "url": HERE,
    "headers": {
        "Authorization": f"Bearer {KEY}",
        "X-CodeSynapse-Session": "${env:CHAT}",
        PARENT: "${env:CHAT}",
    },
}


def without(mapping: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key != name}


def headers(**changed: str | None) -> dict[str, Any]:
    """The direct entry with some headers replaced; None leaves one out."""
    names = {"authorization": "Authorization", "session": "X-CodeSynapse-Session", "parent": PARENT}
    merged = {**DIRECT["headers"], **{names[name]: value for name, value in changed.items()}}
    return {**DIRECT, "headers": {name: value for name, value in merged.items() if value is not None}}


def arguments(*words: str) -> dict[str, Any]:
    return {**BRIDGE, "args": ["-m", "codesynapse.server", *words]}


def environment(command: str, **more: str) -> dict[str, Any]:
    env = {"CODESYNAPSE_API_KEY": KEY, **{f"CODESYNAPSE_{name}": value for name, value in more.items()}}
    words = ("bridge", "--url", HERE) if command == "bridge" else (command,)
    return {**arguments(*words), "env": env}


def check(folder: Path, entries: dict[str, Any] | bytes) -> list[Finding]:
    path = folder / "client.json"
    path.write_bytes(entries if isinstance(entries, bytes) else json.dumps({"mcpServers": entries}).encode())
    path.chmod(0o600)
    return check_client_file(path)


def of_one(folder: Path, entry: object) -> list[tuple[str, str]]:
    """Level and text of each finding about one entry. None of them holds a key or an id."""
    findings = check(folder, {"codesynapse": entry})
    assert KEY not in str(findings)
    assert ID not in str(findings)
    assert {finding.check for finding in findings} <= {"client entry 'codesynapse'", "client file"}
    return [(finding.level, finding.text) for finding in findings]


def test_a_complete_entry_whose_launcher_makes_up_its_sessions_says_when_they_end(tmp_path: Path) -> None:
    ((level, text),) = of_one(tmp_path, BRIDGE)
    assert (level, text.partition(";")[0]) == ("ok", "is complete")
    assert "ends with it" in text


@pytest.mark.parametrize(
    "entry",
    [
        {**BRIDGE, "env": {"CODESYNAPSE_API_KEY": "${env:KEY}"}},
        headers(authorization="Bearer ${input:key}"),
    ],
)
def test_a_key_that_the_client_fills_in_is_ok(tmp_path: Path, entry: dict[str, Any]) -> None:
    assert [level for level, _ in of_one(tmp_path, entry)] == ["ok"]


@pytest.mark.parametrize("entry", [DIRECT, environment("bridge", SESSION_ID="${env:CHAT}")])
def test_a_complete_entry_is_ok(tmp_path: Path, entry: dict[str, Any]) -> None:
    assert of_one(tmp_path, entry) == [("ok", "is complete")]


FAULTS = [
    # A command that cannot be started, or that is none of ours.
    ({**BRIDGE, "command": "/no/such/codesynapse"}, "problem", "absolute path"),
    (arguments("serve", "--url", HERE), "problem", "bridge or stdio"),
    (arguments("bridge", "--thread", "new"), "problem", "bridge needs --url"),
    (arguments("bridge", "--url", "127.0.0.1:8420/mcp", "--thread", "new"), "problem", "not an http or https address"),
    (arguments("bridge", "--url", "http://127.0.0.1:8420", "--thread=new"), "problem", "must end in /mcp"),
    (without(BRIDGE, "env"), "problem", "CODESYNAPSE_API_KEY is missing"),
    ({**BRIDGE, "env": {"CODESYNAPSE_API_KEY": ""}}, "problem", "CODESYNAPSE_API_KEY is missing"),
    # An id that does not come from the chat.
    (environment("bridge"), "warning", "--thread new"),
    (environment("bridge", SESSION_ID=ID), "warning", "ends after seven days"),
    (environment("bridge", SESSION_ID=ID, PARENT_SESSION_ID="other"), "problem", "PARENT_SESSION_ID"),
    (environment("stdio"), "warning", "stdio needs CODESYNAPSE_SESSION_ID"),
    (environment("stdio", SESSION_ID=ID, PARENT_SESSION_ID=ID), "warning", "ends after seven days"),
    (environment("stdio", SESSION_ID="${env:CHAT}"), "problem", "PARENT_SESSION_ID"),
    # A url with headers.
    (headers(authorization=None), "problem", "Authorization"),
    (headers(authorization=KEY), "problem", "Authorization"),
    (headers(authorization="Bearer csk_..."), "problem", "is no key"),
    (headers(authorization="Bearer "), "problem", "is no key"),
    ({**BRIDGE, "env": {"CODESYNAPSE_API_KEY": "csk_..."}}, "problem", "is no key"),
    ({**BRIDGE, "env": {"CODESYNAPSE_API_KEY": KEY + "x"}}, "problem", "is no key"),
    (headers(session=ID, parent=ID), "warning", "ends after seven days"),
    (headers(parent=None), "problem", "Parent-Session is missing"),
    (headers(parent="${env:OTHER}"), "problem", "must equal"),
    (headers(session=None, parent=None), "problem", "reaches no tool"),
    ({**DIRECT, "url": "http://example.org/mcp"}, "warning", "in the clear"),
    ({**DIRECT, "url": "http://127.example.org/mcp"}, "warning", "in the clear"),
    ({**DIRECT, "url": "https://example.org/other"}, "problem", "must end in /mcp"),
    ({**DIRECT, "url": "http://[::1"}, "problem", "not an http or https address"),
    # Neither.
    ({}, "problem", "neither a command nor a url"),
    ({"command": 1}, "problem", "is not an entry"),
    ("text", "problem", "is not an entry"),
]


@pytest.mark.parametrize(("entry", "level", "says"), FAULTS)
def test_each_fault_is_told_with_what_to_do(tmp_path: Path, entry: object, level: str, says: str) -> None:
    assert [(each, says in text) for each, text in of_one(tmp_path, entry) if says in text] == [(level, True)]
    assert "ok" not in [level for level, _ in of_one(tmp_path, entry)]


@pytest.mark.parametrize(
    "url", [HERE, HERE + "/", "http://[::1]:8420/mcp", "http://localhost/mcp", "https://a.org/mcp"]
)
def test_an_address_on_this_machine_or_by_https_is_fine(tmp_path: Path, url: str) -> None:
    assert of_one(tmp_path, {**DIRECT, "url": url}) == [("ok", "is complete")]


def test_an_entry_is_found_by_its_command_its_headers_or_its_name(tmp_path: Path) -> None:
    other = {"command": "/no/such/program", "args": []}
    findings = check(tmp_path, {"mine": BRIDGE, "direct": DIRECT, "CodeSynapse": other, "theirs": other, "odd": 1})
    assert sorted({finding.check for finding in findings}) == [
        "client entry 'CodeSynapse'",
        "client entry 'direct'",
        "client entry 'mine'",
    ]


def test_a_file_without_one_of_ours_is_said_to_be_so(tmp_path: Path) -> None:
    (finding,) = check(tmp_path, {"theirs": {"command": "x"}, "odd": 1})
    assert (finding.level, "names no codesynapse server" in finding.text) == ("warning", True)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"mcpServers": 1}', b'{"mcpServers": {}', b"\xff"])
def test_a_file_of_another_form_is_a_problem(tmp_path: Path, content: bytes) -> None:
    (finding,) = check(tmp_path, content)
    assert (finding.level, "mcpServers" in finding.text) == ("problem", True)


def test_a_missing_file_is_a_problem(tmp_path: Path) -> None:
    (finding,) = check_client_file(tmp_path / "none.json")
    assert (finding.level, "--client" in finding.text) == ("problem", True)


def test_a_key_in_a_file_that_others_can_read_is_warned_of_and_a_reference_is_not(tmp_path: Path) -> None:
    def warned(entry: dict[str, Any]) -> bool:
        check(tmp_path, {"codesynapse": entry})
        (tmp_path / "client.json").chmod(0o644)
        return any("chmod 600" in finding.text for finding in check_client_file(tmp_path / "client.json"))

    assert warned(BRIDGE)
    assert warned(DIRECT)
    assert not warned({**BRIDGE, "env": {"CODESYNAPSE_API_KEY": "${env:KEY}"}})
