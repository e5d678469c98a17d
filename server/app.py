"""The composition root: settings → ports → services → web application. Only it opens backends."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version

from aiohttp import web
from msgspec import Struct, field

from codesynapse.backends import features_of, open_backend
from codesynapse.backends.embedders import open_embedder
from codesynapse.contracts.accounts import AuditRecord
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.errors import CodeSynapseError, Invalid, Unavailable
from codesynapse.contracts.ports import Accounts, Backend, RepositoryGraph, SessionMemory, StoreStatus, VectorIndex
from codesynapse.contracts.transports import Transports
from codesynapse.server.clock import Clock, system_clock
from codesynapse.server.features.calls import Calls
from codesynapse.server.features.operations import Operations
from codesynapse.server.features.product import INSTRUCTIONS, register_product, repository_changes, session_changes
from codesynapse.server.features.reading_back import ReadBack
from codesynapse.server.features.registry import Features
from codesynapse.server.features.updates import Updates
from codesynapse.server.hints.state import Hints
from codesynapse.server.http.api import Api
from codesynapse.server.http.exchanges import Exchanges
from codesynapse.server.http.guard import Guard, middleware
from codesynapse.server.http.health import Health
from codesynapse.server.http.keeping import Keeper
from codesynapse.server.http.live import Lives, ends
from codesynapse.server.http.mcp import McpEndpoint
from codesynapse.server.http.modern import ModernEndpoint, Visible
from codesynapse.server.http.runner import Runner, connections_below
from codesynapse.server.http.tls import tls_context
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.catalog import chosen_toolsets
from codesynapse.server.mcp.connection import Connection, ServerInfo
from codesynapse.server.mcp.seal import Seal
from codesynapse.server.memory.engine import SessionEngine
from codesynapse.server.memory.models import Models
from codesynapse.server.memory.recall import Recall
from codesynapse.server.memory.repository import RepositoryEngine
from codesynapse.server.modern.listening import Listening
from codesynapse.server.modern.service import Modern
from codesynapse.server.modern.tasks import Tasks
from codesynapse.server.secret import SecretKey, secret_key
from codesynapse.server.sessions.registry import Sessions
from codesynapse.server.settings import Settings, SettingsError, graph_url
from codesynapse.server.telemetry import Metrics, fault, log
from codesynapse.server.tools.dispatch import Dispatcher
from codesynapse.server.tools.gate import Gate
from codesynapse.server.tools.graph import GraphTools, register_graph_tools
from codesynapse.server.tools.operating import ContextFile
from codesynapse.server.tools.registry import Toolbox
from codesynapse.server.tools.session import SessionTools, register_session_tools
from codesynapse.server.work.loops import every
from codesynapse.server.work.retention import Retention

VERSION = version("codesynapse")
POLL_S = 0.4
"""How often the audit is looked at for access that another process ended; streams close within a second."""
RETENTION_S = 60.0
PROTOCOLS = {"bolt": "neo4j"}
"""Schemes of URLs that are named after a protocol, and whose entry point is meant."""
CONNECTIONS_S = 1.0


class Ports(Struct, kw_only=True):
    """The stores that the server runs on, and the key of what it seals."""

    accounts: Accounts
    session_memory: SessionMemory
    repository: RepositoryGraph
    vectors: VectorIndex | None
    agents: AgentMemory | None = None
    probe: Callable[[], Awaitable[StoreStatus]] | None = None
    transports: Transports | None = None
    secret: SecretKey = field(default_factory=SecretKey.fresh)


class Services(Struct, kw_only=True):
    """Everything that both shells use."""

    settings: Settings
    limits: Limits
    clock: Clock
    ports: Ports
    sessions: Sessions
    engine: SessionEngine
    repository: RepositoryEngine
    recall: Recall
    hints: Hints
    models: Models
    toolbox: Toolbox
    features: Features
    operations: Operations
    calls: Calls
    read_back: ReadBack
    modern: Modern
    retention: Retention
    metrics: Metrics
    info: ServerInfo
    toolsets: frozenset[str] | None


def limits_of(settings: Settings) -> Limits:
    """The bounds among the settings."""
    return Limits(**{name: getattr(settings, name) for name in Limits.__struct_fields__})


@asynccontextmanager
async def open_ports(settings: Settings) -> AsyncIterator[Ports]:
    """Open the stores that the settings name, one backend for both where they agree.

    Raises SettingsError where they do not fit together, Unavailable where a store cannot be opened.
    """
    # Entry points are files, and importing a backend reads more of them.
    await asyncio.to_thread(_check_stores, settings)
    async with AsyncExitStack() as stack:
        graph = await stack.enter_async_context(open_store(settings, settings.graph))
        accounts: Backend = graph
        if settings.accounts != settings.graph:
            accounts = await stack.enter_async_context(open_store(settings, settings.accounts))
        if accounts.accounts is None or graph.session_memory is None or graph.repository is None:
            raise SettingsError("CODESYNAPSE_GRAPH, CODESYNAPSE_ACCOUNTS: a backend does not offer what is needed.")
        yield Ports(
            accounts=accounts.accounts,
            session_memory=graph.session_memory,
            repository=graph.repository,
            vectors=graph.vectors,
            agents=accounts.agents,
            probe=graph.probe,
            transports=accounts.transports,
            secret=await asyncio.to_thread(secret_key, settings),
        )


def _check_stores(settings: Settings) -> None:
    try:
        graph, accounts = (features_of(backend_of(each)) for each in (settings.graph, settings.accounts))
    except CodeSynapseError:
        raise SettingsError("CODESYNAPSE_GRAPH, CODESYNAPSE_ACCOUNTS: no backend of this name is installed.") from None
    except ModuleNotFoundError as error:
        # Entry points are there without the packages of their extra.
        raise SettingsError(
            f"CODESYNAPSE_GRAPH, CODESYNAPSE_ACCOUNTS: the package {error.name} is missing; install the extra of this "
            "store, as in codesynapse[neo4j]."
        ) from None
    if not accounts.accounts:
        raise SettingsError("CODESYNAPSE_ACCOUNTS: this backend keeps no accounts, and there is no mode without.")
    if graph.durable and not accounts.durable:
        # Decision 9: after a restart nobody could ever reach what is stored.
        raise SettingsError("CODESYNAPSE_ACCOUNTS: accounts in memory cannot guard a graph store that is durable.")


@asynccontextmanager
async def open_store(
    settings: Settings, setting: str, *, named: str = "CODESYNAPSE_GRAPH, CODESYNAPSE_ACCOUNTS"
) -> AsyncIterator[Backend]:
    """Open the backend that a name or a URL means. Raises SettingsError that begins with `named`, Unavailable."""
    # Entry points are files, and a password may be one.
    opening = await asyncio.to_thread(lambda: open_backend(backend_of(setting), _options(settings, setting)))
    async with AsyncExitStack() as stack:
        try:
            backend = await stack.enter_async_context(opening)
        except Invalid as error:
            raise SettingsError(f"{named}: {error.message}") from None
        yield backend


def _options(settings: Settings, setting: str) -> dict[str, str]:
    deadline = {"deadline_ms": str(settings.store_deadline_ms)}
    if backend_of(setting) == "sqlite":
        return {"path": sqlite_path(settings, setting), **deadline}
    if "://" in setting:
        return {"url": graph_url(settings) if setting == settings.graph else setting, **deadline}
    return {}


def sqlite_path(settings: Settings, setting: str) -> str:
    """The file that `sqlite` means, which lies in the home, or `sqlite:///PATH`."""
    return setting.partition("://")[2] or settings.database


def backend_of(setting: str) -> str:
    """The entry point that a setting means: a name as it is, a URL by its scheme up to a `+`."""
    scheme, mark, _ = setting.partition("://")
    name = scheme.partition("+")[0]
    return PROTOCOLS.get(name, name) if mark else setting


def compose(settings: Settings, ports: Ports, *, clock: Clock = system_clock) -> Services:
    """Build the services over open stores."""
    sessions = Sessions(ports.accounts, ports.session_memory, ports.vectors, clock)
    limits, updates = limits_of(settings), Updates()
    engine = SessionEngine(ports.session_memory, clock, session_changes(updates))
    repository = RepositoryEngine(ports.repository, clock, sessions.recheck_writing, repository_changes(updates))
    recall = Recall(engine, repository, clock)
    embedder = open_embedder(settings.embedder)
    hints = Hints(embedder=embedder is not None, advisories=settings.degraded_advisory)
    toolbox, metrics = Toolbox(), Metrics()
    register_graph_tools(toolbox, GraphTools(sessions, engine, repository, recall, hints))
    register_session_tools(toolbox, _session_tools(settings, ports, hints, clock))
    try:
        toolsets = chosen_toolsets(settings.toolsets.split(","), toolbox.catalog.toolsets)
    except LookupError:
        known = ", ".join(sorted(toolbox.catalog.toolsets))
        raise SettingsError(f"CODESYNAPSE_TOOLSETS: the toolsets are {known}.") from None
    features = Features(toolbox, updates)
    register_product(features, sessions, engine, repository, recall, size_max=limits.resource_max_bytes)
    operations = Operations(features, Dispatcher(toolbox, clock, metrics, Gate(hints.pauses)), clock)
    info = ServerInfo(name="codesynapse", title="CodeSynapse", version=VERSION, instructions=INSTRUCTIONS)
    return Services(
        settings=settings,
        limits=limits,
        clock=clock,
        ports=ports,
        sessions=sessions,
        engine=engine,
        repository=repository,
        recall=recall,
        hints=hints,
        models=Models(embedder, hints, clock, settings.store_deadline_ms),
        toolbox=toolbox,
        features=features,
        operations=operations,
        calls=Calls(operations, limits),
        read_back=ReadBack(toolbox, ports.accounts, engine, repository, clock),
        retention=Retention(ports.accounts, ports.session_memory, ports.vectors, sessions, clock, ports.agents),
        metrics=metrics,
        modern=Modern(operations, info, Seal(ports.secret.subkey("request state")), limits, clock),
        info=info,
        toolsets=toolsets,
    )


def _session_tools(settings: Settings, ports: Ports, hints: Hints, clock: Clock) -> SessionTools:
    return SessionTools(hints, clock, ContextFile(settings.operating_context), VERSION, ports.agents)


class Server:
    """The web application over the services, and the loops beside it."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.lives = Lives(services.limits, services.clock, Seal(services.ports.secret.subkey("event ids")))
        transports = services.ports.transports
        self.keeper = Keeper(self.lives, transports, services.limits, services.clock, self._connection)
        self._seen = 0
        self._loops: list[asyncio.Task[None]] = []
        services.sessions.ended = self._noticed
        self.exchanges = Exchanges(services.limits)
        self.tasks = Tasks(services.modern, services.limits, services.clock, self.lives.tasks)
        endpoint = self._endpoint(services)
        api = Api(
            sessions=services.sessions,
            engine=services.engine,
            recall=services.recall,
            limits=services.limits,
            clock=services.clock,
        )
        self.application = web.Application(
            client_max_size=services.limits.body_max_bytes,
            middlewares=[middleware(Guard(services.settings), services.metrics)],
        )
        for path in ("/mcp", "/mcp/"):
            self.application.router.add_post(path, endpoint.post)
            self.application.router.add_get(path, endpoint.get, allow_head=False)
            self.application.router.add_delete(path, endpoint.delete)
        self.application.add_routes(api.routes())
        health = Health(services.ports.accounts, services.ports.session_memory, services.clock)
        self.application.add_routes([*health.routes(), web.get("/metrics", self._metrics)])
        self.application.on_startup.append(self._start)
        self.application.on_shutdown.append(self._stop)

    def _endpoint(self, services: Services) -> McpEndpoint:
        return McpEndpoint(
            modern=self._modern,
            sessions=services.sessions,
            lives=self.lives,
            keeper=self.keeper,
            read_back=services.read_back,
            calls=services.calls,
            limits=services.limits,
            clock=services.clock,
            toolsets=services.toolsets,
        )

    def _connection(self) -> Connection:
        return Connection(self.services.operations.catalog, self.services.info)

    def _modern(self, visible: Visible) -> ModernEndpoint:
        return ModernEndpoint(
            modern=self.services.modern,
            listening=Listening(self.services.operations, self.services.modern.results, self.services.limits),
            tasks=self.tasks,
            lives=self.lives,
            exchanges=self.exchanges,
            limits=self.services.limits,
            visible=visible,
            recheck=self.services.sessions.recheck,
        )

    async def notice(self) -> None:
        """Close what the audit says has ended since the last look, in this process or in another."""
        while True:
            records = await self.services.ports.accounts.audit(after=self._seen, limit=500)
            for record in records:
                self._seen = max(self._seen, record.sequence)
                self._end(record)
            if len(records) < 500:
                return

    def _end(self, record: AuditRecord) -> None:
        try:
            self.lives.end(record)
            self.exchanges.end(record)
            self.tasks.end(record, ends)
        except Exception as error:  # The edge of a record: those behind it must be looked at as well.
            fault("ending_failed", error)

    async def _noticed(self) -> None:
        """After a revocation that is committed: it stands, whatever happens here. The loop looks again."""
        try:
            await self.notice()
        except Exception as error:  # The edge of a revocation's answer.
            fault("notice_failed", error)

    async def _start(self, _: web.Application) -> None:
        self._seen = await self.services.ports.accounts.audit_end()
        await self.keeper.begin()
        self._loops = [
            asyncio.create_task(every(POLL_S, self.notice)),
            asyncio.create_task(every(POLL_S, self.keeper.notice)),
            asyncio.create_task(every(POLL_S, self.keeper.note_use)),
            asyncio.create_task(every(POLL_S, self._sweep)),
            asyncio.create_task(every(RETENTION_S, self._clean)),
        ]

    async def _sweep(self) -> None:
        now_ms = self.services.clock()
        self.lives.sweep(now_ms)
        self.exchanges.sweep(now_ms)
        self.tasks.sweep(now_ms)

    async def _clean(self) -> None:
        await self.services.retention.run()
        await self.keeper.sweep()

    async def _stop(self, _: web.Application) -> None:
        """Let running calls finish for a while, then close every session: their streams end cleanly."""
        for loop in self._loops:
            loop.cancel()
        self.exchanges.finish()
        if self.lives.tasks:
            await asyncio.wait(set(self.lives.tasks), timeout=self.services.limits.shutdown_ms / 1000)
        await self.exchanges.finished(self.services.limits.shutdown_ms / 1000)
        try:
            await self.keeper.note_use(now=True)
        except Unavailable as error:
            fault("use_unnoted", error)
        self.lives.close_all()
        self.tasks.close()
        self.exchanges.cut()

    async def _metrics(self, _: web.Request) -> web.Response:
        self.services.metrics.transports.set(len(self.lives))
        self.services.metrics.event_bytes.set(self.lives.budget.used)
        return web.Response(body=self.services.metrics.text(), content_type="text/plain")


