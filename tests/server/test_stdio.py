"""The shell on two descriptors: pipes as a client's, the memory store behind it, nothing mocked."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec import Struct

from codesynapse.contracts.errors import CodeSynapseError, SessionNotRegistered, Unauthenticated
from codesynapse.contracts.identity import Execution
from codesynapse.server import stdio
from codesynapse.server.limits import Limits
from codesynapse.server.services import Services, compose
from codesynapse.server.settings import Settings
from codesynapse.server.stdio import UNWRITTEN_MAX, StdioShell
from codesynapse.server.tools.registry import Tool, ToolContext
from tests.server.world import World, world

HANG_S = 30
LATEST = "2025-11-25"


class Nothing(Struct, forbid_unknown_fields=True):
    """No arguments, or no answer."""


@dataclass(kw_only=True)
class Client:
    """A client of a shell, at the other ends of its pipes."""

    here: World
    services: Services
    shell: StdioShell
    write_fd: int
    read_fd: int
    serving: asyncio.Task[None]
    started: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    rest: bytes = b""

    def send(self, *messages: object) -> None:
        """Lines; bytes go out as they are."""
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            os.write(self.write_fd, line + b"\n")

    async def line(self) -> bytes:
        """The next raw line."""
        async with asyncio.timeout(HANG_S):
            while b"\n" not in self.rest:
                chunk = await asyncio.to_thread(os.read, self.read_fd, 65_536)
                if not chunk:
                    raise EOFError
                self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    async def answer(self) -> Any:
        return json.loads(await self.line())

    async def end(self) -> list[Any]:
        """End the input; everything that still comes."""
        os.close(self.write_fd)
        self.write_fd = -1
        answers = []
        with suppress(EOFError):
            while True:
                answers.append(await self.answer())
        return answers

    async def initialize(self, version: str = LATEST) -> None:
        self.send(request(0, "initialize", protocolVersion=version, capabilities={}, clientInfo={}))
        assert (await self.answer())["result"]["protocolVersion"] == version
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


def request(request_id: object, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def call(request_id: object, tool: str, **arguments: Any) -> dict[str, Any]:
    return request(request_id, "tools/call", name=tool, arguments=arguments)


def register_waiting(client: Client) -> None:
    """A tool that waits until the test lets it go on."""

    async def wait(_: Execution, __: Nothing, ___: ToolContext) -> Nothing:
        client.started.set()
        await client.go_on.wait()
        return Nothing()

    client.services.toolbox.register(
        Tool(
            name="wait",
            title="Wait",
            description="Waits.",
            toolset="test",
            arguments=Nothing,
            answer=Nothing,
            handler=wait,
            read_only=True,
        )
    )


@asynccontextmanager
async def connected(**limits: int) -> AsyncIterator[Client]:
    """A served client, bound to Ana's session `s`."""
    async with world() as here:
        await here.sessions.register(await here.user("ana"), "s")
        services = compose(Settings(graph="memory", accounts="memory", **limits), here.ports, clock=here.clock)  # type: ignore[arg-type]
        shell = shell_of(services, key=here.keys["ana"])
        await shell.open()
        (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
        client = Client(
            here=here,
            services=services,
            shell=shell,
            write_fd=our_out,
            read_fd=our_in,
            serving=asyncio.create_task(shell.serve(their_in, their_out)),
        )
        client.serving.add_done_callback(lambda _: os.close(their_out))
        register_waiting(client)
        try:
            yield client
        finally:
            if client.write_fd >= 0:
                os.close(client.write_fd)
            async with asyncio.timeout(HANG_S):
                await client.serving
            os.close(our_in)
            os.close(their_in)


def shell_of(services: Services, *, key: str, session_id: str = "s") -> StdioShell:
    return StdioShell(
        sessions=services.sessions,
        calls=services.calls,
        modern=services.modern,
        info=services.info,
        limits=services.limits,
        clock=services.clock,
        toolsets=None,
        key=key,
        session_id=session_id,
    )


TRIPLES = [{"subject": "Ana", "predicate": "likes", "object": "tea"}]


async def test_a_client_initializes_remembers_and_recalls():
    async with connected() as client:
        await client.initialize()
        client.send(call(1, "upsert_graph_triples", triples=TRIPLES, memory_scope="session"))
        assert (await client.answer())["result"]["structuredContent"]["added"] == 1
        client.send(call("1", "recall_context", query="tea"))
        answer = await client.answer()
        assert (answer["id"], answer["result"]["structuredContent"]["facts"][0]["object"]) == ("1", "tea")


async def test_the_end_of_the_input_finishes_what_is_in_flight():
    async with connected() as client:
        await client.initialize()
        client.send(call(1, "wait"))
        await client.started.wait()
        ending = asyncio.create_task(client.end())
        client.go_on.set()
        assert [answer["id"] for answer in await ending] == [1]
        await client.serving


async def test_what_does_not_end_in_time_is_cancelled_at_the_end():
    async with connected(shutdown_ms=1) as client:
        await client.initialize()
        client.send(call(1, "wait"))
        await client.started.wait()
        assert await client.end() == []
        await client.serving


async def test_a_line_over_the_limit_is_an_error_that_names_it_and_the_next_is_served():
    async with connected(body_max_bytes=2_048) as client:
        client.send(request(1, "ping", x="y" * 3_000), request(2, "ping"))
        error = await client.answer()
        assert (error["id"], error["error"]["code"], "2048" in error["error"]["message"]) == (None, -32600, True)
        assert (await client.answer())["id"] == 2


async def test_a_line_of_a_megabyte_is_served():
    async with connected() as client:
        await client.initialize()
        big = call(1, "recall_context", query="tea", session_key="k")
        sending = asyncio.to_thread(client.send, json.dumps(big).encode() + b" " * 1_000_000)
        answering = asyncio.create_task(client.answer())
        await sending
        assert (await answering)["id"] == 1


@pytest.mark.parametrize("line", [b"nope", b"{", b'{"a":"\xff"}', b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}'])
async def test_what_is_not_json_is_a_parse_error_and_the_shell_lives(line: bytes):
    async with connected() as client:
        client.send(line, request(2, "ping"))
        error = await client.answer()
        assert (error["id"], error["error"]["code"]) == (None, -32700)
        assert await client.answer() == {"jsonrpc": "2.0", "id": 2, "result": {}}


@pytest.mark.parametrize("line", [b"5", b'"x"', b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b"{}"])
async def test_what_is_no_message_is_an_invalid_request(line: bytes):
    async with connected() as client:
        await client.initialize()
        client.send(line)
        assert (await client.answer())["error"]["code"] == -32600


async def test_invalid_bytes_in_parameters_and_arguments_do_not_end_the_shell():
    async with connected() as client:
        await client.initialize()
        raw = json.dumps(call(1, "recall_context", query="MARK")).encode()
        client.send(raw.replace(b"MARK", b"\xff"), raw.replace(b"MARK", b"\\udc00"), request(2, "ping"))
        answers = [await client.answer() for _ in range(3)]
        assert [answer.get("error", {}).get("code") for answer in answers] == [-32700, -32700, None]


async def test_a_byte_order_mark_and_carriage_returns_do_not_matter():
    async with connected() as client:
        client.send(b"\xef\xbb\xbf" + json.dumps(request(1, "ping")).encode() + b"\r")
        client.send(b"\r", b"")
        assert (await client.answer())["id"] == 1


async def test_a_probe_before_initialize_is_answered_with_an_error_and_the_shell_lives():
    async with connected() as client:
        client.send(request("p", "server/discover"))
        assert (await client.answer())["error"]["code"] == -32601
        await client.initialize()
        client.send(request(1, "tools/list"))
        assert "recall_context" in [tool["name"] for tool in (await client.answer())["result"]["tools"]]


async def test_a_call_before_initialize_is_refused_and_a_ping_is_answered():
    async with connected() as client:
        client.send(call(1, "recall_context", query="tea"), request(2, "ping"))
        refused, answered = await client.answer(), await client.answer()
        assert (refused["id"], refused["error"]["code"]) == (1, -32600)
        assert "initialize first" in refused["error"]["message"]
        assert (answered["id"], answered["result"]) == (2, {})


async def test_separators_that_end_lines_for_some_make_the_round_trip_in_ascii():
    async with connected() as client:
        await client.initialize()
        text = "a\u2028b\u2029c\U0001f600é"
        sent = call(1, "upsert_graph_triples", triples=[{**TRIPLES[0], "object": text}], memory_scope="session")
        client.send(json.dumps(sent, ensure_ascii=False).encode())
        line = await client.line()
        assert line.isascii()
        assert json.loads(line)["result"]["structuredContent"]["facts"][0]["object"] == text


async def test_a_revocation_between_two_calls_refuses_the_second():
    async with connected() as client:
        await client.initialize()
        client.send(call(1, "recall_context", query="tea"))
        assert "result" in await client.answer()
        caller = (await client.here.sessions.authorize(client.here.keys["ana"], None)).caller
        await client.here.sessions.revoke(caller, "s")
        client.send(call(2, "recall_context", query="tea"), request(3, "ping"))
        error = await client.answer()
        assert (error["id"], error["error"]["data"]["code"]) == (2, "revoked")
        assert "result" in await client.answer()


async def test_an_expiry_between_two_calls_refuses_the_second():
    async with connected() as client:
        await client.initialize()
        client.here.clock.advance(days=7)
        client.send(call(2, "recall_context", query="tea"))
        assert (await client.answer())["error"]["data"]["code"] == "expired"


async def test_a_cancelled_call_has_no_answer():
    async with connected() as client:
        await client.initialize()
        client.send(call(1, "wait"))
        await client.started.wait()
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "1"}})
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        client.send(request(2, "ping"))
        assert [answer["id"] for answer in [await client.answer(), *await client.end()]] == [2]


