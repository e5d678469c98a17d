"""POST, GET and DELETE on /mcp: facts in, effects out (product.md, "Who is refused how")."""

import asyncio
from collections.abc import Callable, Sequence

from aiohttp import web

from codesynapse.contracts.accounts import Authority
from codesynapse.contracts.errors import (
    CodeSynapseError,
    ExecutionMissing,
    HeaderInvalid,
    TransportUnknown,
)
from codesynapse.contracts.identity import CommitIds, Execution, Identity, Millis
from codesynapse.server.clock import Clock
from codesynapse.server.features.calls import Calls
from codesynapse.server.features.reading_back import ReadBack
from codesynapse.server.http.errors import headers_of, status_of
from codesynapse.server.http.following import Follower
from codesynapse.server.http.keeping import Keeper
from codesynapse.server.http.live import Call, Live, Lives
from codesynapse.server.http.modern import ModernEndpoint, Visible
from codesynapse.server.http.outgoing import Outgoing, Waiting
from codesynapse.server.http.requests import (
    TRANSPORT_HEADER,
    VERSION_HEADER,
    Bodies,
    accepts_stream,
    authorize,
    body_of,
    check_claim,
    may_stream,
    single,
)
from codesynapse.server.http.resuming import standing_in
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.catalog import chosen_toolsets
from codesynapse.server.mcp.connection import VERSIONS, Accepted, Cancel, Connection, Effect, Reply, Run
from codesynapse.server.mcp.era import is_modern, named_modern
from codesynapse.server.mcp.errors import refusal_bytes
from codesynapse.server.mcp.messages import (
    INVALID_REQUEST,
    NO_ID,
    OFF_LOOP_BYTES,
    Message,
    ProtocolError,
    Request,
    RequestId,
    error_bytes,
    is_batch,
    parse,
    parse_batch,
)
from codesynapse.server.mcp.naming import NOWHERE, commit_seed
from codesynapse.server.mcp.request import status_of_code
from codesynapse.server.mcp.stream import EVENT_ID_MAX, Position, Stream
from codesynapse.server.sessions.registry import Sessions, execution_of

TOOLSETS_HEADER = "X-CodeSynapse-Toolsets"


