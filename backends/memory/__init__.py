"""Every port in dicts: the reference, and a server that forgets when it stops.

Each operation is atomic because it never awaits in the middle. Nothing here decides: that is the law's.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from codesynapse.backends.memory.accounts import DictAccounts
from codesynapse.backends.memory.agents import DictAgents
from codesynapse.backends.memory.graph import DictSessionMemory
from codesynapse.backends.memory.portable import DictPortable
from codesynapse.backends.memory.repository import DictRepositoryGraph
from codesynapse.backends.memory.vectors import DictVectorIndex, Shelf
from codesynapse.contracts.opening import only, opens
from codesynapse.contracts.ports import Backend, Features


@opens(
    Features(
        session_memory=True, repository=True, vectors=True, accounts=True, transports=True, agents=True, portable=True
    )
)
@asynccontextmanager
async def open_memory(options: Mapping[str, str]) -> AsyncIterator[Backend]:
    """A fresh store that takes no options."""
    only(options)
    shelf: Shelf = {}
    sessions = DictSessionMemory(shelf)
    repository = DictRepositoryGraph()
    accounts = DictAccounts()
    yield Backend(
        session_memory=sessions,
        repository=repository,
        vectors=DictVectorIndex(shelf, takes=sessions.takes_vectors),
        accounts=accounts,
        transports=accounts.transports,
        agents=DictAgents(accounts),
        portable=DictPortable(sessions, repository),
    )
