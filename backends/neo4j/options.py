"""What the adapter can be told: where the server is, who asks, and how long a call may take."""

from collections.abc import Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.opening import only

SCHEMES = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
PORT = 7687
DATABASE = "neo4j"
DEADLINE_MS = 10_000
DEADLINE_MS_MAX = 600_000
SHAPE = "neo4j://USER:PASSWORD@HOST:PORT, with the user and the password percent-encoded"


class Options(Struct, frozen=True, kw_only=True):
    """address: the URL without credentials. user, password: None where the server asks for none."""

    address: str
    user: str | None
    password: str
    database: str
    deadline_ms: int

    @property
    def routed(self) -> bool:
        """Whether the driver chooses among the servers of a cluster."""
        return self.address.startswith("neo4j")


def options_of(given: Mapping[str, str]) -> Options:
    """The options as they were given, checked. Raises Invalid that names the option, never its value."""
    only(given, "url", "database", "deadline_ms")
    parts = _parts(given.get("url", ""))
    if not parts.username and parts.password is not None:
        raise Invalid(field="url", limit=SHAPE)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    path = parts.path.strip("/")
    return Options(
        address=f"{parts.scheme}://{host}:{parts.port or PORT}",
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password or ""),
        database=given.get("database") or unquote(path) or DATABASE,
        deadline_ms=_deadline_ms(given),
    )


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in SCHEMES and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        # Its text repeats what was given, and so does the exception that would hang on it.
        valid = False
    if not valid or parts.query or parts.fragment or "/" in parts.path.strip("/"):
        raise Invalid(field="url", limit=SHAPE) from None
    return parts


def _deadline_ms(given: Mapping[str, str]) -> int:
    text = given.get("deadline_ms", str(DEADLINE_MS))
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= DEADLINE_MS_MAX:
        raise Invalid(field="deadline_ms", limit=f"1 to {DEADLINE_MS_MAX}")
    return int(text)
