"""How much of the best score an answer must have, from how much alike an agent's own records are. Pure.

Each sampled record asks for itself: its own score is the best there is, and what others score for it is what words in
common give where nothing is meant. A sample is drawn evenly, not by chance: the same memory calibrates the same.
"""

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from codesynapse.contracts.agent_recall import GATE_MAX, K1, QUERY_TERMS_MAX, B, idf
from codesynapse.contracts.errors import Invalid

Method = Literal["separation", "percentile", "zscore"]

SAMPLE_MIN, SAMPLE_DEFAULT, SAMPLE_MAX = 10, 200, 5_000
PAIRS_MAX = 20_000
"""How many pairs are compared, so that a calibration takes a second and not a minute."""
Z_DEFAULT, Z_MAX = 2.0, 10.0
PERCENTILE_DEFAULT = 95.0

Terms = tuple[str, ...]


class Distribution(Struct, frozen=True, kw_only=True):
    """What records score for one another, as a share of the best."""

    mean: float
    std: float
    median: float
    p95: float


class Calibration(Struct, frozen=True, kw_only=True):
    """A threshold and how it came about. terms: how many different ones were seen. admitted: the share of pairs that
    would still pass it. records: how many the agent had."""

    method: Method
    z_factor: float
    percentile: float
    sampled: int
    records: int
    pairs: int
    terms: int
    distribution: Distribution
    admitted: float
    threshold: float


def percentile_of(percentile: float) -> float:
    """A percentile between 0 and 1; above 1 it was meant as a percentage. Raises Invalid."""
    share = percentile / 100 if percentile > 1 else percentile
    if not 0 < share <= 1:
        raise Invalid(field="percentile", limit="above 0, to 100")
    return share


def drawn(records: Sequence[Terms], sample: int) -> list[Terms]:
    """At most `sample` of the records that have terms, evenly from the oldest to the newest. Raises Invalid."""
    found = [each for each in records if each]
    if len(found) < SAMPLE_MIN:
        raise Invalid(field="agent_id", limit=f"an agent of {SAMPLE_MIN} records or more")
    if len(found) <= sample:
        return found
    return [found[index * len(found) // sample] for index in range(sample)]


def calibrate(
    sampled: Sequence[Terms], *, records: int, method: Method, z_factor: float, percentile: float
) -> Calibration:
    """The threshold. z_factor: is kept within ±10. Raises Invalid for a percentile out of bounds."""
    share, z_factor = percentile_of(percentile), max(-Z_MAX, min(Z_MAX, z_factor))
    shares, nearest = _shares(sampled)
    ordered = sorted(shares)
    distribution = Distribution(
        mean=round(statistics.fmean(ordered), 6),
        std=round(statistics.pstdev(ordered), 6),
        median=round(statistics.median(ordered), 6),
        p95=round(_quantile(ordered, 0.95), 6),
    )
    match method:
        case "percentile":
            threshold = _quantile(ordered, share)
        case "zscore":
            threshold = distribution.mean + z_factor * distribution.std
        case "separation":
            # Half way from what most others score to what the nearest one does: what belongs together is above.
            threshold = (distribution.p95 + statistics.median(nearest)) / 2
    threshold = round(max(0.0, min(GATE_MAX, threshold)), 6)
    return Calibration(
        method=method,
        z_factor=z_factor,
        percentile=percentile,
        sampled=len(sampled),
        records=records,
        pairs=len(ordered),
        terms=len({term for each in sampled for term in each}),
        distribution=distribution,
        admitted=round(sum(each >= threshold for each in ordered) / len(ordered), 6),
        threshold=threshold,
    )


def _shares(sampled: Sequence[Terms]) -> tuple[list[float], list[float]]:
    """What others score for each record, as a share of its own score; and of each the most."""
    counted = [Counter(each) for each in sampled]
    mean = statistics.fmean(len(each) for each in sampled)
    frequencies = Counter(term for each in counted for term in each)
    weights = {term: idf(count, len(sampled)) for term, count in frequencies.items()}
    others = max(1, min(len(sampled) - 1, PAIRS_MAX // len(sampled)))
    shares: list[float] = []
    nearest: list[float] = []
    for index, asked in enumerate(counted):
        query = list(asked)[:QUERY_TERMS_MAX]
        best = _score(query, asked, weights, mean)
        steps = (1 + step * (len(sampled) - 1) // others for step in range(others))
        found = [
            min(1.0, _score(query, counted[(index + step) % len(sampled)], weights, mean) / best) for step in steps
        ]
        shares += found
        nearest.append(max(found))
    return shares, nearest


def _score(query: Sequence[str], record: Counter[str], weights: dict[str, float], mean: float) -> float:
    """BM25, as `contracts.agent_recall` has it, of a record that was counted beforehand."""
    norm = K1 * (1 - B + B * record.total() / max(mean, 1.0))
    return sum(weights[term] * record[term] * (K1 + 1) / (record[term] + norm) for term in query if term in record)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered)) - 1))]
