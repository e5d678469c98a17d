"""REST: registration, listing and revocation of chat sessions, and session memory (seed 0)."""

import asyncio
from contextlib import AbstractContextManager
from typing import Annotated

import msgspec
from aiohttp import web
from msgspec import Meta, Struct

from codesynapse.contracts.accounts import Caller, Level
from codesynapse.contracts.binding import Binding
from codesynapse.contracts.deadlines import within
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Execution, Identity
from codesynapse.contracts.quotas import Quotas
from codesynapse.server.clock import Clock, rfc3339
from codesynapse.server.http.requests import Bodies, Principal, authorize, body_of, execution
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.messages import OFF_LOOP_BYTES, ProtocolError, check_depth
from codesynapse.server.memory.engine import SessionEngine
from codesynapse.server.memory.recall import Recall
from codesynapse.server.memory.views import Cleared, Source, TripleInput, triples_of
from codesynapse.server.sessions.registry import Sessions
from codesynapse.server.tools.arguments import T, decode_arguments, invalid
from codesynapse.server.tools.dispatch import last_day

EXPIRES_HEADER = "X-CodeSynapse-Session-Expires"
LIST_MAX = Quotas().namespace_facts_max


class SessionBody(Struct, forbid_unknown_fields=True):
    """The id that a runtime supplies. Its form is checked by the registry, which never repeats it."""

    session_id: str


class TriplesBody(Struct, forbid_unknown_fields=True, kw_only=True):
    """Triples to remember in this session."""

    triples: Annotated[list[TripleInput], Meta(min_length=1, max_length=50)]
    source: Source | None = None
    expected_revision: Annotated[int, Meta(ge=0)] | None = None


class RecallBody(Struct, forbid_unknown_fields=True, kw_only=True):
    """A question to this session's current facts."""

    query: Annotated[str, Meta(min_length=1, max_length=2_000)]
    limit: Annotated[int, Meta(ge=1, le=50)] = 10


class ReadQuery(Struct, forbid_unknown_fields=True, kw_only=True):
    """The query string of a read."""

    q: Annotated[str, Meta(max_length=2_000)] = ""
    limit: Annotated[int, Meta(ge=1, le=LIST_MAX)] = 50
    history: bool = False


class BindingView(Struct, kw_only=True):
    """A binding as it is answered."""

    tenant_id: str
    subject_id: str
    session_id: str
    parent_session_id: str
    registered_at: str
    expires_at: str


class ListedBinding(BindingView, kw_only=True):
    """A binding in the list of one's own."""

    state: str


class BindingList(Struct, kw_only=True):
    """One's own bindings, newest first."""

    sessions: list[ListedBinding]


