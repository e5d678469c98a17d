"""The product's resources: this chat's memory of a repository, and the repository's own, as bounded JSON.

No URI names a session: which one it is, the execution says.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.errors import Invalid, NotFound
from codesynapse.contracts.identity import Execution, valid_id
from codesynapse.contracts.quotas import Quotas
from codesynapse.server.features.completion import Completion
from codesynapse.server.features.registry import (
    Features,
    Instance,
    ResourceContents,
    ResourceTemplate,
    text_contents,
)
from codesynapse.server.features.templates import Template
from codesynapse.server.features.updates import Key, repository_key, session_key
from codesynapse.server.memory.recall import Recall
from codesynapse.server.memory.repository import RepositoryEngine
from codesynapse.server.memory.views import EdgeView, Neighbourhood, NodeView, edge_view, node_view
from codesynapse.server.sessions.registry import Sessions
from codesynapse.server.tools.dispatch import STORED_DATA
from codesynapse.server.tools.registry import ToolContext

SESSION_TEMPLATE = "codesynapse://session-memory/{repository}"
REPOSITORY_TEMPLATE = "codesynapse://repository/{repository}{?node,depth}"
JSON = "application/json"
EDGES_MAX = 300
"""As of `query_subgraph`."""
FACTS_MAX = Quotas().namespace_facts_max

_encode = msgspec.json.Encoder().encode
_session_uri = Template(SESSION_TEMPLATE)
_repository_uri = Template(REPOSITORY_TEMPLATE)


class Cut(Struct):
    """Items that fit into so many bytes of JSON, and how many did not."""

    kept: list[Any]
    left_out: int


def cut(items: Sequence[Any], most_bytes: int) -> Cut:
    """The first items whose JSON fits into a bound together."""
    left = most_bytes
    for count, item in enumerate(items):
        left -= len(_encode(item)) + 1
        if left < 0:
            return Cut([*items[:count]], len(items) - count)
    return Cut([*items], 0)


class MemoryResources:
    """Reads and lists them. size_max: the most bytes of one resource's JSON."""

    def __init__(self, sessions: Sessions, recall: Recall, repository: RepositoryEngine, size_max: int) -> None:
        self._sessions = sessions
        self._recall = recall
        self._repository = repository
        self._size_max = size_max

    async def session(
        self, execution: Execution, uri: str, variables: Mapping[str, str], _: ToolContext
    ) -> ResourceContents:
        """This chat's current facts, newest first."""
        repository = await self._allowed(execution, variables)
        read = await self._recall.read(execution, repository, query=None, limit=FACTS_MAX)
        head = {
            "source": "this chat's memory",
            "note": STORED_DATA,
            "repository": repository,
            "revision": read.revision,
            "closed": read.closed,
        }
        room = self._size_max - len(_encode(head)) - 64
        facts = cut(read.facts, room)
        return [self._contents(uri, head, {"facts": facts.kept}, left_out=facts.left_out, more=False)]

    async def repository(
        self, execution: Execution, uri: str, variables: Mapping[str, str], _: ToolContext
    ) -> ResourceContents:
        """The repository's memory around one entity, or, without one, from its first entities on."""
        repository = await self._allowed(execution, variables)
        found = await self._found(execution, repository, variables)
        head = {"source": "the repository's memory", "note": STORED_DATA, "repository": repository}
        room = self._size_max - len(_encode(head)) - 64
        nodes, edges = {node.id: node for node in found.nodes}, found.edges
        # Each edge takes its ends along, so that what is cut off leaves no edge without them.
        entered: dict[str, None] = {}
        groups: list[_Group] = [_group(edge, nodes, entered) for edge in edges]
        groups += [(None, [node]) for key, node in nodes.items() if key not in entered]
        kept = cut(groups, room)
        lists = {
            "nodes": [node for _, members in kept.kept for node in members],
            "edges": [edge for edge, _ in kept.kept if edge is not None],
        }
        return [self._contents(uri, head, lists, left_out=kept.left_out, more=found.truncated)]

    async def watch_session(self, execution: Execution, _: str, variables: Mapping[str, str]) -> Key:
        """What to listen to for this chat's memory."""
        repository = await self._allowed(execution, variables)
        return session_key(execution.identity.tenant_id, execution.identity.session_id, repository)

    async def watch_repository(self, execution: Execution, _: str, variables: Mapping[str, str]) -> Key:
        """What to listen to for a repository's memory, whatever part of it was read."""
        repository = await self._allowed(execution, variables)
        return repository_key(execution.identity.tenant_id, repository)

    async def sessions(self, execution: Execution) -> Sequence[Instance]:
        """This chat's memory of each repository that it may read."""
        return [
            Instance(
                uri=_session_uri.expand({"repository": name}),
                name=f"session-memory/{name}",
                title=f"This chat's memory of {name}",
                description=f"Current facts that this chat remembered of the repository {name}.",
            )
            for name in await self._sessions.readable(execution)
        ]

    async def repositories(self, execution: Execution) -> Sequence[Instance]:
        """Each repository that may be read."""
        return [
            Instance(
                uri=_repository_uri.expand({"repository": name}),
                name=f"repository/{name}",
                title=f"The memory of {name}",
                description=f"Entities and facts of the repository {name}, shared by all who work on it.",
            )
            for name in await self._sessions.readable(execution)
        ]

    async def _found(self, execution: Execution, repository: str, variables: Mapping[str, str]) -> Neighbourhood:
        depth = variables.get("depth", "1")
        if depth not in ("1", "2", "3"):
            raise Invalid(field="depth", limit="1 to 3")
        if "node" not in variables:
            found, more = await self._repository.overview(execution, repository, limit=EDGES_MAX)
            nodes, edges = [node_view(each) for each in found.entities], [edge_view(each) for each in found.facts]
            return Neighbourhood(nodes=nodes, edges=edges, truncated=more)
        names = [variables["node"]]
        around = await self._repository.neighbourhood(execution, repository, names, depth=int(depth), limit=EDGES_MAX)
        if not around.nodes:
            raise NotFound
        return around

    async def _allowed(self, execution: Execution, variables: Mapping[str, str]) -> str:
        """The repository of a URI, if the caller may read it. Raises NotFound, RepositoryForbidden."""
        repository = variables["repository"]
        if not valid_id(repository):
            raise NotFound
        await self._sessions.require_repository(execution, repository, Level.READ)
        return repository

    def _contents(
        self, uri: str, head: Mapping[str, Any], lists: Mapping[str, Any], *, left_out: int, more: bool
    ) -> dict[str, Any]:
        """truncated: there is more than is here. left_out: how many of what was read did not fit into the bound."""
        marks: dict[str, Any] = {"truncated": more or bool(left_out)}
        if left_out:
            marks |= {"left_out": left_out, "limit_bytes": self._size_max}
        return text_contents(uri, JSON, _encode({**head, **marks, **lists}).decode())


