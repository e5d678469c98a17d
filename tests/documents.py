"""The tables of the docs that follow from the code. `python -m tests.documents` writes them; tests compare.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. What the code cannot say stands here: what a quota is
for, and what to do about an error.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from codesynapse.contracts.errors import CodeSynapseError
from codesynapse.contracts.quotas import Quotas
from codesynapse.server.agents.checks import DEEP, HEALTH, Repair
from codesynapse.server.hints.gated import GATED
from codesynapse.server.http.errors import status_of
from codesynapse.server.services import compose, open_ports
from codesynapse.server.settings import PREFIX, Settings
from codesynapse.server.tools.cost import KEY, arms_of, characters_of, cost_of, price_of, tokens_of

DOCS = Path(__file__).parent.parent / "docs"
MARKED = re.compile(r"(<!-- table: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

SETS = (
    ("graph",),
    ("memory",),
    ("session",),
    ("maintenance",),
    ("graph", "session"),
    ("graph", "memory", "session", "maintenance"),
)
"""The toolsets whose costs are told, alone and together."""

REPAIRS = {
    Repair.STORE: "Put right by the store.",
    Repair.DELETE: "Deleted.",
    Repair.CLEAN: "The mark is removed.",
    Repair.CHANNEL: "Moved to the channel that is meant.",
    Repair.TUNING: "Back to the default.",
    Repair.CALIBRATE: "Calibrated anew.",
}

QUOTA_MEANINGS = {
    "sessions_active_max": "chat sessions that are neither expired nor revoked",
    "sessions_retained_max": "chat sessions ever registered, tombstones included; a cap for life",
    "session_lifetime_ms": "time from the registration of a chat session to its expiry",
    "namespace_facts_max": "current facts of one session in one repository's namespace",
    "namespace_entities_max": "entities there",
    "snapshot_bytes_max": "size of that memory, as UTF-8 bytes of its canonical JSON; often the first cap to bind",
    "session_namespaces_max": "namespaces that one session has ever written to",
    "session_facts_max": "current facts of one session in all its namespaces",
    "tenant_roots_max": "namespaces of all sessions, ended ones included; a cap for life",
    "tenant_facts_max": "current facts of all sessions",
    "repository_facts_max": "facts of one repository's own memory",
    "repository_entities_max": "entities there",
    "agent_memories_max": "memories of one agent",
    "agent_episodes_max": "episodes of one agent",
    "agent_keys_max": "idempotency keys of one agent that are kept, each for a day",
    "agents_max": "agents of the organisation",
    "agent_tasks_max": "writes of all agents that wait in the queue",
}

WHAT_TO_DO = {
    "error": "A fault of ours: the log names the place. Report it.",
    "refused": "Never answered itself; each refusal below has a code of its own.",
    "unsupported": "Choose a store that offers it.",
    "unavailable": "Repeat the request later.",
    "unauthenticated": "Send a key that exists and is not revoked; make one with `codesynapse key create`.",
    "suspended": "Ask an operator to lift it: `codesynapse user suspend NAME --lift`, or the same for `org`.",
    "membership_withdrawn": "Ask an operator: `codesynapse user member NAME --org ORGANIZATION`.",
    "execution_missing": "Register a chat session and send both headers; `codesynapse bridge` does both.",
    "execution_expired": "The session ended during the call. Start a new chat.",
    "cancelled": "Nothing: the caller cancelled.",
    "session_not_registered": "Register the id with the key that uses it.",
    "expired": "Start a new chat. An id never lives again.",
    "revoked": "Start a new chat. An id never lives again.",
    "rebind_refused": "Initialize a new transport session for the other chat session.",
    "transport_unknown": "Initialize again. Memory is untouched: it belongs to the chat session.",
    "header_invalid": "Send the named header once, well-formed; the parent equals the session.",
    "origin_refused": "Add the origin to `CODESYNAPSE_ALLOWED_ORIGINS`, if its page is yours.",
    "host_refused": "Add the name to `CODESYNAPSE_ALLOWED_HOSTS`.",
    "binding_conflict": "Choose another id: this one belongs to somebody.",
    "too_many_sessions": "Revoke sessions that are over, or raise `sessions_active_max`.",
    "capacity": "Raise `sessions_retained_max`: tombstones stay.",
    "session_unknown": "Revoke an id that you registered.",
    "invalid": "Correct the named field; `limit` says what it may be.",
    "repository_forbidden": "Name a repository that you were granted, or ask for a grant.",
    "grant_insufficient": "Ask for a write grant, or write to session memory.",
    "agent_forbidden": "Ask an operator: `codesynapse agent grant`. Under a new name the first `store` makes an agent.",
    "idempotency_conflict": "Send the same content again, or another key.",
    "import_refused": "`limit` says why. Export again, and send the file whole and as it is.",
    "quota_exceeded": "Retract what no longer holds, or ask for a higher cap; `field` and `limit` name it.",
    "snapshot_too_large": "Retract facts, shorten sources, or move to repository memory.",
    "namespace_closed": "It was cleared for good: use another repository's namespace, or a new chat.",
    "revision_conflict": "Read again and repeat with the current revision, or leave `expected_revision` out.",
    "snapshot_invalid": "A fault of whoever wrote past the engine. Report it.",
    "expiry_changed": "A fault of whoever wrote past the engine. Report it.",
    "input_unavailable": "Use a client that can be asked what `limit` names, and that takes streams.",
    "input_unanswered": "Answer what the client shows, or call again.",
    "not_confirmed": "Nothing was changed. Call again to be asked again.",
    "already_exists": "Choose another name.",
    "not_found": "Check the name; lists show what is there.",
    "body_too_large": "Send less at once, or raise `CODESYNAPSE_BODY_MAX_BYTES`.",
    "too_many_pauses": "Send one `session_key` for the whole conversation; pauses end by themselves within a day.",
    "too_many_calls": "Wait for a call to finish. `Retry-After` says how long.",
    "too_many_transports": "End a transport session with DELETE, or wait for an idle one.",
    "server_full": "Try again after `Retry-After`.",
    "bodies_full": "Send fewer large requests at once, or raise `CODESYNAPSE_BODIES_BYTES_MAX`.",
    "events_full": "Read the answers to their end, or end transport sessions with DELETE; then repeat.",
    "store_busy": "Repeat: nothing was written, or the same call finds it done.",
    "store_fault": "Operators: the log on standard error, then `codesynapse doctor`.",
    "embedder_down": "Operators: start the embedder, or make it reachable. Memory is untouched.",
    "embedder_misconfigured": "Operators: `codesynapse doctor` names the setting to correct; then restart.",
}


def settings_table() -> str:
    """Every setting: its name, default and meaning."""
    return _table(("Setting", "Default", "Meaning"), map(_setting, _fields(Settings)))


def _setting(field: msgspec.inspect.Field) -> tuple[str, ...]:
    schema = getattr(field.type, "extra_json_schema", None) or {}
    default = "the user's data folder" if field.name == "home" else _value(field.default)
    return f"`{PREFIX}{field.name.upper()}`", default, schema["description"]


def quotas_table() -> str:
    """Every cap of an organisation."""
    rows = ((f"`{field.name}`", _value(field.default), QUOTA_MEANINGS[field.name]) for field in _fields(Quotas))
    return _table(("Cap", "Default", "What it bounds"), rows)


def errors_table() -> str:
    """Every code of the tree of errors."""
    rows = ((f"`{kind.code}`", str(status_of(kind())), kind().message, WHAT_TO_DO[kind.code]) for kind in error_kinds())
    return _table(("Code", "Status", "Message", "What to do"), rows)


def error_kinds(root: type[CodeSynapseError] = CodeSynapseError) -> Iterator[type[CodeSynapseError]]:
    """The tree, in the order of its definition."""
    yield root
    for kind in root.__subclasses__():
        if kind.__module__ == CodeSynapseError.__module__:
            yield from error_kinds(kind)


def tools_text() -> str:
    """Every tool in a row that leads to its page, and what the list costs."""
    rows = (
        (f"[`{tool['name']}`](tools-{toolset}.md#{tool['name']})", f"`{toolset}`", tool["title"], _held(tool["name"]))
        for toolset, tools in asyncio.run(listed_toolsets()).items()
        for tool in tools
    )
    cost = cost_of(asyncio.run(listed_tools()))
    figures = f"{cost.tools} tools, {cost.characters:,} characters, about {cost.tokens:,} tokens.\n"
    return _table(("Tool", "Toolset", "What it is for", "Under a pause"), rows) + "\n" + figures


def toolset_text(toolset: str) -> str:
    """The tools of one set, each with its description and arguments."""
    return "\n".join(map(_tool, asyncio.run(listed_toolsets())[toolset]))


def _held(name: str) -> str:
    row = GATED.get(name)
    if row is None:
        return "goes on"
    if row.harmless is None:
        return "skipped"
    argument = f"`{row.harmless[0]}: {str(row.harmless[1]).lower()}`"
    return f"runs with {argument}" if row.forced else f"skipped, but for {argument}"


def tool_cost_text() -> str:
    """What each tool costs, each toolset, and the session key in its four arms."""
    tools = asyncio.run(listed_tools())
    rows = ((f"`{tool['name']}`", f"{(size := characters_of(tool)):,}", f"{tokens_of(size):,}") for tool in tools)
    sets = asyncio.run(listed_toolsets())
    costs = {
        ", ".join(f"`{name}`" for name in names): cost_of([tool for name in names for tool in sets[name]])
        for names in SETS
    }
    arms = (
        (each.arm, each.strategy, f"{each.characters:,}", f"+{each.added:,}", f"{each.percent} %")
        for each in arms_of(tools)
    )
    price = price_of(tools, KEY)
    key = f"`{KEY}` stands on {price.tools} tools and adds {price.characters:,} characters to {price.without:,}.\n\n"
    return "\n".join(
        (
            _table(("Tool", "Characters", "Tokens"), rows),
            _table(
                ("Toolsets", "Tools", "Characters", "Tokens"),
                ((name, str(each.tools), f"{each.characters:,}", f"{each.tokens:,}") for name, each in costs.items()),
            ),
            key + _table(("Way", "Texts", "Characters", "Added", "Share"), arms),
        )
    )


def checks_table() -> str:
    """Every check of the two tools that look."""
    rows = (
        (f"`{name}`", tool, check.severity, check.means, check.why or REPAIRS[check.repair])
        for tool, table in (("`check_health`", HEALTH), ("`deep_check`", DEEP))
        for name, check in table.items()
    )
    return _table(("Check", "Tool", "Severity", "Finds", "With `fix`"), rows)


async def listed_toolsets() -> dict[str, list[dict[str, Any]]]:
    """The tools of each toolset, as a server lists them."""
    settings = Settings(graph="memory", accounts="memory")
    async with open_ports(settings) as ports:
        catalog = compose(settings, ports).toolbox.catalog
    return {name: catalog.visible(frozenset({name})) for name in SETS[-1]}


async def listed_tools() -> list[dict[str, Any]]:
    """The tools as a server lists them."""
    settings = Settings(graph="memory", accounts="memory")
    async with open_ports(settings) as ports:
        return compose(settings, ports).toolbox.catalog.visible(None)


def _tool(tool: Mapping[str, Any]) -> str:
    schema = tool["inputSchema"]
    required = schema.get("required", [])
    rows = [(f"`{name}`", *_argument(member, name in required)) for name, member in schema["properties"].items()]
    table = _table(("Argument", "Default", "Form", "Meaning"), rows) if rows else "It takes no arguments.\n"
    return f"## `{tool['name']}`\n\n{tool['description']}\n\n{table}"


def _argument(member: Mapping[str, Any], required: bool) -> tuple[str, str, str]:
    default = "required" if required else _value(member.get("default"))
    # An argument that may be absent is listed as one of two types; the other is null.
    kinds = [kind for kind in member.get("anyOf", [member]) if kind.get("type") != "null"]
    meaning = member.get("description") or kinds[0].get("description", "")
    return default, _form(kinds[0]), meaning


def _form(schema: Mapping[str, Any]) -> str:
    """A type and its bounds in a few words."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    low = next((schema[key] for key in ("minimum", "minLength", "minItems") if key in schema), None)
    high = next((schema[key] for key in ("maximum", "maxLength", "maxItems") if key in schema), None)
    unit = {"string": " characters", "array": " items"}.get(schema.get("type", ""), "")
    bounds = "" if high is None and low is None else f", {_range(low, high)}{unit}"
    return schema.get("type", "object") + bounds


