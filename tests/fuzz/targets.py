"""What is tried with whatever is drawn, one class a reader of bytes. An exception that is none of ours fails it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from codesynapse.contracts.identity import Millis
from codesynapse.server.limits import Limits
from codesynapse.server.mcp import header
from codesynapse.server.mcp.connection import VERSIONS, Connection, Reply, Run
from codesynapse.server.mcp.messages import NO_ID, Message, ProtocolError, Raw, Request, RequestId, parse, parse_batch
from codesynapse.server.mcp.naming import Names, Place
from codesynapse.server.mcp.request import status_of_code
from codesynapse.server.mcp.result import error_of
from codesynapse.server.mcp.seal import Seal
from codesynapse.server.mcp.state import opened
from codesynapse.server.mcp.stream import Budget, EventLog, Lost, Position
from codesynapse.server.stdio import StdioShell
from tests.fuzz.drawn import (
    IDS,
    LATEST,
    LEGACY_MESSAGES,
    MODERN_PARAMS,
    MODERN_REQUESTS,
    VALUES,
    as_bytes,
    damaged,
)
from tests.fuzz.ground import Ground, Heard, check_answer

Check = Callable[[Any], None]
HANG_S = 60
NOT_ANSWERED = {"subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel"}


class Receiving:
    """`Connection.receive`, and the run that it may lead to, at each revision with sessions."""

    drawn = st.tuples(st.sampled_from(VERSIONS), st.lists(as_bytes(LEGACY_MESSAGES), max_size=3))

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._limits = Limits()

    def check(self, drawn: tuple[str, list[bytes]]) -> None:
        version, bodies = drawn
        services = self._ground.services
        connection = Connection(services.calls.operations.catalog, services.info)
        client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        connection.open(Request(RequestId(b"0"), "initialize", Raw(json.dumps(client).encode())))
        connection.bind(self._ground.execution.identity)
        for body in bodies:
            for message in self._messages(body):
                self._received(connection, message, version)
        assert connection.asked == {}

    def _messages(self, body: bytes) -> Sequence[Message]:
        deepest = self._limits.json_depth_max
        try:
            if body.startswith(b"["):
                found = parse_batch(body, deepest=deepest, most=self._limits.batch_max)
                return [each for each in found if not isinstance(each, ProtocolError)]
            return [parse(body, deepest=deepest)]
        except ProtocolError:
            return []

    def _received(self, connection: Connection, message: Message, version: str) -> None:
        try:
            effect = connection.receive(message)
        except ProtocolError as error:
            check_refusal(error, message)
            return
        if isinstance(effect, Reply):
            assert isinstance(message, Request)
            check_answer(effect.payload, message.method, version)
        elif isinstance(effect, Run) and effect.method not in ("resources/subscribe", "resources/unsubscribe"):
            heard = Heard(connection=connection)
            run = self._ground.services.calls.run(self._ground.execution, effect, connection, heard, version)
            self._ground.run(run)
            (answer,) = heard.answers
            assert answer.startswith(b'{"jsonrpc":"2.0","id":' + effect.request_id)
            check_answer(answer, effect.method, version)


def check_refusal(error: ProtocolError, message: Message) -> None:
    """A refusal is of a request, by its id or by none yet, with a status."""
    assert isinstance(message, Request), "something is refused that nobody waits for"
    assert error.request_id in (message.id, NO_ID)
    assert status_of_code(error.code) in (400, 404, 500)


class Answering:
    """`request.checked` and the answer of the stateless revision, with headers that may say something else."""

    drawn = st.tuples(
        as_bytes(MODERN_REQUESTS),
        st.none()
        | st.dictionaries(
            st.sampled_from(("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-region")),
            st.lists(st.text(max_size=12), max_size=2),
            max_size=2,
        ),
    )

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def check(self, drawn: tuple[bytes, dict[str, list[str]] | None]) -> None:
        body, headers = drawn
        try:
            message = parse(body, deepest=Limits().json_depth_max)
        except ProtocolError:
            return
        if not isinstance(message, Request):
            return
        if headers is not None:
            headers = {"mcp-protocol-version": [LATEST], "mcp-method": [message.method], **headers}
        response = self._ground.run(self._answered(message, headers))
        assert response.startswith(b'{"jsonrpc":"2.0","id":' + message.id) or not message.id.isascii()
        check_answer(response, message.method, LATEST)

    async def _answered(self, request: Request, headers: dict[str, list[str]] | None) -> bytes:
        modern = self._ground.services.modern
        try:
            asked = modern.checked(request, headers, None)
            if asked.method in NOT_ANSWERED:  # By the shells; they are tried over stdio.
                return error_of(ProtocolError(-32601, ""), asked.id)
            return await modern.answer(asked, self._ground.execution, None, lambda _: None)
        except ProtocolError as error:
            check_refusal(error, request)
            return error_of(error, request.id)


class Piping:
    """The stdio shell on real pipes: bytes in any portions, then the end of input."""

    drawn = st.tuples(
        st.booleans(),
        st.lists(as_bytes(LEGACY_MESSAGES | MODERN_REQUESTS | st.lists(LEGACY_MESSAGES, max_size=2)), max_size=5),
        st.integers(1, 64),
    )

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def check(self, drawn: tuple[bool, list[bytes], int]) -> None:
        batches, lines, size = drawn
        params = {"protocolVersion": VERSIONS[-1] if batches else VERSIONS[0], "capabilities": {}, "clientInfo": {}}
        opening = json.dumps({"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": params}).encode()
        text = b"\n".join([opening, *lines]) + b"\n"
        said = self._ground.run(self._served(text, size))
        answered: Counter[bytes] = Counter()
        for line in said.splitlines():
            assert line.isascii()
            found = json.loads(line)
            for message in found if isinstance(found, list) else [found]:
                assert message["jsonrpc"] == "2.0"
                if "method" not in message:
                    answered[json.dumps(message["id"]).encode()] += 1
        asked = _asked_ids(text)
        assert answered[b'"open"'] >= 1
        assert not {each for each in answered if answered[each] > asked[each] and each != b"null"}, "answered twice"

    async def _served(self, text: bytes, size: int) -> bytes:
        services = self._ground.services
        shell = StdioShell(
            sessions=services.sessions,
            calls=services.calls,
            modern=services.modern,
            info=services.info,
            limits=services.limits,
            clock=services.clock,
            toolsets=services.toolsets,
            key=self._ground.key,
            session_id=self._ground.execution.identity.session_id,
        )
        await shell.open()
        (its_input, our_output), (our_input, its_output) = os.pipe(), os.pipe()
        try:
            writing = asyncio.to_thread(_write, our_output, text, size)
            reading = asyncio.to_thread(_read, our_input)
            async with asyncio.timeout(HANG_S):
                reader = asyncio.ensure_future(reading)
                await asyncio.gather(shell.serve(its_input, its_output), writing)
                os.close(its_output)
                its_output = -1
                return await reader
        finally:
            for each in (its_input, our_input, its_output):
                if each >= 0:
                    os.close(each)


def _write(fd: int, text: bytes, size: int) -> None:
    for start in range(0, len(text), size * 64):
        os.write(fd, text[start : start + size * 64])
    os.close(fd)


def _read(fd: int) -> bytes:
    found = b""
    while chunk := os.read(fd, 65_536):
        found += chunk
    return found


def _asked_ids(text: bytes) -> Counter[bytes]:
    """How often each id was asked with, by what its value is as JSON."""
    found: Counter[bytes] = Counter()
    for line in text.split(b"\n"):
        try:
            items = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for each in items if isinstance(items, list) else [items]:
            if isinstance(each, dict) and "id" in each:
                found[json.dumps(each["id"]).encode()] += 1
    return found


def packed(plain: bytes) -> str:
    """Bytes as a header carries what it cannot show."""
    return "=?base64?" + base64.b64encode(plain).decode("ascii") + "?="


class Headers:
    """The decoder of header values, and a tool's headers against its arguments."""

    TEXTS: Final = st.text(max_size=20)
    ENCODED: Final = TEXTS.map(
        lambda text: "=?base64?" + base64.b64encode(text.encode("utf-8", "replace")).decode() + "?="
    )
    SHOWN: Final = TEXTS | ENCODED | damaged(ENCODED.map(str.encode)).map(lambda raw: raw.decode("latin-1"))
    SCHEMAS: Final = st.dictionaries(
        st.sampled_from(("region", "deep")),
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(("string", "integer", "boolean", "object")) | VALUES,
                header.ANNOTATION: st.sampled_from(("Region", "region", "a b")) | VALUES,
                "properties": VALUES,
            },
        ),
    )
    drawn = st.tuples(SHOWN, TEXTS, SCHEMAS, st.dictionaries(st.sampled_from(("region", "deep")), VALUES))

    def __init__(self, _: Ground) -> None:
        pass

    def check(self, drawn: tuple[str, str, dict[str, Any], dict[str, Any]]) -> None:
        shown, meant, properties, values = drawn
        found = header.decoded(shown)
        if found is not None and shown != found:
            assert packed(found.encode()) == shown, "two headers mean the same"
        # hypothesis draws lone surrogates too, which no header and no body can hold.
        whole = meant.encode("utf-8", "replace")
        assert header.decoded(packed(whole)) == whole.decode()
        header.check_value({"mcp-name": [shown]}, "mcp-name", meant)
        declared = header.declarations({"type": "object", "properties": properties})
        arguments = Raw(json.dumps(values).encode("utf-8"))
        try:
            parse(b'{"jsonrpc":"2.0","method":"m","params":' + arguments + b"}", deepest=Limits().json_depth_max)
        except ProtocolError:
            return
        fault = header.check_parameters(declared, arguments, {header.PREFIX + "region": [shown]})
        assert fault is None or fault.startswith("The header Mcp-Param-")


