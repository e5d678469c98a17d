"""The caps of an organisation. Each default is seed 0's number; an operator may set another, and that is audited."""

from collections.abc import Mapping

from msgspec import Struct, structs

from codesynapse.contracts.errors import Invalid, QuotaExceeded

DAY_MS = 24 * 60 * 60 * 1000

QUOTA_MAX = 1 << 40
"""The largest value that any cap can be set to."""


class Quotas(Struct, frozen=True, kw_only=True):
    """What one organisation may hold. Counts, bytes and milliseconds; each at least 1."""

    # Registry of chat sessions (seed 0, "Primary session contract").
    sessions_active_max: int = 1_024
    sessions_retained_max: int = 65_536
    session_lifetime_ms: int = 7 * DAY_MS
    # One namespace of session memory (seed 0, "Graph and vector schema").
    namespace_facts_max: int = 512
    namespace_entities_max: int = 1_024
    snapshot_bytes_max: int = 24 * 1024
    # One session, one tenant. Closed and expired roots count: these caps are for life.
    session_namespaces_max: int = 16
    session_facts_max: int = 2_048
    tenant_roots_max: int = 2_048
    tenant_facts_max: int = 65_536
    # One repository's durable memory (product.md, "Memory, in three scopes").
    repository_facts_max: int = 50_000
    repository_entities_max: int = 50_000
    # Agent memory (product.md, "Memory, in three scopes"); the last two for a tenant, the others for one agent.
    agent_memories_max: int = 100_000
    agent_episodes_max: int = 20_000
    agent_keys_max: int = 100_000
    agents_max: int = 1_000
    agent_tasks_max: int = 1_000

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= QUOTA_MAX:
                raise Invalid(field=name, limit=f"1 to {QUOTA_MAX}")

    def changed(self, overrides: Mapping[str, int]) -> "Quotas":
        """These quotas with some replaced. Raises Invalid for an unknown name or a value out of bounds."""
        for name in overrides:
            if name not in self.__struct_fields__:
                raise Invalid(field="quota", limit="one of " + ", ".join(self.__struct_fields__))
        return structs.replace(self, **dict(overrides))


def changed_caps(before: Quotas, after: Quotas) -> str:
    """What the audit says of changed caps: `name=value` of the changed ones, one blank between; empty for none."""
    new = {name: getattr(after, name) for name in after.__struct_fields__}
    return " ".join(f"{name}={value}" for name, value in new.items() if getattr(before, name) != value)


class Usage(Struct, frozen=True, kw_only=True):
    """What the *other* scopes of the same session and tenant hold; the scope being written is not in it."""

    session_namespaces: int = 0
    session_facts: int = 0
    tenant_roots: int = 0
    tenant_facts: int = 0


def admit(usage: Usage, quotas: Quotas, *, new_root: bool, facts_before: int, facts_after: int) -> None:
    """Let a commit pass, or raise QuotaExceeded that names the cap.

    A commit that does not grow is always let through: after a cap was lowered, one may still tidy up.
    """
    if new_root:
        _under("session_namespaces_max", usage.session_namespaces + 1, quotas)
        _under("tenant_roots_max", usage.tenant_roots + 1, quotas)
    if facts_after > facts_before:
        _under("namespace_facts_max", facts_after, quotas)
        _under("session_facts_max", usage.session_facts + facts_after, quotas)
        _under("tenant_facts_max", usage.tenant_facts + facts_after, quotas)


def _under(cap: str, value: int, quotas: Quotas) -> None:
    limit = getattr(quotas, cap)
    if value > limit:
        raise QuotaExceeded(field=cap.removesuffix("_max"), limit=limit)