async def test_beyond_the_most_calls_in_flight_the_next_is_refused_with_the_limit():
    async with connected(calls_in_flight_max=1) as client:
        await client.initialize()
        client.send(call(1, "wait"))
        await client.started.wait()
        client.send(call(2, "wait"))
        error = await client.answer()
        assert (error["id"], error["error"]["data"]["limit"]) == (2, 1)
        client.go_on.set()
        assert (await client.answer())["id"] == 1


async def test_a_client_that_is_gone_ends_the_shell_whatever_is_unwritten():
    async with connected() as client:
        os.close(client.read_fd)
        client.read_fd = os.open(os.devnull, os.O_RDONLY)
        ping = json.dumps(request(1, "ping")).encode()
        # More than one reading can hold unwritten, and in one portion.
        await asyncio.to_thread(client.send, b"\n".join([ping] * (UNWRITTEN_MAX * 3)))
        async with asyncio.timeout(HANG_S):
            await client.serving


async def test_of_what_a_client_does_not_read_only_so_much_is_kept(monkeypatch: pytest.MonkeyPatch):
    write, unwritten = stdio._Output.write, []

    def watched(output: stdio._Output, payload: bytes) -> None:
        write(output, payload)
        unwritten.append(output._unwritten)

    monkeypatch.setattr(stdio._Output, "write", watched)
    async with connected() as client:
        ping = json.dumps(request(1, "ping")).encode()
        sent = UNWRITTEN_MAX * 40
        sending = asyncio.create_task(asyncio.to_thread(client.send, *[ping] * sent))
        for _ in range(sent):
            assert (await client.answer())["id"] == 1
        await sending
        assert max(unwritten) == UNWRITTEN_MAX


