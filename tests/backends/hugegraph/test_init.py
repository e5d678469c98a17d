"""The options of the store, checked without a server."""

from __future__ import annotations

import pytest

from codesynapse.backends.hugegraph import open_hugegraph
from codesynapse.contracts.errors import Invalid

URL = "hugegraph+http://admin:secret@127.0.0.1:1"


async def test_opening_needs_no_server_so_that_one_that_is_down_can_come_later() -> None:
    async with open_hugegraph({"url": URL, "deadline_ms": "1000"}) as backend:
        assert backend.session_memory is not None
        assert backend.accounts is None


@pytest.mark.parametrize("deadline", ["0", "-1", "600001", "1e3", "\u0661", ""])
async def test_a_deadline_out_of_bounds_is_refused(deadline: str) -> None:
    with pytest.raises(Invalid) as refusal:
        async with open_hugegraph({"url": URL, "deadline_ms": deadline}):
            pass
    assert refusal.value.field == "deadline_ms"


@pytest.mark.parametrize("options", [{}, {"url": URL, "path": "x"}, {"url": "bolt://127.0.0.1"}])
async def test_missing_unknown_and_foreign_options_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(Invalid):
        async with open_hugegraph(options):
            pass
