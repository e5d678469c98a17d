"""The composition root: services → web application, and what runs beside it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from codesynapse.contracts.accounts import AuditRecord
from codesynapse.contracts.errors import Unavailable
from codesynapse.server.clock import Clock, system_clock
from codesynapse.server.http.api import Api
from codesynapse.server.http.exchanges import Exchanges
from codesynapse.server.http.guard import Guard, middleware
from codesynapse.server.http.health import Health
from codesynapse.server.http.keeping import Keeper
from codesynapse.server.http.live import Lives, ends
from codesynapse.server.http.mcp import McpEndpoint
from codesynapse.server.http.modern import ModernEndpoint, Visible
from codesynapse.server.http.requests import Bodies
from codesynapse.server.http.runner import Runner, connections_below
from codesynapse.server.http.tls import tls_context
from codesynapse.server.http.transfers import Transfers
from codesynapse.server.mcp.connection import Connection
from codesynapse.server.mcp.seal import Seal
from codesynapse.server.modern.listening import Listening
from codesynapse.server.modern.tasks import Tasks
from codesynapse.server.services import Services, compose, open_ports
from codesynapse.server.settings import Settings, SettingsError
from codesynapse.server.telemetry import fault, log
from codesynapse.server.work.loops import every
from codesynapse.server.work.queue import QUEUE_S

POLL_S = 0.4
"""How often the audit is looked at for access that another process ended; streams close within a second."""
RETENTION_S = 60.0
CONNECTIONS_S = 1.0


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
        self.bodies = Bodies(services.limits)
        self.tasks = Tasks(services.modern, services.limits, services.clock, self.lives.tasks)
        endpoint = self._endpoint(services)
        api = Api(
            sessions=services.sessions,
            engine=services.engine,
            recall=services.recall,
            bodies=self.bodies,
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
        if services.mover is not None:
            transfers = Transfers(services.mover, services.sessions, services.limits)
            self.application.add_routes(transfers.routes())
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
            bodies=self.bodies,
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
            asyncio.create_task(every(QUEUE_S, self.services.work)),
        ]

    async def _sweep(self) -> None:
        now_ms = self.services.clock()
        self.lives.sweep(now_ms)
        self.exchanges.sweep(now_ms)
        self.tasks.sweep(now_ms)

    async def _clean(self) -> None:
        await self.services.retention.run()
        if self.services.mover is not None:
            self.services.mover.sweep()
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
        if self.services.mover is not None:
            self.services.mover.close()
        self.services.models.close()
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
