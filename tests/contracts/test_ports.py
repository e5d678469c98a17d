"""The ports: awaited calls in which nothing that could be mixed up goes by position, and Features that match."""

from __future__ import annotations

import inspect
import typing

import pytest

from codesynapse.contracts import ports
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.ports import Backend, Features

PORTS = [ports.SessionMemory, ports.RepositoryGraph, ports.VectorIndex, ports.Accounts, ports.Portable, AgentMemory]
METHODS = [
    pytest.param(method, id=f"{port.__name__}.{name}")
    for port in PORTS
    for name, method in vars(port).items()
    if inspect.isfunction(method) and not name.startswith("_")
]


@pytest.mark.parametrize("method", METHODS)
def test_every_call_is_awaited_and_typed(method: typing.Callable[..., object]) -> None:
    assert inspect.iscoroutinefunction(method)
    hints = typing.get_type_hints(method)
    assert set(hints) == {*inspect.signature(method).parameters, "return"} - {"self"}


@pytest.mark.parametrize("method", METHODS)
def test_moments_limits_and_flags_are_given_by_name(method: typing.Callable[..., object]) -> None:
    hints = typing.get_type_hints(method)
    for parameter in inspect.signature(method).parameters.values():
        if parameter.name == "now_ms" or hints.get(parameter.name) in (int, bool):
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, parameter.name


@pytest.mark.parametrize("method", METHODS)
def test_no_call_has_a_default_moment_or_scope(method: typing.Callable[..., object]) -> None:
    # An adapter that reads its own clock, or a scope that is left out, would be a hole in the law.
    defaults = {each.name for each in inspect.signature(method).parameters.values() if each.default is not each.empty}
    assert defaults <= {"ns", "subject_id"}


def test_each_port_is_a_feature_and_a_field_of_the_backend() -> None:
    # A probe is no port: it tells an operator about the server behind them.
    assert {*Backend.__struct_fields__, "durable"} == {*Features.__struct_fields__, "probe"}


def test_nothing_is_offered_unless_it_is_declared() -> None:
    assert not any(getattr(Features(), name) for name in Features.__struct_fields__)
    assert all(getattr(Backend(), name) is None for name in Backend.__struct_fields__)


@pytest.mark.parametrize("commit", [ports.SessionMemory.commit, ports.RepositoryGraph.commit])
def test_a_commit_names_what_it_read_and_a_commit_id_and_brings_no_caps(commit: typing.Callable[..., object]) -> None:
    first, *named = [each for name, each in inspect.signature(commit).parameters.items() if name != "self"]
    assert {each.name for each in named} == {"read_revision", "commit_id", "outcome", "now_ms"}
    assert all(each.default is each.empty for each in (first, *named))
    brought = typing.get_type_hints(commit)[first.name]
    assert not [name for name in brought.__struct_fields__ if "quota" in name or name.endswith("_max")]
