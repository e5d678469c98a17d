"""Which channel a memory is meant for: of rows from times and clients that did not say it on the axis. Pure."""

from msgspec import Struct

from codesynapse.contracts.agent_work import ChannelMove
from codesynapse.contracts.agents import Memory, require_axis
from codesynapse.contracts.errors import Invalid

PLACEHOLDERS = frozenset({"null", "none", "undefined", "nil", "unknown", "n/a", "-"})
"""What clients send that have no channel, and think that they must name one."""
NAMED_BY = ("channel", "channel_id")


class Fate(Struct, frozen=True, kw_only=True):
    """What becomes of a memory. move: None where it stays. recovered: its own data say where it belongs.

    unrecoverable: it is in a channel that names nothing, and nothing says which one was meant.
    """

    move: ChannelMove | None = None
    recovered: bool = False
    unrecoverable: bool = False


STAYS = Fate()


def fate_of(memory: Memory, *, globalize: bool) -> Fate:
    """A memory without a channel goes to the one that its metadata or its source names; one in a placeholder's
    likewise, or, where nothing is named and `globalize`, to the pool of no channel."""
    held = memory.bucket.channel
    meant = meant_axis(held)
    if meant and meant == held:
        return STAYS
    named = meant or _named(memory)
    if named:
        return Fate(move=_move(memory, named), recovered=True)
    if not held:
        return STAYS
    return Fate(move=_move(memory, "") if globalize else None, unrecoverable=True)


def meant_axis(value: str) -> str:
    """What the value of an axis means: without the blanks around it; '' where it names nothing."""
    stripped = value.strip()
    return "" if stripped.casefold() in PLACEHOLDERS else stripped


def _named(memory: Memory) -> str:
    for attached in (memory.metadata, memory.source):
        for name in NAMED_BY:
            value = attached.get(name)
            if isinstance(value, str) and (meant := meant_axis(value)) and _is_axis(meant):
                return meant
    return ""


def _is_axis(value: str) -> bool:
    try:
        require_axis(value, field="channel")
    except Invalid:
        return False
    return True


def _move(memory: Memory, to_channel: str) -> ChannelMove:
    return ChannelMove(memory_id=memory.id, from_channel=memory.bucket.channel, to_channel=to_channel)
