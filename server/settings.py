"""Settings: the only reader of the environment. Environment, TOML file and command line say the same names."""

import os
import tomllib
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Meta, Struct

from codesynapse.contracts.vectors import DIMENSION_MAX

PREFIX = "CODESYNAPSE_"
CONTRACT_PREFIX = "CODESYNAPSE_CONTRACT_"
"""Where the contract suite reaches a store (`codesynapse.contracts.plugin`); no settings, whatever follows."""


class SettingsError(Exception):
    """A setting that cannot be used; the text names it and what it may be."""


def default_home() -> str:
    """The user's data folder for this program."""
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return str(Path(base) / "codesynapse")


Count = Annotated[int, Meta(ge=1, le=10_000_000)]
Bytes = Annotated[int, Meta(ge=1_024, le=1 << 40)]
Duration = Annotated[int, Meta(ge=1, le=1 << 40)]


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings. The name of each in the environment is CODESYNAPSE_ and its own in capitals."""

    home: Annotated[str, Meta(description="Data folder of the embedded stores, and of the TOML file.")] = ""
    host: Annotated[str, Meta(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535, description="Port to listen on; 0 picks a free one.")] = 8420
    graph: Annotated[
        str,
        Meta(
            description="Graph store: `sqlite`, `memory`, `neo4j://USER:PASSWORD@HOST`, `neo4j+s://…`, `bolt://…`, "
            "`hugegraph+http://…`, `hugegraph+https://…`, or the entry-point name of another backend."
        ),
    ] = "sqlite"
    graph_password_file: Annotated[
        str,
        Meta(description="File with the password of the user in the URL of `CODESYNAPSE_GRAPH`, which has none then."),
    ] = ""
    accounts: Annotated[
        str, Meta(description="Accounts: `sqlite` or `memory`; `memory` only beside a graph that is not durable.")
    ] = "sqlite"
    embedder: Annotated[
        Literal["auto", "none", "hashing", "http"],
        Meta(
            description="What embeds texts: the best that is installed, none, `hashing`, which knows no meaning, or "
            "`http` for an OpenAI-compatible endpoint."
        ),
    ] = "auto"
    embedder_url: Annotated[
        str, Meta(description="The endpoint of `http`, as in `http://127.0.0.1:11434/v1/embeddings`.")
    ] = ""
    embedder_model: Annotated[str, Meta(description="The model that `http` asks for, by the endpoint's name.")] = ""
    embedder_dimension: Annotated[
        int, Meta(ge=0, le=DIMENSION_MAX, description="How many numbers a vector of this model has.")
    ] = 0
    embedder_key_file: Annotated[
        str, Meta(description="File with the key that the endpoint wants, if it wants one.")
    ] = ""
    embedder_deadline_ms: Annotated[
        Duration, Meta(description="How long the embedder may take before recall goes on by words.")
    ] = 5_000
    model_hosts: Annotated[
        str, Meta(description="Hosts that model calls may reach beside loopback's, separated by commas.")
    ] = ""
    degraded_advisory: Annotated[
        bool, Meta(description="Tell in recall's answers that it is degraded, in full once a session.")
    ] = True
    operating_context: Annotated[
        str, Meta(description="TOML file with what `get_operating_context` answers; none by default.")
    ] = ""
    export_dir: Annotated[
        str, Meta(description="Folder of exports and imports, with one for each user; default: `exports` in the home.")
    ] = ""
    transfer_max_bytes: Annotated[Bytes, Meta(description="Largest export, upload and import, in bytes.")] = (
        100 * 1024 * 1024
    )
    public_url: Annotated[
        str, Meta(description="Where clients reach this server, for links; without it they begin at its root.")
    ] = ""
    toolsets: Annotated[str, Meta(description="Toolsets to show, separated by commas; `all` for every one.")] = "all"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="How much goes to standard error.")
    ] = "info"
    insecure_http: Annotated[
        bool, Meta(description="Listen beyond loopback without TLS, on your own responsibility.")
    ] = False
    tls_cert_file: Annotated[str, Meta(description="PEM file with the certificate chain; turns TLS on.")] = ""
    tls_key_file: Annotated[str, Meta(description="PEM file with the key of the certificate.")] = ""
    trusted_proxy: Annotated[bool, Meta(description="A proxy that you trust ends TLS in front of this server.")] = False
    allowed_hosts: Annotated[
        str, Meta(description="Host names to serve beside loopback's, separated by commas; `*` for any.")
    ] = ""
    allowed_origins: Annotated[
        str, Meta(description="Origins of browsers to serve beside loopback's, separated by commas.")
    ] = ""
    body_max_bytes: Annotated[Bytes, Meta(description="Largest request body, in bytes.")] = 4 * 1024 * 1024
    bodies_bytes_max: Annotated[
        Bytes, Meta(description="Most bytes of bodies that are being read in all; a principal may send an eighth.")
    ] = 256 * 1024 * 1024
    json_depth_max: Annotated[Count, Meta(description="Deepest nesting of a request's JSON.")] = 64
    batch_max: Annotated[Count, Meta(description="Most messages in a batch (revision 2025-03-26).")] = 50
    calls_in_flight_max: Annotated[Count, Meta(description="Most tool calls in flight, for a principal.")] = 64
    transports_per_principal_max: Annotated[
        Count, Meta(description="Most transport sessions of a principal; its own idle ones make room.")
    ] = 64
    transports_max: Annotated[Count, Meta(description="Most transport sessions in all.")] = 10_000
    idle_ms: Annotated[Duration, Meta(description="Idle time after which a transport session ends.")] = 1_800_000
    uninitialized_ms: Annotated[
        Duration, Meta(description="Idle time of a transport session that never said it was initialized.")
    ] = 60_000
    events_max: Annotated[Count, Meta(description="Most events kept on a stream.")] = 256
    session_bytes_max: Annotated[Bytes, Meta(description="Most bytes of events kept for a session.")] = 1024 * 1024
    events_bytes_max: Annotated[
        Bytes, Meta(description="Most bytes of events kept in all; a principal may keep a quarter.")
    ] = 64 * 1024 * 1024
    response_kept_ms: Annotated[Duration, Meta(description="How long a response can be fetched again.")] = 600_000
    sse_retry_ms: Annotated[Duration, Meta(description="After how long a client resumes a cut stream.")] = 2_000
    heartbeat_ms: Annotated[Duration, Meta(description="How often a silent stream carries a comment.")] = 15_000
    send_timeout_ms: Annotated[
        Duration, Meta(description="How long a reader may be stuck before it is disconnected.")
    ] = 30_000
    connections_max: Annotated[
        Count, Meta(description="Most open connections; fewer where the process may not open so many files.")
    ] = 12_000
    head_timeout_ms: Annotated[Duration, Meta(description="How long the head of a request may take.")] = 10_000
    body_timeout_ms: Annotated[Duration, Meta(description="How long the body of a request may stand still.")] = 30_000
    stream_after_ms: Annotated[
        Duration, Meta(description="After how long a silent call turns into a stream (revision 2026-07-28).")
    ] = 2_000
    input_ms: Annotated[
        Duration, Meta(description="How long a client may take to answer what a call asks (revision 2026-07-28).")
    ] = 600_000
    task_kept_ms: Annotated[Duration, Meta(description="How long a task and its result can be fetched.")] = 3_600_000
    tasks_per_principal_max: Annotated[Count, Meta(description="Most tasks of a principal, running or kept.")] = 64
    subscriptions_per_principal_max: Annotated[
        Count, Meta(description="Most subscriptions of a principal (revision 2026-07-28).")
    ] = 64
    subscribed_max: Annotated[Count, Meta(description="Most resources of a subscription.")] = 256
    resource_max_bytes: Annotated[
        Bytes, Meta(description="Most bytes of a resource; what does not fit is left out, and said so.")
    ] = 262_144
    shutdown_ms: Annotated[Duration, Meta(description="How long running calls may take at the end.")] = 5_000
    store_deadline_ms: Annotated[Duration, Meta(description="How long a store may take to answer.")] = 10_000
    bootstrap_key_file: Annotated[
        str, Meta(description="New file, for its owner alone, that the first key goes into instead of being printed.")
    ] = ""
    secret_key_file: Annotated[
        str,
        Meta(
            description="File with the secret key of sealed event ids and states, at least 32 bytes; the same for all "
            "processes. Default: one in the home, made where it is missing."
        ),
    ] = ""
    api_key: Annotated[str, Meta(description="API key; for `stdio`, `bridge` and `doctor`.")] = ""
    session_id: Annotated[str, Meta(description="The chat session's id; for `stdio` and `bridge`.")] = ""
    parent_session_id: Annotated[str, Meta(description="The same id again; for `stdio` and `bridge`.")] = ""

    @property
    def loopback(self) -> bool:
        """Whether it listens to this machine alone."""
        return is_loopback(self.host)

    @property
    def database(self) -> str:
        """The file of the embedded store."""
        return str(Path(self.home) / "codesynapse.sqlite3")

    @property
    def exports(self) -> str:
        """The folder of exports; empty without a home."""
        return self.export_dir or (str(Path(self.home) / "exports") if self.home else "")

    def masked(self) -> dict[str, object]:
        """All settings, with secrets and passwords in URLs replaced."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        for secret in ("api_key", "session_id", "parent_session_id"):
            shown[secret] = "***" if shown[secret] else ""
        for url in ("graph", "accounts", "embedder_url"):
            shown[url] = masked_url(str(shown[url]))
        return shown


