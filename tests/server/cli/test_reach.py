"""What `doctor` learns from a server, and from the stores where none answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import unused_port
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from codesynapse.server.cli.findings import Finding
from codesynapse.server.cli.reach import base_url, check_credential, check_server
from codesynapse.server.settings import Settings
from tests.integration.harness import Product, product

NO_KEY = "csk_" + "x" * 43


def levels(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.level, finding.check) for finding in findings]


def seen(running: Product, **settings: Any) -> Settings:
    """The settings of somebody who looks at a running server."""
    return Settings(port=int(running.base.rpartition(":")[2]), graph="memory", accounts="memory", **settings)


@asynccontextmanager
async def answering(status: int, body: object) -> AsyncIterator[Settings]:
    """Another program, which answers everything alike."""

    async def handler(_: web.Request) -> web.Response:
        return web.json_response(body, status=status)

    application = web.Application()
    application.router.add_get("/{path:.*}", handler)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield Settings(port=runner.addresses[0][1])
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        (Settings(), "http://127.0.0.1:8420"),
        (Settings(host="0.0.0.0", port=1), "http://127.0.0.1:1"),
        (Settings(host="::", port=1), "http://[::1]:1"),
        (Settings(host="fd00::1", port=1), "http://[fd00::1]:1"),
        (Settings(host="localhost", tls_cert_file="x"), "https://localhost:8420"),
    ],
)
def test_a_server_is_looked_for_where_the_settings_put_it(settings: Settings, url: str) -> None:
    assert base_url(settings) == url


async def test_a_running_server_is_ok() -> None:
    async with product() as running:
        findings, answers = await check_server(seen(running))
        assert (levels(findings), answers) == ([("ok", "server")], True)


async def test_no_server_is_a_warning_since_it_may_be_started_later() -> None:
    findings, answers = await check_server(Settings(port=unused_port()))
    assert (levels(findings), answers) == ([("warning", "server")], False)
    assert "codesynapse serve" in findings[0].text


async def test_a_port_that_each_start_picks_cannot_be_checked() -> None:
    findings, answers = await check_server(Settings(port=0))
    assert (levels(findings), answers) == ([("warning", "server")], False)


@pytest.mark.parametrize(("status", "body"), [(200, {"status": "UP"}), (404, {}), (200, [])])
async def test_another_program_on_the_port_is_a_problem(status: int, body: object) -> None:
    async with answering(status, body) as settings:
        findings, answers = await check_server(settings)
        assert (levels(findings), answers) == ([("problem", "server")], False)
        assert "another program" in findings[0].text


async def test_what_speaks_no_http_is_not_taken_for_a_server() -> None:
    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail\r\n")
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        findings, answers = await check_server(Settings(port=server.sockets[0].getsockname()[1]))
        assert (levels(findings), answers) == ([("warning", "server")], False)


async def test_a_key_and_a_registered_session_are_ok() -> None:
    async with product() as running:
        person = await running.person()
        session_id = await running.register(person)
        settings = seen(running, api_key=person.key, session_id=session_id, parent_session_id=session_id)
        for server, services in ((True, None), (False, running.services)):
            findings = await check_credential(settings, services, server=server)
            assert levels(findings) == [("ok", "key"), ("ok", "session")]


@pytest.mark.parametrize("server", [True, False])
async def test_each_fault_of_a_key_or_a_session_is_named_and_no_value_is(server: bool) -> None:
    async with product() as running:
        person, other = await running.person(), await running.person()
        revoked, foreign = await running.register(person), await running.register(other)
        async with running.http.post(
            running.base + "/api/v1/execution/sessions/revoke", json={"session_id": revoked}, headers=person.headers
        ) as answer:
            assert answer.status == 200

        async def check(**settings: str) -> str:
            services = None if server else running.services
            findings = await check_credential(seen(running, **settings), services, server=server)
            text = "\n".join(f"{each.level}: {each.text}" for each in findings)
            assert not any(value in text for value in settings.values())
            return text

        assert "problem: CODESYNAPSE_API_KEY: A valid API key is required" in await check(api_key=NO_KEY)
        assert "codesynapse key create" in await check(api_key=NO_KEY)
        for session_id, says in (
            (revoked, "revoked"),
            (foreign, "is not registered"),
            ("nobody-1", "is not registered"),
        ):
            said = await check(api_key=person.key, session_id=session_id, parent_session_id=session_id)
            assert f"problem: {says}" in said
        assert "1 to 128 letters" in await check(api_key=person.key, session_id="two words")
        mixed = await check(api_key=person.key, session_id=revoked, parent_session_id=foreign)
        assert "problem: CODESYNAPSE_PARENT_SESSION_ID must equal" in mixed
        assert "warning: stdio also needs" in await check(api_key=person.key, session_id=revoked)
        assert "problem: CODESYNAPSE_SESSION_ID is set without" in await check(session_id=revoked)
        await running.services.ports.accounts.suspend_user(person.subject, suspended=True, now_ms=running.clock())
        assert "suspended" in await check(api_key=person.key)


async def test_without_a_key_there_is_nothing_to_check() -> None:
    assert levels(await check_credential(Settings(), None, server=False)) == [("ok", "key")]


async def test_a_key_that_nobody_can_look_up_is_not_called_wrong() -> None:
    assert levels(await check_credential(Settings(api_key=NO_KEY), None, server=False)) == [("warning", "key")]
    gone = Settings(api_key=NO_KEY, port=unused_port())
    assert levels(await check_credential(gone, None, server=True)) == [("warning", "key")]


def certificate(folder: Path, name: str) -> tuple[str, str]:
    """A certificate that signs itself, and its key, as files."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / f"{name}.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / f"{name}.key").write_bytes(private)
    return str(folder / f"{name}.pem"), str(folder / f"{name}.key")


async def test_only_the_configured_certificate_is_trusted(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "ours")
    other, _ = certificate(tmp_path, "other")
    async with product(tls_cert_file=cert, tls_key_file=key) as running:
        findings, answers = await check_server(seen(running, tls_cert_file=cert))
        assert (levels(findings), answers) == ([("ok", "server")], True)
        findings, answers = await check_server(seen(running, tls_cert_file=other))
        assert (levels(findings), answers) == ([("problem", "server")], False)
