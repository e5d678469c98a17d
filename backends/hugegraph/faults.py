"""What can go wrong with the server, and what is told of it. Its own messages stay here: they may repeat a value."""

from codesynapse.contracts.errors import StoreBusy, StoreFault

UNREACHABLE = "graph store: nothing answers at the host and port of CODESYNAPSE_GRAPH"
REFUSED = "graph store: the server refuses the user and password of CODESYNAPSE_GRAPH; correct them"
NO_GRAPH = "graph store: the server has no graph of the name in CODESYNAPSE_GRAPH"
NOT_GREMLIN = "graph store: what answers at CODESYNAPSE_GRAPH is no Gremlin endpoint of HugeGraph"
TOO_OLD = "graph store: the server is older than HugeGraph 1.5; upgrade it"
NEWER_SCHEMA = "graph store: a newer CodeSynapse made the schema; upgrade this one"
FOREIGN_SCHEMA = "graph store: the schema cannot be made; give CodeSynapse an empty graph and a user who may change it"
SCRIPT = "graph store: the server refused a script"

FORGOTTEN = "Missing authentication context"
"""How HugeGraph begins to refuse all that comes over lines which it accepted: whenever any client's log-in fails,
it forgets who the others on the same network thread are."""


class Lost(StoreFault):
    """The connection to the store was lost; what it was asked to do may have been done."""


class Late(StoreBusy):
    """The store did not answer in time; what it was asked to do may still be done."""


class ScriptRefused(StoreFault):
    """The store refused a script; nothing was written."""

    def __init__(self, status: int) -> None:
        super().__init__(field=SCRIPT, details={"status": status})
        self.status = status


class LoggedOut(ScriptRefused):
    """The server forgot who is at the other end of the line; nothing was written. A new line logs in again."""
