"""The secret key: made once, for its owner alone, and never shown."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec import structs

from codesynapse.server.secret import FILE_NAME, SecretKey, secret_key
from codesynapse.server.settings import Settings, SettingsError

MATERIAL = b"0123456789abcdef0123456789abcdef"


def test_a_key_gives_each_purpose_its_own_subkey_and_the_same_one_again() -> None:
    key = SecretKey(MATERIAL)
    assert len(key.subkey("events")) == 32
    assert key.subkey("events") == SecretKey(MATERIAL).subkey("events")
    assert len({key.subkey("events"), key.subkey("states"), SecretKey(MATERIAL[::-1]).subkey("events")}) == 3


def test_a_key_never_shows_itself() -> None:
    assert MATERIAL.decode() not in repr(SecretKey(MATERIAL))
    assert not hasattr(SecretKey(MATERIAL), "__dict__")


def test_the_home_gets_a_key_for_its_owner_alone_and_keeps_it(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path / "home"))
    made = secret_key(settings).subkey("p")
    path = tmp_path / "home" / FILE_NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert secret_key(settings).subkey("p") == made
    assert [each.name for each in path.parent.iterdir()] == [FILE_NAME]


def test_processes_that_begin_together_agree_on_one_key(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path))
    with ThreadPoolExecutor(16) as pool:
        keys = list(pool.map(lambda _: secret_key(settings).subkey("p"), range(64)))
    assert len(set(keys)) == 1
    assert [each.name for each in tmp_path.iterdir()] == [FILE_NAME]


def test_a_file_that_is_named_is_read_and_trimmed(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(MATERIAL + b"\n")
    settings = Settings(home=str(tmp_path / "unused"), secret_key_file=str(path))
    assert secret_key(settings).subkey("p") == SecretKey(MATERIAL).subkey("p")
    assert not (tmp_path / "unused").exists()


@pytest.mark.parametrize("content", [None, b"", b"short", b" " * 64], ids=["missing", "empty", "short", "blank"])
def test_a_file_that_is_named_and_holds_no_key_is_refused_and_not_made(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match="CODESYNAPSE_SECRET_KEY_FILE"):
        secret_key(Settings(home=str(tmp_path), secret_key_file=str(path)))
    assert path.exists() == (content is not None)


def test_a_home_that_cannot_be_written_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="CODESYNAPSE_HOME"):
        secret_key(Settings(home=str(tmp_path / "file" / "home")))


def test_beside_accounts_in_memory_the_key_ends_with_the_process(tmp_path: Path) -> None:
    settings = structs.replace(Settings(home=str(tmp_path)), accounts="memory")
    assert secret_key(settings).subkey("p") != secret_key(settings).subkey("p")
    assert list(tmp_path.iterdir()) == []
