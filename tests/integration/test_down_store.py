"""A graph store that is down: the server starts, says so, and goes on by itself once the store is there."""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from codesynapse.server.app import running
from codesynapse.server.services import backend_of
from codesynapse.server.settings import SettingsError, load
from tests.servers.own import OwnServer


def settings(home: Path, graph: str) -> dict[str, str]:
    return {
        "CODESYNAPSE_HOME": str(home),
        "CODESYNAPSE_PORT": "0",
        "CODESYNAPSE_GRAPH": graph,
        "CODESYNAPSE_STORE_DEADLINE_MS": "60000",
    }


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("sqlite", "sqlite"),
        ("somebody-elses", "somebody-elses"),
        ("neo4j://u:p@h", "neo4j"),
        ("neo4j+s://u:p@h:1", "neo4j"),
        ("bolt://u:p@h", "neo4j"),
        ("bolt+ssc://h", "neo4j"),
        ("hugegraph+http://u:p@h:8182", "hugegraph"),
    ],
)
def test_the_scheme_of_a_url_names_the_backend(setting: str, name: str) -> None:
    assert backend_of(setting) == name


async def test_a_malformed_url_is_told_as_a_setting_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="CODESYNAPSE_GRAPH") as error:
        async with running(await asyncio.to_thread(load, settings(tmp_path, "neo4j://ana:secret@/"))):
            pass
    assert "secret" not in str(error.value)


async def test_the_server_starts_beside_a_store_that_is_down_and_is_ready_when_it_is_there(
    tmp_path: Path, own_server: OwnServer
) -> None:
    await own_server.kill()
    configured = await asyncio.to_thread(load, settings(tmp_path, own_server.url))
    async with running(configured) as (_, url), aiohttp.ClientSession() as http:
        ready = url.replace("/mcp", "/readyz")

        async def status() -> int:
            async with http.get(ready) as answer:
                return answer.status

        assert await status() == 503
        await own_server.start()
        async with asyncio.timeout(120):
            while await status() != 200:
                pass


async def test_a_store_that_goes_down_is_told_and_found_again_without_a_restart(
    tmp_path: Path, own_server: OwnServer
) -> None:
    configured = await asyncio.to_thread(load, settings(tmp_path, own_server.url))
    async with running(configured) as (_, url), aiohttp.ClientSession() as http:
        ready = url.replace("/mcp", "/readyz")

        async def status() -> int:
            async with http.get(ready) as answer:
                return answer.status

        async with asyncio.timeout(300):
            while await status() != 200:
                pass
            await own_server.kill()
            assert await status() == 503
            async with http.get(url.replace("/mcp", "/healthz")) as answer:
                assert answer.status == 200
            await own_server.start()
            while await status() != 200:
                pass