def _range(low: int | None, high: int | None) -> str:
    if high is None:
        return f"at least {low}"
    return f"at most {high:,}" if low is None else f"{low} to {high:,}"


def _fields(kind: type[msgspec.Struct]) -> Iterable[msgspec.inspect.Field]:
    described = msgspec.inspect.type_info(kind)
    assert isinstance(described, msgspec.inspect.StructType)
    return described.fields


def _value(value: object) -> str:
    if value is None or value == "" or value == []:
        return "–"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`"


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


TABLES: Mapping[str, Callable[[], str]] = {
    "settings": settings_table,
    "quotas": quotas_table,
    "errors": errors_table,
    "tools": tools_text,
    **{f"tools-{name}": partial(toolset_text, name) for name in SETS[-1]},
    "tool-cost": tool_cost_text,
    "checks": checks_table,
}


def rendered(text: str) -> str:
    """A page with each of its tables as the code has it."""
    return MARKED.sub(lambda match: match[1] + TABLES[match["name"]]() + match[3], text)


def tables_of(text: str) -> list[str]:
    """The names of the tables that a page holds."""
    return [match["name"] for match in MARKED.finditer(text)]


def main() -> None:
    for page in DOCS.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        page.write_text(rendered(text), encoding="utf-8")


if __name__ == "__main__":
    main()
