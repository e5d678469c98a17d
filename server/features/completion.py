"""Completion of what people type into prompts and resource templates: repositories and entities that they may read."""

from collections.abc import Iterable, Mapping, Sequence

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.errors import GrantInsufficient, Invalid, RepositoryForbidden
from codesynapse.contracts.identity import Execution
from codesynapse.server.features.operations import VALUES_MAX
from codesynapse.server.memory.repository import RepositoryEngine
from codesynapse.server.sessions.registry import Sessions
from codesynapse.server.tools.graph import DEFAULT_REPOSITORY

TYPED_MAX = 256
"""Beyond so many characters nothing is looked for: no name is longer."""


class Completion:
    """The completers; each as `Completer`."""

    def __init__(self, sessions: Sessions, repository: RepositoryEngine) -> None:
        self._sessions = sessions
        self._repository = repository

    async def repositories(self, execution: Execution, typed: str, _: Mapping[str, str]) -> Sequence[str]:
        """Names of repositories that the caller may read."""
        return ranked(await self._sessions.readable(execution), typed)

    async def entities(self, execution: Execution, typed: str, chosen: Mapping[str, str]) -> Sequence[str]:
        """Names of entities in the repository that was chosen before; none where it may not be read."""
        repository = chosen.get("repository") or chosen.get("repo") or DEFAULT_REPOSITORY
        if len(typed) > TYPED_MAX:
            return []
        try:
            await self._sessions.require_repository(execution, repository, Level.READ)
        except (RepositoryForbidden, GrantInsufficient, Invalid):
            return []
        found = await self._repository.search(execution, repository, typed, labels=[], limit=VALUES_MAX, cursor=None)
        return ranked(dict.fromkeys(node.name for node in found.nodes), typed, found=True)

    async def depths(self, _: Execution, typed: str, __: Mapping[str, str]) -> Sequence[str]:
        """How many steps a subgraph may go."""
        return ranked(("1", "2", "3"), typed)


def ranked(names: Iterable[str], typed: str, *, found: bool = False) -> list[str]:
    """The names that hold what was typed, ignoring case: those that begin with it first, each kind in its order.

    found: they are known to match, maybe by another of their names.
    """
    folded = typed.strip().casefold()
    first, others = [], []
    for name in names:
        if name.casefold().startswith(folded):
            first.append(name)
        elif found or folded in name.casefold():
            others.append(name)
    return first + others
