"""Before it destroys, a tool asks whoever can be asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from codesynapse.contracts.errors import InputUnanswered, NotConfirmed
from codesynapse.server.tools.confirming import confirm
from codesynapse.server.tools.registry import SILENT, InputRequest, ToolContext, no_log, no_progress


def context(answer: dict[str, Any] | Exception, asked: list[Any]) -> ToolContext:
    async def ask(requests: Mapping[str, InputRequest]) -> dict[str, dict[str, Any]]:
        asked.extend(requests.values())
        if isinstance(answer, Exception):
            raise answer
        return dict.fromkeys(requests, answer)

    declared = {"elicitation": {"form": {}}}
    return ToolContext(progress=no_progress, log=no_log, ask=ask, capabilities=declared)


async def test_what_is_accepted_goes_on_and_was_asked_in_so_many_words():
    asked: list[InputRequest] = []
    await confirm(context({"action": "accept"}, asked), "Sure?")
    assert [(each.method, each.params["message"]) for each in asked] == [("elicitation/create", "Sure?")]


@pytest.mark.parametrize("answer", [{"action": "decline"}, {"action": "cancel"}, {}, {"action": True}])
async def test_anything_but_acceptance_is_none(answer: dict[str, Any]):
    with pytest.raises(NotConfirmed):
        await confirm(context(answer, []), "Sure?")


async def test_silence_is_no_acceptance():
    with pytest.raises(InputUnanswered):
        await confirm(context(InputUnanswered(), []), "Sure?")


async def test_a_client_that_cannot_be_asked_is_not():
    await confirm(SILENT, "Sure?")