@pytest.mark.parametrize("unwritten", [40, UNWRITTEN_MAX + 50])
async def test_a_client_that_reads_no_more_does_not_keep_it_from_its_end(unwritten: int):
    async with connected(shutdown_ms=1) as client:
        await client.initialize()
        # Answers far beyond what a pipe holds, and questions that fit into one.
        client.send(*[json.dumps(request(1, "tools/list")).encode()] * unwritten)
        assert (await client.answer())["id"] == 1
        client.shell.stop()
        async with asyncio.timeout(HANG_S):
            await client.serving


async def test_told_to_stop_it_ends_without_the_end_of_the_input():
    async with connected() as client:
        await client.initialize()
        client.shell.stop()
        async with asyncio.timeout(HANG_S):
            await client.serving


@pytest.mark.parametrize(
    ("key", "session_id", "refusal"),
    [("csk_" + "x" * 43, "s", Unauthenticated), ("", "s", Unauthenticated), (None, "other", SessionNotRegistered)],
)
async def test_without_a_live_binding_it_does_not_open(
    key: str | None, session_id: str, refusal: type[CodeSynapseError]
):
    async with world() as here:
        await here.sessions.register(await here.user("ana"), "s")
        services = compose(Settings(graph="memory", accounts="memory"), here.ports, clock=here.clock)
        shell = shell_of(services, key=here.keys["ana"] if key is None else key, session_id=session_id)
        with pytest.raises(refusal):
            await shell.open()


def test_the_bound_of_a_line_is_that_of_a_body():
    assert Limits().body_max_bytes == 4 * 1024 * 1024
