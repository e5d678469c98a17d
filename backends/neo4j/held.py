"""What this process wrote last to a scope, so that the next commit need not read and decode it again."""

from collections import OrderedDict

from msgspec import Struct

from codesynapse.backends.neo4j.documents import kept_prefix, kept_slot
from codesynapse.contracts.memory import CommitId, Committed, Content, Revision, Scope

SCOPES_HELD_MAX = 64
"""A full one of 24 KiB takes some 150 KiB here: 10 MiB if all of them are full."""


class Known(Struct, frozen=True, kw_only=True):
    """What a commit left. slot, mark: the root's property that names this commit, and how its value begins."""

    revision: Revision
    slot: str
    mark: str
    content: Content

    @property
    def parameter(self) -> dict[str, object]:
        """What tells the server that this is what it holds."""
        return {"revision": self.revision, "slot": self.slot, "mark": self.mark}


NOTHING = Known(revision=Revision(-1), slot="", mark="", content=((), ()))
"""No root has this revision."""


class Held:
    """The scopes that were written last.

    Never an authority: what is held stands for the document only where the root, read under the tenant's lock, still
    has the revision and the mark of the commit that made it. No other commit has its id.
    """

    def __init__(self) -> None:
        self._scopes: OrderedDict[Scope, Known] = OrderedDict()

    def get(self, scope: Scope) -> Known:
        """What this process wrote last to a scope; NOTHING where that is not known."""
        return self._scopes.get(scope, NOTHING)

    def put(self, scope: Scope, commit_id: CommitId, committed: Committed, content: Content) -> None:
        """Take what was just committed."""
        slot, _ = kept_slot(commit_id, committed)
        mark = f"{kept_prefix(commit_id)}{committed.revision} "
        self._scopes[scope] = Known(revision=committed.revision, slot=slot, mark=mark, content=content)
        self._scopes.move_to_end(scope)
        while len(self._scopes) > SCOPES_HELD_MAX:
            self._scopes.popitem(last=False)

    def forget(self, scope: Scope) -> None:
        """A scope has ended."""
        self._scopes.pop(scope, None)

    def forget_session(self, tenant_id: str, session_id: str) -> None:
        """A session has ended: nothing of it stays."""
        for scope in [each for each in self._scopes if (each.tenant_id, each.session_id) == (tenant_id, session_id)]:
            del self._scopes[scope]
