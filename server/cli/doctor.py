"""`doctor`: checks the configuration, each store, the server, the credential and a client's file; says what to fix."""

import asyncio
import contextlib
import os
import sqlite3
import stat
import sys
from pathlib import Path

import click
from msgspec import structs

from codesynapse.contracts.errors import CodeSynapseError, StoreFault
from codesynapse.contracts.identity import Millis
from codesynapse.server.cli.clients import check_client_file
from codesynapse.server.cli.embedding import check_embedder
from codesynapse.server.cli.findings import Finding, ok, problem, report, warning
from codesynapse.server.cli.probing import WAIT_S, check_graph
from codesynapse.server.cli.reach import check_credential, check_server
from codesynapse.server.cli.stores import with_cause
from codesynapse.server.http.tls import tls_context
from codesynapse.server.services import Ports, Services, compose, endpoint_of, open_ports
from codesynapse.server.settings import Settings, SettingsError, load, masked_url
from codesynapse.server.telemetry import configure_logging

NOBODY = "doctor"
"""A name to read under; whether an organisation bears it does not matter."""
PATIENCE_MS = 4_000
"""How long a store, and the embedder, may take here: whoever asks what is wrong wants to know soon."""


@click.command(short_help="Check everything and say what to fix.")
@click.option("--client", metavar="FILE", help="Also check this MCP client's configuration (JSON with mcpServers).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def doctor(context: click.Context, client: str | None, as_json: bool) -> None:
    """Check the configuration, the stores, the server and the credential, and say what to fix.

    One line a check: ok, warning or problem. Exits 1 when there is a problem. Never prints a key or an id.
    """
    findings = asyncio.run(_examined(context.find_root().obj or {}))
    if client is not None:
        findings += check_client_file(Path(client))
    if not report(findings, as_json=as_json):
        sys.exit(1)


async def _examined(overrides: dict[str, object]) -> list[Finding]:
    try:
        settings = await asyncio.to_thread(load, None, overrides)
        configure_logging("error")
        await asyncio.to_thread(tls_context, settings)
        await asyncio.to_thread(endpoint_of, settings)
    except SettingsError as error:
        return [problem("settings", str(error))]
    findings = [ok("settings", "can be used")]
    answered, server = await check_server(settings)
    embedded = "sqlite" in (settings.graph, settings.accounts)
    if embedded:
        findings += await asyncio.to_thread(check_home, settings)
    if embedded and not await asyncio.to_thread(os.path.exists, settings.database):
        return [*findings, *answered, *await check_credential(settings, None, server=server)]
    async with contextlib.AsyncExitStack() as stack:
        services: Services | None = None
        try:
            due = asyncio.get_running_loop().time() + WAIT_S
            hasty = structs.replace(
                settings,
                store_deadline_ms=min(settings.store_deadline_ms, PATIENCE_MS),
                embedder_deadline_ms=min(settings.embedder_deadline_ms, PATIENCE_MS),
            )
            ports = await stack.enter_async_context(open_ports(hasty))
            asked, usable = await check_graph(settings, ports, due)
            findings += asked
            findings += await check_stores(settings, ports, graph=usable)
            services = compose(settings, ports)
            findings += await check_embedder(ports.embedder)
        except SettingsError as error:
            findings.append(problem("stores", str(error)))
        except CodeSynapseError as error:
            findings.append(problem("stores", _store_advice(error)))
        return [*findings, *answered, *await check_credential(settings, services, server=server)]


def check_home(settings: Settings) -> list[Finding]:
    """The folder and the files of the embedded store, as they lie there. Blocks."""
    home, database = Path(settings.home), Path(settings.database)
    if not os.path.exists(home):  # Unlike Path.exists, it answers for a folder that cannot be entered.
        return [warning("home", "does not exist yet; codesynapse init or serve makes it, with the first key")]
    if not home.is_dir() or not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        return [problem("home", "is not a folder that this user can write; set CODESYNAPSE_HOME or its owner")]
    findings: list[Finding] = []
    if _open_to_others(home):
        findings.append(warning("home", "other users can look into it; chmod 700"))
    files = [Path(f"{database}{suffix}") for suffix in ("", "-wal", "-shm")] + [home / "config.toml"]
    seen = [file.name for file in files if file.exists() and _open_to_others(file)]
    findings += [warning("home", f"other users can read {name}; chmod 600") for name in seen]
    if not database.exists():
        findings.append(warning("home", "holds no database yet; codesynapse init or serve makes it"))
    elif not os.access(database, os.R_OK | os.W_OK):
        findings.append(problem("home", f"this user cannot write {database.name}; change its owner"))
    return findings or [ok("home", "is a private folder that can be written")]


def _open_to_others(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


async def check_stores(settings: Settings, ports: Ports, *, graph: bool = True) -> list[Finding]:
    """A read and a write that changes nothing, through each port. graph: whether its store can be used."""
    moment = Millis(0)  # Nothing ended before it, so there is nothing to sweep.
    await ports.accounts.audit_end()
    await ports.accounts.cleanups_owed(limit=1)
    await ports.accounts.probe()
    if graph:
        await ports.session_memory.quotas(NOBODY)
        await ports.session_memory.sweep(now_ms=moment, limit=1)
        await ports.session_memory.probe()
        if ports.vectors is not None:
            await ports.vectors.sweep(now_ms=moment, limit=1)
    schema = await asyncio.to_thread(_schema, settings) if "sqlite" in (settings.graph, settings.accounts) else ""
    stores = dict.fromkeys((*([settings.graph] if graph else []), settings.accounts))
    findings = [
        ok("stores", f"{masked_url(name)} opens, reads and writes{schema if name == 'sqlite' else ''}")
        for name in stores
    ]
    if settings.accounts == "memory":
        findings.append(warning("stores", "memory ends with its process; set CODESYNAPSE_GRAPH=sqlite to keep it"))
    elif not await ports.accounts.organizations():
        findings.append(warning("stores", "there are no accounts yet; codesynapse init or serve makes the first"))
    return findings


def _schema(settings: Settings) -> str:
    """The version that the file bears. Blocks."""
    with contextlib.closing(
        sqlite3.connect(f"{Path(settings.database).absolute().as_uri()}?mode=ro", uri=True)
    ) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    return f", schema {version}"


def _store_advice(error: CodeSynapseError) -> str:
    if isinstance(error, StoreFault) and error.field == "schema":
        return "the database was written by a newer release; install that release, or restore a backup of before"
    if isinstance(error, StoreFault) and error.field == "path":
        return f"the database must be {error.limit}; move what is there, or set CODESYNAPSE_HOME"
    return f"cannot be used: {with_cause(error)}"
