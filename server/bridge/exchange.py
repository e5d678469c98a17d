"""One client of the server: registers the chat session, sends each message, and sees every answer through."""

import asyncio
import base64
import io
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

import aiohttp
import msgspec
from msgspec import Raw, Struct

from codesynapse.server.bridge.events import ANSWER_MAX_BYTES, SseParser, too_large
from codesynapse.server.bridge.lines import Envelope, Message, envelopes, one_line
from codesynapse.server.bridge.options import BridgeOptions, sessions_url
from codesynapse.server.bridge.refusal import INVALID_REQUEST, Cut, Gone, Refusal, Unsent, lost, refusal, unreachable
from codesynapse.server.bridge.waiting import PAUSE_MAX_S, Patience, Shared

SESSION_HEADER = "X-CodeSynapse-Session"
PARENT_HEADER = "X-CodeSynapse-Parent-Session"
TRANSPORT_HEADER = "Mcp-Session-Id"
VERSION_HEADER = "MCP-Protocol-Version"
ENDED = frozenset({"expired", "revoked"})

RENEWALS_MAX = 3
REPEATS_MAX = 5
RESUMES_MAX = 100
LISTEN_PAUSE_MAX_S = 30.0
DRAIN_S = 1.0
CLOSE_S = 0.3
LARGE_BYTES = 512 * 1024

# The connection never stood, so nothing was sent; with any other fault the request may have run.
_NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
_BROKEN = (aiohttp.ClientError, TimeoutError, OSError)

_Request = AbstractAsyncContextManager[aiohttp.ClientResponse]

Sink = Callable[[bytes], Awaitable[None]]


async def discard(_: bytes) -> None:
    """For messages that concern the launcher alone."""


class Transport(Struct, frozen=True):
    """The transport session. id, version: empty where the server gave none."""

    id: str
    version: str


class Call:
    """A message on its way.

    waiting: ids without an answer so far. begun: the server took it, so a tool may run. event_id: where its stream
    can be resumed. listens: it is no message but the standalone stream, which ends never.
    """

    def __init__(self, message: Message, sink: Sink, *, listens: bool = False) -> None:
        self.message = message
        self.sink = sink
        self.listens = listens
        self.waiting = dict(message.ids)
        self.taken = asyncio.Event()
        self.begun = False
        self.transport: Transport | None = None
        self.event_id = ""
        self.retry_s = 0.0
        self.cuts = 0
        self.renewals = 0

    @property
    def withdrawn(self) -> bool:
        """Whether the client has cancelled all that it asked for."""
        return bool(self.message.ids) and not self.waiting


LISTENING = Message(b"", [])


class _Initialized(Struct):
    protocolVersion: str


