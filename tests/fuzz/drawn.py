"""What is drawn: messages that are nearly right, bytes that were damaged on the way, and plain noise."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from codesynapse.server.mcp.connection import LOG_LEVELS, RUN, UNBOUND
from codesynapse.server.mcp.era import VERSION_KEY
from codesynapse.server.mcp.request import CAPABILITIES_KEY, LOG_LEVEL_KEY
from codesynapse.server.modern.service import METHODS

LATEST = "2026-07-28"
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
        VERSION_KEY: st.just(LATEST) | st.just(LATEST) | VALUES,
        CAPABILITIES_KEY: st.just({}) | st.just({"elicitation": {}}) | VALUES,
        LOG_LEVEL_KEY: st.sampled_from(LOG_LEVELS) | VALUES,
        "progressToken": VALUES,
    },
)
WHOLE = st.just({VERSION_KEY: LATEST, CAPABILITIES_KEY: {}})
MEMBERS = {
    "name": NAMES | VALUES,
    "uri": st.sampled_from(("memory://default", "x:y")) | VALUES,
    "cursor": VALUES,
    "arguments": st.dictionaries(st.sampled_from(ARGUMENTS), VALUES, max_size=3) | VALUES,
    "ref": st.fixed_dictionaries({"type": st.sampled_from(("ref/prompt", "ref/resource")), "name": NAMES}) | VALUES,
    "argument": st.fixed_dictionaries({"name": st.text(max_size=4), "value": st.text(max_size=4)}) | VALUES,
    "inputResponses": VALUES,
    "requestState": st.text(max_size=40) | VALUES,
    "level": st.sampled_from(LOG_LEVELS) | VALUES,
    "protocolVersion": VALUES,
    "requestId": VALUES,
}
MODERN_PARAMS = st.fixed_dictionaries({"_meta": WHOLE | WHOLE | METAS | VALUES}, optional=MEMBERS)
LEGACY_PARAMS = st.fixed_dictionaries({}, optional={**MEMBERS, "_meta": METAS | VALUES})
IDS = st.integers() | st.text(max_size=5)
LEGACY_METHODS = st.sampled_from(sorted({*RUN, *UNBOUND})) | st.text(max_size=8)
NOTIFIED = st.sampled_from(("notifications/initialized", "notifications/cancelled", "notifications/nothing"))


def _message(**members: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"jsonrpc": st.just("2.0"), **members})


REQUESTS = _message(id=IDS, method=LEGACY_METHODS, params=LEGACY_PARAMS)
MODERN_REQUESTS = _message(id=IDS, method=st.sampled_from(sorted(METHODS)), params=MODERN_PARAMS)
NOTIFICATIONS = _message(method=NOTIFIED, params=LEGACY_PARAMS)
RESPONSES = _message(id=IDS, result=VALUES) | _message(id=IDS, error=VALUES)
CROOKED = st.fixed_dictionaries(
    {}, optional={"jsonrpc": VALUES, "id": VALUES, "method": VALUES, "params": VALUES, "result": VALUES}
)
LEGACY_MESSAGES = REQUESTS | REQUESTS | NOTIFICATIONS | RESPONSES | CROOKED | VALUES


@st.composite
def damaged(draw: st.DrawFn, texts: st.SearchStrategy[bytes]) -> bytes:
    """A text in which some bytes were cut out, repeated, or replaced."""
    text = draw(texts)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 8)))
        text = text[:start] + draw(st.binary(max_size=4) | st.just(text[start:end] * 2)) + text[end:]
    return text


def as_bytes(messages: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """Messages as they come over a wire: whole ones mostly, damaged ones, and noise."""
    whole = messages.map(lambda each: json.dumps(each).encode())
    return whole | whole | damaged(whole) | st.binary(max_size=40)
