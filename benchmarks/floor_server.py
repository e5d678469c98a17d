"""The floor: a bare aiohttp handler that answers like an echo tool and checks nothing."""

from __future__ import annotations

import asyncio
import json

from aiohttp import web

from benchmarks.serving import announce, free_socket

SESSION = {"Mcp-Session-Id": "floor"}


async def post(request: web.Request) -> web.StreamResponse:
    """Any message."""
    message = json.loads(await request.read())
    if message["method"] == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {}, "serverInfo": {}}
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": result}, headers=SESSION)
    if "id" not in message:
        return web.Response(status=202)
    content = [{"type": "text", "text": message["params"]["arguments"]["text"]}]
    answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}})
    if "text/event-stream" not in request.headers["Accept"]:
        return web.Response(text=answer, content_type="application/json")
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    await response.write(f"id: 1\ndata: {answer}\n\n".encode())
    await response.write_eof()
    return response


async def get(request: web.Request) -> web.StreamResponse:
    """A stream that never says anything."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    await response.write(b": open\n\n")
    await asyncio.Event().wait()
    return response


async def delete(_: web.Request) -> web.Response:
    """Nothing to forget."""
    return web.Response(status=204)


async def main() -> None:
    """Serve until killed."""
    application = web.Application()
    application.router.add_post("/mcp", post)
    application.router.add_get("/mcp", get, allow_head=False)
    application.router.add_delete("/mcp", delete)
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True)
    await runner.setup()
    socket, url = free_socket()
    await web.SockSite(runner, socket).start()
    announce(url)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
