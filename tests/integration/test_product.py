"""The product end to end, through a plain MCP peer."""

from tests.integration.harness import product


async def test_a_bound_session_remembers_and_recalls():
    async with product() as running:
        transport = await running.open(await running.person())
        remembered = await transport.remember(("Ana", "lives_in", "Paris"), ("Ana", "works_at", "the museum"))
        assert (remembered["added"], remembered["revision"]) == (2, 1)
        recalled = await transport.recall("Where does Ana live?")
        assert [fact["object"] for fact in recalled["facts"]] == ["Paris", "the museum"]
