"""The peer: an echo tool on the official Python SDK. `python -m benchmarks.sdk_echo_server [--json]`."""

from __future__ import annotations

import argparse
import logging

import uvicorn
from mcp.server.mcpserver import Context, MCPServer

from benchmarks.serving import FLOOD, announce, free_socket


def main() -> None:
    """Serve until killed; over SSE, or with --json in plain answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.INFO)
    server = MCPServer("echo")

    @server.tool()
    def echo(text: str) -> str:
        """Say it again."""
        return text

    @server.tool()
    async def tell(text: str, context: Context) -> str:
        """Say how far it is, then the same."""
        await context.report_progress(1, None, "one")
        return text

    @server.tool()
    async def flood(text: str, context: Context) -> str:
        """Say more than any buffer takes."""
        for step in range(1, FLOOD + 1):
            await context.report_progress(step, None, text)
        return ""

    application = server.streamable_http_app(json_response=options.json)
    config = uvicorn.Config(application, log_level="warning", access_log=False)
    socket, url = free_socket()
    announce(url)
    uvicorn.Server(config).run(sockets=[socket])


if __name__ == "__main__":
    main()
