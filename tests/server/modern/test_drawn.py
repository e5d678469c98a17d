"""Whatever is asked, there is one answer: valid by the revision's own schema, or an error with a code of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_types.methods import validate_server_result

from codesynapse.contracts.identity import Execution
from codesynapse.server.mcp.connection import LOG_LEVELS
from codesynapse.server.mcp.messages import ProtocolError, Request, parse
from codesynapse.server.mcp.request import status_of_code
from codesynapse.server.mcp.result import error_of
from codesynapse.server.modern.service import METHODS
from codesynapse.server.services import Services, compose
from codesynapse.server.settings import Settings
from tests.integration.stateless import KEY, LATEST
from tests.server.world import world

CODES = {-32600, -32601, -32602, -32603, -32020, -32021, -32022}
ASKED = sorted(METHODS - {"subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel"})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
TOOLS = ("recall_context", "upsert_graph_triples", "search_graph_nodes", "query_subgraph", "nothing")
ARGUMENTS = ("query", "limit", "triples", "repo", "nodes", "memory_scope", "text")
NAMES = st.sampled_from((*TOOLS, "answer_from_memory", "remember_this", ""))
METAS = st.fixed_dictionaries(
    {},
    optional={
        KEY + "protocolVersion": st.just(LATEST) | st.just(LATEST) | VALUES,
        KEY + "clientCapabilities": st.just({}) | st.just({"elicitation": {}}) | VALUES,
        KEY + "logLevel": st.sampled_from(LOG_LEVELS) | VALUES,
        "progressToken": VALUES,
    },
)
WHOLE = st.just({KEY + "protocolVersion": LATEST, KEY + "clientCapabilities": {}})
PARAMS = st.fixed_dictionaries(
    {"_meta": WHOLE | WHOLE | METAS | VALUES},
    optional={
        "name": NAMES | VALUES,
        "uri": st.sampled_from(("memory://default", "x:y")) | VALUES,
        "cursor": VALUES,
        "arguments": st.dictionaries(st.sampled_from(ARGUMENTS), VALUES, max_size=3) | VALUES,
        "ref": st.fixed_dictionaries({"type": st.sampled_from(("ref/prompt", "ref/resource")), "name": NAMES}) | VALUES,
        "argument": st.fixed_dictionaries({"name": st.text(max_size=4), "value": st.text(max_size=4)}) | VALUES,
        "inputResponses": VALUES,
        "requestState": st.text(max_size=40) | VALUES,
    },
)
HEADERS = st.dictionaries(
    st.sampled_from(("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-region")),
    st.lists(st.text(max_size=12), max_size=2),
    max_size=2,
)


class Answerer:
    """The service under one execution, on a loop of its own, since each drawn request is a call from outside."""

    def __init__(self, services: Services, execution: Execution, loop: asyncio.AbstractEventLoop) -> None:
        self.services = services
        self.execution = execution
        self.loop = loop
        self.statuses: set[int] = set()

    def response(self, request: Request, headers: dict[str, list[str]] | None) -> dict[str, Any]:
        """The one answer, as the shells would send it."""

        async def answered() -> bytes:
            modern = self.services.modern
            try:
                asked = modern.checked(request, headers, None)
                return await modern.answer(asked, self.execution, None, lambda _: None)
            except ProtocolError as error:
                self.statuses.add(status_of_code(error.code))
                return error_of(error, request.id)

        found: dict[str, Any] = json.loads(self.loop.run_until_complete(answered()))
        return found


@contextmanager
def answerer() -> Iterator[Answerer]:
    loop = asyncio.new_event_loop()
    opening = world()
    here = loop.run_until_complete(opening.__aenter__())
    try:
        caller = loop.run_until_complete(here.user("ana"))
        execution = loop.run_until_complete(here.execution(caller, "s"))
        services = compose(Settings(graph="memory", accounts="memory"), here.ports, clock=here.clock)
        yield Answerer(services, execution, loop)
    finally:
        loop.run_until_complete(opening.__aexit__(None, None, None))
        loop.close()


def test_every_drawn_request_gets_one_answer_that_its_revision_knows():
    with answerer() as asking:

        @settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
        @given(
            st.sampled_from(ASKED) | st.text(max_size=8),
            PARAMS,
            st.none() | HEADERS,
            st.integers() | st.text(max_size=5),
        )
        def check(method: str, params: Any, headers: Any, request_id: Any) -> None:
            body = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
            try:
                request = parse(json.dumps(body).encode(), deepest=64)
            except ProtocolError:
                return  # A lone surrogate, or an id of too many digits: what it is not, test_messages.py shows.
            assert isinstance(request, Request)
            if headers is not None:
                headers = {"mcp-protocol-version": [LATEST], "mcp-method": [method], **headers}
            response = asking.response(request, headers)
            assert (response["jsonrpc"], response["id"]) == ("2.0", request_id)
            if "error" in response:
                assert response["error"]["code"] in CODES
                return
            assert response["result"]["resultType"] in ("complete", "input_required")
            assert response["result"]["_meta"][KEY + "serverInfo"]["name"] == "codesynapse"
            validate_server_result(method, LATEST, response["result"])

        check()
        assert asking.statuses <= {400, 404, 500}