_Group = tuple[EdgeView | None, list[NodeView]]


def _group(edge: EdgeView, nodes: Mapping[str, NodeView], entered: dict[str, None]) -> _Group:
    """An edge with those of its ends that no edge before it brought."""
    fresh = [end for end in dict.fromkeys((edge.source, edge.target)) if end not in entered and end in nodes]
    entered.update(dict.fromkeys(fresh))
    return edge, [nodes[end] for end in fresh]


def register_memory_resources(features: Features, resources: MemoryResources, completion: Completion) -> None:
    """Register both, this chat's memory first."""
    features.add(
        ResourceTemplate(
            uri_template=SESSION_TEMPLATE,
            name="session-memory",
            title="This chat's memory",
            description="What this chat remembered of a repository: current facts as JSON, newest first.",
            mime_type=JSON,
            read=resources.session,
            complete={"repository": completion.repositories},
            instances=resources.sessions,
            watch=resources.watch_session,
        ),
        ResourceTemplate(
            uri_template=REPOSITORY_TEMPLATE,
            name="repository",
            title="A repository's memory",
            description=(
                "The shared memory of a repository as JSON: nodes and edges around one node (an entity's name or "
                "id), 1 to 3 steps deep; without a node, from the first entities on."
            ),
            mime_type=JSON,
            read=resources.repository,
            complete={
                "repository": completion.repositories,
                "node": completion.entities,
                "depth": completion.depths,
            },
            instances=resources.repositories,
            watch=resources.watch_repository,
        ),
    )
