"""What each message of a protocol session does, without any I/O."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codesynapse.contracts.errors import ExecutionMissing, RebindRefused
from codesynapse.contracts.identity import Identity
from codesynapse.server.mcp.catalog import Catalog
from codesynapse.server.mcp.connection import (
    LOG_LEVELS,
    RUN,
    Accepted,
    Cancel,
    Connection,
    Reply,
    Run,
    ServerInfo,
    has_structured_content,
)
from codesynapse.server.mcp.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Notification,
    ProtocolError,
    Raw,
    Request,
    RequestId,
    Response,
)

INFO = ServerInfo(name="n", title="t", version="1", instructions="i")
TOOL = {"name": "tool", "title": "T", "inputSchema": {}, "outputSchema": {}}


def identity(session_id: str = "s") -> Identity:
    return Identity(tenant_id="t", subject_id="u", session_id=session_id, parent_session_id=session_id)


def connection(version: str = "2025-11-25", *, bound: bool = True) -> Connection:
    catalog = Catalog()
    catalog.add(TOOL, toolset="a")
    made = Connection(catalog, INFO)
    made.open(initialize(version))
    if bound:
        made.bind(identity())
    return made


def request(method: str, params: object = None, raw_id: bytes = b"1") -> Request:
    return Request(RequestId(raw_id), method, Raw(json.dumps(params or {}).encode()))


def notification(method: str, params: object = None) -> Notification:
    return Notification(method, Raw(json.dumps(params or {}).encode()))


def initialize(version: object) -> Request:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    return request("initialize", params)


def result(effect: object) -> Any:
    assert isinstance(effect, Reply)
    return json.loads(effect.payload)["result"]


def code_of(made: Connection, message: Request, toolsets: frozenset[str] | None = None) -> int:
    with pytest.raises(ProtocolError) as caught:
        made.receive(message, toolsets)
    assert caught.value.request_id == message.id
    return caught.value.code


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [(each, each) for each in ("2025-11-25", "2025-06-18", "2025-03-26")]
    + [(each, "2025-11-25") for each in ("1900-01-01", "2026-07-28", "2024-11-05", "", "x")],
)
def test_a_known_revision_is_agreed_on_and_the_newest_offered_for_any_other(asked: str, agreed: str):
    made = Connection(Catalog(), INFO)
    answer = result(made.open(initialize(asked)))
    assert (answer["protocolVersion"], made.version) == (agreed, agreed)


@pytest.mark.parametrize("missing", ["protocolVersion", "capabilities", "clientInfo"])
def test_initialize_without_one_of_its_parameters_is_invalid_and_opens_nothing(missing: str):
    made = Connection(Catalog(), INFO)
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
    del params[missing]
    with pytest.raises(ProtocolError) as caught:
        made.open(request("initialize", params))
    assert (caught.value.code, made.version) == (INVALID_PARAMS, "")


def test_initialize_comes_once():
    assert code_of(connection(), initialize("2025-11-25")) == INVALID_REQUEST


def test_a_tool_is_called_after_initialize_and_a_ping_is_answered_before():
    catalog = Catalog()
    catalog.add(TOOL, toolset="a")
    made = Connection(catalog, INFO)
    made.bind(identity())
    assert code_of(made, request("tools/call", {"name": "tool"})) == INVALID_REQUEST
    assert code_of(made, request("server/discover")) == METHOD_NOT_FOUND
    assert result(made.receive(request("ping"))) == {}
    made.open(initialize("2025-11-25"))
    assert isinstance(made.receive(request("tools/call", {"name": "tool"})), Run)


def test_only_what_works_is_declared_as_a_capability():
    made = Connection(Catalog(), INFO)
    assert result(made.open(initialize("2025-11-25")))["capabilities"] == {"tools": {}, "logging": {}}


def test_the_first_revision_sees_no_title_and_no_output_schema():
    for version, younger in (("2025-03-26", False), ("2025-06-18", True)):
        made = Connection(Catalog(), INFO)
        assert ("title" in result(made.open(initialize(version)))["serverInfo"]) == younger
        (tool,) = result(connection(version).receive(request("tools/list")))["tools"]
        assert ("outputSchema" in tool, "title" in tool) == (younger, younger)
        assert has_structured_content(version) == younger


def test_only_the_newest_revision_is_primed():
    assert [connection(version).primed for version in ("2025-11-25", "2025-06-18", "2025-03-26")] == [
        True,
        False,
        False,
    ]


def test_a_binding_is_written_once():
    made = connection(bound=False)
    made.bind(None)
    made.bind(identity())
    made.bind(identity())
    with pytest.raises(RebindRefused):
        made.bind(identity("other"))
    with pytest.raises(ExecutionMissing):
        made.bind(None)
    assert made.identity == identity()


@pytest.mark.parametrize("method", ["ping", "logging/setLevel", "tools/list"])
def test_what_needs_no_execution_answers_before_the_binding(method: str):
    params = {"level": "info"} if method == "logging/setLevel" else None
    assert isinstance(connection(bound=False).receive(request(method, params)), Reply)


@pytest.mark.parametrize("method", ["tools/call", "resources/list", "prompts/get", "server/discover"])
def test_anything_else_is_refused_before_the_binding(method: str):
    with pytest.raises(ExecutionMissing):
        connection(bound=False).receive(request(method, {"name": "tool"}))


def test_ping_is_answered_with_an_empty_result():
    assert result(connection().receive(request("ping"))) == {}


@pytest.mark.parametrize("method", ["server/discover", "resources/list", "", "tools/Call", "notifications/initialized"])
def test_an_unknown_method_is_told_so(method: str):
    assert code_of(connection(), request(method)) == METHOD_NOT_FOUND


def test_a_call_runs_the_tool_with_its_raw_arguments_and_token():
    params = {"name": "tool", "arguments": {"a": 1}, "_meta": {"progressToken": 7}}
    effect = connection().receive(request("tools/call", params, b'"x"'))
    assert isinstance(effect, Run)
    assert (effect.request_id, effect.method, effect.name, effect.progress_token) == (b'"x"', "tools/call", "tool", 7)
    assert json.loads(bytes(effect.params)) == params


def test_a_call_without_a_token_asks_for_no_progress():
    effect = connection().receive(request("tools/call", {"name": "tool"}))
    assert isinstance(effect, Run)
    assert effect.progress_token is None


@pytest.mark.parametrize(
    "params",
    [{}, {"name": 1}, {"name": "other"}, {"name": "tool", "_meta": {"progressToken": 1.5}}, {"name": "Tool"}],
)
def test_an_unknown_tool_or_a_malformed_token_is_invalid(params: dict[str, Any]):
    assert code_of(connection(), request("tools/call", params)) == INVALID_PARAMS


def test_a_hidden_tool_is_unknown():
    message = request("tools/call", {"name": "tool"})
    effect = connection().receive(message, frozenset({"a"}))
    assert isinstance(effect, Run)
    assert effect.toolsets == {"a"}
    assert code_of(connection(), message, frozenset({"b"})) == INVALID_PARAMS
    assert result(connection().receive(request("tools/list"), frozenset({"b"})))["tools"] == []


@pytest.mark.parametrize("cursor", ["x", "", 5])
def test_a_cursor_that_we_did_not_give_is_invalid(cursor: object):
    assert code_of(connection(), request("tools/list", {"cursor": cursor})) == INVALID_PARAMS


def test_the_level_filters_logs():
    made = connection()
    assert [made.logs(level) for level in ("debug", "info", "error")] == [False, True, True]
    made.receive(request("logging/setLevel", {"level": "error"}))
    assert [made.logs(level) for level in ("warning", "error", "emergency")] == [False, True, True]


@pytest.mark.parametrize("params", [{}, {"level": "loud"}, {"level": 3}, {"level": "INFO"}])
def test_an_unknown_level_is_invalid_and_changes_nothing(params: dict[str, Any]):
    made = connection()
    assert code_of(made, request("logging/setLevel", params)) == INVALID_PARAMS
    assert made.log_level == "info"


def test_the_levels_are_those_of_syslog_in_their_order():
    assert LOG_LEVELS == ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


def test_the_session_is_initialized_by_the_notification():
    made = connection()
    assert not made.initialized
    assert made.receive(notification("notifications/initialized")) == Accepted()
    assert made.initialized


def test_a_cancellation_names_the_request_by_its_very_bytes():
    effect = connection().receive(notification("notifications/cancelled", {"requestId": "1"}))
    assert effect == Cancel(RequestId(b'"1"'))
    assert connection().receive(notification("notifications/cancelled", {"requestId": 1})) == Cancel(RequestId(b"1"))


@pytest.mark.parametrize("method", ["notifications/cancelled", "notifications/other", ""])
def test_a_malformed_or_unknown_notification_is_accepted_and_ignored(method: str):
    assert connection().receive(notification(method)) == Accepted()


def test_a_response_goes_to_who_asked_and_to_nobody_else():
    made, heard = connection(), list[Response]()
    assert made.receive(Response(RequestId(b"1"))) == Accepted()
    made.asked[RequestId(b'"a"')] = heard.append
    answer = Response(RequestId(b'"a"'), Raw(b"{}"))
    assert made.receive(Response(RequestId(b'"b"'), Raw(b"{}"))) == Accepted()
    assert [made.receive(answer), made.receive(answer)] == [Accepted(), Accepted()]
    assert (heard, made.asked) == ([answer], {})


DECLARED = {"elicitation": {}, "sampling": {"tools": {}}, "roots": {}, "experimental": {"x": {}}}


@pytest.mark.parametrize(
    ("version", "kept"),
    [
        ("2025-11-25", {"elicitation": {"form": {}}, "sampling": {"tools": {}}, "roots": {}}),
        ("2025-06-18", {"elicitation": {"form": {}}, "sampling": {"tools": {}}, "roots": {}}),
        ("2025-03-26", {"sampling": {"tools": {}}, "roots": {}}),
    ],
)
def test_what_the_client_declared_is_remembered_as_far_as_its_revision_knows_it(version: str, kept: dict[str, Any]):
    made = Connection(Catalog(), INFO)
    params = {"protocolVersion": version, "capabilities": DECLARED, "clientInfo": {}}
    made.open(request("initialize", params))
    assert made.capabilities == kept


def furnished() -> Connection:
    """A connection to a server with a prompt, a template and completion."""
    catalog = Catalog()
    catalog.add_prompt({"name": "p", "title": "P"})
    catalog.add_template({"uriTemplate": "t://{x}", "title": "T"})
    catalog.resources = catalog.completes = True
    made = Connection(catalog, INFO)
    made.open(initialize("2025-11-25"))
    return made


def test_every_capability_is_declared_with_what_it_stands_for():
    catalog = furnished()._catalog
    answer = result(Connection(catalog, INFO).open(initialize("2025-11-25")))
    assert answer["capabilities"] == {
        "tools": {},
        "prompts": {},
        "resources": {"subscribe": True},
        "completions": {},
        "logging": {},
    }
    catalog.changing |= {"tools", "prompts"}
    answer = result(Connection(catalog, INFO).open(initialize("2025-11-25")))
    assert [kind for kind, said in answer["capabilities"].items() if said.get("listChanged")] == ["tools", "prompts"]


def test_static_lists_answer_before_the_binding_and_what_needs_a_store_does_not():
    made = furnished()
    assert result(made.receive(request("prompts/list")))["prompts"] == [{"name": "p", "title": "P"}]
    assert len(result(made.receive(request("resources/templates/list")))["resourceTemplates"]) == 1
    for method in RUN:
        with pytest.raises(ExecutionMissing):
            made.receive(request(method, {"name": "p"}))


@pytest.mark.parametrize("method", sorted(set(RUN) - {"tools/call"}))
def test_a_method_runs_where_its_capability_is_declared_and_is_unknown_elsewhere(method: str):
    made = furnished()
    assert code_of(connection(), request(method)) == METHOD_NOT_FOUND
    made.bind(identity())
    assert made.receive(request(method, {"name": "p"})) == Run(
        RequestId(b"1"), method, Raw(b'{"name": "p"}'), "p", None
    )


def test_nothing_runs_before_initialize():
    made = Connection(furnished()._catalog, INFO)
    made.bind(identity())
    for method in RUN:
        assert code_of(made, request(method)) == INVALID_REQUEST