@asynccontextmanager
async def listening(server: Server) -> AsyncIterator[str]:
    """Serve on the settings' address; yields the endpoint's URL once requests are served."""
    settings = server.services.settings
    context = tls_context(settings)
    limits = server.services.limits
    runner = Runner(
        server.application,
        limits,
        connections_below(limits.connections_max),
        access_log=None,
        handler_cancellation=True,
        shutdown_timeout=settings.shutdown_ms / 1000,
    )
    await runner.setup()

    async def sweep() -> None:
        runner.sweep(asyncio.get_running_loop().time())

    sweeping = asyncio.create_task(every(CONNECTIONS_S, sweep))
    try:
        site = web.TCPSite(runner, settings.host, settings.port, ssl_context=context, backlog=1024)
        try:
            await site.start()
        except OSError:
            raise SettingsError("CODESYNAPSE_HOST, CODESYNAPSE_PORT: the address cannot be listened on.") from None
        host, port = runner.addresses[0][:2]
        shown = f"[{host}]" if ":" in host else host
        yield f"{'https' if context else 'http'}://{shown}:{port}/mcp"
    finally:
        await runner.cleanup()
        sweeping.cancel()


@asynccontextmanager
async def running(settings: Settings, *, clock: Clock = system_clock) -> AsyncIterator[tuple[Server, str]]:
    """Open everything and serve; yields the server and its URL."""
    async with open_ports(settings) as ports:
        server = Server(compose(settings, ports, clock=clock))
        async with listening(server) as url:
            log.info("listening", url=url)
            yield server, url
