"""The launcher for clients that speak only stdio: a line in is a request to the server, an answer is a line out.

It registers one chat session and sends that id with every request, for its whole life. It is a client of its own: it
shares no code with the server, so that either can be upgraded alone.
"""

from codesynapse.server.bridge.options import BridgeOptions
from codesynapse.server.bridge.run import run_bridge

__all__ = ["BridgeOptions", "run_bridge"]