def is_loopback(host: str) -> bool:
    """Whether a host is this machine. Another name may lead anywhere, whatever it looks like."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def masked_url(url: str) -> str:
    """A URL without its password."""
    scheme, mark, rest = url.partition("://")
    credentials, at, host = rest.rpartition("@")
    if not mark or not at:
        return url
    user = credentials.partition(":")[0]
    return f"{scheme}://{user}:***@{host}"


def graph_url(settings: Settings) -> str:
    """What CODESYNAPSE_GRAPH says, with the password of its file. Blocks. Raises SettingsError."""
    if not settings.graph_password_file:
        return settings.graph
    scheme, mark, rest = settings.graph.partition("://")
    user, at, host = rest.rpartition("@")
    if not mark or not at or not user or ":" in user:
        raise SettingsError(
            "CODESYNAPSE_GRAPH_PASSWORD_FILE: CODESYNAPSE_GRAPH must be a URL with a user and without a password."
        )
    password = _secret("CODESYNAPSE_GRAPH_PASSWORD_FILE", settings.graph_password_file, "password")
    return f"{scheme}://{user}:{quote(password, safe='')}@{host}"


def embedder_key(settings: Settings) -> str:
    """The key of the embedder's endpoint; '' without one. Blocks. Raises SettingsError."""
    if not settings.embedder_key_file:
        return ""
    key = _secret("CODESYNAPSE_EMBEDDER_KEY_FILE", settings.embedder_key_file, "key")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError("CODESYNAPSE_EMBEDDER_KEY_FILE: holds what no header can carry.")
    return key


