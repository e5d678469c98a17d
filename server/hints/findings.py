"""What `get_session_findings` answers: findings bounded by kind, and whether the caller can be told apart."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType, field

from codesynapse.server.hints.session_key import Bucket

PER_KIND_DEFAULT = 5
PER_KIND_MAX = 100
CRASHED = "check_crashed"


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that is wrong or pending. severity: critical, warn or info. count: how many rows it is about."""

    kind: str
    check: str
    severity: str
    text: str
    count: int | UnsetType = UNSET
    ref: str | UnsetType = UNSET


class Meta(Struct, frozen=True, kw_only=True):
    """Who answered."""

    server_version: str


class Findings(Struct, kw_only=True):
    """The answer. total and the counts describe what is returned; of the kinds in capped_kinds there is more."""

    findings: list[Finding]
    total: int
    counts_by_kind: dict[str, int]
    counts_by_severity: dict[str, int]
    capped_kinds: list[str]
    per_kind_limit: int
    summary: str | UnsetType = UNSET
    identity_shared: bool | UnsetType = UNSET
    meta: Meta = field(name="_meta")


def gathered(
    probed: Iterable[Finding],
    *,
    per_kind_limit: int,
    include_summary: bool,
    bucket: Bucket,
    shared: bool,
    server_version: str,
) -> Findings:
    """The answer from what the probes found. shared: whether the transport serves several clients.

    probed: of each kind one more than the limit, if there is one: that is how a kind is known to be capped.
    """
    by_kind: dict[str, list[Finding]] = {}
    for each in probed:
        by_kind.setdefault(each.kind, []).append(each)
    kept = [each for found in by_kind.values() for each in found[:per_kind_limit]]
    severities = Counter(each.severity for each in kept)
    return Findings(
        findings=kept,
        total=len(kept),
        counts_by_kind=dict(Counter(each.kind for each in kept)),
        counts_by_severity=dict(severities),
        capped_kinds=[kind for kind, found in by_kind.items() if len(found) > per_kind_limit],
        per_kind_limit=per_kind_limit,
        summary=_summary(kept, severities) if include_summary else UNSET,
        # Decision 5: from the resolved key, so that blanks cannot hide it. Present and true, or absent.
        identity_shared=True if shared and not bucket.declared else UNSET,
        meta=Meta(server_version=server_version),
    )


def _summary(kept: Sequence[Finding], severities: Mapping[str, int]) -> str:
    if not kept:
        return "Nothing is wrong or pending."
    return ", ".join(f"{count} {severity}" for severity, count in sorted(severities.items())) + "."


def crashed(check: str) -> Finding:
    """What stands for a probe that broke: the others are answered all the same."""
    return Finding(kind=CRASHED, check=check, severity="warn", text="This check failed; the operator's log says more.")
