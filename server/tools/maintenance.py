"""The toolset `maintenance`: looking after what agents remember."""

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.server.agents.doctor import Doctor
from codesynapse.server.agents.moving import Mover
from codesynapse.server.agents.scoping import Recheck
from codesynapse.server.agents.tuning import Tuner
from codesynapse.server.clock import Clock
from codesynapse.server.tools.maintenance_health import HealthTools, health_tools
from codesynapse.server.tools.maintenance_moving import MovingTools, file_tools, merging_tools
from codesynapse.server.tools.maintenance_records import (
    RecordTools,
    ending_tool,
    lock_tools,
    precision_reader,
    tuning_tools,
)
from codesynapse.server.tools.registry import Toolbox


class MaintenanceTools:
    """The handlers over the port. public_url: where clients reach the server, for links."""

    def __init__(
        self, agents: AgentMemory, mover: Mover, *, recheck: Recheck, clock: Clock, public_url: str = ""
    ) -> None:
        tuner = Tuner(agents, clock)
        self.records = RecordTools(agents, tuner, recheck, clock)
        self.moving = MovingTools(agents, mover, recheck, clock, public_url=public_url)
        self.health = HealthTools(agents, Doctor(agents, tuner), recheck, clock)


def register_maintenance_tools(toolbox: Toolbox, tools: MaintenanceTools) -> None:
    """Register the twelve, in the order in which a client lists them."""
    for tool in (
        *lock_tools(tools.records),
        ending_tool(tools.records),
        *tuning_tools(tools.records),
        precision_reader(tools.records),
        *file_tools(tools.moving),
        *merging_tools(tools.moving),
        *health_tools(tools.health),
    ):
        toolbox.register(tool)
