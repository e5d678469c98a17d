"""The folder of exports: each user's own, and nothing outside of it can be named, linked to or replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codesynapse.contracts.agents import Principal
from codesynapse.contracts.errors import AlreadyExists, ImportRefused, Invalid, QuotaExceeded, StoreFault
from codesynapse.server.agents.folder import FILES_MAX, Folder

ANA = Principal(tenant_id="acme", subject_id="ana")
BEN = Principal(tenant_id="acme", subject_id="ben")
FOREIGN = Principal(tenant_id="other", subject_id="ana")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "exports", 1_000)


def test_what_is_written_is_read_again_by_its_name_and_by_its_path(folder: Folder) -> None:
    path = folder.write(ANA, "a.jsonl", b"text")
    for named in ("a.jsonl", str(path)):
        with folder.open(ANA, named) as file:
            assert file.read() == b"text"


def test_only_the_owner_of_the_process_may_look_into_files_and_folders(folder: Folder) -> None:
    path = folder.write(ANA, "a.jsonl", b"text")
    assert path.stat().st_mode & 0o777 == 0o600
    assert all(each.stat().st_mode & 0o777 == 0o700 for each in (path.parent, path.parent.parent, folder.root))


NOT_NAMES = [
    "",
    ".",
    "..",
    "../a",
    "a/b",
    "/etc/passwd",
    ".hidden",
    "a\x00b",
    "a\nb",
    "a" * 129,
    "~",
    "a b",
    "ä",
    "\\a",
]


@pytest.mark.parametrize("name", NOT_NAMES, ids=repr)
def test_whatever_is_no_plain_name_is_refused_to_write_and_to_read(folder: Folder, name: str) -> None:
    for named in (name, str(folder.of(ANA) / "..") + "/" + name):
        with pytest.raises(Invalid) as refused:
            folder.write(ANA, named, b"")
        assert (refused.value.field, "without folders" in str(refused.value.limit)) == ("output_path", True)
        with pytest.raises(Invalid):
            folder.open(ANA, named)
    assert not folder.root.exists()


def test_the_files_of_others_cannot_be_named(folder: Folder) -> None:
    path = folder.write(ANA, "a.jsonl", b"text")
    for other in (BEN, FOREIGN):
        with pytest.raises(ImportRefused, match="no such file"):
            folder.open(other, "a.jsonl")
        with pytest.raises(Invalid):
            folder.open(other, str(path))


def test_users_whose_names_differ_in_little_have_folders_of_their_own() -> None:
    names = ["ana", "Ana", "..", ".", "a" * 100, "a" * 100 + "b", "a:b", "a.b"]
    folder = Folder(Path("/nowhere"), 1)
    parts = {folder.of(Principal(tenant_id="t", subject_id=each)).name.casefold() for each in names}
    assert len(parts) == len(names)
    assert not parts & {".", ".."}
    assert all(len(each) <= 100 for each in parts)


def test_a_file_that_is_there_is_not_replaced(folder: Folder) -> None:
    path = folder.write(ANA, "a.jsonl", b"first")
    with pytest.raises(AlreadyExists):
        folder.write(ANA, "a.jsonl", b"second")
    assert path.read_bytes() == b"first"
    assert os.listdir(path.parent) == ["a.jsonl"]


def test_a_link_is_neither_followed_nor_written_through(folder: Folder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")
    own = folder.write(ANA, "a.jsonl", b"").parent
    (own / "link").symlink_to(outside)
    (own / "dangling").symlink_to(tmp_path / "new")
    with pytest.raises(ImportRefused, match="it is a link"):
        folder.open(ANA, "link")
    for name in ("link", "dangling"):
        with pytest.raises(AlreadyExists):
            folder.write(ANA, name, b"written")
    assert outside.read_bytes() == b"secret"
    assert not (tmp_path / "new").exists()


def test_a_folder_that_became_a_link_is_not_followed(folder: Folder, tmp_path: Path) -> None:
    own = folder.of(ANA)
    own.parent.mkdir(parents=True)
    own.symlink_to(tmp_path)
    with pytest.raises(StoreFault):
        folder.write(ANA, "a.jsonl", b"")
    with pytest.raises(StoreFault):
        folder.open(ANA, "a.jsonl")


def test_a_pipe_and_a_folder_are_no_files_and_are_not_waited_for(folder: Folder) -> None:
    own = folder.write(ANA, "a.jsonl", b"").parent
    os.mkfifo(own / "pipe")
    (own / "below").mkdir()
    for name in ("pipe", "below"):
        with pytest.raises(ImportRefused, match="no regular file"):
            folder.open(ANA, name)


def test_a_file_that_is_too_large_is_refused_with_the_bound(folder: Folder) -> None:
    folder.write(ANA, "a", b"x" * 1_000)
    folder.open(ANA, "a").close()
    folder.write(ANA, "b", b"x" * 1_001)
    with pytest.raises(ImportRefused, match="more than 1000 bytes"):
        folder.open(ANA, "b")


def test_a_full_folder_takes_no_more_and_names_the_bound(folder: Folder) -> None:
    for number in range(FILES_MAX):
        folder.write(ANA, str(number), b"")
    with pytest.raises(QuotaExceeded) as refused:
        folder.write(ANA, "more", b"")
    assert (refused.value.field, refused.value.limit) == ("export_files", FILES_MAX)
    folder.write(BEN, "more", b"")


def test_where_the_disk_refuses_the_store_is_at_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreFault):
        Folder(tmp_path / "file" / "exports", 1_000).write(ANA, "a", b"")
