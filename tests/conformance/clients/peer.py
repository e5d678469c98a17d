"""What every client written in Python does: it registers, remembers a fact, is cut meanwhile, and recalls it twice.

Run by `tests/conformance/peers.py` in an environment that has no CodeSynapse; the environment says whom to call.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

URL = os.environ["PEER_URL"]
KEY = os.environ["PEER_KEY"]
SESSION = os.environ["PEER_SESSION"]
COMMAND: list[str] = json.loads(os.environ["PEER_COMMAND"])
"""How the server is started that is spoken to over pipes; empty where it is over HTTP."""
TRIPLE = {"subject": "Ada Lovelace", "predicate": "married", "object": "William King"}
REMEMBER = {"triples": [TRIPLE], "memory_scope": "session"}
RECALL = {"query": "Whom had Ada Lovelace married?"}
TRIES = 3
HEADERS = {
    "Authorization": f"Bearer {KEY}",
    "X-CodeSynapse-Session": SESSION,
    "X-CodeSynapse-Parent-Session": SESSION,
}

Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Calls a tool; its structured content. Raises where there was no answer, or an error."""
Connecting = Callable[[], AbstractAsyncContextManager[Call]]
"""Connects, and learns what tools there are."""


def register() -> None:
    """Register the chat session over REST; again where the launcher does it as well."""
    request = urllib.request.Request(
        URL.removesuffix("/mcp") + "/api/v1/execution/sessions",
        data=json.dumps({"session_id": SESSION}).encode(),
        headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status in (200, 201)


async def remember(connecting: Connecting) -> dict[str, Any]:
    """Remember the fact; where the answer was lost with its connection, and the client with it, connect once more."""
    for attempt in range(1, TRIES + 1):
        try:
            async with connecting() as call:
                answer = await call("upsert_graph_triples", REMEMBER)
                return {"tries": attempt, "added": answer["added"], "unchanged": answer["unchanged"]}
        except Exception as error:
            if attempt == TRIES:
                raise
            print(f"connects again after {type(error).__name__}", file=sys.stderr)
    raise AssertionError


async def recall(connecting: Connecting) -> list[str]:
    """The best fact, on a fresh connection."""
    async with connecting() as call:
        best = (await call("recall_context", RECALL))["facts"][0]
        return [best["subject"], best["predicate"], best["object"]]


async def run(connecting: Connecting, listed: list[str], version: Callable[[], str | None]) -> None:
    """All of it. listed, version: what was learnt on the last connection."""
    register()
    remembered = await remember(connecting)
    recalled = [await recall(connecting), await recall(connecting)]
    tell(**remembered, listed=listed, version=version(), recalled=recalled)


def tell(**said: object) -> None:
    """What happened, for whoever started this."""
    print(json.dumps(said))
