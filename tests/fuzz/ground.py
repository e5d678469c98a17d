"""Where drawn things are tried: the product's services over the memory store, and one execution."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mcp_types.methods import SERVER_RESULTS, validate_server_result

from codesynapse.contracts.identity import Execution
from codesynapse.server.app import Services, compose
from codesynapse.server.mcp.connection import Connection
from codesynapse.server.mcp.messages import RequestId
from codesynapse.server.settings import Settings
from tests.server.world import world

T = TypeVar("T")
CODES = {-32700, -32600, -32601, -32602, -32603, -32002, -32020, -32021, -32022}


@dataclass(kw_only=True)
class Ground:
    """A loop of its own, since each drawn thing comes from outside of any."""

    services: Services
    execution: Execution
    key: str
    loop: asyncio.AbstractEventLoop

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)


@dataclass(kw_only=True)
class Heard:
    """What a call said, as its session would have got it."""

    connection: Connection
    answers: list[bytes] = field(default_factory=list)
    asks = False
    shared = True

    @property
    def subscriptions(self) -> Any:
        raise NotImplementedError

    def notify(self, payload: bytes) -> None:
        message = json.loads(payload)
        assert (message["jsonrpc"], "id" in message) == ("2.0", False)

    def answer(self, _: RequestId, payload: bytes) -> None:
        self.answers.append(payload)

    def silence(self, _: RequestId) -> None: ...

    def close_stream(self) -> None: ...


@contextmanager
def ground() -> Iterator[Ground]:
    """A fresh one."""
    loop = asyncio.new_event_loop()
    opening = world()
    here = loop.run_until_complete(opening.__aenter__())
    try:
        caller = loop.run_until_complete(here.user("ana"))
        execution = loop.run_until_complete(here.execution(caller, "s"))
        services = compose(Settings(graph="memory", accounts="memory"), here.ports, clock=here.clock)
        yield Ground(services=services, execution=execution, key=here.keys["ana"], loop=loop)
    finally:
        loop.run_until_complete(opening.__aexit__(None, None, None))
        loop.close()


def check_answer(answer: bytes, method: str, version: str) -> dict[str, Any]:
    """One line of ASCII: a result that the revision's own schema knows, or an error with a code of ours."""
    assert answer.isascii()
    assert b"\n" not in answer
    response: dict[str, Any] = json.loads(answer)
    assert response["jsonrpc"] == "2.0"
    assert response.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    if "error" in response:
        error = response["error"]
        assert (error["code"] in CODES, type(error["message"])) == (True, str)
    elif (method, version) in SERVER_RESULTS:
        validate_server_result(method, version, response["result"])
    return response