class Resuming:
    """The decoder of event ids: only what this session's log gave out leads anywhere."""

    drawn = st.tuples(
        st.lists(st.tuples(IDS.map(lambda each: json.dumps(each).encode()), st.integers(0, 3)), min_size=1, max_size=4),
        st.text(max_size=40) | st.just(""),
        st.integers(0, 300),
        st.characters(codec="ascii"),
    )

    def __init__(self, _: Ground) -> None:
        self._seal = Seal(b"k" * 32)

    def check(self, drawn: tuple[list[tuple[bytes, int]], str, int, str]) -> None:
        asked, noise, at, character = drawn
        log, other = self._log(b"one", b"e"), self._log(b"other", b"e")
        places = [Place(kind, b"d" * 6 if kind in (1, 2) else b"") for _, kind in asked]
        stream = log.open(tuple(RequestId(each) for each, _ in asked), places)
        log.append(stream, b"{}", answers=None, now_ms=Millis(0))
        (event,) = stream.after(0)
        event_id = stream.event_id(event.sequence)
        assert log.find(event_id) == Position(stream, event.sequence)
        assert other.find(event_id) is None
        assert log.find(noise) is None
        restarted = self._log(b"one", b"f").find(event_id)
        assert isinstance(restarted, Lost)
        assert not restarted.here
        name = event_id.partition(".")[0]
        spot = at % len(name)
        changed = name[:spot] + character + name[spot + 1 :] + event_id[len(name) :]
        if changed != event_id:
            assert log.find(changed) is None
        log.find(event_id + noise)

    def _log(self, session: bytes, epoch: bytes) -> EventLog:
        names = Names(self._seal, session)
        names._epoch = epoch * 6  # Else what was drawn once would not fail again.
        return EventLog(Limits(), Budget(1_000_000), names)


