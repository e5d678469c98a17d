"""How resources, prompts and completion are registered: the one way, for the product's own and for anybody else's."""

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from codesynapse.contracts.identity import Execution
from codesynapse.server.features.templates import Template
from codesynapse.server.features.updates import Key, Updates
from codesynapse.server.tools.registry import Toolbox, ToolContext

ResourceContents = Sequence[dict[str, Any]]
"""Objects `{uri, mimeType, text}` or `{uri, mimeType, blob}`, as `text_contents` and `blob_contents` make them."""

Completer = Callable[[Execution, str, Mapping[str, str]], Awaitable[Sequence[str]]]
"""Values for what was typed so far, best first. arguments: the other ones that were chosen already."""
Watch = Callable[[Execution, str, Mapping[str, str]], Awaitable[Key]]
"""What to listen to for changes of a resource (URI, its variables). Raises as reading does."""
Instances = Callable[[Execution], Awaitable[Sequence["Instance"]]]


class Read(Protocol):
    """Reads a resource. variables: those of its template, decoded. Raises NotFound where there is no such thing."""

    def __call__(
        self, execution: Execution, uri: str, variables: Mapping[str, str], context: ToolContext, /
    ) -> Awaitable[ResourceContents]: ...


class Get(Protocol):
    """Makes a prompt. arguments: strings; the required ones are there."""

    def __call__(
        self, execution: Execution, arguments: Mapping[str, str], context: ToolContext, /
    ) -> Awaitable["PromptResult"]: ...


class Resource(Struct, frozen=True, kw_only=True):
    """One resource of a fixed URI. watch: None where its changes are published under ("resource", URI)."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Read
    watch: Watch | None = None


class ResourceTemplate(Struct, frozen=True, kw_only=True):
    """Resources of one form. uri_template: as `Template` reads it. complete: by variable.

    instances: those that are listed to a caller, who may read them; None for none. watch: as in `Resource`.
    """

    uri_template: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Read
    complete: Mapping[str, Completer] = {}
    instances: Instances | None = None
    watch: Watch | None = None


class Instance(Struct, frozen=True, kw_only=True):
    """A resource of a template, as it is listed."""

    uri: str
    name: str
    title: str
    description: str


class PromptArgument(Struct, frozen=True, kw_only=True):
    """One argument of a prompt, a string."""

    name: str
    description: str
    required: bool = False
    complete: Completer | None = None


class Prompt(Struct, frozen=True, kw_only=True):
    """One prompt."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...] = ()
    get: Get


class PromptResult(Struct, frozen=True, kw_only=True):
    """What a prompt becomes. messages: `{role, content}`, as the protocol has them."""

    description: str
    messages: Sequence[dict[str, Any]]


class Features:
    """All resources, templates and prompts, beside the tools of a toolbox, and how they are listed."""

    def __init__(self, toolbox: Toolbox, updates: Updates | None = None) -> None:
        self.toolbox = toolbox
        self.updates = updates or Updates()
        self.resources: dict[str, Resource] = {}
        self.templates: list[tuple[Template, ResourceTemplate]] = []
        self.prompts: dict[str, Prompt] = {}

    def add(self, *features: Resource | ResourceTemplate | Prompt) -> None:
        """Register. Raises ValueError for a name, a URI or a template that is taken or malformed."""
        for feature in features:
            match feature:
                case Resource():
                    self._add_resource(feature)
                case ResourceTemplate():
                    self._add_template(feature)
                case Prompt():
                    self._add_prompt(feature)

    def find(self, uri: str) -> tuple[Resource | ResourceTemplate, dict[str, str]] | None:
        """The resource of a URI, or the first template that it is of, with its variables."""
        if (resource := self.resources.get(uri)) is not None:
            return resource, {}
        for template, registered in self.templates:
            if (variables := template.variables(uri)) is not None:
                return registered, variables
        return None

    def completer(self, reference: Mapping[str, Any], argument: str) -> Completer | None:
        """Who completes an argument of a prompt or a template. Raises LookupError for what is not registered."""
        match reference:
            case {"type": "ref/prompt", "name": str(name)}:
                return self._of_prompt(self.prompts[name], argument)
            case {"type": "ref/resource", "uri": str(uri)}:
                if uri in self.resources:
                    return None
                templates = {template.text: registered for template, registered in self.templates}
                return templates[uri].complete.get(argument)
        raise LookupError

    def _of_prompt(self, prompt: Prompt, argument: str) -> Completer | None:
        return {each.name: each for each in prompt.arguments}[argument].complete

    def _add_resource(self, resource: Resource) -> None:
        if resource.uri in self.resources:
            raise ValueError(f"the resource {resource.uri} is registered twice")
        self.resources[resource.uri] = resource
        self.toolbox.catalog.resources = True

    def _add_template(self, registered: ResourceTemplate) -> None:
        template = Template(registered.uri_template)
        if not set(registered.complete) <= set(template.names):
            raise ValueError(f"the template {template.text} completes what it does not name")
        self.toolbox.catalog.add_template(
            {
                "uriTemplate": registered.uri_template,
                "name": registered.name,
                "title": registered.title,
                "description": registered.description,
                "mimeType": registered.mime_type,
            }
        )
        self.templates.append((template, registered))
        self.toolbox.catalog.resources = True
        self.toolbox.catalog.completes |= bool(registered.complete)

    def _add_prompt(self, prompt: Prompt) -> None:
        self.toolbox.catalog.add_prompt(
            {
                "name": prompt.name,
                "title": prompt.title,
                "description": prompt.description,
                "arguments": [
                    {"name": each.name, "description": each.description, "required": each.required}
                    for each in prompt.arguments
                ],
            }
        )
        self.prompts[prompt.name] = prompt
        self.toolbox.catalog.completes |= any(each.complete for each in prompt.arguments)


def text_contents(uri: str, mime_type: str, text: str) -> dict[str, Any]:
    """One text as a part of a resource's contents."""
    return {"uri": uri, "mimeType": mime_type, "text": text}


def blob_contents(uri: str, mime_type: str, data: bytes) -> dict[str, Any]:
    """Bytes as a part of a resource's contents."""
    return {"uri": uri, "mimeType": mime_type, "blob": base64.b64encode(data).decode()}


def text_message(text: str, role: str = "user") -> dict[str, Any]:
    """A prompt's message of one text."""
    return {"role": role, "content": {"type": "text", "text": text}}
