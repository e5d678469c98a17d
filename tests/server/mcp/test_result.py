"""What every result of the stateless revisions says beside its content (mcp.md, N15 to N19, N23)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codesynapse.server.mcp.connection import ServerInfo
from codesynapse.server.mcp.messages import RESOURCE_NOT_FOUND, ProtocolError, RequestId
from codesynapse.server.mcp.result import CACHED, SERVER_KEY, SUBSCRIPTION_KEY, Results, capability_missing, error_of

RESULTS = Results(ServerInfo(name="n", title="t", version="v", instructions="do"))
ID = RequestId(b'"a"')


def told(payload: bytes) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(payload)
    assert (message["jsonrpc"], message["id"]) == ("2.0", "a")
    found: dict[str, Any] = message["result"]
    assert found["_meta"][SERVER_KEY] == {"name": "n", "title": "t", "version": "v"}
    return found


@pytest.mark.parametrize("method", CACHED)
def test_what_can_be_cached_is_private_and_says_for_how_long(method: str):
    result = told(RESULTS.complete(ID, method, {"x": 1}))
    assert (result["x"], result["resultType"], result["cacheScope"]) == (1, "complete", "private")
    assert result["ttlMs"] >= 0


def test_memory_is_never_answered_from_a_cache():
    assert CACHED["resources/read"] == CACHED["resources/list"] == 0


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "completion/complete"])
def test_what_cannot_be_cached_says_nothing_of_it(method: str):
    assert not {"ttlMs", "cacheScope"} & told(RESULTS.complete(ID, method, {})).keys()


def test_a_results_own_meta_stays():
    assert told(RESULTS.complete(ID, "tools/call", {"_meta": {"own": 1}}))["_meta"]["own"] == 1


def test_a_discovery_names_all_revisions_and_only_what_there_is():
    result = told(RESULTS.discovered(ID, {"tools": {}}))
    assert result["supportedVersions"] == ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]
    assert result["capabilities"] == {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
    assert (result["instructions"], result["cacheScope"]) == ("do", "private")


def test_a_request_for_input_has_no_cache_hints():
    result = told(RESULTS.input_required(ID, {"who": {"method": "roots/list", "params": {}}}, "state"))
    assert (result["resultType"], result["requestState"]) == ("input_required", "state")
    assert result["inputRequests"] == {"who": {"method": "roots/list", "params": {}}}
    assert "ttlMs" not in result


def test_a_task_is_flat_and_of_its_own_type():
    assert told(RESULTS.task(ID, {"taskId": "x"}))["resultType"] == "task"
    assert told(RESULTS.task(ID, {"taskId": "x"}))["taskId"] == "x"


@pytest.mark.parametrize("request_id", [b'"a"', b"7"])
def test_the_end_of_a_subscription_names_it_with_the_type_of_its_id(request_id: bytes):
    result = json.loads(RESULTS.ended(RequestId(request_id)))["result"]
    assert result["_meta"][SUBSCRIPTION_KEY] == json.loads(request_id)


def test_a_missing_resource_has_the_code_of_this_era():
    error = json.loads(error_of(ProtocolError(RESOURCE_NOT_FOUND, "gone", data={"uri": "a:b"}), ID))["error"]
    assert error == {"code": -32602, "message": "gone", "data": {"uri": "a:b"}}


def test_a_missing_capability_is_named_as_an_object():
    error = json.loads(error_of(capability_missing({"sampling": {}}, ID), ID))["error"]
    assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": {"sampling": {}}})
