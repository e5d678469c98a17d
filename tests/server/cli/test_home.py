"""One `serve` on one home."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from codesynapse.server.cli.home import HomeTaken, locked, one_first_start
from codesynapse.server.settings import SettingsError


def test_a_home_that_is_held_is_taken(tmp_path: Path) -> None:
    with locked(str(tmp_path)), pytest.raises(HomeTaken), locked(str(tmp_path)):
        raise AssertionError("two hold the lock")


def test_a_home_that_was_let_go_is_free_again(tmp_path: Path) -> None:
    with locked(str(tmp_path)):
        pass
    with locked(str(tmp_path)):
        pass


def test_another_home_is_free(tmp_path: Path) -> None:
    with locked(str(tmp_path / "a")), locked(str(tmp_path / "b")):
        pass


def test_a_home_that_is_made_is_its_owners_alone(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    with locked(str(home)):
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert stat.S_IMODE((home / "serve.lock").stat().st_mode) == 0o600


def test_a_home_that_is_a_file_is_refused_by_its_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"^CODESYNAPSE_HOME: "), locked(str(tmp_path / "file")):
        raise AssertionError("a file was locked as a home")


def test_a_first_start_waits_for_another(tmp_path: Path) -> None:
    entered, order = threading.Event(), []

    def second() -> None:
        entered.set()
        with one_first_start(str(tmp_path)):
            order.append("second")

    with one_first_start(str(tmp_path)):
        waiting = threading.Thread(target=second)
        waiting.start()
        entered.wait()
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]


def test_a_first_start_beside_a_server_does_not_wait_for_its_end(tmp_path: Path) -> None:
    with locked(str(tmp_path)), one_first_start(str(tmp_path)):
        pass