class McpEndpoint:
    """The endpoint of the session revisions."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        lives: Lives,
        keeper: Keeper,
        read_back: ReadBack,
        calls: Calls,
        bodies: Bodies,
        limits: Limits,
        clock: Clock,
        toolsets: frozenset[str] | None,
        modern: Callable[[Visible], ModernEndpoint],
    ) -> None:
        self._sessions = sessions
        self._lives = lives
        self._keeper = keeper
        self._read_back = read_back
        self._calls = calls
        self._bodies = bodies
        self._limits = limits
        self._clock = clock
        self._toolsets = toolsets
        self._modern = modern(self.visible)
        calls.listen(lives.tell)

    async def post(self, request: web.Request) -> web.StreamResponse:
        """One message of the client, or a batch at 2025-03-26. The era is decided once, by header or by body."""
        authority, said = await authorize(self._sessions, request)
        modern = _named_modern(request)
        transport_id = None if modern else single(request.headers, TRANSPORT_HEADER)
        live = None if transport_id is None else await self._keeper.find(transport_id, authority.caller)
        _check_content_type(request)
        try:
            check_claim(authority, said)
            principal = (authority.caller.tenant_id, authority.caller.subject_id)
            body = await body_of(self._sessions, self._bodies, request, principal)
            if live is None or not is_batch(body):
                message, found = await self._parsed(body)
                modern = modern or found
                if modern:
                    return await self._modern.answer(request, authority, message)
                if live is None:
                    return await self._initialize(authority, message)
            else:
                message = None
            _check_version(request, live.connection)
            await self._bind(live, authority)
            return await self._receive(request, live, authority, message, body)
        except ProtocolError as error:
            status = status_of_code(error.code) if modern else _status(error)
            return _json(error_bytes(error.request_id, error.code, error.text, error.data), status=status)

    async def get(self, request: web.Request) -> web.StreamResponse:
        """The standalone stream, or the rest of any stream by Last-Event-ID."""
        live, authority = await self._bound(request)
        if not may_stream(request.headers):
            raise web.HTTPMethodNotAllowed("GET", ["POST", "DELETE"])
        _check_version(request, live.connection)
        last = single(request.headers, "Last-Event-ID")
        if last is not None and (len(last) > EVENT_ID_MAX or not last.isascii()):
            raise HeaderInvalid(field="Last-Event-ID", limit=f"{EVENT_ID_MAX} ASCII characters")
        found = None if not last else live.log.find(last)
        if found is None:
            return await self._follow(request, live, live.listen(), 0)
        if isinstance(found, Position):
            return await self._follow(request, live, found.stream, found.sequence)
        stream = await standing_in(self._read_back, live, authority, found, self._clock)
        return await self._follow(request, live, stream, found.sequence)

    async def delete(self, request: web.Request) -> web.StreamResponse:
        """End the protocol session; the chat session and its memory stay."""
        live, _ = await self._bound(request)
        await self._keeper.close(live)
        return web.Response(status=204)

    async def _bound(self, request: web.Request) -> tuple[Live, Authority]:
        """The live session of a GET or DELETE, its binding checked."""
        authority, said = await authorize(self._sessions, request)
        transport_id = None if _named_modern(request) else single(request.headers, TRANSPORT_HEADER)
        if transport_id is None:
            raise web.HTTPMethodNotAllowed(request.method, ["POST"])
        live = await self._keeper.find(transport_id, authority.caller)
        check_claim(authority, said)
        if authority.binding is None:
            raise ExecutionMissing
        await self._bind(live, authority)
        return live, authority

    async def _bind(self, live: Live, authority: Authority) -> None:
        live.touch()
        binding = authority.binding
        live.connection.bind(None if binding is None else binding.identity)
        if binding is not None:
            live.deadline_ms = binding.expires_at_ms
        await self._keeper.save(live)
        if live.closed:
            raise TransportUnknown

    async def _initialize(self, authority: Authority, message: Message) -> web.Response:
        """A session is made by a valid `initialize` alone; anything else allocates nothing."""
        if not isinstance(message, Request) or message.method != "initialize":
            text = f"A request needs the header {TRANSPORT_HEADER}; send initialize to get one."
            named = message.id if isinstance(message, Request) else NO_ID
            raise ProtocolError(INVALID_REQUEST, text, named)
        connection = self._keeper.connect()
        reply = connection.open(message)
        binding = authority.binding
        identity, ends_ms = (None, Millis(0)) if binding is None else (binding.identity, binding.expires_at_ms)
        live = await self._keeper.open(authority.caller, connection, identity, ends_ms)
        return _json(reply.payload, headers={TRANSPORT_HEADER: live.id})

    async def _receive(
        self, request: web.Request, live: Live, authority: Authority, message: Message | None, body: bytes
    ) -> web.StreamResponse:
        """A message, or, where there is none, a batch."""
        toolsets = self.visible(request)
        parsed = message or await self._parsed_batch(live.connection, body)
        if live.closed:  # While the body was on its way, or was parsed in a thread.
            raise TransportUnknown
        if isinstance(parsed, list):
            return await self._batch(request, live, authority, parsed, toolsets)
        effect = live.connection.receive(parsed, toolsets)
        await self._keeper.save(live)
        match effect:
            case Run():
                return await self._run(request, live, authority, [effect], [])
            case Reply():
                return _json(effect.payload)
            case Cancel():
                live.cancel(effect.request_id)
            case Accepted():
                pass
        return web.Response(status=202)

    async def _batch(
        self,
        request: web.Request,
        live: Live,
        authority: Authority,
        items: Sequence[Message | ProtocolError],
        toolsets: frozenset[str] | None,
    ) -> web.StreamResponse:
        """Every message on its own; the answers go out together."""
        runs: list[Run] = []
        ready: list[tuple[RequestId, bytes]] = []
        for item in items:
            try:
                effect = _effect(live.connection, item, toolsets)
            except ProtocolError as error:
                ready.append((error.request_id, error_bytes(error.request_id, error.code, error.text)))
                continue
            match effect:
                case Run():
                    runs.append(effect)
                case Reply():
                    assert isinstance(item, Request)
                    ready.append((item.id, effect.payload))
                case Cancel():
                    live.cancel(effect.request_id)
                case Accepted():
                    pass
        await self._keeper.save(live)
        if not runs and not ready:
            return web.Response(status=202)
        return await self._run(request, live, authority, runs, ready, batch=True)

    async def _run(
        self,
        request: web.Request,
        live: Live,
        authority: Authority,
        runs: Sequence[Run],
        ready: Sequence[tuple[RequestId, bytes]],
        *,
        batch: bool = False,
    ) -> web.StreamResponse:
        """Start tool calls as tasks of the session, and follow their stream, or wait for their JSON."""
        try:
            self._lives.make_room(live)
            self._lives.enter(live.principal, len(runs))
        except CodeSynapseError as error:
            status = status_of(error)
            named = runs[0].request_id if len(runs) == 1 else NO_ID
            return _json(refusal_bytes(error, named), status=status, headers=headers_of(status))
        named_ids = (*(each for each, _ in ready), *(run.request_id for run in runs))
        places = [NOWHERE] * len(ready) + [self._read_back.place(run) for run in runs]
        stream = live.log.open(named_ids, places)
        for request_id, payload in ready:
            live.log.append(stream, payload, answers=request_id, now_ms=self._clock())
        assert live.connection.identity is not None or not runs
        streams = accepts_stream(request.headers)
        for index, run in enumerate(runs, start=len(ready)):
            self._start(live, authority, run, stream, index, streams)
        if streams:
            return await self._follow(request, live, stream, 0)
        return await self._gather(live, stream, batch=batch)

    def _start(self, live: Live, authority: Authority, run: Run, stream: Stream, index: int, streams: bool) -> None:
        call = Call(run.request_id, stream)
        writes = stream.place(index) is not NOWHERE
        commits = CommitIds(commit_seed(live.key.encode(), stream.number, index)) if writes else None
        execution = _execution(authority, live.connection.identity, call, commits)
        version = live.connection.version
        out = Outgoing(live, stream, self._clock, streams, self._calls)
        work = self._calls.run(execution, run, live.connection, out, version)
        self._lives.run(live, call, work)

    async def _gather(self, live: Live, stream: Stream, *, batch: bool) -> web.Response:
        """The plain JSON answer, for a client that does not take streams. A cut loses it: there is no id to resume."""
        waiting = Waiting()
        stream.wake = lambda: waiting.stop() if stream.finished else None
        if not stream.finished:
            live.follow(stream, waiting)
            try:
                await waiting.over.wait()
            finally:  # Also where the client went away: a session that nobody listens to must come to its end.
                live.unfollow(stream, waiting)
        answers = [event.payload for event in stream.after(0) if event.response]
        live.log.forget(stream)
        if live.closed:
            raise TransportUnknown
        if not answers:
            return web.Response(status=202)  # It was cancelled: a client that did so waits for nothing.
        return _json(("[" + ",".join(answers) + "]" if batch else answers[0]).encode())

    async def _follow(self, request: web.Request, live: Live, stream: Stream, position: int) -> web.StreamResponse:
        return await Follower(request, live, stream, self._limits).follow(position)

    async def _parsed(self, body: bytes) -> tuple[Message, bool]:
        """The message, and whether it belongs to the stateless revisions."""
        if len(body) > OFF_LOOP_BYTES:
            return await asyncio.to_thread(_read, body, self._limits.json_depth_max)
        return _read(body, self._limits.json_depth_max)

    async def _parsed_batch(self, connection: Connection, body: bytes) -> list[Message | ProtocolError]:
        if connection.version != "2025-03-26":
            # Refused like any body that is no message, too deep a one with its limit.
            message, _ = await self._parsed(body)
            return [message]
        deepest, most = self._limits.json_depth_max, self._limits.batch_max
        if len(body) > OFF_LOOP_BYTES:
            return await asyncio.to_thread(parse_batch, body, deepest=deepest, most=most)
        return parse_batch(body, deepest=deepest, most=most)

    def visible(self, request: web.Request) -> frozenset[str] | None:
        """The toolsets that a request may see; None for all. Raises HeaderInvalid."""
        field, asked = TOOLSETS_HEADER, request.headers.get(TOOLSETS_HEADER)
        if not asked:
            field, asked = "?toolsets", ",".join(request.query.getall("toolsets", ()))
        if not asked:
            return self._toolsets
        try:
            chosen = chosen_toolsets(asked.split(","), self._calls.operations.catalog.toolsets)
        except LookupError:
            raise HeaderInvalid(field=field, limit="names of toolsets") from None
        return chosen if self._toolsets is None else (chosen or self._toolsets) & self._toolsets


def _effect(connection: Connection, item: Message | ProtocolError, toolsets: frozenset[str] | None) -> Effect:
    if isinstance(item, ProtocolError):
        raise item
    if isinstance(item, Request) and item.method == "initialize":
        raise ProtocolError(INVALID_REQUEST, "initialize must not be in a batch.", item.id)
    return connection.receive(item, toolsets)


def _execution(authority: Authority, identity: Identity | None, call: Call, commits: CommitIds | None) -> Execution:
    assert identity is not None
    return execution_of(authority, identity, call.cancellation, commits)


def _check_version(request: web.Request, connection: Connection) -> None:
    """A version that is named must be the one agreed on; absent, it is known from the session."""
    named = single(request.headers, VERSION_HEADER)
    if named is not None and named != connection.version:
        limit = connection.version if named in VERSIONS else ", ".join(VERSIONS)
        raise HeaderInvalid(field=VERSION_HEADER, limit=limit)


def _named_modern(request: web.Request) -> bool:
    """Whether a header alone says that a request belongs to the stateless revisions."""
    return any(named_modern(each) for each in request.headers.getall(VERSION_HEADER, ()))


def _read(body: bytes, deepest: int) -> tuple[Message, bool]:
    message = parse(body, deepest=deepest)
    return message, is_modern(message, None)


def _check_content_type(request: web.Request) -> None:
    if request.headers.get("Content-Type") is not None and request.content_type != "application/json":
        raise HeaderInvalid(field="Content-Type", limit="application/json")


def _status(error: ProtocolError) -> int:
    """A request that was understood is answered with 200, whatever its answer; what was not, with 400."""
    return 400 if error.code in (-32700, INVALID_REQUEST) else 200


def _json(body: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)
