"""How a backend declares itself: `@opens(Features(...))` over an async context manager factory."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.ports import Backend, Features

Factory = Callable[[Mapping[str, str]], AbstractAsyncContextManager[Backend]]


class Opener:
    """A factory and the features of what it opens, known without opening it."""

    def __init__(self, features: Features, factory: Factory) -> None:
        self.features = features
        self._factory = factory

    def __call__(self, options: Mapping[str, str]) -> AbstractAsyncContextManager[Backend]:
        return self._factory(options)


def opens(features: Features) -> Callable[[Factory], Opener]:
    """Declare what a factory opens."""

    def declare(factory: Factory) -> Opener:
        return Opener(features, factory)

    return declare


def only(options: Mapping[str, str], *known: str) -> None:
    """Refuse options that a backend does not know. Raises Invalid."""
    for name in options:
        if name not in known:
            raise Invalid(field="options", limit="one of " + ", ".join(known) if known else "none")
