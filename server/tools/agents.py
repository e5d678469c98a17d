"""The toolsets of agent memory, in the order in which a client lists them: `memory`, then `maintenance`."""

from codesynapse.server.tools.maintenance import MaintenanceTools, register_maintenance_tools
from codesynapse.server.tools.memory import MemoryTools, register_memory_tools
from codesynapse.server.tools.registry import Toolbox


def register_agent_tools(toolbox: Toolbox, memory: MemoryTools, maintenance: MaintenanceTools) -> None:
    """Register them all."""
    register_memory_tools(toolbox, memory)
    register_maintenance_tools(toolbox, maintenance)
