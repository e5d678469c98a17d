"""The gate of all writes: one place between a tool's checked arguments and its work (seed 1 §5)."""

from typing import Any

from msgspec import Struct, structs

from codesynapse.contracts.identity import Execution, Millis
from codesynapse.server.hints.gated import GATED
from codesynapse.server.hints.pauses import Pauses, reason_of
from codesynapse.server.hints.session_key import bucket_of
from codesynapse.server.hints.skipped import skipped, with_repairs_skipped
from codesynapse.server.tools.registry import Handler, Tool, ToolContext


class Gate:
    """Runs tools, unless the caller's own bucket is paused and they would write."""

    def __init__(self, pauses: Pauses) -> None:
        self._pauses = pauses

    async def run(
        self,
        tool: Tool,
        handler: Handler,
        execution: Execution,
        arguments: Any,
        context: ToolContext,
        now_ms: Millis,
    ) -> Any:
        """What a handler of the tool answers; while the bucket is paused, that it was skipped, or repaired nothing.

        What was acknowledged before the pause is acknowledged again: a repeat under its idempotency key writes nothing.
        Raises what the tool raises, and for a skipped call what its check does.
        """
        row = GATED.get(tool.name)
        if row is None:
            return await handler(execution, arguments, context)
        bucket = bucket_of(execution.identity, arguments.session_key)
        pause = self._pauses.active(bucket, now_ms)
        if pause is None or (row.harmless is not None and getattr(arguments, row.harmless[0]) is row.harmless[1]):
            return await handler(execution, arguments, context)
        reason = reason_of(tool.name, bucket, pause)
        if row.forced:
            assert row.harmless is not None
            name, value = row.harmless
            said = await handler(execution, structs.replace(arguments, **{name: value}), context)
            assert isinstance(said, Struct)
            return with_repairs_skipped(said, reason)
        assert tool.hold is not None
        assert tool.answer is not None
        answered = await tool.hold.check(execution, arguments)
        if answered is not None:
            return answered
        return skipped(tool.answer, reason, tool.hold.kept(arguments))
