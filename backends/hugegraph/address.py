"""Where a HugeGraph server answers: the URL of the Gremlin endpoint, taken apart."""

from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from msgspec import Struct

from codesynapse.contracts.errors import Invalid

FORM = "hugegraph+http://USER:PASSWORD@HOST:PORT[/GRAPH]"
GRAPH = "hugegraph"
PORT = 8182
REQUEST_MIN, REQUEST_MAX = 4_096, 64 << 20


class Address(Struct, frozen=True, kw_only=True):
    """endpoint: of the WebSocket. graph: its name on the server. request_max: bytes; None: to be probed."""

    endpoint: str
    graph: str
    user: str
    password: str
    request_max: int | None = None


def address_of(url: str) -> Address:
    """An address from `hugegraph+http://user:password@host:port[/graph]`, or +https. Raises Invalid.

    Queries: `rest`, where the same server's REST API answers, is for tools beside us: this adapter needs the Gremlin
    endpoint alone. `max_request` is the server's `maxContentLength`, which is probed where it is not given.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or PORT
    except ValueError:
        raise Invalid(field="url", limit=FORM) from None
    if parts.scheme not in ("hugegraph+http", "hugegraph+https") or not parts.hostname:
        raise Invalid(field="url", limit=FORM)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    graph = parts.path.strip("/") or GRAPH
    if not graph.replace("_", "").replace("-", "").isalnum() or not graph.isascii():
        raise Invalid(field="url", limit="a graph's name of letters, digits, - and _")
    return Address(
        endpoint=f"{parts.scheme.removeprefix('hugegraph+')}://{host}:{port}/gremlin",
        graph=graph,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        request_max=_request_max(parts),
    )


def _request_max(parts: SplitResult) -> int | None:
    queries = parse_qs(parts.query, keep_blank_values=True)
    if not queries.keys() <= {"rest", "max_request"}:
        raise Invalid(field="url", limit="the queries rest and max_request")
    if "max_request" not in queries:
        return None
    text = queries["max_request"][-1]
    if not (text.isascii() and text.isdecimal()) or not REQUEST_MIN <= int(text) <= REQUEST_MAX:
        raise Invalid(field="url", limit=f"a max_request of {REQUEST_MIN} to {REQUEST_MAX}")
    return int(text)