def check_endpoint(settings: Settings) -> None:
    """Raises SettingsError where an endpoint cannot be asked as the settings say, or must not be."""
    host = _endpoint_host(settings.embedder_url)
    if host is None:
        raise SettingsError(
            "CODESYNAPSE_EMBEDDER_URL: must be http://HOST:PORT/PATH or https://…, without credentials or a query."
        )
    if not is_loopback(host) and host not in [each.strip().lower() for each in settings.model_hosts.split(",")]:
        raise SettingsError("CODESYNAPSE_MODEL_HOSTS: must name the host of CODESYNAPSE_EMBEDDER_URL.")
    if not settings.embedder_model:
        raise SettingsError("CODESYNAPSE_EMBEDDER_MODEL: must name the model.")
    if not settings.embedder_dimension:
        raise SettingsError("CODESYNAPSE_EMBEDDER_DIMENSION: must say how many numbers a vector of the model has.")


def _endpoint_host(text: str) -> str | None:
    """The host of a URL that holds nothing else than where to ask; None for any other."""
    try:
        url = urlsplit(text)
        if url.scheme not in ("http", "https") or url.port == 0:
            return None
        more = url.query or url.fragment or url.username is not None or url.password is not None
    except ValueError:
        return None
    return None if more else url.hostname


def _secret(name: str, path: str, what: str) -> str:
    """What a file holds for a setting, without the blanks around it. Blocks. Raises SettingsError."""
    try:
        secret = Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        secret = ""
    if not secret:
        raise SettingsError(f"{name}: holds no {what} that can be read.")
    return secret


def load(environment: Mapping[str, str] | None = None, overrides: Mapping[str, object] | None = None) -> Settings:
    """The settings in force: defaults, then the TOML file, then the environment, then the command line.

    The file is `config.toml` in the home, or what CODESYNAPSE_CONFIG names. Raises SettingsError.
    """
    environment = os.environ if environment is None else environment
    given = {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and not name.startswith(CONTRACT_PREFIX) and value != ""
    }
    command = {name: value for name, value in (overrides or {}).items() if value is not None}
    config = given.pop("config", None)
    home = str(command.get("home") or given.get("home") or default_home())
    merged: dict[str, Any] = {"home": home, **_file(config, home), **given, **command}
    try:
        return msgspec.convert(merged, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(_explained(str(error), merged)) from None


def _file(config: str | None, home: str) -> dict[str, Any]:
    path = Path(config) if config is not None else Path(home) / "config.toml"
    if config is None and not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise SettingsError("CODESYNAPSE_CONFIG: the file cannot be read as TOML in UTF-8.") from None


def _explained(text: str, merged: Mapping[str, object]) -> str:
    """msgspec's message with the setting's name, never its value."""
    unknown = [name for name in merged if name not in Settings.__struct_fields__]
    if unknown:
        return f"{PREFIX}{unknown[0].upper()}: there is no such setting."
    what, _, path = text.partition(" - at `$.")
    name = path.rstrip("`")
    if what.startswith("Invalid enum value"):
        # msgspec repeats the value here.
        allowed = get_type_hints(Settings)[name].__args__
        return f"{PREFIX}{name.upper()}: Expected one of {', '.join(allowed)}."
    return f"{PREFIX}{name.upper()}: {what.split(', got')[0]}."
