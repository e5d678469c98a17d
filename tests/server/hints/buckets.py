"""What tests of the hints share: identities and their buckets."""

from __future__ import annotations

from codesynapse.contracts.identity import Identity, Millis
from codesynapse.server.hints.session_key import Bucket, bucket_of

NOW = Millis(1_800_000_000_000)


def identity(tenant: str = "acme", subject: str = "ana", session: str = "s") -> Identity:
    return Identity(tenant_id=tenant, subject_id=subject, session_id=session, parent_session_id=session)


def bucket(key: str | None = None, *, tenant: str = "acme", subject: str = "ana") -> Bucket:
    return bucket_of(identity(tenant, subject), key)


def later(seconds: float) -> Millis:
    return Millis(NOW + round(seconds * 1_000))
