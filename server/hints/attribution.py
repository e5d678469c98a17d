"""Which key queued a task: kept in this process beside the queue, whose rows name no key (seed 1 §5, §7)."""

from collections.abc import Iterable, Iterator, Sequence

from codesynapse.contracts.identity import Millis
from codesynapse.server.hints.pauses import Pauses
from codesynapse.server.hints.session_key import TRANSPORT_KEY, Bucket, Principal

ATTRIBUTED_PER_PRINCIPAL_MAX = 256
ATTRIBUTED_MAX = 4_096
CHUNK = 500
"""How many ids a store is asked about at once."""


class Attribution:
    """Tenant and task id → bucket: a store numbers the tasks of each tenant apart.

    A task that is not here follows the keyless bucket of its row's principal.

    An entry goes when its row is deleted, whoever deletes it, and not before the transaction that does is committed:
    a row that is rolled back must keep its entry.
    """

    def __init__(self, *, per_principal_max: int = ATTRIBUTED_PER_PRINCIPAL_MAX, most: int = ATTRIBUTED_MAX) -> None:
        self._buckets: dict[tuple[str, int], Bucket] = {}
        self._of: dict[Principal, dict[int, None]] = {}
        self._per_principal_max = per_principal_max
        self._most = most

    def __len__(self) -> int:
        return len(self._buckets)

    def record(self, task_id: int, bucket: Bucket) -> bool:
        """Remember who queued a task; whether it is remembered. Keyless callers need no entry.

        A principal that is full loses its own lowest id; where all is full, the newcomer goes without.
        """
        if not bucket.declared:
            return False
        own = self._of.get(bucket.principal, {})
        if len(own) >= self._per_principal_max:
            self.forget(bucket.principal[0], [min(own)])
        if len(self._buckets) >= self._most:
            return False
        self._buckets[bucket.principal[0], task_id] = bucket
        self._of.setdefault(bucket.principal, {})[task_id] = None
        return True

    def bucket(self, task_id: int, principal: Principal) -> Bucket:
        """Whose pause a task obeys. principal: its row's."""
        known = self._buckets.get((principal[0], task_id))
        if known is not None and known.principal == principal:
            return known
        return Bucket(principal=principal, key=TRANSPORT_KEY, declared=False)

    def forget(self, tenant_id: str, task_ids: Iterable[int]) -> None:
        """The rows of these tasks of a tenant are gone."""
        for task_id in task_ids:
            bucket = self._buckets.pop((tenant_id, task_id), None)
            if bucket is None:
                continue
            own = self._of[bucket.principal]
            del own[task_id]
            if not own:
                del self._of[bucket.principal]

    def chunks(self) -> Iterator[tuple[str, Sequence[int]]]:
        """All task ids that are known, by tenant, in pieces that a store can be asked about (`AgentMemory.alive`)."""
        tenants: dict[str, list[int]] = {}
        for tenant_id, task_id in sorted(self._buckets):
            tenants.setdefault(tenant_id, []).append(task_id)
        for tenant_id, known in tenants.items():
            for start in range(0, len(known), CHUNK):
                yield tenant_id, known[start : start + CHUNK]

    def reconcile(self, tenant_id: str, asked: Iterable[int], there: Iterable[int]) -> None:
        """Forget the tasks of a chunk whose rows are no longer there: an agent's deletion took them, or a repair."""
        self.forget(tenant_id, set(asked) - set(there))


def dropped(
    attribution: Attribution, pauses: Pauses, task_id: int, principal: Principal, now_ms: Millis, *, derived: bool
) -> bool:
    """Whether a queued task is dropped because its key is paused now.

    derived: work that follows from what is stored already, such as an index; it is never dropped.
    """
    return not derived and pauses.active(attribution.bucket(task_id, principal), now_ms) is not None
