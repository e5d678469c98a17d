"""The services: which stores fit together, and which toolsets there are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from codesynapse.backends import open_backend
from codesynapse.contracts.opening import opens
from codesynapse.contracts.ports import Backend, Features
from codesynapse.server import services
from codesynapse.server.services import compose, open_ports
from codesynapse.server.settings import Settings, SettingsError
from tests.integration.harness import product
from tests.server.world import world


def settings(tmp_path: Path, **more: Any) -> Settings:
    return Settings(**{"home": str(tmp_path), "port": 0, "graph": "memory", "accounts": "memory", **more})


@pytest.mark.parametrize(
    ("graph", "accounts", "named"),
    [
        ("sqlite", "memory", "CODESYNAPSE_ACCOUNTS: accounts in memory"),
        ("nothing", "memory", "no backend of this name"),
        ("memory", "nothing", "no backend of this name"),
    ],
)
async def test_stores_that_do_not_fit_are_refused(tmp_path: Path, graph: str, accounts: str, named: str):
    with pytest.raises(SettingsError, match=named):
        async with open_ports(settings(tmp_path, graph=graph, accounts=accounts)):
            raise AssertionError("opened")


@pytest.mark.parametrize(("graph", "accounts"), [("memory", "memory"), ("sqlite", "sqlite"), ("memory", "sqlite")])
async def test_stores_that_fit_are_opened(tmp_path: Path, graph: str, accounts: str):
    async with open_ports(settings(tmp_path, graph=graph, accounts=accounts)) as ports:
        assert await ports.accounts.organizations() == []
        assert (tmp_path / "codesynapse.sqlite3").exists() == ("sqlite" in (graph, accounts))


def no_accounts() -> Any:
    @asynccontextmanager
    async def opened(_: object) -> AsyncIterator[Backend]:
        async with open_backend("memory", {}) as backend:
            yield Backend(session_memory=backend.session_memory, repository=backend.repository)

    return opens(Features(session_memory=True, repository=True))(opened)


async def test_a_backend_without_accounts_cannot_keep_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(services, "features_of", lambda _: no_accounts().features)
    with pytest.raises(SettingsError, match="keeps no accounts"):
        async with open_ports(settings(tmp_path)):
            raise AssertionError("opened")


async def test_a_backend_that_lacks_what_it_announced_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(services, "open_backend", lambda _, options: no_accounts()(options))
    with pytest.raises(SettingsError, match="does not offer"):
        async with open_ports(settings(tmp_path)):
            raise AssertionError("opened")


async def test_an_unknown_toolset_is_refused_with_those_there_are():
    async with world() as here:
        with pytest.raises(SettingsError, match="CODESYNAPSE_TOOLSETS: the toolsets are graph"):
            compose(Settings(toolsets="nothing"), here.ports)


def register_entry_point(folder: Path, name: str, module: str) -> None:
    """An installed distribution with a backend of this name: what an installer leaves behind, and the module."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[codesynapse.backends]\n{name} = {name}_store:open_store\n")
    (folder / f"{name}_store.py").write_text(module)


async def test_a_backend_of_another_is_opened_by_the_name_of_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    register_entry_point(tmp_path, "mygraph", "from codesynapse.backends.memory import open_memory as open_store\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    async with product(store="mygraph", home=tmp_path) as running:
        transport = await running.open(await running.person())
        assert (await transport.remember(("Ana", "likes", "tea")))["added"] == 1
        assert [fact["object"] for fact in (await transport.recall("tea"))["facts"]] == ["tea"]
