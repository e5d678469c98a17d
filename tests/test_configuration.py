"""docs/configuration.md says of every setting and every quota what the code says."""

from __future__ import annotations

import re

import pytest

from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.requirements import requirement
from codesynapse.server.settings import PREFIX, Settings
from tests.documents import DOCS, QUOTA_MEANINGS, quotas_table, rendered, settings_table, tables_of

PAGE = (DOCS / "configuration.md").read_text(encoding="utf-8")


def first_cells(table: str) -> list[str]:
    """What stands in the first column, without the head."""
    return [line.split(" | ")[0].strip("| `") for line in table.splitlines()[2:]]


@requirement("settings:table")
def test_the_page_lists_every_setting_with_its_default_and_meaning() -> None:
    assert rendered(PAGE) == PAGE, "run: python -m tests.documents"
    assert tables_of(PAGE) == ["settings", "quotas"]


def test_every_setting_has_a_row_and_every_row_a_setting() -> None:
    assert first_cells(settings_table()) == [PREFIX + name.upper() for name in Settings.__struct_fields__]


def test_every_setting_says_what_it_means() -> None:
    rows = [line.strip("| ").split(" | ") for line in settings_table().splitlines()[2:]]
    assert [name for name, _, meaning in rows if not re.fullmatch(r"\S.*\.", meaning)] == []


def test_every_quota_has_a_row_with_its_default() -> None:
    assert first_cells(quotas_table()) == list(Quotas.__struct_fields__)
    assert set(QUOTA_MEANINGS) == set(Quotas.__struct_fields__)
    for name in Quotas.__struct_fields__:
        assert f"| `{name}` | `{getattr(Quotas(), name)}` |" in quotas_table()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| `CODESYNAPSE_PORT` | `8420` |", "| `CODESYNAPSE_PORT` | `8421` |"),
        ("Port to listen on; 0 picks a free one.", "Port to listen on."),
        ("| `snapshot_bytes_max` | `24576` |", "| `snapshot_bytes_max` | `24577` |"),
    ],
)
def test_a_page_that_says_something_else_is_noticed(old: str, new: str) -> None:
    changed = PAGE.replace(old, new)
    assert changed != PAGE
    assert rendered(changed) == PAGE


def test_a_page_that_leaves_a_setting_out_is_noticed() -> None:
    shorter = "\n".join(line for line in PAGE.splitlines() if not line.startswith("| `CODESYNAPSE_PORT`")) + "\n"
    assert shorter != PAGE
    assert rendered(shorter) == PAGE


def test_every_variable_that_a_page_names_is_a_setting() -> None:
    known = {*Settings.__struct_fields__, "config", "contract_mygraph"}
    named = {
        name.lower() for page in DOCS.glob("*.md") for name in re.findall(rf"{PREFIX}([A-Z0-9_]+)", page.read_text())
    }
    # Decision 8 names a choice that arrives with another issue.
    assert named - known <= {"fusion"}
