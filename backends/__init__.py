"""Stores by name: the entry points of the group `codesynapse.backends`, ours and anybody else's."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from importlib.metadata import entry_points
from typing import cast

from codesynapse.contracts.errors import NotFound
from codesynapse.contracts.ports import Backend, Features, OpenBackend

GROUP = "codesynapse.backends"


def open_backend(name: str, options: Mapping[str, str]) -> AbstractAsyncContextManager[Backend]:
    """The backend of this name, to be opened by `async with`. Raises NotFound, and Invalid for unknown options."""
    return _opener(name)(options)


def features_of(name: str) -> Features:
    """What the backend of this name offers, without opening it. Raises NotFound."""
    return _opener(name).features


def _opener(name: str) -> OpenBackend:
    """The entry point of this name. Another's broken import is theirs to see, so it is not hidden here."""
    found = entry_points(group=GROUP, name=name)
    if not found:
        raise NotFound(field="backend")
    return cast(OpenBackend, next(iter(found)).load())
