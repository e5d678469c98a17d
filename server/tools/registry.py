"""How a tool is registered: the one way, for the product's own tools and for anybody else's."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NoReturn, Protocol

import msgspec
from msgspec import Raw, Struct

from codesynapse.contracts.errors import InputUnavailable
from codesynapse.contracts.identity import Execution
from codesynapse.server.hints.gated import fault_of
from codesynapse.server.mcp.capabilities import AskMethod, lacking, required_of
from codesynapse.server.mcp.catalog import Catalog, ListKind
from codesynapse.server.mcp.naming import Place

Progress = Callable[[float, float | None, str | None], None]
Log = Callable[[str, str], None]


class InputRequest(Struct, frozen=True):
    """A question to the client: to its user, its model or its file system. params: as the protocol has them."""

    method: AskMethod
    params: dict[str, Any] = {}


Answers = Mapping[str, dict[str, Any]]
"""The client's results by the keys of the requests."""
Ask = Callable[[Mapping[str, InputRequest]], Awaitable[Answers]]


class InputRequired(Exception):
    """Ends a run whose client can be asked only by its answer; it runs again from its beginning with what was said.

    Raised by a context's `ask`; neither a tool nor the dispatcher catches it.
    """

    def __init__(self, requests: Mapping[str, InputRequest]) -> None:
        super().__init__("The client is asked.")
        self.requests = dict(requests)


async def cannot_ask(requests: Mapping[str, InputRequest]) -> NoReturn:
    """Nobody is there who could be asked. Raises InputUnavailable."""
    raise InputUnavailable(required_of((each.method, each.params) for each in requests.values()))


def keep_stream() -> None:
    """There is no connection that could be closed."""


class ToolContext(Struct, frozen=True, kw_only=True):
    """What a running tool may say before its answer. Progress and logs may be dropped; neither may hold a secret.

    progress(value, total, message): heard only where the caller asked for it; values must rise.
    log(level, text): heard from the level on that the client chose.
    ask(requests): the client's answers, by the same keys. Raises InputUnavailable where the client did not declare
    what a request needs, InputUnanswered where it does not answer. To be called before the first side effect: where
    the client can be asked only by an answer, the tool runs again from its beginning.
    close_stream(): let the client's connection go before the answer; it polls for it (SEP-1699).
    capabilities: what the client declared, as far as it matters here.
    shared: whether the process serves several clients, as over HTTP; over stdio the process is the session.
    """

    progress: Progress
    log: Log
    ask: Ask = cannot_ask
    close_stream: Callable[[], None] = keep_stream
    capabilities: Mapping[str, Any] = {}
    shared: bool = True

    def can_ask(self, method: AskMethod, params: Mapping[str, Any] | None = None) -> bool:
        """Whether the client declared what such a request needs. params: as in the request, such as its mode."""
        return not lacking(self.capabilities, required_of([(method, params or {})]))


class Blocks(Struct, frozen=True, kw_only=True):
    """An answer in content blocks of the protocol's own form: text, images, audio, resources.

    structured: any JSON that goes with them as structured content.
    """

    content: Sequence[Mapping[str, Any]]
    is_error: bool = False
    structured: Any = None


class Handler(Protocol):
    """The work of a tool: arguments and the answer are the structs that it was registered with."""

    def __call__(self, execution: Execution, arguments: Any, context: ToolContext, /) -> Awaitable[Any]: ...


def nothing_kept(_: Any) -> Mapping[str, object]:
    """A skipped call knows nothing of its answer."""
    return {}


class Hold(Struct, frozen=True, kw_only=True):
    """What a tool does while a pause skips its calls.

    check(execution, arguments): raises whatever the call itself would refuse, since a pause hides no error (decision
    7): grants, and what the arguments mean. It returns the answer of a call that was answered before under the same
    idempotency key, which is given again; None for any other. kept(arguments): members of the skipped answer that are
    known all the same.
    """

    check: Callable[[Execution, Any], Awaitable[Struct | None]]
    kept: Callable[[Any], Mapping[str, object]] = nothing_kept


