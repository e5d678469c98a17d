"""What a client that comes back is told of requests whose responses are gone, or were another server's.

A write that was committed is answered with its recorded result. Everything else gets an error that names its request,
so that nobody waits for ever and nothing is told that might not be true.
"""

from codesynapse.contracts.accounts import Authority
from codesynapse.contracts.errors import TransportUnknown
from codesynapse.contracts.identity import Cancellation
from codesynapse.server.clock import Clock
from codesynapse.server.features.reading_back import ReadBack
from codesynapse.server.http.live import Live
from codesynapse.server.mcp.messages import INTERNAL_ERROR, NO_ID, error_bytes
from codesynapse.server.mcp.naming import READ, Asked, commit_seed
from codesynapse.server.mcp.stream import Lost, Stream
from codesynapse.server.sessions.registry import execution_of

GONE = "The response is no longer kept; whether the call took effect must be looked up."
INTERRUPTED = "The call was another server's, or was cut off by a restart; whether it took effect must be looked up."
REPEATABLE = "The call was another server's, or was cut off by a restart. It only read: repeat it."


async def standing_in(read_back: ReadBack, live: Live, authority: Authority, lost: Lost, clock: Clock) -> Stream:
    """A stream that answers for one that is gone, each missing request once. Raises TransportUnknown, Unavailable."""
    answers = []
    for index in lost.missing:
        asked = lost.asked[index]
        payload = await _committed(read_back, live, authority, lost, index)
        answers.append((asked.request_id, _error(asked, here=lost.here) if payload is None else payload))
    if live.closed:
        raise TransportUnknown
    stream = live.log.reopen(lost)
    for request_id, payload in answers:
        live.log.append(stream, payload, answers=request_id, now_ms=clock())
    return stream


async def _committed(read_back: ReadBack, live: Live, authority: Authority, lost: Lost, index: int) -> bytes | None:
    asked, identity = lost.asked[index], live.connection.identity
    if identity is None or asked.request_id == NO_ID:
        return None
    execution = execution_of(authority, identity, Cancellation())
    seed = commit_seed(live.key.encode(), lost.number, index)
    return await read_back.response(execution, asked.place, seed, asked.request_id, live.connection.version)


def _error(asked: Asked, *, here: bool) -> bytes:
    if here:
        text, code = GONE, "response_gone"
    else:
        text, code = REPEATABLE if asked.place.kind == READ else INTERRUPTED, "interrupted"
    return error_bytes(asked.request_id, INTERNAL_ERROR, text, {"ok": False, "code": code})
