"""The toolset `memory`: what an agent remembers across chats."""

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.server.tools.registry import Toolbox

TOOLSET = "memory"


class MemoryTools:
    """The handlers, over the engine."""

    def __init__(self, agents: AgentMemory) -> None:
        self.agents = agents


def register_memory_tools(toolbox: Toolbox, tools: MemoryTools) -> None:
    """Register them, in the order in which a client lists them."""
