"""Whether it lives and is ready, for anybody who asks, however often."""

from __future__ import annotations

import json

import pytest

from codesynapse.contracts.errors import StoreBusy, StoreFault
from codesynapse.server.http.health import PROBE_MS
from tests.integration.harness import Product, product


async def fetched(running: Product, path: str) -> tuple[int, str]:
    async with running.http.get(running.base + path) as answer:
        return answer.status, await answer.text()


async def test_it_says_that_it_lives_and_is_ready_without_a_credential():
    async with product() as running:
        for path in ("/healthz", "/readyz"):
            status, body = await fetched(running, path)
            assert (status, json.loads(body)) == (200, {"ok": True})


async def test_while_a_store_does_not_answer_it_lives_and_is_not_ready(monkeypatch: pytest.MonkeyPatch):
    async with product() as running:

        async def busy() -> int:
            raise StoreBusy

        monkeypatch.setattr(running.services.ports.accounts, "audit_end", busy)
        status, body = await fetched(running, "/readyz")
        assert (status, json.loads(body)["code"]) == (503, "unavailable")
        assert (await fetched(running, "/healthz"))[0] == 200


@pytest.mark.parametrize("port", ["accounts", "session_memory"])
async def test_while_a_store_cannot_be_written_it_is_not_ready_and_says_why_in_its_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], port: str
):
    async def full() -> None:
        fault = StoreFault()
        fault.cause = "SQLITE_FULL"
        raise fault

    async with product() as running:
        with monkeypatch.context() as broken:
            broken.setattr(getattr(running.services.ports, port), "probe", full)
            status, body = await fetched(running, "/readyz")
            assert (status, json.loads(body)["code"]) == (503, "unavailable")
            assert "SQLITE_FULL" not in body
        assert (await fetched(running, "/readyz"))[0] == 200
    logged = "".join(capsys.readouterr())
    assert "not_ready" in logged
    assert "SQLITE_FULL" in logged


async def test_whoever_asks_again_and_again_whether_it_is_ready_writes_once_a_second(monkeypatch: pytest.MonkeyPatch):
    async with product() as running:
        probes: list[int] = []

        async def probe() -> None:
            probes.append(running.clock())

        monkeypatch.setattr(running.services.ports.accounts, "probe", probe)
        for milliseconds in (0, 0, PROBE_MS - 1, 1, 0):
            running.clock.advance(seconds=milliseconds / 1000)
            assert (await fetched(running, "/readyz"))[0] == 200
        assert len(probes) == 2
