"""Each compose file's own settings serve the README's example, on the tests' servers in place of its containers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from codesynapse.contracts.requirements import requirement
from tests.docker.test_files import composed
from tests.integration.harness import process
from tests.integration.test_readme import blocks, pasted, section
from tests.servers.running import Record


async def serve(tmp_path: Path, store: str, server: Record | None) -> None:
    """Start the product with a file's settings, and paste the README's example: it prints what the README shows."""
    environment = dict(composed(store)["services"]["codesynapse"]["environment"])
    # What a container has and this machine has not: a network of its own, the name of the other one, and the place of
    # the secret.
    assert environment.pop("CODESYNAPSE_HOST") == "0.0.0.0"
    if server is not None:
        real, named = urlsplit(server.url), urlsplit(environment["CODESYNAPSE_GRAPH"])
        assert (named.username, named.password, named.hostname) == (real.username, None, store)
        environment["CODESYNAPSE_GRAPH"] = environment["CODESYNAPSE_GRAPH"].replace(
            f"{named.hostname}:{named.port}", f"127.0.0.1:{real.port}"
        )
        (tmp_path / "graph_password").write_text(f"{real.password}\n")
        assert environment["CODESYNAPSE_GRAPH_PASSWORD_FILE"] == "/run/secrets/graph_password"
        environment["CODESYNAPSE_GRAPH_PASSWORD_FILE"] = str(tmp_path / "graph_password")
    environment["CODESYNAPSE_BOOTSTRAP_KEY_FILE"] = str(tmp_path / "key")
    async with process(tmp_path / "home", **environment) as running, aiohttp.ClientSession() as http:
        assert running.key == ""
        port = urlsplit(running.url).port
        async with asyncio.timeout(120):
            # Making a fresh server's schema may take longer than one look.
            while True:
                async with http.get(f"http://127.0.0.1:{port}/readyz") as answer:
                    if answer.status == 200:
                        break
        name, _, running.key = (tmp_path / "key").read_text("utf-8").strip().partition("=")
        assert name == "CODESYNAPSE_API_KEY"
        (shown,) = blocks(section("The first memory"), "text")
        assert shown in await pasted(running, tmp_path)
        async with http.get(f"http://127.0.0.1:{port}/readyz", headers={"Host": "evil.example"}) as answer:
            assert answer.status == 403


async def test_the_settings_for_sqlite_serve(tmp_path: Path) -> None:
    await serve(tmp_path, "embedded", None)


@requirement("growing:same-data")
async def test_the_settings_for_neo4j_serve(tmp_path: Path, neo4j_server: Record) -> None:
    await serve(tmp_path, "neo4j", neo4j_server)


@requirement("growing:same-data")
async def test_the_settings_for_hugegraph_serve(tmp_path: Path, hugegraph_server: Record) -> None:
    await serve(tmp_path, "hugegraph", hugegraph_server)
