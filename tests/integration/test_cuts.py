"""Lines that break at any byte of a streamed tool call, at 2025-11-25: nothing lost, nothing twice, nothing half."""

import asyncio
import random
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from codesynapse.contracts.identity import Execution, Millis
from codesynapse.contracts.memory import Scope, Snapshot
from codesynapse.contracts.requirements import requirement
from codesynapse.server.services import open_ports
from codesynapse.server.settings import Settings
from codesynapse.server.tools.registry import ToolContext
from tests.integration.cutting import FULL, Cut, CuttingProxy, Heard, cutting_proxy, dice, exchange, request_bytes
from tests.integration.harness import START_MS, Person, Product, Transport, product

SESSIONS = 32
CUTS_AFTER = 1_000 if FULL else 100
CUTS_BEFORE = 200 if FULL else 20
FACTS = 6
RETRY_MS = 50


def triples(subject: str, value: str) -> list[dict[str, object]]:
    """A few facts with one value at a time."""
    return [
        {"subject": f"{subject} {number}", "predicate": "is", "object": f"{value} {'.' * 100}", "functional": True}
        for number in range(FACTS)
    ]


def write(transport: Transport, subject: str, value: str) -> tuple[int, bytes]:
    """The id and the bytes of a call that writes them."""
    arguments = {"memory_scope": "session", "triples": triples(subject, value)}
    message = transport.message("tools/call", {"name": "upsert_graph_triples", "arguments": arguments})
    return message["id"], request_bytes("POST", transport.all_headers(), message)


@dataclass(kw_only=True)
class Sizes:
    """Of a whole answer: where its first event ends, and where itself ends."""

    first: int
    whole: int


async def measured(proxy: CuttingProxy, transport: Transport) -> Sizes:
    """Learn the sizes from a call that is not cut, which shows the retry that was set as well."""
    _, request = write(transport, "counter", "0")
    answer = await exchange(proxy, request, Cut())
    assert answer.ended
    assert f"retry: {RETRY_MS}\n".encode() in answer.raw
    return Sizes(first=answer.raw.index(b"\n\n") + 2, whole=len(answer.raw))


async def through_cuts(
    proxy: CuttingProxy, transport: Transport, chance: random.Random, sizes: Sizes, value: int
) -> Heard:
    """Write through a line that breaks behind the first event, and resume until the stream has ended.

    Every second resumed stream breaks as well, wherever it likes: from the first event on, an id is known.
    """
    request_id, request = write(transport, "counter", str(value))
    at, reset = chance.randrange(sizes.first, sizes.whole), chance.random() < 0.5
    # Where the answer is whole and its stream is not: few bytes, so they get a share of their own.
    at_the_end = Cut(behind=b"}}}\n\n", reset=reset)
    part = await exchange(proxy, request, at_the_end if chance.random() < 0.2 else Cut(response=at, reset=reset))
    messages, last_id = part.messages, part.last_id
    assert last_id is not None
    while not part.ended:
        headers = {**transport.all_headers(), "Last-Event-ID": last_id}
        at, reset = chance.randrange(1, sizes.whole), chance.random() < 0.5
        cut = Cut(response=at, reset=reset) if chance.random() < 0.5 else Cut()
        part = await exchange(proxy, request_bytes("GET", headers), cut)
        messages += part.messages
        last_id = part.last_id or last_id
    assert [message["id"] for message in messages] == [request_id]
    answer = messages[0]["result"]["structuredContent"]
    assert answer["revision"] == value + 1
    assert [fact["object"].split(" ")[0] for fact in answer["facts"]] == [str(value)] * FACTS
    return part


async def opened(running: Product, person: Person) -> list[tuple[str, Transport]]:
    """32 sessions of one person, each on its own transport."""
    sessions = [await running.register(person) for _ in range(SESSIONS)]
    return [(session_id, await running.open(person, session_id)) for session_id in sessions]


async def test_every_response_arrives_exactly_once_through_cuts_behind_the_first_event() -> None:
    chance = dice("cuts behind the first event")
    async with product(store="memory", sse_retry_ms=RETRY_MS) as running, cutting_proxy(running.url) as proxy:
        transports = [transport for _, transport in await opened(running, await running.person())]
        sizes = [await measured(proxy, transport) for transport in transports]
        calls = 0

        async def session(transport: Transport, sizes: Sizes) -> None:
            nonlocal calls
            value = 0
            while proxy.cuts < CUTS_AFTER:
                value += 1
                await through_cuts(proxy, transport, chance, sizes, value)
            calls += value
            # One revision for each call: none was lost, and none was written twice.
            assert (await transport.recall("counter"))["revision"] == value + 1

        await asyncio.gather(*(session(*each) for each in zip(transports, sizes, strict=True)))
        print(f"{proxy.cuts} cuts behind the first event, {proxy.resets} by RST, in {calls} calls")
        assert proxy.cuts >= CUTS_AFTER
        assert 0 < proxy.resets < proxy.cuts


