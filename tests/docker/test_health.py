"""The image's health check says whether the server of its settings answers."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from aiohttp.test_utils import unused_port

from tests.docker.building import ROOT
from tests.integration.harness import environment, process


async def healthy(home: Path, **variables: str) -> int:
    """The exit code of the check."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, str(ROOT / "docker" / "health.py"), env=environment(home, **variables)
    )
    return await child.wait()


async def test_it_is_well_while_the_server_answers_and_not_where_none_does(tmp_path: Path) -> None:
    async with process(tmp_path) as running:
        port = running.base.rpartition(":")[2]
        assert await healthy(tmp_path, CODESYNAPSE_PORT=port) == 0
        assert await healthy(tmp_path, CODESYNAPSE_PORT=port, CODESYNAPSE_HOST="0.0.0.0") == 0
        assert await healthy(tmp_path, CODESYNAPSE_PORT=str(unused_port())) == 1
