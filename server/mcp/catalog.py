"""What the protocol lists: tools with their toolsets, prompts and resource templates; in order, and in pages."""

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Raw, Struct

from codesynapse.server.mcp.header import Declared, declarations
from codesynapse.server.mcp.messages import INVALID_PARAMS, METHOD_NOT_FOUND, ProtocolError

T = TypeVar("T")
ListKind = Literal["tools", "prompts", "resources"]
PAGE = 100


class Catalog:
    """The listed form of each tool, prompt and resource template, in the order of registration.

    They are added before the first connection, but for kinds in `changing`, whose lists change while clients are there.
    resources: whether there are resources at all. completes: whether an argument of anything can be completed.
    """

    def __init__(self) -> None:
        self._tools: dict[str, dict[str, Any]] = {}
        self._toolset: dict[str, str] = {}
        self._declared: dict[str, Declared] = {}
        self._prompts: dict[str, dict[str, Any]] = {}
        self._templates: dict[str, dict[str, Any]] = {}
        self.resources = False
        self.completes = False
        self.changing: set[ListKind] = set()

    def add(self, listed: dict[str, Any], *, toolset: str) -> None:
        """Add a tool. listed: as in `tools/list`, with its name."""
        if listed["name"] in self._tools:
            raise ValueError(f"the tool {listed['name']} is registered twice")
        self._tools[listed["name"]] = listed
        self._toolset[listed["name"]] = toolset
        self._declared[listed["name"]] = declarations(listed.get("inputSchema", {}))

    def add_prompt(self, listed: dict[str, Any]) -> None:
        """Add a prompt, as in `prompts/list`. Raises ValueError for a name that is taken."""
        if listed["name"] in self._prompts:
            raise ValueError(f"the prompt {listed['name']} is registered twice")
        self._prompts[listed["name"]] = listed

    def add_template(self, listed: dict[str, Any]) -> None:
        """Add a resource template, as in `resources/templates/list`. Raises ValueError for one that is there."""
        if listed["uriTemplate"] in self._templates:
            raise ValueError(f"the template {listed['uriTemplate']} is registered twice")
        self._templates[listed["uriTemplate"]] = listed

    @property
    def toolsets(self) -> frozenset[str]:
        """The names of all toolsets."""
        return frozenset(self._toolset.values())

    def shows(self, name: str, toolsets: frozenset[str] | None) -> bool:
        """Whether a tool exists for this client; a hidden one is unknown."""
        return name in self._tools and (toolsets is None or self._toolset[name] in toolsets)

    def declared(self, name: str, toolsets: frozenset[str] | None) -> Declared:
        """The headers that repeat parameters of a tool; none for one that does not exist for this client."""
        return self._declared[name] if self.shows(name, toolsets) else {}

    def visible(self, toolsets: frozenset[str] | None) -> list[dict[str, Any]]:
        """The tools of these toolsets; None for all."""
        return [tool for name, tool in self._tools.items() if self.shows(name, toolsets)]

    def capabilities(self) -> dict[str, dict[str, Any]]:
        """What a server with these can do, in the form that all revisions share; only what works."""
        shown: dict[str, dict[str, Any]] = {"tools": {}}
        if self._prompts:
            shown["prompts"] = {}
        if self.resources:
            shown["resources"] = {"subscribe": True}
        if self.completes:
            shown["completions"] = {}
        for kind in sorted(self.changing & shown.keys()):
            shown[kind]["listChanged"] = True
        return shown

    def listing(self, method: str, params: Raw, toolsets: frozenset[str] | None) -> dict[str, Any]:
        """The answer to `tools/list`, `prompts/list` or `resources/templates/list`.

        Raises ProtocolError for a cursor that we did not give, and for a kind of which there is nothing.
        """
        match method:
            case "tools/list":
                return paged("tools", self.visible(toolsets), params)
            case "prompts/list" if self._prompts:
                return paged("prompts", [*self._prompts.values()], params)
            case "resources/templates/list" if self.resources:
                return paged("resourceTemplates", [*self._templates.values()], params)
        raise no_method()


class _Page(Struct):
    cursor: str | None = None


_decode_page = msgspec.json.Decoder(_Page).decode


def paged(kind: str, items: Sequence[Any], params: Raw) -> dict[str, Any]:
    """One page of a list, as its method answers it. Raises ProtocolError for a cursor that we did not give."""
    try:
        found, following = page(kind, items, _decode_page(params).cursor)
    except (msgspec.DecodeError, LookupError):
        raise ProtocolError(INVALID_PARAMS, "The cursor is not one that this server gave.") from None
    return {kind: found} if following is None else {kind: found, "nextCursor": following}


def page(kind: str, items: Sequence[T], cursor: str | None) -> tuple[Sequence[T], str | None]:
    """One page and the cursor of the next. Raises LookupError for a cursor that we did not give, for this list."""
    start = 0 if cursor is None else _position(kind, cursor)
    if cursor is not None and (not 0 < start < len(items) or start % PAGE):
        raise LookupError
    end = start + PAGE
    return items[start:end], _cursor(kind, end) if end < len(items) else None


def no_method() -> ProtocolError:
    """A method that there is not."""
    return ProtocolError(METHOD_NOT_FOUND, "The server has no such method.")


def no_tool() -> ProtocolError:
    """A tool that there is not, for this client."""
    return ProtocolError(INVALID_PARAMS, "The server has no such tool.")


def chosen_toolsets(names: Iterable[str], known: frozenset[str]) -> frozenset[str] | None:
    """The toolsets behind a comma list's parts; None for all of them. Raises LookupError for an unknown one."""
    wanted = {name.strip() for name in names if name.strip()}
    if not wanted or "all" in wanted:
        return None
    if not wanted <= known:
        raise LookupError
    return frozenset(wanted)


def _cursor(kind: str, position: int) -> str:
    return base64.urlsafe_b64encode(f"{kind}:{position}".encode()).decode()


def _position(kind: str, cursor: str) -> int:
    try:
        text = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, UnicodeError):
        raise LookupError from None
    mark = f"{kind}:"
    digits = text.removeprefix(mark)
    if not text.startswith(mark) or not digits.isdigit() or len(digits) > 9:
        raise LookupError
    return int(digits)