def gated(running: Product) -> asyncio.Event:
    """A tool beside the upsert that is the same and waits for this event first."""
    gate, upsert = asyncio.Event(), running.services.toolbox.tool("upsert_graph_triples")

    async def handler(execution: Execution, arguments: object, context: ToolContext) -> object:
        await gate.wait()
        return await upsert.handler(execution, arguments, context)

    running.services.toolbox.register(structs.replace(upsert, name="gated_upsert", toolset="test", handler=handler))
    return gate


async def test_a_call_outlives_the_line_that_brought_it_and_its_answer_waits() -> None:
    async with product(sse_retry_ms=RETRY_MS) as running, cutting_proxy(running.url) as proxy:
        gate = gated(running)

        async def broken_off(transport: Transport, number: int) -> str:
            arguments = {"memory_scope": "session", "triples": triples("counter", "1")}
            message = transport.message("tools/call", {"name": "gated_upsert", "arguments": arguments})
            request = request_bytes("POST", transport.all_headers(), message)
            part = await exchange(proxy, request, Cut(behind=b"data: \n\n", reset=number % 2 == 0))
            assert part.messages == []
            assert part.last_id is not None
            return part.last_id

        transports = [transport for _, transport in await opened(running, await running.person())]
        ids = await asyncio.gather(*(broken_off(each, number) for number, each in enumerate(transports)))
        assert proxy.cuts == SESSIONS
        gate.set()
        for transport, last_id in zip(transports, ids, strict=True):
            headers = {**transport.all_headers(), "Last-Event-ID": last_id}
            (answer,) = (await exchange(proxy, request_bytes("GET", headers), Cut())).messages
            assert answer["result"]["structuredContent"]["added"] == FACTS
            assert (await transport.recall("counter"))["revision"] == 1


async def cut_early(proxy: CuttingProxy, transport: Transport, chance: random.Random, sizes: Sizes, name: str) -> Heard:
    """Write through a line that breaks in the request, or in the answer before its first event was whole."""
    _, request = write(transport, name, "there")
    reset = chance.random() < 0.5
    if chance.random() < 0.5:
        return await exchange(proxy, request, Cut(request=chance.randrange(1, len(request)), reset=reset))
    return await exchange(proxy, request, Cut(response=chance.randrange(1, sizes.first), reset=reset))


@requirement("survive:disconnect")
async def test_a_write_whose_line_breaks_before_the_first_event_is_whole_or_not_there(tmp_path: Path) -> None:
    chance = dice("cuts before the first event")
    async with product(store="sqlite", home=tmp_path, sse_retry_ms=RETRY_MS) as running:
        person = await running.person()
        owned = await opened(running, person)
        async with cutting_proxy(running.url) as proxy:
            sizes = await measured(proxy, await running.open(person))

            async def session(transport: Transport) -> int:
                count = 0
                while proxy.cuts < CUTS_BEFORE:
                    part = await cut_early(proxy, transport, chance, sizes, f"cut{count}")
                    assert part.last_id is None
                    count += 1
                # The session goes on.
                assert (await transport.remember(("Ana", "likes", "tea")))["added"] == 1
                return count

            counts = await asyncio.gather(*(session(transport) for _, transport in owned))
            cuts = proxy.cuts
    # The server has stopped: whatever still ran has ended.
    snapshots = await stored(running.services.settings, person.tenant, [session_id for session_id, _ in owned])
    whole = sum(count_whole(snapshot, count) for snapshot, count in zip(snapshots, counts, strict=True))
    print(f"{cuts} cuts before the first event: {whole} writes whole, {sum(counts) - whole} not there")
    assert cuts == sum(counts) >= CUTS_BEFORE
    assert 0 < whole < sum(counts)


async def stored(settings: Settings, tenant: str, sessions: list[str]) -> list[Snapshot]:
    """What is on the disk."""
    async with open_ports(settings) as ports:
        scopes = [Scope(tenant_id=tenant, session_id=session_id, ns="default") for session_id in sessions]
        return [await ports.session_memory.load(scope, now_ms=Millis(START_MS)) for scope in scopes]


def count_whole(snapshot: Snapshot, count: int) -> int:
    """How many of a session's cut writes are there, each with all of its facts, in a revision of its own."""
    names = {entity.id: entity.name for entity in snapshot.entities}
    subjects = [names[fact.subject].partition(" ")[0] for fact in snapshot.facts]
    found = [subjects.count(f"cut{number}") for number in range(count)]
    assert set(found) <= {0, FACTS}
    whole = found.count(FACTS)
    assert snapshot.revision == whole + 1  # And the one that was not cut.
    return whole
