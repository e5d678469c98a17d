"""Settings: three sources under one name, and errors that name the setting but never its value."""

from __future__ import annotations

from pathlib import Path

import pytest

from codesynapse.contracts.plugin import variable as contract_variable
from codesynapse.contracts.requirements import requirement
from codesynapse.server.limits import Limits
from codesynapse.server.settings import (
    Settings,
    SettingsError,
    check_endpoint,
    embedder_key,
    graph_url,
    load,
    masked_url,
)

SECRET = "hunter2"


def refusal(environment: dict[str, str], **overrides: object) -> str:
    with pytest.raises(SettingsError) as caught:
        load(environment, overrides)
    return str(caught.value)


@requirement("settings:sources")
def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("port = 1\nbatch_max = 1\nevents_max = 1\n")
    home = {"CODESYNAPSE_HOME": str(tmp_path)}
    environment = {**home, "CODESYNAPSE_PORT": "2", "CODESYNAPSE_BATCH_MAX": "2"}
    settings = load(environment, {"port": 3})
    assert (settings.port, settings.batch_max, settings.events_max) == (3, 2, 1)
    assert settings.idle_ms == Settings().idle_ms


def test_what_the_command_line_does_not_say_overrides_nothing(tmp_path: Path) -> None:
    environment = {"CODESYNAPSE_HOME": str(tmp_path), "CODESYNAPSE_PORT": "2"}
    assert load(environment, {"port": None}).port == 2


def test_an_empty_variable_is_one_that_is_not_set(tmp_path: Path) -> None:
    assert load({"CODESYNAPSE_HOME": str(tmp_path), "CODESYNAPSE_PORT": ""}).port == 8420


def test_variables_of_other_programs_are_left_alone(tmp_path: Path) -> None:
    assert load({"CODESYNAPSE_HOME": str(tmp_path), "PORT": "1", "OTHER_PORT": "2"}).port == 8420


def test_another_file_is_read_where_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("port = 1\n")
    (tmp_path / "other.toml").write_text("port = 2\n")
    environment = {"CODESYNAPSE_HOME": str(tmp_path), "CODESYNAPSE_CONFIG": str(tmp_path / "other.toml")}
    assert load(environment).port == 2


@requirement("settings:home")
def test_the_home_is_the_users_data_folder_unless_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert load({}).home == str(tmp_path / "codesynapse")
    assert load({}).database == str(tmp_path / "codesynapse" / "codesynapse.sqlite3")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load({}).home == str(tmp_path / ".local" / "share" / "codesynapse")
    assert load({"CODESYNAPSE_HOME": "a"}, {"home": "b"}).home == "b"


