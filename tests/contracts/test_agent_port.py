"""The port of agent memory: no call leaves out who acts."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable

import pytest

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_work import Task
from codesynapse.contracts.agents import AgentScope, Principal

CALLS = {name: each for name, each in vars(AgentMemory).items() if inspect.isfunction(each) and name[0] != "_"}
# The worker of the queue and the sweep serve all tenants.
OF_ALL = {"due", "sweep", "probe"}


@pytest.mark.parametrize("name", sorted(set(CALLS) - OF_ALL))
def test_every_call_names_its_tenant(name: str) -> None:
    call: Callable[..., object] = CALLS[name]
    hints = typing.get_type_hints(call)
    first = next(each for each in inspect.signature(call).parameters if each != "self")
    named = typing.get_args(hints[first]) or (hints[first],)
    assert first == "tenant_id" or set(named) <= {AgentScope, Principal, Task}


def test_the_calls_that_name_none_are_few() -> None:
    assert set(CALLS) >= OF_ALL
