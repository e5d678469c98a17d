"""Questions to the client in the session revisions: requests on the call's own stream; their answers come alone."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from codesynapse.contracts.deadlines import renew
from codesynapse.contracts.errors import InputUnanswered, InputUnavailable
from codesynapse.server.mcp.capabilities import lacking, required_of
from codesynapse.server.mcp.connection import Connection
from codesynapse.server.mcp.messages import OFF_LOOP_BYTES, RequestId, Response, notification_bytes, request_bytes
from codesynapse.server.tools.registry import Answers, InputRequest

_decode_result = msgspec.json.Decoder(dict[str, Any]).decode


class Asking:
    """Asks the client of one call.

    send: takes the bytes of a request, onto the call's stream; None where there is no stream. timeout_s: how long
    an answer is waited for; the call's own end ends it as well.
    """

    __slots__ = ("_connection", "_send", "_timeout_s")

    def __init__(self, connection: Connection, send: Callable[[bytes], None] | None, timeout_s: float) -> None:
        self._connection = connection
        self._send = send
        self._timeout_s = timeout_s

    async def ask(self, requests: Mapping[str, InputRequest]) -> Answers:
        """The client's answers. Raises InputUnavailable, and InputUnanswered for an error, silence or nonsense."""
        required = required_of((each.method, each.params) for each in requests.values())
        lacks = lacking(self._connection.capabilities, required)
        if self._send is None or lacks:
            raise InputUnavailable(lacks or required)
        asked: dict[str, tuple[RequestId, asyncio.Future[Response]]] = {}
        try:
            for key, request in requests.items():
                asked[key] = self._request(request, self._send)
            async with asyncio.timeout(self._timeout_s):
                return {key: await _result(await answer) for key, (_, answer) in asked.items()}
        except TimeoutError:
            raise InputUnanswered from None
        finally:
            # The stores were not what took this time.
            renew()
            for request_id, answer in asked.values():
                self._end(request_id, answer)

    def _request(
        self, request: InputRequest, send: Callable[[bytes], None]
    ) -> tuple[RequestId, "asyncio.Future[Response]"]:
        # By chance, not counted: after a restart, a late answer must not meet another question.
        request_id = RequestId(f'"{secrets.token_urlsafe(12)}"'.encode())
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

        def heard(response: Response) -> None:
            if not answer.done():
                answer.set_result(response)

        self._connection.asked[request_id] = heard
        send(request_bytes(request_id, request.method, request.params))
        return request_id, answer

    def _end(self, request_id: RequestId, answer: "asyncio.Future[Response]") -> None:
        """Nobody waits any longer: a client that was not heard yet is told so."""
        unheard = self._connection.asked.pop(request_id, None) is not None
        answer.cancel()
        if unheard and self._send is not None:
            params = {"requestId": msgspec.Raw(request_id), "reason": "No answer is needed any more."}
            self._send(notification_bytes("notifications/cancelled", params))


async def _result(response: Response) -> dict[str, Any]:
    if response.result is None:
        raise InputUnanswered
    try:
        if memoryview(response.result).nbytes > OFF_LOOP_BYTES:
            return await asyncio.to_thread(_decode_result, response.result)
        return _decode_result(response.result)
    except (msgspec.DecodeError, RecursionError):
        raise InputUnanswered from None