def test_numbers_and_switches_are_read_from_text(tmp_path: Path) -> None:
    settings = load({"CODESYNAPSE_HOME": str(tmp_path), "CODESYNAPSE_INSECURE_HTTP": "true"})
    assert settings.insecure_http is True
    assert load({"CODESYNAPSE_HOME": str(tmp_path), "CODESYNAPSE_INSECURE_HTTP": "0"}).insecure_http is False


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("PORT", SECRET, "CODESYNAPSE_PORT: Expected `int`."),
        ("PORT", "65536", "CODESYNAPSE_PORT: Expected `int` <= 65535."),
        ("PORT", "-1", "CODESYNAPSE_PORT: Expected `int` >= 0."),
        ("BODY_MAX_BYTES", "1", "CODESYNAPSE_BODY_MAX_BYTES: Expected `int` >= 1024."),
        ("IDLE_MS", "0", "CODESYNAPSE_IDLE_MS: Expected `int` >= 1."),
        ("INSECURE_HTTP", SECRET, "CODESYNAPSE_INSECURE_HTTP: Expected `bool`."),
        ("LOG_LEVEL", SECRET, "CODESYNAPSE_LOG_LEVEL: Expected one of debug, info, warning, error."),
        ("SECRETS", SECRET, "CODESYNAPSE_SECRETS: there is no such setting."),
    ],
)
def test_a_refusal_names_the_setting_and_never_its_value(tmp_path: Path, name: str, value: str, says: str) -> None:
    said = refusal({"CODESYNAPSE_HOME": str(tmp_path), f"CODESYNAPSE_{name}": value})
    assert said == says
    assert SECRET not in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"port = '{SECRET}'", "CODESYNAPSE_PORT: Expected `int`."),
        (f"log_level = '{SECRET}'", "CODESYNAPSE_LOG_LEVEL: Expected one of debug, info, warning, error."),
        (f"prot = '{SECRET}'", "CODESYNAPSE_PROT: there is no such setting."),
        (f"[server]\nport = '{SECRET}'", "CODESYNAPSE_SERVER: there is no such setting."),
        (f"port = {SECRET}", "CODESYNAPSE_CONFIG: the file cannot be read as TOML in UTF-8."),
    ],
)
def test_a_wrong_file_is_refused_in_the_same_words(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    assert refusal({"CODESYNAPSE_HOME": str(tmp_path)}) == says


def test_where_the_contract_suite_reaches_a_store_is_no_setting(tmp_path: Path) -> None:
    home = {"CODESYNAPSE_HOME": str(tmp_path)}
    assert load({**home, contract_variable("my-graph"): SECRET}) == Settings(home=str(tmp_path))
    assert refusal({**home, "CODESYNAPSE_CONTRACTS": SECRET}) == "CODESYNAPSE_CONTRACTS: there is no such setting."


def test_a_file_that_is_named_and_missing_is_refused_and_an_unnamed_one_is_not_needed(tmp_path: Path) -> None:
    home = {"CODESYNAPSE_HOME": str(tmp_path)}
    assert refusal({**home, "CODESYNAPSE_CONFIG": str(tmp_path / "none.toml")}).startswith("CODESYNAPSE_CONFIG: ")
    assert load(home) == Settings(home=str(tmp_path))


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes("host = 'gr\xfcn'".encode("latin-1"))
    assert refusal({"CODESYNAPSE_HOME": str(tmp_path)}).startswith("CODESYNAPSE_CONFIG: ")


@requirement("settings:masked")
@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("neo4j://ana:hunter2@example.org:7687/x", "neo4j://ana:***@example.org:7687/x"),
        ("postgresql://ana:hunt@er2@example.org", "postgresql://ana:***@example.org"),
        ("bolt://example.org", "bolt://example.org"),
        ("sqlite", "sqlite"),
    ],
)
def test_a_password_in_a_url_is_masked(url: str, shown: str) -> None:
    assert masked_url(url) == shown
    assert Settings(graph=url, accounts=url).masked()["graph"] == shown
    assert Settings(graph=url, accounts=url).masked()["accounts"] == shown


def test_a_key_and_an_id_are_shown_as_set_or_not() -> None:
    shown = Settings(api_key=SECRET, session_id=SECRET, parent_session_id=SECRET).masked()
    assert SECRET not in str(shown)
    assert (shown["api_key"], Settings().masked()["api_key"]) == ("***", "")
    assert set(shown) == set(Settings.__struct_fields__)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1"])
def test_an_address_of_this_machine_alone_is_loopback(host: str) -> None:
    assert Settings(host=host).loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", "127.example.org", ""])
def test_any_other_address_is_not_loopback(host: str) -> None:
    assert not Settings(host=host).loopback


def test_every_limit_is_a_setting_with_the_same_default() -> None:
    assert {name: getattr(Settings(), name) for name in Limits.__struct_fields__} == {
        name: getattr(Limits(), name) for name in Limits.__struct_fields__
    }


def test_the_password_of_a_file_enters_the_url_encoded(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("p/w@ü\n")
    settings = Settings(graph="bolt://ana@host:7687/db", graph_password_file=str(file))
    assert graph_url(settings) == "bolt://ana:p%2Fw%40%C3%BC@host:7687/db"
    assert graph_url(Settings(graph="bolt://ana:other@host")) == "bolt://ana:other@host"


@pytest.mark.parametrize("graph", ["sqlite", "bolt://host", "bolt://ana:hunter2@host", "bolt://@host"])
def test_a_file_with_a_password_needs_a_url_that_has_a_user_and_none(tmp_path: Path, graph: str) -> None:
    (tmp_path / "password").write_text(SECRET)
    with pytest.raises(SettingsError, match="CODESYNAPSE_GRAPH_PASSWORD_FILE: CODESYNAPSE_GRAPH must") as error:
        graph_url(Settings(graph=graph, graph_password_file=str(tmp_path / "password")))
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("content", [None, b"", b"\xff"])
def test_a_file_without_a_password_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "password").write_bytes(content)
    with pytest.raises(SettingsError, match="CODESYNAPSE_GRAPH_PASSWORD_FILE: holds no password"):
        graph_url(Settings(graph="bolt://ana@host", graph_password_file=str(tmp_path / "password")))


