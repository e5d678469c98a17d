"""A toolbox, features and operations over nothing, and executions, for tests of the features."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Raw

from codesynapse.contracts.identity import Cancellation, Execution, Identity, Millis
from codesynapse.server.clock import ManualClock
from codesynapse.server.features.operations import Operations
from codesynapse.server.features.registry import (
    Features,
    Prompt,
    PromptArgument,
    PromptResult,
    Resource,
    text_contents,
    text_message,
)
from codesynapse.server.limits import Limits
from codesynapse.server.telemetry import Metrics
from codesynapse.server.tools.dispatch import Dispatcher
from codesynapse.server.tools.registry import Blocks, Tool, Toolbox


def execution(deadline_ms: int = 9) -> Execution:
    identity = Identity(tenant_id="t", subject_id="u", session_id="s", parent_session_id="s")
    return Execution(
        identity=identity,
        actor_id="u",
        key_id="k",
        deadline_ms=Millis(deadline_ms),
        cancellation=Cancellation(),
    )


def operations(features: Features | None = None) -> Operations:
    features = features or Features(Toolbox())
    clock = ManualClock(0)
    return Operations(features, Dispatcher(features.toolbox, clock, Metrics()), clock, Limits())


def raw(value: object) -> Raw:
    return Raw(json.dumps(value).encode())


def tool(work: Callable[..., Awaitable[Any]], name: str = "tool", toolset: str = "test") -> Tool:
    """A tool that gets its arguments as a dict and answers with blocks."""
    return Tool(
        name=name,
        title="T",
        description="D",
        toolset=toolset,
        input_schema={"type": "object"},
        handler=work,
        read_only=True,
    )


async def say(_: Execution, arguments: dict[str, Any], __: Any) -> Blocks:
    return Blocks(content=[{"type": "text", "text": str(arguments.get("text", ""))}])


def resource(uri: str = "test://one", **more: Any) -> Resource:
    async def read(_: Execution, asked: str, __: Any, ___: Any) -> list[dict[str, Any]]:
        return [text_contents(asked, "text/plain", "content")]

    shown = {"name": uri, "title": "One", "description": "D", "mime_type": "text/plain", "read": read}
    return Resource(uri=uri, **{**shown, **more})


def prompt(name: str = "greet", **more: Any) -> Prompt:
    async def get(_: Execution, arguments: Any, __: Any) -> PromptResult:
        return PromptResult(description="Greets", messages=[text_message(f"Hello, {arguments['name']}")])

    async def complete(_: Execution, typed: str, chosen: Any) -> list[str]:
        return [f"{typed}{number}{''.join(chosen)}" for number in range(150)]

    arguments = (
        PromptArgument(name="name", description="Whom.", required=True, complete=complete),
        PromptArgument(name="tone", description="How."),
    )
    return Prompt(name=name, title="Greet", description="D", **{"arguments": arguments, "get": get, **more})
