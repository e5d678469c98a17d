"""What is kept for one key of one principal, counted for each principal and in all. The policies are its users'."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from codesynapse.server.hints.session_key import Bucket, Principal

V = TypeVar("V")
Place = tuple[Principal, str]


class BucketMap(Generic[V]):
    """Values by bucket, in the order in which they were first put. It bounds nothing by itself."""

    def __init__(self) -> None:
        self._values: dict[Place, V] = {}
        self._keys: dict[Principal, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._values)

    def count(self, principal: Principal) -> int:
        """How many values a principal has."""
        return len(self._keys.get(principal, ()))

    def get(self, bucket: Bucket) -> V | None:
        return self._values.get((bucket.principal, bucket.key))

    def put(self, bucket: Bucket, value: V) -> None:
        """Keep or replace a value; one that is replaced stays where it is in the order."""
        self._values[bucket.principal, bucket.key] = value
        self._keys.setdefault(bucket.principal, {})[bucket.key] = None

    def remove(self, place: Place) -> V | None:
        """Forget one value, which is returned."""
        principal, key = place
        keys = self._keys.get(principal, {})
        keys.pop(key, None)
        if not keys:
            self._keys.pop(principal, None)
        return self._values.pop(place, None)

    def clear(self) -> None:
        self._values.clear()
        self._keys.clear()

    def places(self, principal: Principal | None = None) -> Iterator[tuple[Place, V]]:
        """The values of one principal, or all, oldest first; what is yielded may be removed meanwhile."""
        if principal is None:
            yield from list(self._values.items())
        else:
            for key in list(self._keys.get(principal, ())):
                yield (principal, key), self._values[principal, key]

    def oldest(self, principal: Principal | None = None) -> Place:
        """The one that was put first. Raises StopIteration where there is none."""
        if principal is None:
            return next(iter(self._values))
        return principal, next(iter(self._keys[principal]))
