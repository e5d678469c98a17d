"""Embedders by name."""

from __future__ import annotations

from typing import get_args, get_type_hints

from codesynapse.backends.embedders import NONE, open_embedder
from codesynapse.server.settings import Settings


def test_every_name_that_the_setting_knows_is_opened_or_is_none():
    names = get_args(get_type_hints(Settings)["embedder"])
    assert {name for name in names if open_embedder(name) is None} == set(NONE)
    hashing = open_embedder("hashing")
    assert hashing is not None
    assert (hashing.name, hashing.dimension) == ("hashing-256", 256)
