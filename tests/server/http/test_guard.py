"""Which hosts and origins are served, and how a failure of a request looks."""

from __future__ import annotations

import json

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from multidict import CIMultiDict

from codesynapse.contracts.errors import HostRefused, OriginRefused, SessionRevoked, StoreBusy, StoreFault
from codesynapse.server.http.guard import OLD_PATHS, OLD_TRANSPORT, Guard, middleware, plain, refused
from codesynapse.server.settings import Settings
from codesynapse.server.telemetry import Metrics

MARK = "q7MARKq7"
ALLOWED = "http://localhost:3000"


def request(path: str = "/mcp", method: str = "GET", **headers: str) -> web.Request:
    return make_mocked_request(method, path, headers={"Host": "localhost", **headers})


async def answer(sent: web.Request, handler: object = None, settings: Settings | None = None) -> web.Response:
    async def ok(_: web.Request) -> web.StreamResponse:
        return web.Response()

    metrics = Metrics()
    guarded = middleware(Guard(settings or Settings()), metrics)
    response = await guarded(sent, handler or ok)  # type: ignore[arg-type]
    assert isinstance(response, web.Response)
    assert MARK not in metrics.text().decode()
    return response


def body_of(response: web.Response) -> dict[str, object]:
    assert response.content_type == "application/json"
    assert isinstance(response.body, bytes)
    assert MARK.encode() not in response.body
    found: dict[str, object] = json.loads(response.body)
    return found


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST:8000", "[::1]:8000", "[::1]", "127.0.0.1:1"])
def test_names_of_this_machine_are_served_with_and_without_a_port(host: str):
    Guard(Settings()).check(request(Host=host))


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "", "localhost.evil.example", "evil.example:8420", "[::1", "127.0.0.1.x", "localhost@evil"),
        *("evil@127.0.0.1", "localhost/evil", "localhost?x", "localhost:x", "localhost:", "local\thost", "localhost\n"),
    ],
)
def test_any_other_host_is_refused_on_loopback(host: str):
    with pytest.raises(HostRefused):
        Guard(Settings()).check(request(Host=host))


def test_a_configured_host_is_served_beside_loopback():
    guard = Guard(Settings(allowed_hosts="mem.example, other"))
    for host in ("MEM.example:443", "other", "localhost"):
        guard.check(request(Host=host))
    with pytest.raises(HostRefused):
        guard.check(request(Host="evil.example"))


def test_beyond_loopback_any_host_is_served_until_some_are_named():
    Guard(Settings(host="0.0.0.0")).check(request(Host="anything.example"))
    Guard(Settings(allowed_hosts="*")).check(request(Host="anything.example"))
    with pytest.raises(HostRefused):
        Guard(Settings(host="0.0.0.0", allowed_hosts="mem.example")).check(request(Host="anything.example"))


@pytest.mark.parametrize("origin", [ALLOWED, "http://127.0.0.1", "https://[::1]:3", "HTTP://LOCALHOST"])
def test_pages_of_this_machine_may_ask(origin: str):
    Guard(Settings()).check(request(Origin=origin))


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "file://localhost",
        "http://localhost.evil.example",
        "http://[::1",
        "localhost",
        "http://localhost/é",
        "http://evil@localhost",
        "http://localhost@evil.example",
        "http://localhost/",
        "http://localhost/evil",
        "http://localhost?x",
        "http://localhost#x",
        "http://localhost:x",
        "http://local\thost",
    ],
)
def test_pages_of_others_may_not(origin: str):
    with pytest.raises(OriginRefused):
        Guard(Settings()).check(request(Origin=origin))


def test_two_origins_may_not_ask_even_if_each_might_alone():
    headers = CIMultiDict([("Host", "localhost"), ("Origin", ALLOWED), ("Origin", ALLOWED)])
    with pytest.raises(OriginRefused):
        Guard(Settings()).check(make_mocked_request("GET", "/mcp", headers=headers))


def test_an_origin_that_no_header_of_an_answer_could_hold_may_not_ask():
    assert not Guard(Settings()).allows_origin("http://localhost/\udcff")


def test_a_configured_origin_may_ask_exactly():
    guard = Guard(Settings(allowed_origins="https://app.example"))
    assert guard.allows_origin("https://APP.example")
    assert not guard.allows_origin("https://app.example:444")


async def test_a_refused_origin_is_403_on_the_endpoint_and_on_rest_and_is_not_repeated():
    origin = f"https://{MARK}.example"
    protocol = await answer(request(Origin=origin))
    assert (protocol.status, body_of(protocol)["jsonrpc"]) == (403, "2.0")
    rest = await answer(request("/api/v1/x", Origin=origin))
    assert (rest.status, body_of(rest)["code"], body_of(rest)["field"]) == (403, "origin_refused", "Origin")
    assert "Access-Control-Allow-Origin" not in rest.headers


async def test_a_preflight_of_an_allowed_origin_is_answered_before_any_credential():
    sent = request(method="OPTIONS", Origin=ALLOWED, **{"Access-Control-Request-Headers": "authorization"})
    response = await answer(sent)
    assert (response.status, response.headers["Access-Control-Allow-Origin"]) == (204, ALLOWED)
    assert response.headers["Access-Control-Allow-Headers"] == "authorization"
    refused_one = await answer(request(method="OPTIONS", Origin="https://evil.example"))
    assert refused_one.status == 403


