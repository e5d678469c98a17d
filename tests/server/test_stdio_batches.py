"""Batches over stdio: all answers to one line come back as one line."""

from __future__ import annotations

from tests.server.test_stdio import call, connected, request


async def test_a_batch_is_answered_by_one_array_at_the_first_revision():
    async with connected() as client:
        await client.initialize("2025-03-26")
        client.send([request(1, "ping"), 5, request(2, "nothing"), {"jsonrpc": "2.0", "method": "x"}])
        answers = await client.answer()
        assert [answer["id"] for answer in answers] == [1, None, 2]
        assert ["error" in answer for answer in answers] == [False, True, True]


async def test_the_array_of_a_batch_waits_for_its_last_call_and_holds_up_nothing_else():
    async with connected() as client:
        await client.initialize("2025-03-26")
        client.send([call(1, "wait"), call(2, "recall_context", query="tea"), call(3, "nothing")])
        await client.started.wait()
        client.send(request(4, "ping"))
        assert (await client.answer())["id"] == 4
        client.go_on.set()
        answers = await client.answer()
        assert sorted(answer["id"] for answer in answers) == [1, 2, 3]


async def test_a_batch_of_which_nothing_is_answered_has_no_line_and_one_that_is_refused_no_array():
    async with connected() as client:
        await client.initialize("2025-03-26")
        client.send([{"jsonrpc": "2.0", "method": "x"}], [])
        assert (await client.answer())["error"]["code"] == -32600
        client.send([call(1, "wait")])
        await client.started.wait()
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        client.send(request(2, "ping"))
        assert [answer["id"] for answer in [await client.answer(), *await client.end()]] == [2]
