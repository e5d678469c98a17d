"""The composition: where it may listen, and what it says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from codesynapse.contracts.accounts import AuditRecord
from codesynapse.server import app
from codesynapse.server.app import Server, listening
from codesynapse.server.services import compose, open_ports
from codesynapse.server.settings import Settings, SettingsError
from tests.integration.harness import product
from tests.integration.tools import until


def settings(tmp_path: Path, **more: Any) -> Settings:
    return Settings(**{"home": str(tmp_path), "port": 0, "graph": "memory", "accounts": "memory", **more})


async def test_the_server_itself_refuses_to_listen_beyond_loopback(tmp_path: Path):
    async with open_ports(settings(tmp_path)) as ports:
        server = Server(compose(settings(tmp_path, host="0.0.0.0"), ports))
        with pytest.raises(SettingsError, match="CODESYNAPSE_HOST"):
            async with listening(server):
                raise AssertionError("listening")


async def test_an_address_that_is_taken_is_named(tmp_path: Path):
    async with product() as running, open_ports(settings(tmp_path)) as ports:
        port = int(running.base.rpartition(":")[2])
        server = Server(compose(settings(tmp_path, port=port), ports))
        with pytest.raises(SettingsError, match="CODESYNAPSE_PORT"):
            async with listening(server):
                raise AssertionError("listening")


async def fetched(running: Any, path: str) -> tuple[int, str]:
    async with running.http.get(running.base + path) as answer:
        return answer.status, await answer.text()


async def test_metrics_count_calls_requests_sessions_and_bytes():
    async with product() as running:
        transport = await running.open(await running.person())
        await transport.call("search_graph_nodes", {"query": "x"})
        status, body = await fetched(running, "/metrics")
        samples = {
            (sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(body)
            for sample in family.samples
        }
        assert status == 200
        assert samples["codesynapse_tool_calls_total", "answered", "search_graph_nodes"] == 1
        assert samples["codesynapse_transport_sessions",] == 1
        assert samples["codesynapse_event_bytes",] > 0


async def test_a_record_that_cannot_be_carried_out_holds_up_none_behind_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(app, "POLL_S", 3_600)
    async with product() as running:
        first, second = await running.person(), await running.person()
        transports = [await running.open(person) for person in (first, second)]
        accounts, end = running.services.ports.accounts, running.server.lives.end

        def broken(record: AuditRecord) -> None:
            if record.tenant_id == first.tenant:
                raise ValueError("q7MARKq7")
            end(record)

        monkeypatch.setattr(running.server.lives, "end", broken)
        for person, transport in zip((first, second), transports, strict=True):
            session_id = transport.headers["X-CodeSynapse-Session"]
            await accounts.revoke(person.tenant, session_id, subject_id=person.subject, now_ms=running.clock())
        await running.server.notice()
        assert [live.caller.tenant_id for live in running.server.lives._table.values()] == [first.tenant]


async def test_a_revocation_that_was_committed_is_answered_even_if_the_audit_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
):
    async def broken(**_: object) -> list[AuditRecord]:
        raise ValueError("q7MARKq7")

    async with product() as running:
        person = await running.person()
        transport = await running.open(person)
        body = {"session_id": transport.headers["X-CodeSynapse-Session"]}
        url = running.base + "/api/v1/execution/sessions/revoke"
        with monkeypatch.context() as patched:
            patched.setattr(running.services.ports.accounts, "audit", broken)
            async with running.http.post(url, json=body, headers=person.headers) as answer:
                assert (answer.status, (await answer.json())["revoked"]) == (200, True)
        await running.server.notice()
        assert len(running.server.lives) == 0


async def test_what_is_idle_ends_even_while_the_audit_cannot_be_read(monkeypatch: pytest.MonkeyPatch):
    async def broken(**_: object) -> list[AuditRecord]:
        raise ValueError("q7MARKq7")

    monkeypatch.setattr(app, "POLL_S", 0.01)
    async with product() as running:
        await running.open(await running.person())
        monkeypatch.setattr(running.services.ports.accounts, "audit", broken)
        running.clock.advance(hours=1)  # type: ignore[attr-defined]
        await until(running, lambda: len(running.server.lives) == 0)


async def test_the_routes_are_those_of_the_product_and_none_names_a_session_or_serves_the_audit():
    async with product() as running:
        routes = running.server.application.router.routes()
        found = {(route.method, route.resource.canonical) for route in routes if route.resource is not None}
    memory = "/api/v1/repos/{repo}/session-memory"
    assert found == {
        *((method, path) for method in ("POST", "GET", "DELETE") for path in ("/mcp", "/mcp/")),
        *((method, "/api/v1/execution/sessions") for method in ("POST", "GET", "HEAD")),
        ("POST", "/api/v1/execution/sessions/revoke"),
        *((method, memory) for method in ("POST", "GET", "HEAD", "DELETE")),
        ("POST", memory + "/recall"),
        *(("GET", "/api/v1/downloads/{token}"), ("POST", "/api/v1/uploads")),
        *((method, path) for method in ("GET", "HEAD") for path in ("/healthz", "/readyz", "/metrics")),
    }
