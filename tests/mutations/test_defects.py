"""The list of defects is sound, and the way they are tried tells a defect from a harmless change."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from codesynapse.server.hints.gated import GATED
from tests.mutations.__main__ import ROOT, copied, killed, main, mutated
from tests.mutations.defects import MORE, MUTATIONS, SEED, Mutation
from tests.test_requirements import exists

SEEDS_WORDS = [
    *("strip()", "empty keys", "told keys", "cap of the pauses"),
    *("without the session", "what is left", "who queued a task"),
]


def test_the_seeds_seven_mutations_are_among_the_defects():
    assert len(SEED) == len(SEEDS_WORDS) == 7
    for mutation, words in zip(SEED, SEEDS_WORDS, strict=True):
        assert words in mutation.name


def test_the_issues_four_are_too_the_gate_of_each_write_tool_with_its_own():
    names = {each.name for each in MUTATIONS}
    assert {f"a pause does not stop {name}" for name in GATED} < names
    for name in ("a bucket without its tenant", "an attribution outlives its row"):
        assert name in names
    assert "a paused call is answered before it is checked" in {each.name for each in MORE}
    skipped = {name for name, row in GATED.items() if not row.forced} - {"offload_turns", "promote_facts"}
    assert {f"a pause hides what {name} would refuse" for name in skipped} < names


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_each_defect_still_applies_and_its_test_still_exists(mutation: Mutation):
    source = (ROOT / mutation.file).read_text(encoding="utf-8")
    compile(mutated(source, mutation), mutation.file, "exec")
    for test in mutation.test.split(" "):
        assert exists(test.partition("[")[0])


def test_no_two_defects_have_one_name():
    assert [name for name, count in Counter(each.name for each in MUTATIONS).items() if count > 1] == []


def test_what_does_not_stand_there_once_is_told():
    with pytest.raises(ValueError, match="0 times"):
        mutated("nothing", SEED[0])


def test_a_defect_is_found_by_its_test_and_a_harmless_change_is_not(tmp_path: Path):
    copied(tmp_path)
    assert killed(tmp_path, SEED[0])
    harmless = Mutation(
        name="harmless", file=SEED[0].file, old=SEED[0].old, new="stripped = str(declared).strip()", test=SEED[0].test
    )
    assert not killed(tmp_path, harmless)


def test_a_word_that_names_no_defect_is_a_failure():
    assert main(["there is no such defect"]) == 1
