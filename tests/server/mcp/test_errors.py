"""A refusal as an object and as a JSON-RPC error."""

from __future__ import annotations

import json

from codesynapse.contracts.errors import Invalid, RevisionConflict, Unauthenticated
from codesynapse.server.mcp.errors import refusal, refusal_bytes
from codesynapse.server.mcp.messages import INVALID_REQUEST, RequestId


def test_a_refusal_says_code_and_text_and_only_what_it_has_beside():
    assert refusal(Unauthenticated()) == {"ok": False, "code": "unauthenticated", "error": Unauthenticated().message}


def test_a_refusal_names_field_limit_and_figures():
    body = refusal(Invalid(field="limit", limit=50))
    assert (body["field"], body["limit"]) == ("limit", 50)
    assert refusal(RevisionConflict(details={"revision": 7}))["revision"] == 7


def test_on_the_endpoint_it_is_a_json_rpc_error_with_the_object_as_its_data():
    answer = json.loads(refusal_bytes(Unauthenticated(), RequestId(b"3")))
    assert (answer["id"], answer["error"]["code"]) == (3, INVALID_REQUEST)
    assert answer["error"]["data"] == refusal(Unauthenticated())
    assert json.loads(refusal_bytes(Unauthenticated()))["id"] is None
