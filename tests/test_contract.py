"""The contract suite on the stores of this repository, which pyproject.toml names in `contract_backends`."""

import importlib.metadata

import pytest

from codesynapse.contracts.suite import *  # noqa: F403


def test_the_suite_runs_here_on_every_store_that_is_shipped(pytestconfig: pytest.Config) -> None:
    points = importlib.metadata.entry_points(group="codesynapse.backends")
    shipped = {point.name for point in points if point.value.startswith("codesynapse.")}
    named = {line.partition("=")[0] for line in pytestconfig.getini("contract_backends")}
    assert named == shipped == {"memory", "sqlite", "neo4j", "hugegraph"}
