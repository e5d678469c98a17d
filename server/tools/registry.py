"""How a tool is registered: the one way, for the product's own tools and for anybody else's."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from codesynapse.contracts.identity import Execution
from codesynapse.server.mcp.catalog import Catalog

Progress = Callable[[float, float | None, str | None], None]
Log = Callable[[str, str], None]


class ToolContext(Struct, frozen=True, kw_only=True):
    """What a running tool may say before its answer. Both may be dropped; neither may hold a secret.

    progress(value, total, message): heard only where the caller asked for it; values must rise.
    log(level, text): heard from the level on that the client chose.
    """

    progress: Progress
    log: Log


class Handler(Protocol):
    """The work of a tool: arguments and the answer are the structs that it was registered with."""

    def __call__(self, execution: Execution, arguments: Any, context: ToolContext, /) -> Awaitable[Any]: ...


class Tool(Struct, frozen=True, kw_only=True):
    """One tool. arguments, answer: structs, from which the schemas follow. description: what a model reads."""

    name: str
    title: str
    description: str
    toolset: str
    arguments: type[Struct]
    answer: type[Struct]
    handler: Handler
    read_only: bool
    destructive: bool = False
    idempotent: bool = False


class Toolbox:
    """All tools by name, and how they are listed."""

    def __init__(self) -> None:
        self.catalog = Catalog()
        self._tools: dict[str, Tool] = {}

    def register(self, tool: Tool) -> None:
        """Add a tool. Raises ValueError for a name that is taken."""
        self.catalog.add(listed(tool), toolset=tool.toolset)
        self._tools[tool.name] = tool

    def tool(self, name: str) -> Tool:
        """The tool of this name, which the catalog shows."""
        return self._tools[name]


class Answer(Struct, frozen=True, kw_only=True):
    """A tool's result: its structured content as JSON, and whether it is an error.

    expires_at_ms: told in `_meta` during the session's last day.
    """

    structured: bytes
    is_error: bool
    expires_at_ms: int | None = None


def listed(tool: Tool) -> dict[str, Any]:
    """The tool as `tools/list` shows it."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": schema_of(tool.arguments, closed=True),
        "outputSchema": schema_of(tool.answer, closed=False),
        "annotations": {
            "title": tool.title,
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent,
            "openWorldHint": False,
        },
    }


def schema_of(kind: type[Struct], *, closed: bool) -> dict[str, Any]:
    """The JSON Schema of a struct, an object at its root. closed: unknown members are refused."""
    _, components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    root = dict(components[kind.__name__])
    _prune(root)
    others = {name: schema for name, schema in components.items() if name != kind.__name__}
    for schema in others.values():
        _prune(schema)
    if closed:
        root["additionalProperties"] = False
    if others:
        root["$defs"] = others
    return root


def _prune(schema: dict[str, Any]) -> None:
    """Leave out what costs every client characters and tells it nothing: titles, and null as a default."""
    schema.pop("title", None)
    schema.pop("description", None)
    for member in schema.get("properties", {}).values():
        if member.get("default", ...) is None:
            del member["default"]


def no_progress(_: float, __: float | None, ___: str | None) -> None:
    """Progress that nobody asked for."""


def no_log(_: str, __: str) -> None:
    """Logs that nobody hears."""


SILENT = ToolContext(progress=no_progress, log=no_log)