ENDPOINT = {
    "CODESYNAPSE_EMBEDDER": "http",
    "CODESYNAPSE_EMBEDDER_URL": "http://127.0.0.1:11434/v1/embeddings",
    "CODESYNAPSE_EMBEDDER_MODEL": "m",
    "CODESYNAPSE_EMBEDDER_DIMENSION": "384",
}


def endpoint(home: Path, **changed: str) -> Settings:
    """The settings of an endpoint on loopback, with some of them changed."""
    changes = {f"CODESYNAPSE_{name.upper()}": value for name, value in changed.items()}
    return load({"CODESYNAPSE_HOME": str(home), **ENDPOINT, **changes})


@requirement("hosts:model")
@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("http://localhost:1/v1/embeddings", ""),
        ("http://[::1]:1/v1/embeddings", ""),
        ("https://Models.Example/v1/embeddings", "other.example, models.example"),
    ],
)
def test_an_embedder_on_loopback_or_on_a_host_that_is_named_may_be_asked(tmp_path: Path, url: str, hosts: str) -> None:
    check_endpoint(endpoint(tmp_path, embedder_url=url, model_hosts=hosts))


@requirement("hosts:model")
@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"embedder_url": ""}, "EMBEDDER_URL"),
        ({"embedder_url": "127.0.0.1:11434"}, "EMBEDDER_URL"),
        ({"embedder_url": "ftp://127.0.0.1/v1"}, "EMBEDDER_URL"),
        ({"embedder_url": "http://127.0.0.1:99999/v1"}, "EMBEDDER_URL"),
        ({"embedder_url": "http:///v1/embeddings"}, "EMBEDDER_URL"),
        ({"embedder_url": f"http://ana:{SECRET}@127.0.0.1/v1"}, "EMBEDDER_URL"),
        ({"embedder_url": f"http://127.0.0.1/v1?key={SECRET}"}, "EMBEDDER_URL"),
        ({"embedder_url": f"http://127.0.0.1/v1#{SECRET}"}, "EMBEDDER_URL"),
        ({"embedder_url": "http://models.example/v1"}, "MODEL_HOSTS"),
        ({"embedder_url": "http://models.example/v1", "model_hosts": "example,models.example.org"}, "MODEL_HOSTS"),
        ({"embedder_url": "http://127.0.0.1.example/v1"}, "MODEL_HOSTS"),
        ({"embedder_model": ""}, "EMBEDDER_MODEL"),
        ({"embedder_dimension": "0"}, "EMBEDDER_DIMENSION"),
    ],
)
def test_an_endpoint_that_cannot_or_must_not_be_asked_is_refused_by_the_settings_name(
    tmp_path: Path, changed: dict[str, str], named: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        check_endpoint(endpoint(tmp_path, **changed))
    assert str(caught.value).startswith(f"CODESYNAPSE_{named}: ")
    assert SECRET not in str(caught.value)


def test_the_key_of_an_endpoint_comes_out_of_a_file_alone_and_is_none_without_one(tmp_path: Path) -> None:
    assert embedder_key(endpoint(tmp_path)) == ""
    file = tmp_path / "key"
    file.write_text(f" {SECRET}\n")
    settings = endpoint(tmp_path, embedder_key_file=str(file))
    assert embedder_key(settings) == SECRET
    assert SECRET not in str(settings.masked())


@pytest.mark.parametrize(
    "content", [b"", b" \n", b"\xff\xfe", f"{SECRET}\r\nX-Other: 1".encode(), f"{SECRET}é".encode()]
)
def test_a_file_without_a_key_that_a_header_can_carry_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        embedder_key(endpoint(tmp_path, embedder_key_file=str(file)))
    assert str(caught.value).startswith("CODESYNAPSE_EMBEDDER_KEY_FILE: holds ")
    assert SECRET not in str(caught.value)
