"""The shapes of the maintenance tools: what each accepts at its edges."""

from __future__ import annotations

import msgspec
import pytest

from codesynapse.server.tools.maintenance_shapes import (
    CalibrateArguments,
    DeepArguments,
    ExportArguments,
    HealthArguments,
    ImportArguments,
    MergeArguments,
    MigrateArguments,
    PrecisionArguments,
)


def test_the_defaults_are_those_of_the_research() -> None:
    assert (PrecisionArguments(agent_id="a").precision, PrecisionArguments(agent_id="a").beta) == ("", 0)
    merge = MergeArguments(source_agent_id="a", target_agent_id="b")
    assert (merge.strategy, merge.mode, merge.dry_run) == ("skip", "copy", False)
    assert (MigrateArguments().dry_run, MigrateArguments().globalize_unrecoverable) == (True, False)
    assert (HealthArguments().fix, DeepArguments(agent_id="a").fix) == (False, False)
    assert (ImportArguments().target_agent_id, ImportArguments().dry_run) == ("", False)
    assert ExportArguments(agent_id="a").output_path is None


@pytest.mark.parametrize("sample", [9, 5_001, True, "10", 10.5])
def test_a_sample_has_ten_to_five_thousand_records(sample: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"agent_id": "a", "sample_size": sample}, CalibrateArguments)
    for size in (10, 5_000):
        assert msgspec.convert({"agent_id": "a", "sample_size": size}, CalibrateArguments).sample_size == size
