"""How a measured server comes up: on a free loopback port, telling its address and headers in one line of JSON."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Mapping

FLOOD = 20_000
"""How many events the tool `flood` says before its answer."""


def free_socket() -> tuple[socket.socket, str]:
    """A listening socket and the URL of the endpoint behind it."""
    # The protocol by name: asyncio switches Nagle's delays off only for a socket that says TCP.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(1024)
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"


def announce(url: str, headers: Mapping[str, str] | None = None) -> None:
    """Tell whoever started this process."""
    print(json.dumps({"url": url, "headers": dict(headers or {})}))
    sys.stdout.flush()
