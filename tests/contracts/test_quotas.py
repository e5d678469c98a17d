"""The caps: the seed's numbers by default, and each lets its number pass."""

from __future__ import annotations

import pytest

from codesynapse.contracts.errors import Invalid, QuotaExceeded
from codesynapse.contracts.quotas import QUOTA_MAX, Quotas, Usage, admit, changed_caps


def test_the_defaults_are_the_numbers_of_seed_0() -> None:
    assert Quotas() == Quotas(
        sessions_active_max=1_024,
        sessions_retained_max=65_536,
        session_lifetime_ms=7 * 24 * 60 * 60 * 1_000,
        namespace_facts_max=512,
        namespace_entities_max=1_024,
        snapshot_bytes_max=24 * 1_024,
        session_namespaces_max=16,
        session_facts_max=2_048,
        tenant_roots_max=2_048,
        tenant_facts_max=65_536,
        repository_facts_max=50_000,
        repository_entities_max=50_000,
        agent_memories_max=100_000,
        agent_episodes_max=20_000,
        agent_keys_max=100_000,
        agents_max=1_000,
        agent_tasks_max=1_000,
    )


@pytest.mark.parametrize("value", [0, -1, QUOTA_MAX + 1, True, 1.0, "1", None])
@pytest.mark.parametrize("name", Quotas.__struct_fields__)
def test_a_cap_is_a_whole_number_of_at_least_1(name: str, value: object) -> None:
    with pytest.raises(Invalid) as refusal:
        Quotas(**{name: value})  # type: ignore[arg-type]
    assert refusal.value.field == name
    Quotas(**{name: 1})
    Quotas(**{name: QUOTA_MAX})


def test_caps_are_changed_by_name() -> None:
    changed = Quotas().changed({"tenant_roots_max": 7})
    assert changed == Quotas(tenant_roots_max=7)
    assert changed.changed({}) == changed
    with pytest.raises(Invalid) as unknown:
        Quotas().changed({"roots": 7})
    assert "tenant_roots_max" in str(unknown.value.limit)
    with pytest.raises(Invalid):
        Quotas().changed({"tenant_roots_max": 0})


def test_the_audit_says_which_caps_changed() -> None:
    assert changed_caps(Quotas(), Quotas()) == ""
    assert changed_caps(Quotas(), Quotas(tenant_roots_max=1, session_facts_max=2)) == (
        "session_facts_max=2 tenant_roots_max=1"
    )


SMALL = Quotas(
    namespace_facts_max=3, session_facts_max=5, tenant_facts_max=8, session_namespaces_max=2, tenant_roots_max=4
)


@pytest.mark.parametrize(
    ("usage", "new_root", "before", "after"),
    [
        (Usage(), True, 0, 3),
        (Usage(session_facts=2, tenant_facts=5), False, 0, 3),
        (Usage(session_namespaces=1, tenant_roots=3), True, 0, 0),
        (Usage(session_namespaces=9, tenant_roots=9), False, 0, 1),
        (Usage(session_facts=99, tenant_facts=99), False, 9, 9),
        (Usage(session_facts=99, tenant_facts=99), False, 9, 8),
    ],
)
def test_what_fits_or_does_not_grow_is_let_through(usage: Usage, new_root: bool, before: int, after: int) -> None:
    admit(usage, SMALL, new_root=new_root, facts_before=before, facts_after=after)


@pytest.mark.parametrize(
    ("usage", "new_root", "after", "field", "limit"),
    [
        (Usage(), False, 4, "namespace_facts", 3),
        (Usage(session_facts=3), False, 3, "session_facts", 5),
        (Usage(tenant_facts=6), False, 3, "tenant_facts", 8),
        (Usage(session_namespaces=2), True, 0, "session_namespaces", 2),
        (Usage(tenant_roots=4), True, 0, "tenant_roots", 4),
    ],
)
def test_what_would_pass_a_cap_is_refused_with_its_name(
    usage: Usage, new_root: bool, after: int, field: str, limit: int
) -> None:
    with pytest.raises(QuotaExceeded) as refusal:
        admit(usage, SMALL, new_root=new_root, facts_before=0, facts_after=after)
    assert (refusal.value.field, refusal.value.limit) == (field, limit)


@pytest.mark.parametrize(
    ("others", "cap"),
    [
        (Usage(session_facts=2_047), "session_facts"),
        (Usage(tenant_facts=65_535), "tenant_facts"),
        (Usage(tenant_roots=2_047), "tenant_roots"),
    ],
)
def test_the_seeds_facts_and_roots_are_let_in_and_not_one_more(others: Usage, cap: str) -> None:
    admit(others, Quotas(), new_root=True, facts_before=0, facts_after=1)
    full = Usage(**{cap: getattr(others, cap) + 1})
    with pytest.raises(QuotaExceeded) as refusal:
        admit(full, Quotas(), new_root=True, facts_before=0, facts_after=1)
    assert (refusal.value.field, refusal.value.limit) == (cap, getattr(full, cap))
