"""The toolset `memory`: what an agent remembers across chats."""

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.server.agents.reading import Reading
from codesynapse.server.agents.recalling import Recalling
from codesynapse.server.agents.scoping import Embed, Recheck
from codesynapse.server.agents.writing import Writing
from codesynapse.server.clock import Clock
from codesynapse.server.hints.state import Hints
from codesynapse.server.tools.memory_reading import ReadingTools, listing_tools, profile_reader, recalling_tools
from codesynapse.server.tools.memory_writing import WritingTools, changing_tools, profile_writer, storing_tools
from codesynapse.server.tools.registry import Toolbox
from codesynapse.server.work.queue import QueuedWrites


class MemoryTools:
    """The handlers over the engine."""

    def __init__(
        self,
        agents: AgentMemory,
        queue: QueuedWrites,
        hints: Hints,
        *,
        embed: Embed,
        recheck: Recheck,
        clock: Clock,
    ) -> None:
        self.writing = WritingTools(agents, Writing(agents, embed, recheck, clock), queue, clock)
        self.reading = ReadingTools(Recalling(agents, embed, clock), Reading(agents, clock), hints, clock)


def register_memory_tools(toolbox: Toolbox, tools: MemoryTools) -> None:
    """Register the twelve, in the order in which a client lists them."""
    for tool in (
        *storing_tools(tools.writing)[:1],
        *recalling_tools(tools.reading),
        *storing_tools(tools.writing)[1:],
        *changing_tools(tools.writing),
        *listing_tools(tools.reading),
        profile_reader(tools.reading),
        profile_writer(tools.writing),
    ):
        toolbox.register(tool)