class Api:
    """The REST routes."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        engine: SessionEngine,
        recall: Recall,
        bodies: Bodies,
        limits: Limits,
        clock: Clock,
    ) -> None:
        self._sessions = sessions
        self._engine = engine
        self._recall = recall
        self._bodies = bodies
        self._limits = limits
        self._clock = clock

    def routes(self) -> list[web.RouteDef]:
        """All of them."""
        memory = "/api/v1/repos/{repo}/session-memory"
        return [
            web.post("/api/v1/execution/sessions", self.register),
            web.get("/api/v1/execution/sessions", self.listed),
            web.post("/api/v1/execution/sessions/revoke", self.revoke),
            web.get(memory, self.read),
            web.post(memory, self.upsert),
            web.delete(memory, self.clear),
            web.post(memory + "/recall", self.recall),
        ]

    async def register(self, request: web.Request) -> web.Response:
        """Bind the runtime's id: 201 the first time, 200 repeated."""
        authority, _ = await authorize(self._sessions, request)
        body = await self._body(request, _principal(authority.caller), SessionBody)
        registration = await self._sessions.register(authority.caller, body.session_id)
        return _json(_view(registration.binding), status=201 if registration.created else 200)

    async def listed(self, request: web.Request) -> web.Response:
        """One's own bindings."""
        authority, _ = await authorize(self._sessions, request)
        now_ms = self._clock()
        bindings = await self._sessions.listed(authority.caller)
        views = [
            ListedBinding(**msgspec.structs.asdict(_view(each)), state=each.state(now_ms).value) for each in bindings
        ]
        return _json(BindingList(sessions=views))

    async def revoke(self, request: web.Request) -> web.Response:
        """End a session for good. Its id comes in the body: ids in paths land in proxies' logs."""
        authority, _ = await authorize(self._sessions, request)
        body = await self._body(request, _principal(authority.caller), SessionBody)
        binding = await self._sessions.revoke(authority.caller, body.session_id)
        return _json({"revoked": True, "revoked_at": rfc3339(binding.revoked_at_ms or 0)})

    async def read(self, request: web.Request) -> web.Response:
        """This session's facts."""
        running, repository = await self._enter(request)
        query = _query(request)
        with self._within():
            read = await self._recall.read(
                running, repository, query=query.q or None, limit=query.limit, history=query.history
            )
        return self._answer(running, read)

    async def upsert(self, request: web.Request) -> web.Response:
        """Remember triples in this session."""
        running, repository = await self._enter(request)
        body = await self._body(request, _principal(running.identity), TriplesBody)
        with self._within():
            done = await self._engine.upsert(
                running,
                repository,
                triples_of(body.triples),
                source=body.source or None,
                expected_revision=body.expected_revision,
            )
        return self._answer(running, done)

    async def clear(self, request: web.Request) -> web.Response:
        """Close this namespace for the session, for good."""
        running, repository = await self._enter(request)
        with self._within():
            removed = await self._engine.clear(running, repository)
        return self._answer(running, Cleared(closed=True, removed=removed))

    async def recall(self, request: web.Request) -> web.Response:
        """Facts of this session that answer a question; current ones only."""
        running, repository = await self._enter(request)
        body = await self._body(request, _principal(running.identity), RecallBody)
        with self._within():
            found = await self._recall.session(running, repository, body.query, limit=body.limit)
        return self._answer(running, found)

    def _within(self) -> AbstractContextManager[None]:
        """What a request asks of the stores, behind its body: who sends it may be slow."""
        return within(self._limits.store_deadline_ms / 1000)

    async def _enter(self, request: web.Request) -> tuple[Execution, str]:
        """Credential, then execution, then the grant: a session's namespace is a repository that it may read."""
        authority, said = await authorize(self._sessions, request)
        running = execution(authority, said)
        repository = request.match_info["repo"]
        await self._sessions.require_repository(running, repository, Level.READ)
        return running, repository

    async def _body(self, request: web.Request, principal: Principal, kind: type[T]) -> T:
        body = await body_of(self._sessions, self._bodies, request, principal)
        if len(body) > OFF_LOOP_BYTES:
            return await asyncio.to_thread(_decoded, body, kind, self._limits.json_depth_max)
        return _decoded(body, kind, self._limits.json_depth_max)

    def _answer(self, running: Execution, view: object) -> web.Response:
        response = _json(view)
        expires_at_ms = last_day(running.deadline_ms, self._clock())
        if expires_at_ms is not None:
            response.headers[EXPIRES_HEADER] = rfc3339(expires_at_ms)
        return response


def _decoded(body: bytes, kind: type[T], deepest: int) -> T:
    try:
        check_depth(body, deepest)
    except ProtocolError:
        raise Invalid(field="body", limit=f"depth {deepest}") from None
    return decode_arguments(body, kind)


def _query(request: web.Request) -> ReadQuery:
    values: dict[str, object] = {}
    for name in request.query:
        given = request.query.getall(name)
        if len(given) > 1:
            raise Invalid(field="query", limit="each name once")
        values[name] = given[0]
    try:
        return msgspec.convert(values, ReadQuery, strict=False)
    except msgspec.ValidationError as error:
        raise invalid(error, ReadQuery) from None


def _principal(who: Caller | Identity) -> Principal:
    return (who.tenant_id, who.subject_id)


def _view(binding: Binding) -> BindingView:
    identity = binding.identity
    return BindingView(
        tenant_id=identity.tenant_id,
        subject_id=identity.subject_id,
        session_id=identity.session_id,
        parent_session_id=identity.parent_session_id,
        registered_at=rfc3339(binding.registered_at_ms),
        expires_at=rfc3339(binding.expires_at_ms),
    )


def _json(view: object, *, status: int = 200) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(view), content_type="application/json")