async def test_an_allowed_page_may_read_the_answer_and_the_session_id():
    response = await answer(request(Origin=ALLOWED))
    assert response.headers["Access-Control-Allow-Origin"] == ALLOWED
    exposed = response.headers["Access-Control-Expose-Headers"].split(", ")
    assert exposed == ["Mcp-Session-Id", "Retry-After", "X-CodeSynapse-Session-Expires"]
    assert "Access-Control-Allow-Origin" not in (await answer(request())).headers


async def test_an_allowed_page_may_read_why_it_was_refused_and_no_other_page_may():
    async def revoked(_: web.Request) -> web.StreamResponse:
        raise SessionRevoked

    response = await answer(request(Origin=ALLOWED), revoked)
    assert (response.status, response.headers["Access-Control-Allow-Origin"]) == (403, ALLOWED)
    other_host = await answer(request(Origin=ALLOWED, Host="evil.example"), revoked)
    assert other_host.status == 403
    assert "Access-Control-Allow-Origin" not in other_host.headers


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_a_refusal_is_a_json_rpc_error_on_the_endpoint(path: str):
    async def busy(_: web.Request) -> web.StreamResponse:
        raise StoreBusy

    response = await answer(request(path), busy)
    assert (response.status, response.headers["Retry-After"]) == (503, "1")
    assert body_of(response)["error"]["data"]["code"] == "store_busy"  # type: ignore[index]


async def test_a_refusal_is_a_plain_object_elsewhere():
    async def busy(_: web.Request) -> web.StreamResponse:
        raise StoreBusy

    assert body_of(await answer(request("/api/v1/x"), busy))["code"] == "store_busy"


async def test_a_store_that_fails_is_logged_with_its_cause_and_its_caller_is_not_told(
    capsys: pytest.CaptureFixture[str],
):
    async def full(_: web.Request) -> web.StreamResponse:
        fault = StoreFault()
        fault.cause = "SQLITE_FULL"
        raise fault

    response = await answer(request("/api/v1/x"), full)
    assert (response.status, body_of(response)["code"]) == (503, "store_fault")
    assert "SQLITE_FULL" not in str(body_of(response))
    assert "SQLITE_FULL" in "".join(capsys.readouterr())


async def test_a_fault_of_ours_is_500_and_its_text_stays_inside(capsys: pytest.CaptureFixture[str]):
    async def broken(_: web.Request) -> web.StreamResponse:
        raise ValueError(MARK)

    response = await answer(request(), broken)
    assert (response.status, body_of(response)["code"]) == (500, "internal")
    logged = "".join(capsys.readouterr())
    assert "request_failed" in logged
    assert MARK not in logged


async def test_an_unknown_path_is_404_in_json_and_is_not_repeated():
    async def missing(_: web.Request) -> web.StreamResponse:
        raise web.HTTPNotFound(text=MARK, reason=MARK)

    response = await answer(request(f"/{MARK}"), missing)
    assert (response.status, body_of(response)["code"]) == (404, "not_found")


@pytest.mark.parametrize("path", OLD_PATHS)
async def test_where_the_old_transport_was_its_clients_are_told_what_is_served(path: str):
    async def missing(_: web.Request) -> web.StreamResponse:
        raise web.HTTPNotFound

    response = await answer(request(path), missing)
    assert (response.status, body_of(response)["error"]) == (404, OLD_TRANSPORT)


async def test_a_get_without_a_session_is_told_of_the_old_transport_as_well():
    async def wrong(_: web.Request) -> web.StreamResponse:
        raise web.HTTPMethodNotAllowed("GET", ["POST"])

    response = await answer(request("/mcp"), wrong)
    assert (response.status, body_of(response)["error"]) == (405, OLD_TRANSPORT)
    assert body_of(await answer(request("/mcp", method="DELETE"), wrong))["error"] != OLD_TRANSPORT


async def test_a_wrong_method_says_which_are_allowed():
    async def wrong(_: web.Request) -> web.StreamResponse:
        raise web.HTTPMethodNotAllowed("PUT", ["GET"])

    response = await answer(request(method="PUT"), wrong)
    assert (response.status, response.headers["Allow"], body_of(response)["code"]) == (405, "GET", "http_405")


async def test_a_strange_method_is_counted_as_other():
    metrics = Metrics()

    async def ok(_: web.Request) -> web.StreamResponse:
        return web.Response()

    await middleware(Guard(Settings()), metrics)(request(method=MARK), ok)
    assert 'method="other"' in metrics.text().decode()
    assert MARK not in metrics.text().decode()


@pytest.mark.parametrize("error", [ConnectionResetError(), ConnectionAbortedError()])
async def test_a_client_that_went_away_gets_no_answer(error: ConnectionError):
    async def gone(_: web.Request) -> web.StreamResponse:
        raise error

    with pytest.raises(ConnectionError):
        await answer(request(), gone)


def test_a_plain_refusal_is_one_object():
    response = plain(418, "teapot", "text", {"X": "1"})
    assert (response.status, response.headers["X"]) == (418, "1")
    assert body_of(response) == {"ok": False, "code": "teapot", "error": "text"}
    assert body_of(refused(StoreBusy(), protocol=False))["ok"] is False