class Continuing:
    """The decoder of request states: one that was changed, moved, or is too old is refused."""

    drawn = st.tuples(
        MODERN_PARAMS,
        st.dictionaries(st.text(max_size=3), st.dictionaries(st.text(max_size=3), VALUES, max_size=2), max_size=2),
        st.integers(0, 10_000),
        st.characters(codec="ascii"),
    )

    def __init__(self, ground: Ground) -> None:
        self._identity = ground.execution.identity
        self._seal = Seal(b"k" * 32)

    def check(self, drawn: tuple[dict[str, Any], dict[str, Any], int, str]) -> None:
        params, answers, at, character = drawn
        self._opened(params)
        bare = {name: each for name, each in params.items() if name not in ("inputResponses", "requestState")}
        first = self._opened({**bare, "inputResponses": answers})
        if first is None:
            return
        state = first.sealed(self._seal, tuple(answers), Millis(10))
        again = self._opened({**bare, "requestState": state})
        assert again is not None
        assert again.answers == first.answers
        assert self._opened({**bare, "requestState": state}, now_ms=10) is None
        assert self._opened({**bare, "requestState": state}, method="prompts/get") is None
        assert self._opened({**bare, "more": 1, "requestState": state}) is None
        spot = at % len(state)
        changed = state[:spot] + character + state[spot + 1 :]
        if changed != state:
            assert self._opened({**bare, "requestState": changed}) is None

    def _opened(self, params: dict[str, Any], *, now_ms: int = 0, method: str = "tools/call") -> Any:
        try:
            text = json.dumps(params).encode()
            parse(b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + text + b"}", deepest=Limits().json_depth_max)
            return opened(
                self._seal,
                request_id=RequestId(b"1"),
                method=method,
                params=Raw(text),
                identity=self._identity,
                now_ms=Millis(now_ms),
            )
        except ProtocolError:
            return None


TARGETS: Final = {
    "receive": Receiving,
    "answer": Answering,
    "stdio": Piping,
    "headers": Headers,
    "event ids": Resuming,
    "request states": Continuing,
}
