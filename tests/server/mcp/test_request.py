"""The checks of a stateless request, one by one and in their order (mcp.md, §0.8 and N6 to N11)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codesynapse.server.mcp.connection import LOG_LEVELS, VERSIONS
from codesynapse.server.mcp.era import VERSION_KEY
from codesynapse.server.mcp.header import declarations
from codesynapse.server.mcp.messages import Notification, ProtocolError, Raw, Request, RequestId
from codesynapse.server.mcp.request import (
    CAPABILITIES_KEY,
    LOG_LEVEL_KEY,
    Asked,
    check_notification,
    checked,
    status_of_code,
)

LATEST = "2026-07-28"
META = {VERSION_KEY: LATEST, CAPABILITIES_KEY: {}}
METHODS = frozenset({"server/discover", "tools/list", "tools/call", "resources/read", "prompts/get", "tasks/get"})
SCHEMA = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


def asked(
    method: str, params: dict[str, Any] | None = None, headers: dict[str, Any] | None = None, **meta: Any
) -> Asked:
    """A request, with the headers that belong to it unless others are given; a header of None is left out."""
    told = {"_meta": META | meta} | (params or {})
    sent: dict[str, Any] = {"mcp-protocol-version": [LATEST], "mcp-method": [method]}
    named = told.get("name", told.get("uri", told.get("taskId")))
    if isinstance(named, str):
        sent["mcp-name"] = [named]
    sent |= headers or {}
    return checked(
        Request(RequestId(b"7"), method, Raw(json.dumps(told).encode())),
        {name: values for name, values in sent.items() if values is not None},
        methods=METHODS,
        declared=lambda name: declarations(SCHEMA) if name == "where" else {},
    )


def refused(*arguments: Any, **named: Any) -> ProtocolError:
    with pytest.raises(ProtocolError) as raised:
        asked(*arguments, **named)
    assert raised.value.request_id == b"7"
    return raised.value


def test_a_sound_request_tells_what_its_handler_needs():
    found = asked("tools/call", {"name": "say"}, **{LOG_LEVEL_KEY: "debug", "progressToken": "t"})
    assert (found.id, found.method, found.log_level, found.progress_token) == (b"7", "tools/call", "debug", "t")
    plain = asked("tools/list")
    assert (plain.log_level, plain.progress_token, plain.capabilities) == (None, None, {})


def test_only_what_came_without_headers_came_from_the_one_client_of_a_process():
    request = Request(RequestId(b"7"), "tools/list", Raw(json.dumps({"_meta": META}).encode()))
    assert not checked(request, None, methods=METHODS, declared=lambda _: {}).shared
    assert asked("tools/list").shared


@pytest.mark.parametrize(
    "meta",
    [
        None,
        {},
        [],
        "x",
        {VERSION_KEY: LATEST},
        {CAPABILITIES_KEY: {}},
        {VERSION_KEY: 20260728, CAPABILITIES_KEY: {}},
        {VERSION_KEY: None, CAPABILITIES_KEY: {}},
        {VERSION_KEY: LATEST, CAPABILITIES_KEY: []},
        {VERSION_KEY: LATEST, CAPABILITIES_KEY: None},
        {**META, LOG_LEVEL_KEY: "loud"},
        {**META, LOG_LEVEL_KEY: None},
        {**META, LOG_LEVEL_KEY: ["info"]},
        {**META, "progressToken": 1.5},
        {**META, "progressToken": {}},
    ],
)
def test_a_meta_that_is_missing_or_malformed_is_refused_before_anything_else(meta: object):
    wrong_everywhere = {"mcp-protocol-version": ["1900-01-01"], "mcp-method": None}
    assert refused("nothing", {"_meta": meta}, wrong_everywhere).code == -32602


def test_a_client_that_does_not_say_its_name_is_served_and_so_is_one_whose_name_is_odd():
    assert asked("tools/list", **{"io.modelcontextprotocol/clientInfo": 5}).method == "tools/list"


@pytest.mark.parametrize("level", LOG_LEVELS)
def test_every_level_is_known(level: str):
    assert asked("tools/list", **{LOG_LEVEL_KEY: level}).log_level == level


@pytest.mark.parametrize("header", [None, [], ["2025-11-25"], [""], [LATEST, LATEST], [LATEST.upper() + " "]])
def test_the_version_header_must_repeat_the_version_once(header: object):
    assert refused("tools/list", headers={"mcp-protocol-version": header}).code == -32020


@pytest.mark.parametrize("header", [None, ["TOOLS/LIST"], ["tools/call"], ["tools/list", "tools/list"], [""]])
def test_the_method_header_must_repeat_the_method_once(header: object):
    assert refused("tools/list", headers={"mcp-method": header}).code == -32020


@pytest.mark.parametrize(
    ("method", "member"),
    [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri"), ("tasks/get", "taskId")],
)
def test_the_name_header_must_repeat_what_is_named(method: str, member: str):
    assert asked(method, {member: "a b"}, {"mcp-name": ["=?base64?YSBi?="]}).method == method
    for header in (None, [""], ["A B"], ["a b", "a b"], ["=?base64?YSBi?=x"], ["=?base64?YSB?="], ["a\x01b"]):
        assert refused(method, {member: "a b"}, {"mcp-name": header}).code == -32020, header


def test_a_name_that_is_not_in_the_body_must_not_be_in_the_header():
    assert refused("tools/call", {}, {"mcp-name": ["say"]}).code == -32020
    assert refused("tools/call", {"name": 5}, {"mcp-name": ["5"]}).code == -32020
    # Without either, it is the handler that misses the name.
    assert asked("tools/call", {}).method == "tools/call"


def test_a_method_without_a_name_is_not_asked_for_one():
    assert asked("tools/list", headers={"mcp-name": ["anything"]}).method == "tools/list"


def test_a_declared_parameter_must_stand_in_its_header():
    call = {"name": "where", "arguments": {"region": "eu"}}
    assert asked("tools/call", call, {"mcp-param-region": ["eu"]}).method == "tools/call"
    assert refused("tools/call", call).code == -32020
    assert refused("tools/call", call, {"mcp-param-region": ["us"]}).code == -32020
    assert refused("tools/call", {"name": "where"}, {"mcp-param-region": ["eu"]}).code == -32020
    # A tool that declares none, and one that is unknown, have none to check.
    assert asked("tools/call", call | {"name": "say"}).method == "tools/call"
    assert asked("tools/call", call | {"arguments": [], "name": "where"}).method == "tools/call"


def test_a_client_that_disagrees_with_itself_hears_that_before_it_hears_of_versions():
    assert refused("tools/list", headers={"mcp-method": ["x"]}, **{VERSION_KEY: "2027-01-01"}).code == -32020


@pytest.mark.parametrize("version", ["2027-01-01", "v999.0.0", "2025-11-25", ""])
def test_a_version_that_is_not_served_is_refused_with_those_that_are(version: str):
    error = refused("nothing", headers={"mcp-protocol-version": [version]}, **{VERSION_KEY: version})
    assert (error.code, error.data) == (-32022, {"supported": [LATEST, *VERSIONS], "requested": version})


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/list", ""])
def test_a_method_that_is_gone_or_never_was_does_not_exist(method: str):
    error = refused(method)
    assert (error.code, status_of_code(error.code)) == (-32601, 404)
    assert (error.data is not None) == (method == "initialize")


def test_without_headers_there_is_nothing_to_compare():
    request = Request(RequestId(b'"a"'), "tools/call", Raw(json.dumps({"_meta": META, "name": "where"}).encode()))
    found = checked(request, None, methods=METHODS, declared=lambda _: declarations(SCHEMA))
    assert found.id == b'"a"'


def test_an_extension_is_spoken_only_where_it_was_declared_as_an_object():
    def speaks(capabilities: Any) -> bool:
        return asked("tools/list", **{CAPABILITIES_KEY: capabilities}).extends("x/y")

    assert speaks({"extensions": {"x/y": {}}})
    for other in ({}, {"extensions": {}}, {"extensions": []}, {"extensions": {"x/y": True}}, {"x/y": {}}):
        assert not speaks(other), other


@pytest.mark.parametrize("version", [None, LATEST, "2025-11-25", "x"])
def test_a_notification_is_taken_at_every_version_that_is_served(version: str | None):
    check_notification(Notification("notifications/cancelled", Raw(b"{}")), version)


def test_a_notification_of_a_later_version_is_refused():
    with pytest.raises(ProtocolError) as raised:
        check_notification(Notification("anything", Raw(b"{}")), "2027-01-01")
    assert raised.value.code == -32022


@pytest.mark.parametrize(
    ("code", "status"),
    [(-32700, 400), (-32600, 400), (-32602, 400), (-32603, 500), (-32020, 400), (-32021, 400), (-32022, 400)],
)
def test_each_code_has_its_status(code: int, status: int):
    assert status_of_code(code) == status
