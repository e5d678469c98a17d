"""The file, its mode and its schema."""

import sqlite3
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import pytest

from codesynapse.backends.sqlite.migrate import APPLICATION_ID, SCRIPTS, VERSION, prepare, statements
from codesynapse.contracts.errors import StoreFault

Connect = Callable[[], sqlite3.Connection]


def soon() -> float:
    return time.monotonic() + 10


def figure(path: Path, pragma: str) -> object:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"PRAGMA {pragma}").fetchone()[0]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_missing_file_is_made_with_the_schema_for_its_owner_alone(path: Path, another: Connect) -> None:
    prepare(path, soon())
    assert (mode(path.parent), mode(path)) == (0o700, 0o600)
    assert (figure(path, "user_version"), figure(path, "application_id")) == (VERSION, APPLICATION_ID)
    assert figure(path, "journal_mode") == "wal"
    connection = another()
    connection.execute("INSERT INTO users (subject_id, created_at_ms) VALUES ('ana', 1)")
    assert {mode(Path(f"{path}{suffix}")) for suffix in ("", "-wal", "-shm")} == {0o600}


def test_a_file_that_others_could_read_is_closed_to_them(path: Path) -> None:
    prepare(path, soon())
    path.chmod(0o644)
    prepare(path, soon())
    assert mode(path) == 0o600


def test_preparing_again_keeps_what_is_there(path: Path, another: Connect) -> None:
    prepare(path, soon())
    another().execute("INSERT INTO users (subject_id, created_at_ms) VALUES ('ana', 1)")
    prepare(path, soon())
    assert another().execute("SELECT subject_id FROM users").fetchall() == [("ana",)]


def test_many_who_start_at_once_make_the_schema_once(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: prepare(path, soon()), range(24))) == [None] * 24
    assert figure(path, "user_version") == VERSION


def test_a_file_of_an_earlier_release_is_led_on_and_keeps_what_it_holds(path: Path, another: Connect) -> None:
    path.parent.mkdir()
    connection = another()
    for statement in statements(files("codesynapse.backends.sqlite").joinpath(SCRIPTS[0]).read_text("utf-8")):
        connection.execute(statement)
    connection.execute("INSERT INTO users (subject_id, created_at_ms) VALUES ('ana', 1)")
    assert figure(path, "user_version") == 1
    prepare(path, soon())
    assert figure(path, "user_version") == VERSION == len(SCRIPTS)
    assert another().execute("SELECT subject_id FROM users").fetchall() == [("ana",)]
    assert another().execute("SELECT count(*) FROM transports").fetchall() == [(0,)]


def test_a_schema_that_is_newer_than_ours_is_refused_and_left_alone(path: Path, another: Connect) -> None:
    prepare(path, soon())
    another().execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(StoreFault) as refusal:
        prepare(path, soon())
    assert (refusal.value.field, refusal.value.limit) == ("schema", VERSION)
    assert refusal.value.details == {"version": VERSION + 1}
    assert figure(path, "user_version") == VERSION + 1


def test_a_database_of_somebody_else_is_refused_and_left_alone(path: Path, another: Connect) -> None:
    path.parent.mkdir()
    another().execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(StoreFault) as refusal:
        prepare(path, soon())
    assert refusal.value.field == "path"
    assert another().execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]


def test_a_place_that_cannot_hold_a_file_is_refused_without_naming_it(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a file, no folder")
    with pytest.raises(StoreFault) as refusal:
        prepare(tmp_path / "plain" / "codesynapse.db", soon())
    assert refusal.value.field == "path"
    assert str(tmp_path) not in str(refusal.value)


def test_a_script_is_cut_at_its_statements_and_not_inside_a_trigger() -> None:
    trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN\n    DELETE FROM b;\n    DELETE FROM c;\nEND;\n"
    script = f"-- A comment; with a semicolon.\nCREATE TABLE a (\n    x\n);\n{trigger}"
    assert [each.split()[-1] for each in statements(script)] == [");", "END;"]