class Server:
    """The server behind the endpoint, under one chat session. ended: why that session is over, once it is."""

    def __init__(
        self, options: BridgeOptions, session_id: str, http: aiohttp.ClientSession, log: Callable[[str], None]
    ) -> None:
        self._options = options
        self._session_id = session_id
        self._http = http
        self._log = log
        self._asked = False
        self._registered = False
        self._registration = Shared()
        self._renewal = Shared()
        self._initialize: Message | None = None
        self.initialized: Message | None = None
        self.transport: Transport | None = None
        self.ended: Refusal | None = None

    # --- Seeing a message through ---------------------------------------------------------------------------------

    async def deliver(self, call: Call) -> None:
        """Send a message and relay what comes until each of its requests has its answer. Raises Refusal."""
        patience = Patience(self._options)
        while not call.withdrawn:
            if not call.begun:
                alone = call.message.method == "initialize" or call.message.modern
                call.transport = None if alone else self.transport
            try:
                return await self._exchange(call)
            except Unsent as later:
                await patience.wait(later)
            except Gone:
                await self._after_loss(call)
            except Cut:
                patience = Patience(self._options)
                await self._after_cut(call)

    async def listen(self, sink: Sink) -> None:
        """Relay what the server says outside of any answer, for as long as it offers that."""
        call, pause_s = Call(LISTENING, sink, listens=True), self._options.pause_s
        while self.ended is None and self.transport is not None and self.transport.id:
            if call.transport is not self.transport:
                call = Call(LISTENING, sink, listens=True)
                call.transport = self.transport
            try:
                await self._exchange(call)
            except Refusal:
                return
            except Gone:
                with suppress(Refusal):
                    await self.renew(call.transport)
            except Unsent:
                pause_s = min(2 * pause_s, LISTEN_PAUSE_MAX_S)
            except Cut:
                pause_s = self._options.pause_s
            await asyncio.sleep(max(pause_s, call.retry_s))

    async def renew(self, gone: Transport | None) -> None:
        """Open another transport session for the same chat session, as the client once did. Raises Refusal."""
        if self.transport is gone and self._initialize is not None:
            await self._renewal.run(lambda: self._renew(Call(self._initialize or LISTENING, discard)))

    async def _renew(self, opening: Call) -> None:
        gone = self.transport
        await self.deliver(opening)
        if self.transport is gone:
            raise refusal("not_renewed", "The memory server lost the connection and did not open another.")
        self._log("opened a new transport session")
        if self.initialized is not None:
            call = Call(self.initialized, discard)
            call.transport = self.transport
            with suppress(Gone, Cut, Unsent):
                await self._exchange(call)

    async def close(self, wait_s: float) -> None:
        """Say farewell to the transport session, and to a chat session that nobody can use again.

        wait_s: how long the second may take; a server that is stuck in a write should still hear it.
        """
        self._registration.stop()
        self._renewal.stop()
        farewells: list[Coroutine[Any, Any, None]] = []
        if self.transport is not None and self.transport.id:
            call = Call(LISTENING, discard)
            call.transport = self.transport
            goodbye: _Request = self._http.delete(self._options.url, headers=self._headers(call))
            farewells.append(_said(goodbye, CLOSE_S))
        if self._options.mints and self._asked and self.ended is None:
            # Its id dies with this process. Left alone it would count as active for days, and lock others out.
            farewells.append(_said(self._post(f"{sessions_url(self._options.url)}/revoke"), wait_s))
        await asyncio.gather(*farewells)

    async def _after_loss(self, call: Call) -> None:
        """The transport session is gone: a tool call that the server had taken is lost, all else goes out again."""
        call.renewals += 1
        await self.renew(call.transport)
        if (call.begun and call.message.calls_tool) or call.renewals > RENEWALS_MAX:
            raise lost()
        call.begun, call.event_id = False, ""

    async def _after_cut(self, call: Call) -> None:
        """The line broke: a stream is resumed behind its last event, and what is no tool call may be repeated."""
        call.cuts += 1
        if call.event_id:
            if call.cuts > RESUMES_MAX:
                raise lost()
        elif call.message.calls_tool or call.cuts > REPEATS_MAX:
            raise lost()
        else:
            call.begun = False
        pause_s = min(self._options.pause_s * 2 ** min(call.cuts - 1, 10), PAUSE_MAX_S)
        await asyncio.sleep(max(call.retry_s, pause_s))

    # --- One exchange -----------------------------------------------------------------------------------------------

    async def _exchange(self, call: Call) -> None:
        """One request over HTTP: the message, or resuming its stream. Raises Unsent, Gone, Cut, Refusal."""
        await self._register()
        resumes = call.listens or bool(call.event_id)
        body = call.message.body
        try:
            async with self._http.request(
                "GET" if resumes else "POST",
                self._options.url,
                # aiohttp warns of large bytes, which it would write in one piece.
                data=None if resumes else body if len(body) < LARGE_BYTES else io.BytesIO(body),
                headers=self._headers(call, resumes=resumes),
                allow_redirects=False,
            ) as response:
                await self._check(call, response, resumes=resumes)
                if call.message.method == "initialize" and not resumes:
                    call.transport = Transport(response.headers.get(TRANSPORT_HEADER, ""), "")
                call.begun = True
                call.taken.set()
                await self._relay(call, response)
        except _NOT_SENT as error:
            raise Unsent(unreachable(type(error).__name__)) from None
        except _BROKEN:
            raise Cut from None

    async def _register(self) -> None:
        """Register the chat session once. Repeating it is harmless, so every fault counts as unsent."""
        if self.ended is not None:
            raise self.ended
        if not self._registered:
            await self._registration.run(self._post_registration)

    async def _post_registration(self) -> None:
        self._asked = True
        try:
            async with self._post(sessions_url(self._options.url)) as response:
                if response.status not in (200, 201):
                    raise await self._refusal(response)
                self._registered = True
        except _BROKEN as error:
            raise Unsent(unreachable(type(error).__name__)) from None

    def _post(self, url: str) -> _Request:
        """A request of REST about the chat session."""
        return self._http.post(
            url,
            data=msgspec.json.encode({"session_id": self._session_id}),
            headers={**self._credential(), "Content-Type": "application/json"},
            allow_redirects=False,
        )

    def _credential(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._options.api_key}"}

    def _headers(self, call: Call, *, resumes: bool = False) -> dict[str, str]:
        message, transport = call.message, call.transport
        headers = {
            **self._credential(),
            SESSION_HEADER: self._session_id,
            PARENT_HEADER: self._session_id,
            "Accept": "text/event-stream" if resumes else "application/json, text/event-stream",
        }
        if message.body and not resumes:
            headers["Content-Type"] = "application/json"
        if transport is not None and transport.id:
            headers[TRANSPORT_HEADER] = transport.id
        if transport is not None and transport.version:
            headers[VERSION_HEADER] = transport.version
        if call.event_id:
            headers["Last-Event-ID"] = call.event_id
        if message.modern:
            headers |= {VERSION_HEADER: header_safe(message.modern), "Mcp-Method": header_safe(message.method)}
            if message.subject:
                headers["Mcp-Name"] = header_safe(message.subject)
        return headers

    async def _check(self, call: Call, response: aiohttp.ClientResponse, *, resumes: bool) -> None:
        status = response.status
        if status in (200, 202):
            return
        if status == 404 and call.transport is not None and call.transport.id:
            raise Gone
        refused = await self._refusal(response)
        if status == 503 and (resumes or "Retry-After" in response.headers):
            seconds = response.headers.get("Retry-After", "")
            raise Unsent(refused, min(float(seconds), PAUSE_MAX_S) if seconds.isdigit() else 0.0)
        if status in (502, 504):
            # A proxy speaks; what it stands for may have run.
            raise Cut
        raise refused

    async def _refusal(self, response: aiohttp.ClientResponse) -> Refusal:
        """The server's error out of its answer, as JSON-RPC or as REST spells it. Remembers the end of the session."""
        try:
            body = msgspec.json.decode(await _read(response))
        except (msgspec.DecodeError, UnicodeDecodeError):
            body = None
        error: Any = body.get("error") if isinstance(body, dict) else None
        if isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str):
            refused = Refusal(error)
        elif isinstance(body, dict) and isinstance(error, str):
            refused = Refusal({"code": INVALID_REQUEST, "message": error, "data": body})
        else:
            text = f"The memory server answered with HTTP status {response.status}."
            refused = refusal("http_status", text, status=response.status)
        if response.status == 403 and refused.kind in ENDED and self.ended is None:
            self.ended = refused
            self._log("the chat session has ended; every call is answered with that from now on")
        return refused

    # --- What comes back --------------------------------------------------------------------------------------------

    async def _relay(self, call: Call, response: aiohttp.ClientResponse) -> None:
        if response.content_type == "text/event-stream":
            await self._relay_events(call, response)
            return
        body = await _read(response)
        if body.strip():
            await self._relay_message(call, body)
        if call.listens or call.waiting:
            raise refusal("no_answer", "The memory server gave no answer to this request.")

    async def _relay_events(self, call: Call, response: aiohttp.ClientResponse) -> None:
        parser = SseParser()
        async for chunk in response.content.iter_any():
            for event in parser.feed(chunk):
                if event.retry_ms is not None:
                    call.retry_s = event.retry_ms / 1000
                if event.id is not None and event.id.isascii() and event.id.isprintable():
                    call.event_id = event.id
                if event.data:
                    call.cuts = 0
                    await self._relay_message(call, event.data)
            if not call.listens and not call.waiting:
                await _drain(response)
                return
        if call.listens or call.waiting:
            raise Cut

    async def _relay_message(self, call: Call, payload: bytes) -> None:
        try:
            found, line = envelopes(payload), one_line(payload)
        except (msgspec.DecodeError, UnicodeDecodeError):
            found = []
        if not found or not all(each.answers or each.method for each in found):
            raise refusal("no_answer", "The memory server's answer is not valid JSON-RPC.")
        for each in found:
            if each.answers and call.waiting.pop(each.key, None) is not None and call.message.method == "initialize":
                self._open(call, each)
        await call.sink(line)

    def _open(self, call: Call, answer: Envelope) -> None:
        if not isinstance(answer.result, Raw) or call.transport is None:
            return
        with suppress(msgspec.DecodeError):
            version = msgspec.json.decode(answer.result, type=_Initialized).protocolVersion
            self.transport = Transport(call.transport.id, header_safe(version))
            self._initialize = call.message


def header_safe(value: str) -> str:
    """A value as a header may carry it: itself, or the protocol's Base64 form (mcp.md, N13)."""
    plain = value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?base64?")
    return value if plain else f"=?base64?{base64.b64encode(value.encode()).decode()}?="


async def _said(farewell: _Request, wait_s: float) -> None:
    """Send it. Whether it was heard changes nothing any more."""
    with suppress(*_BROKEN):
        async with asyncio.timeout(wait_s), farewell:
            pass


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The whole body. Raises Refusal for one that is too large."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > ANSWER_MAX_BYTES:
            raise too_large()
    return bytes(body)


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read the end of an answered stream, so that its connection can be used again."""
    with suppress(*_BROKEN):
        async with asyncio.timeout(DRAIN_S):
            while await response.content.readany():
                pass
