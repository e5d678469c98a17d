"""The pauses of all buckets, the keyless one's included: the only place that holds any (seed 1 §5, decision 2)."""

from msgspec import Struct

from codesynapse.contracts.errors import Invalid, TooManyPauses
from codesynapse.contracts.identity import Millis
from codesynapse.server.hints.bounded import BucketMap
from codesynapse.server.hints.session_key import Bucket

TTL_DEFAULT_S = 1_800
TTL_MIN_S, TTL_MAX_S = 1, 86_400
PAUSES_PER_PRINCIPAL_MAX = 256
PAUSES_MAX = 4_096


def ttl_of(value: object) -> int:
    """How many seconds a pause shall last. Raises Invalid for whatever is no integer in bounds (decision 10)."""
    # Not isinstance: a bool is an int to Python, and nobody means one second by `true`.
    if type(value) is not int or not TTL_MIN_S <= value <= TTL_MAX_S:
        raise Invalid(field="ttl_seconds", limit=f"an integer, {TTL_MIN_S} to {TTL_MAX_S}")
    return value


class Pause(Struct, frozen=True, kw_only=True):
    """A pause that holds. ttl_s: what it was armed with. left_ms: more than 0."""

    deadline_ms: Millis
    ttl_s: int
    left_ms: int

    @property
    def left_s(self) -> int:
        """Seconds left, rounded up: a pause that holds never says 0."""
        return -(-self.left_ms // 1_000)


class Armed(Struct, frozen=True, kw_only=True):
    """A pause that was just armed. evicted_nearest: the principal's nearest to its end had to go for it."""

    deadline_ms: Millis
    ttl_s: int
    evicted_nearest: bool


class Pauses:
    """Pauses by bucket. They end by themselves: whoever looks at a moment behind the deadline sees none."""

    def __init__(self, *, per_principal_max: int = PAUSES_PER_PRINCIPAL_MAX, most: int = PAUSES_MAX) -> None:
        self._map: BucketMap[tuple[Millis, int]] = BucketMap()
        self._per_principal_max = per_principal_max
        self._most = most

    def __len__(self) -> int:
        return len(self._map)

    def pause(self, bucket: Bucket, ttl_s: int, now_ms: Millis) -> Armed:
        """Arm a bucket's pause, or set a new deadline. ttl_s: as `ttl_of` leaves it.

        Raises TooManyPauses where the process has no room: an eviction never leaves the caller's principal.
        """
        evicted = self._map.get(bucket) is None and self._make_room(bucket, now_ms)
        deadline_ms = Millis(now_ms + ttl_s * 1_000)
        self._map.put(bucket, (deadline_ms, ttl_s))
        return Armed(deadline_ms=deadline_ms, ttl_s=ttl_s, evicted_nearest=evicted)

    def resume(self, bucket: Bucket, now_ms: Millis) -> bool:
        """End a bucket's pause; whether there was one."""
        held = self.active(bucket, now_ms) is not None
        self._map.remove((bucket.principal, bucket.key))
        return held

    def active(self, bucket: Bucket, now_ms: Millis) -> Pause | None:
        """The pause of a bucket, if it has one. One that is over is forgotten here."""
        held = self._map.get(bucket)
        if held is None:
            return None
        deadline_ms, ttl_s = held
        if now_ms >= deadline_ms:
            self._map.remove((bucket.principal, bucket.key))
            return None
        return Pause(deadline_ms=deadline_ms, ttl_s=ttl_s, left_ms=deadline_ms - now_ms)

    def _make_room(self, bucket: Bucket, now_ms: Millis) -> bool:
        """Room for one more; whether a pause that held was given up for it."""
        principal = bucket.principal
        if self._map.count(principal) >= self._per_principal_max:
            self._expire(bucket, now_ms)
            if self._map.count(principal) >= self._per_principal_max:
                # The one that would have ended first ends early: forgetting a pause resumes writes (seed 1 §7).
                nearest = min(self._map.places(principal), key=lambda each: each[1][0])
                self._map.remove(nearest[0])
                return True
        if len(self._map) >= self._most:
            self._expire(None, now_ms)
            if len(self._map) >= self._most:
                raise TooManyPauses(limit=self._most)
        return False

    def _expire(self, bucket: Bucket | None, now_ms: Millis) -> None:
        for place, (deadline_ms, _) in self._map.places(None if bucket is None else bucket.principal):
            if now_ms >= deadline_ms:
                self._map.remove(place)


def left_label(left_ms: int) -> str:
    """How long a pause still holds: whole minutes from one on, seconds below."""
    return f"{left_ms // 60_000}m left" if left_ms >= 60_000 else f"{-(-left_ms // 1_000)}s left"


def reason_of(tool: str, bucket: Bucket, pause: Pause) -> str:
    """Why a write was skipped, with what is left of the pause in figures."""
    whose = "this session_key" if bucket.declared else "callers without a session_key"
    return (
        f"Persistence is paused for {whose} ({left_label(pause.left_ms)}): `{tool}` was skipped and nothing was "
        "stored. resume_persistence ends the pause."
    )
