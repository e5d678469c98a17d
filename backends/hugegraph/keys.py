"""The ids of vertices: compound, hashed because HugeGraph bounds them, so that no scope can be another's.

An id is unique among all labels. A session's tombstone is `x` and the session's id, a scope's record of being due for
the sweep is `d` and the scope's.
"""

import hashlib

from codesynapse.contracts.memory import COMMITS_KEPT, Scope
from codesynapse.contracts.repository import RepositoryScope


def key(kind: str, *parts: str) -> str:
    """`kind` and 32 hex digits over the parts, which hold no control characters."""
    return kind + hashlib.blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def tenant_key(tenant_id: str) -> str:
    return key("t", tenant_id)


def session_key(tenant_id: str, session_id: str) -> str:
    return key("s", tenant_id, session_id)


def scope_key(scope: Scope) -> str:
    return key("n", scope.tenant_id, scope.session_id, scope.ns)


def repository_key(scope: RepositoryScope) -> str:
    return key("r", scope.tenant_id, scope.repository)


def commit_key(owner: str, revision: int) -> str:
    """Where a commit of this revision is kept: the 32 places of an owner are used over and over."""
    return f"c{owner}-{revision % COMMITS_KEPT}"
