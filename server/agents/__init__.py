"""The memory of agents: memories, episodes and profiles, over the port `AgentMemory`."""
