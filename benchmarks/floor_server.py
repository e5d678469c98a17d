"""The floor: a bare aiohttp handler that answers like an echo tool and checks nothing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import web

from benchmarks.serving import FLOOD, announce, free_socket

JSON = "application/json"
SESSION = {"Mcp-Session-Id": "floor"}


async def post(request: web.Request) -> web.StreamResponse:
    """Any message."""
    message = json.loads(await request.read())
    method = message["method"]
    if "id" not in message:
        return web.Response(status=202)
    if method == "subscriptions/listen":
        return await get(request)
    if method != "tools/call":
        version = message["params"].get("protocolVersion")
        return web.Response(text=_answer(message, {"protocolVersion": version}), headers=SESSION, content_type=JSON)
    name, told = message["params"]["name"], message["params"]["arguments"]["text"]
    answer = _answer(message, {"content": [{"type": "text", "text": told}]})
    modern = "Mcp-Method" in request.headers  # Its answers are streams only where something comes before.
    if "text/event-stream" not in request.headers["Accept"] or (modern and name == "echo"):
        return web.Response(text=answer, content_type=JSON)
    response = await _stream(request)
    for step in range({"echo": 0, "tell": 1, "flood": FLOOD}[name]):
        params = {"progressToken": 1, "progress": step, "message": told}
        note = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        await response.write(f"data: {note}\n\n".encode())
    await response.write(f"id: 1\ndata: {answer}\n\n".encode())
    await response.write_eof()
    return response


def _answer(message: dict[str, Any], result: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})


async def _stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    return response


async def get(request: web.Request) -> web.StreamResponse:
    """A stream that never says anything."""
    response = await _stream(request)
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
