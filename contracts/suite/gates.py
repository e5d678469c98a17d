"""Which tests are for which backends, and the port that a class of tests speaks to."""

import pytest
import pytest_asyncio

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.ports import Accounts, Backend, RepositoryGraph, SessionMemory, VectorIndex
from codesynapse.contracts.suite.keepers import Keeper, new_keeper
from codesynapse.contracts.suite.organizations import User, new_user
from codesynapse.contracts.suite.worlds import Chat, Library, new_library, new_scope
from codesynapse.contracts.transports import Transports


def requires(*features: str) -> pytest.MarkDecorator:
    """For backends that declare all of these features; deselected on others. Without any: for every backend."""
    return pytest.mark.contract_requires(*features)


def without(feature: str) -> pytest.MarkDecorator:
    """For backends that do not declare this feature; deselected on others."""
    return pytest.mark.contract_without(feature)


# The loop is named by the tests themselves, so that the asyncio mode of the host does not matter. The fixtures are
# methods, so that a fixture of the same name in a host's conftest.py cannot take their place.


@requires("session_memory")
@pytest.mark.asyncio(loop_scope="session")
class OnSessionMemory:
    """Tests that speak to session memory."""

    @pytest.fixture
    def memory(self, backend: Backend) -> SessionMemory:
        assert backend.session_memory is not None
        return backend.session_memory

    @pytest.fixture
    def chat(self, memory: SessionMemory) -> Chat:
        """One namespace of a new session of a new tenant."""
        return Chat(memory, new_scope())


@requires("repository")
@pytest.mark.asyncio(loop_scope="session")
class OnRepository:
    """Tests that speak to repository memory."""

    @pytest.fixture
    def graph(self, backend: Backend) -> RepositoryGraph:
        assert backend.repository is not None
        return backend.repository

    @pytest.fixture
    def library(self, graph: RepositoryGraph) -> Library:
        """A new repository of a new tenant."""
        return new_library(graph)


@requires("vectors")
@pytest.mark.asyncio(loop_scope="session")
class OnVectors:
    """Tests that speak to the vector index."""

    @pytest.fixture
    def index(self, backend: Backend) -> VectorIndex:
        assert backend.vectors is not None
        return backend.vectors


@requires("accounts")
@pytest.mark.asyncio(loop_scope="session")
class OnAccounts:
    """Tests that speak to the accounts."""

    @pytest.fixture
    def accounts(self, backend: Backend) -> Accounts:
        assert backend.accounts is not None
        return backend.accounts

    @pytest_asyncio.fixture(loop_scope="session")
    async def user(self, accounts: Accounts) -> User:
        """A member of a new organisation, with a key."""
        return await new_user(accounts)


@requires("transports")
class OnTransports(OnAccounts):
    """Tests that speak to the protocol sessions beside the accounts."""

    @pytest.fixture
    def transports(self, backend: Backend) -> Transports:
        assert backend.transports is not None
        return backend.transports


@requires("agents")
@pytest.mark.asyncio(loop_scope="session")
class OnAgents:
    """Tests that speak to agent memory."""

    @pytest.fixture
    def agents(self, backend: Backend) -> AgentMemory:
        assert backend.agents is not None
        return backend.agents

    @pytest.fixture
    def keeper(self, agents: AgentMemory) -> Keeper:
        """A user of a new tenant, on an agent that nobody has written to."""
        return new_keeper(agents)