class Tool(Struct, frozen=True, kw_only=True):
    """One tool. arguments, answer: structs, from which the schemas follow. description: what a model reads.

    input_schema: stands in the list as it is, instead of one of `arguments`; the handler then gets the arguments as
    a dict, and checks them itself. answer: None where the handler returns `Blocks`. task_support: whether a client
    may, or must, run it as a task. hold: for the tools that a pause skips (`hints.gated`). prepare: what comes before
    such a task, while its caller waits, and may question or refuse the call; its answer is dropped, and the handler
    hears what the client said when it asks the same. writes: where a call with these raw params of `tools/call`
    commits, from where its result can be read back; None where no result is kept.
    """

    name: str
    title: str
    description: str
    toolset: str
    arguments: type[Struct] | None = None
    answer: type[Struct] | None = None
    handler: Handler
    read_only: bool
    destructive: bool = False
    idempotent: bool = False
    input_schema: dict[str, Any] | None = None
    task_support: Literal["forbidden", "optional", "required"] = "forbidden"
    hold: Hold | None = None
    prepare: Handler | None = None
    writes: Callable[[Raw], Place] | None = None

    @property
    def keyed(self) -> bool:
        """Whether its calls may declare a session key."""
        return self.arguments is not None and "session_key" in self.arguments.__struct_fields__


class Toolbox:
    """All tools by name, and how they are listed."""

    def __init__(self) -> None:
        self.catalog = Catalog()
        self._tools: dict[str, Tool] = {}
        self._listeners: list[Callable[[ListKind], None]] = []

    def register(self, tool: Tool) -> None:
        """Add a tool.

        Raises ValueError for a name that is taken, where it has no schema of its arguments, and for one of the
        product's own that the table of writes does not know (`hints.gated`).
        """
        wrong = fault_of(
            tool.name, tool.toolset, read_only=tool.read_only, keyed=tool.keyed, holds=tool.hold is not None
        )
        if wrong is not None:
            raise ValueError(f"the tool {tool.name}: {wrong}")
        self.catalog.add(listed(tool), toolset=tool.toolset)
        self._tools[tool.name] = tool

    def tool(self, name: str) -> Tool:
        """The tool of this name, which the catalog shows."""
        return self._tools[name]

    def changed(self, kind: ListKind = "tools") -> None:
        """Tell the clients that a list changed. `catalog.changing` says beforehand which lists ever do."""
        for listener in list(self._listeners):
            listener(kind)

    def listen(self, listener: Callable[[ListKind], None]) -> Callable[[], None]:
        """Call a listener at each change of a list; what is returned ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


class Answer(Struct, frozen=True, kw_only=True):
    """A tool's result: its structured content as JSON, and whether it is an error.

    content: the content blocks as a JSON array; None where they are the structured content as text.
    expires_at_ms: told in `_meta` during the session's last day.
    """

    structured: bytes | None
    is_error: bool
    content: bytes | None = None
    expires_at_ms: int | None = None


def listed(tool: Tool) -> dict[str, Any]:
    """The tool as `tools/list` shows it."""
    shown = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": _input_schema(tool),
    }
    if tool.answer is not None:
        shown["outputSchema"] = schema_of(tool.answer, closed=False)
    shown["annotations"] = {
        "title": tool.title,
        "readOnlyHint": tool.read_only,
        "destructiveHint": tool.destructive,
        "idempotentHint": tool.idempotent,
        "openWorldHint": False,
    }
    return shown


def _input_schema(tool: Tool) -> dict[str, Any]:
    if tool.input_schema is not None:
        return tool.input_schema
    if tool.arguments is None:
        raise ValueError(f"the tool {tool.name} has no schema of its arguments")
    return schema_of(tool.arguments, closed=True)


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
