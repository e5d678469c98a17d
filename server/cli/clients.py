"""The part of `doctor` that reads an MCP client's configuration: finds our entries and what is wrong with them."""

import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Struct

from codesynapse.contracts.accounts import key_hash
from codesynapse.server.cli.findings import Finding, ok, problem, warning
from codesynapse.server.settings import Settings

SESSION_HEADER = "x-codesynapse-session"
PARENT_HEADER = "x-codesynapse-parent-session"
MINTED = "the session of each process ends with it; after a crash it counts as active for seven days"
SHARED = "all chats would share this session, and it ends after seven days"
NO_KEY = "is no key, such as the dots of an example; make one: codesynapse key create"
COMMANDS = ("bridge", "stdio")


class Entry(Struct, kw_only=True):
    """A server in the file; what else stands there is the client's business."""

    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}

    @property
    def ours(self) -> bool:
        """Whether this entry starts us or speaks to us with our headers."""
        words = (self.command, *self.args)
        headers = {name.lower() for name in self.headers}
        return any("codesynapse" in word.lower() for word in words) or SESSION_HEADER in headers

    @property
    def holds_key(self) -> bool:
        """Whether a key itself stands here, not the name of a variable that holds it."""
        return any("csk_" in value for value in (*self.env.values(), *self.headers.values(), *self.args))


class ClientFile(Struct):
    """The part that many clients share."""

    mcpServers: dict[str, msgspec.Raw]


def check_client_file(path: Path) -> list[Finding]:
    """What is to be said of the file. Blocks."""
    try:
        servers = msgspec.json.decode(path.read_bytes(), type=ClientFile).mcpServers
    except OSError:
        return [problem("client file", "cannot be read; name an existing file after --client")]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return [problem("client file", "is not JSON with an object mcpServers; see the example in the README")]
    findings: list[Finding] = []
    entries = {name: _entry(raw) for name, raw in servers.items()}
    ours = {name: each for name, each in entries.items() if each is None or each.ours or "codesynapse" in name.lower()}
    for name, entry in ours.items():
        check = f"client entry {name!r}"
        if entry is None:
            if "codesynapse" in name.lower():
                findings.append(problem(check, "is not an entry with a command or a url, and texts beside them"))
            continue
        findings += list(_faults(check, entry)) or [ok(check, _complete(entry))]
    if any(entry is not None and entry.holds_key for entry in ours.values()) and _open_to_others(path):
        findings.append(warning("client file", "holds a key and other users can read it; chmod 600"))
    return findings or [warning("client file", "names no codesynapse server; see the example in the README")]


def _complete(entry: Entry) -> str:
    """That nothing is missing, and what becomes of sessions that the launcher makes up."""
    minted = bool(entry.command) and not entry.env.get("CODESYNAPSE_SESSION_ID")
    return f"is complete; {MINTED}" if minted else "is complete"


def _entry(raw: msgspec.Raw) -> Entry | None:
    try:
        return msgspec.json.decode(raw, type=Entry)
    except msgspec.ValidationError:
        return None


def _open_to_others(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o044)


def _faults(check: str, entry: Entry) -> Iterator[Finding]:
    if entry.command:
        yield from _command_faults(check, entry)
    elif entry.url:
        yield from _url_faults(check, entry.url)
        yield from _header_faults(check, {name.lower(): value for name, value in entry.headers.items()})
    else:
        yield problem(check, "has neither a command nor a url")


def _command_faults(check: str, entry: Entry) -> Iterator[Finding]:
    if shutil.which(entry.command, path=entry.env.get("PATH")) is None:
        yield problem(check, "its command is not a program that can be started; give its absolute path")
    used = next((word for word in entry.args if word in COMMANDS), None)
    if used is None:
        yield problem(check, "its args name no command that serves a client: it must be bridge or stdio")
        return
    if not entry.env.get("CODESYNAPSE_API_KEY"):
        yield problem(check, "CODESYNAPSE_API_KEY is missing in its env; the program then refuses to start")
    elif not _keylike(entry.env["CODESYNAPSE_API_KEY"]):
        yield problem(check, f"CODESYNAPSE_API_KEY in its env {NO_KEY}")
    yield from _environment_faults(check, entry, used)
    if used == "bridge":
        url = _option(entry.args, "--url")
        if url is None:
            yield problem(check, "bridge needs --url, such as http://127.0.0.1:8420/mcp")
        else:
            yield from _url_faults(check, url)


def _environment_faults(check: str, entry: Entry, used: str) -> Iterator[Finding]:
    session, parent = (entry.env.get(f"CODESYNAPSE_{name}", "") for name in ("SESSION_ID", "PARENT_SESSION_ID"))
    if session and not _varies(session):
        yield warning(check, f"CODESYNAPSE_SESSION_ID is fixed: {SHARED}; use bridge with --thread new")
    if session != parent and (used == "stdio" or parent):
        yield problem(check, "CODESYNAPSE_PARENT_SESSION_ID is missing or differs; it must equal the session's id")
    if not session and used == "stdio":
        yield warning(check, "stdio needs CODESYNAPSE_SESSION_ID of each chat; use bridge unless the client sets it")
    if not session and used == "bridge" and _option(entry.args, "--thread") != "new":
        yield warning(check, "add --thread new unless the client sets CODESYNAPSE_SESSION_ID for each chat")


def _url_faults(check: str, text: str) -> Iterator[Finding]:
    url = _split(text)
    if url is None or url.scheme not in ("http", "https") or not url.hostname:
        yield problem(check, "its url is not an http or https address, such as http://127.0.0.1:8420/mcp")
        return
    if url.path.rstrip("/").rpartition("/")[2] != "mcp":
        yield problem(check, "its url must end in /mcp")
    if url.scheme == "http" and not _loopback(url.hostname):
        yield warning(check, "its url is http beyond this machine: the key travels in the clear; use https")


def _header_faults(check: str, headers: Mapping[str, str]) -> Iterator[Finding]:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme != "Bearer":
        yield problem(check, 'the header Authorization with "Bearer " and the key is missing')
    elif not _keylike(key):
        yield problem(check, f"the key in its header Authorization {NO_KEY}")
    session, parent = headers.get(SESSION_HEADER, ""), headers.get(PARENT_HEADER, "")
    if not session:
        yield problem(check, "a url without X-CodeSynapse-Session reaches no tool; use bridge with --thread new")
    elif not _varies(session):
        yield warning(check, f"X-CodeSynapse-Session is fixed: {SHARED}; use bridge with --thread new")
    if session and not parent:
        yield problem(check, "the header X-CodeSynapse-Parent-Session is missing; it must equal the session's")
    elif session != parent:
        yield problem(check, "X-CodeSynapse-Parent-Session must equal X-CodeSynapse-Session")


def _keylike(value: str) -> bool:
    """Whether it can be a key; what the client fills in can."""
    return _varies(value) or key_hash(value) is not None


def _varies(value: str) -> bool:
    """Whether the client fills in the value, as in `${env:CHAT_ID}`."""
    return "${" in value or "{{" in value


def _option(arguments: list[str], name: str) -> str | None:
    """The value of `--name value` or `--name=value`."""
    for index, word in enumerate(arguments):
        if word == name and index + 1 < len(arguments):
            return arguments[index + 1]
        if word.startswith(name + "="):
            return word.partition("=")[2]
    return None


def _split(text: str) -> SplitResult | None:
    try:
        return urlsplit(text)
    except ValueError:
        return None


def _loopback(host: str) -> bool:
    return Settings(host=host).loopback
