"""A calibration is the same for the same memory, and its threshold lies where its method says."""

from __future__ import annotations

import pytest

from codesynapse.contracts.errors import Invalid
from codesynapse.server.agents.calibrating import PAIRS_MAX, Calibration, Method, calibrate, drawn, percentile_of

RECORDS = [(f"word{number}", f"group{number % 3}", "all") for number in range(30)]


def done(method: Method = "separation", *, z_factor: float = 2.0, percentile: float = 95.0) -> Calibration:
    return calibrate(RECORDS, records=30, method=method, z_factor=z_factor, percentile=percentile)


@pytest.mark.parametrize("method", ["separation", "percentile", "zscore"])
def test_the_same_memory_calibrates_the_same(method: Method) -> None:
    assert done(method) == done(method)
    assert 0 <= done(method).threshold <= 0.9


def test_all_pairs_of_a_small_sample_are_compared_and_of_a_large_one_a_bounded_number() -> None:
    assert (done().sampled, done().pairs, done().terms) == (30, 30 * 29, 34)
    many = [(f"w{number}", "all") for number in range(5_000)]
    found = calibrate(many, records=5_000, method="percentile", z_factor=2, percentile=95)
    assert 5_000 <= found.pairs <= PAIRS_MAX


def test_a_higher_percentile_and_a_higher_z_admit_less() -> None:
    assert done("percentile", percentile=10).threshold < done("percentile", percentile=99).threshold
    assert done("percentile", percentile=10).admitted > done("percentile", percentile=100).admitted
    assert done("zscore", z_factor=-1).threshold <= done("zscore", z_factor=1).threshold


def test_a_percentile_above_one_is_meant_in_percent() -> None:
    assert percentile_of(95) == percentile_of(0.95) == 0.95
    assert (percentile_of(1), percentile_of(100)) == (1, 1)
    for wrong in (0, -1, 100.5):
        with pytest.raises(Invalid):
            percentile_of(wrong)


def test_z_is_kept_within_ten() -> None:
    assert (done("zscore", z_factor=99).z_factor, done("zscore", z_factor=-99).z_factor) == (10, -10)


def test_records_that_are_alike_raise_the_threshold() -> None:
    alike = [("a", "b", "c", f"d{number % 2}") for number in range(20)]
    apart = [(f"a{number}", f"b{number}") for number in range(20)]
    thresholds = [
        calibrate(each, records=20, method="separation", z_factor=2, percentile=95).threshold for each in (apart, alike)
    ]
    assert thresholds[0] == 0 < thresholds[1]


def test_a_sample_is_drawn_evenly_and_never_of_fewer_than_ten() -> None:
    found = drawn(RECORDS, 10)
    assert found == [RECORDS[number] for number in range(0, 30, 3)]
    assert drawn([*RECORDS, ()], 5_000) == RECORDS
    for few in (RECORDS[:9], [(), *RECORDS[:9]], []):
        with pytest.raises(Invalid) as refused:
            drawn(few, 10)
        assert refused.value.field == "agent_id"
