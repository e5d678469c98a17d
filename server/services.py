"""The services over the stores: settings → ports → services. Only it, and the commands, open backends."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from msgspec import Struct, field, structs

from codesynapse.backends import features_of, open_backend
from codesynapse.backends.embedders import open_embedder
from codesynapse.backends.embedders.http import Endpoint
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.embedding import Embedder
from codesynapse.contracts.errors import CodeSynapseError, Invalid
from codesynapse.contracts.ports import Accounts, Backend, RepositoryGraph, SessionMemory, StoreStatus, VectorIndex
from codesynapse.contracts.transports import Transports
from codesynapse.server.agents.doctor import Doctor
from codesynapse.server.agents.folder import Folder
from codesynapse.server.agents.hearing import heard
from codesynapse.server.agents.moving import Mover
from codesynapse.server.agents.tuning import Tuner
from codesynapse.server.agents.wording import terms_of
from codesynapse.server.clock import Clock, system_clock
from codesynapse.server.features.calls import Calls
from codesynapse.server.features.operations import Operations
from codesynapse.server.features.product import (
    INSTRUCTIONS,
    agent_changes,
    register_product,
    repository_changes,
    session_changes,
)
from codesynapse.server.features.reading_back import ReadBack
from codesynapse.server.features.registry import Features
from codesynapse.server.features.updates import Updates
from codesynapse.server.hints.state import Hints
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.catalog import chosen_toolsets
from codesynapse.server.mcp.connection import ServerInfo
from codesynapse.server.mcp.seal import Seal
from codesynapse.server.memory.engine import SessionEngine
from codesynapse.server.memory.models import Models
from codesynapse.server.memory.recall import Recall
from codesynapse.server.memory.repository import RepositoryEngine
from codesynapse.server.modern.service import Modern
from codesynapse.server.secret import SecretKey, secret_key
from codesynapse.server.sessions.registry import Sessions
from codesynapse.server.settings import Settings, SettingsError, check_endpoint, embedder_key, graph_url
from codesynapse.server.telemetry import Metrics
from codesynapse.server.tools.agents import register_agent_tools
from codesynapse.server.tools.dispatch import Dispatcher
from codesynapse.server.tools.gate import Gate
from codesynapse.server.tools.graph import GraphTools, register_graph_tools
from codesynapse.server.tools.maintenance import MaintenanceTools
from codesynapse.server.tools.maintenance_health import HealthTools
from codesynapse.server.tools.memory import MemoryTools
from codesynapse.server.tools.operating import ContextFile
from codesynapse.server.tools.registry import Toolbox
from codesynapse.server.tools.session import Probe, SessionTools, register_session_tools
from codesynapse.server.work.queue import QueuedWrites
from codesynapse.server.work.retention import Retention

VERSION = version("codesynapse")
INFO = ServerInfo(name="codesynapse", title="CodeSynapse", version=VERSION, instructions=INSTRUCTIONS)
PROTOCOLS = {"bolt": "neo4j"}
"""Schemes of URLs that are named after a protocol, and whose entry point is meant."""


class Ports(Struct, kw_only=True):
    """The stores that the server runs on, and the key of what it seals."""

    accounts: Accounts
    session_memory: SessionMemory
    repository: RepositoryGraph
    vectors: VectorIndex | None
    agents: AgentMemory | None = None
    probe: Callable[[], Awaitable[StoreStatus]] | None = None
    transports: Transports | None = None
    embedder: Embedder | None = None
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
    queue: QueuedWrites | None
    mover: Mover | None
    metrics: Metrics
    info: ServerInfo
    toolsets: frozenset[str] | None

    async def work(self) -> None:
        """One round of what is queued."""
        if self.queue is not None:
            await self.queue.run()


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
    endpoint = await asyncio.to_thread(endpoint_of, settings)
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
            embedder=await stack.enter_async_context(open_embedder(settings.embedder, endpoint)),
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


def endpoint_of(settings: Settings) -> Endpoint | None:
    """Where the embedder `http` is; None for any other. Blocks. Raises SettingsError."""
    if settings.embedder != "http":
        return None
    check_endpoint(settings)
    return Endpoint(
        url=settings.embedder_url,
        model=settings.embedder_model,
        dimension=settings.embedder_dimension,
        key=embedder_key(settings),
        deadline_s=settings.embedder_deadline_ms / 1_000,
    )


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
    limits = limits_of(settings)
    ports, updates = _announcing(ports)
    engine = SessionEngine(ports.session_memory, clock, session_changes(updates))
    repository = RepositoryEngine(ports.repository, clock, sessions.recheck_writing, repository_changes(updates))
    recall = Recall(engine, repository, clock)
    hints = Hints(embedder=ports.embedder is not None, advisories=settings.degraded_advisory)
    toolbox, metrics = Toolbox(), Metrics()
    register_graph_tools(toolbox, GraphTools(sessions, engine, repository, recall, hints))
    models = Models(ports.embedder, hints, clock, settings.embedder_deadline_ms)
    queue, mover = _agent_tools(toolbox, settings, ports, sessions, hints, models, clock)
    register_session_tools(toolbox, _session_tools(settings, ports, sessions, hints, clock))
    features = Features(toolbox, updates)
    register_product(features, sessions, engine, repository, recall, ports.agents, clock, limits.resource_max_bytes)
    operations = Operations(features, Dispatcher(toolbox, clock, metrics, Gate(hints.pauses)), clock, limits)
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
        models=models,
        toolbox=toolbox,
        features=features,
        operations=operations,
        calls=Calls(operations, limits),
        read_back=ReadBack(toolbox, ports.accounts, engine, repository, clock),
        retention=Retention(ports.accounts, ports.session_memory, ports.vectors, sessions, clock, ports.agents),
        queue=queue,
        mover=mover,
        metrics=metrics,
        modern=Modern(operations, INFO, Seal(ports.secret.subkey("request state")), limits, clock),
        info=INFO,
        toolsets=_toolsets(settings, toolbox),
    )


def _announcing(ports: Ports) -> tuple[Ports, Updates]:
    """The stores, with one of agents that tells of its changes, and whom it tells."""
    updates = Updates()
    agents = None if ports.agents is None else heard(ports.agents, agent_changes(updates))
    return structs.replace(ports, agents=agents), updates


def _agent_tools(
    toolbox: Toolbox,
    settings: Settings,
    ports: Ports,
    sessions: Sessions,
    hints: Hints,
    models: Models,
    clock: Clock,
) -> tuple[QueuedWrites, Mover] | tuple[None, None]:
    """Register the tools of agent memory; the queue of their writes, and what moves agents out and in.

    Neither where no store keeps agent memory.
    """
    if ports.agents is None:
        return None, None
    size_max = settings.transfer_max_bytes
    folder = Folder(Path(settings.exports), size_max) if settings.exports else None
    mover = Mover(ports.agents, terms_of, clock, folder=folder, size_max=size_max)
    queue = QueuedWrites(ports.agents, ports.accounts.stands, hints, clock)
    memory = MemoryTools(ports.agents, queue, hints, embed=models.embed, recheck=sessions.recheck, clock=clock)
    maintenance = MaintenanceTools(
        ports.agents, mover, recheck=sessions.recheck, clock=clock, public_url=settings.public_url
    )
    register_agent_tools(toolbox, memory, maintenance)
    return queue, mover


def _toolsets(settings: Settings, toolbox: Toolbox) -> frozenset[str] | None:
    """Those that the settings show. Raises SettingsError that names all there are."""
    try:
        return chosen_toolsets(settings.toolsets.split(","), toolbox.catalog.toolsets)
    except LookupError:
        known = ", ".join(sorted(toolbox.catalog.toolsets))
        raise SettingsError(f"CODESYNAPSE_TOOLSETS: the toolsets are {known}.") from None


def _session_tools(settings: Settings, ports: Ports, sessions: Sessions, hints: Hints, clock: Clock) -> SessionTools:
    probes: dict[str, Probe] = {}
    if ports.agents is not None:
        doctor = Doctor(ports.agents, Tuner(ports.agents, clock))
        probes["health"] = HealthTools(ports.agents, doctor, sessions.recheck, clock).findings
    return SessionTools(hints, clock, ContextFile(settings.operating_context), VERSION, ports.agents, probes)
