"""A store beside the pure law: whatever is asked of both, in whatever order, they answer the same."""

from hypothesis import HealthCheck, given, settings

from codesynapse.contracts.plugin import examples
from codesynapse.contracts.ports import SessionMemory
from codesynapse.contracts.quotas import DAY_MS
from codesynapse.contracts.suite.gates import OnSessionMemory
from codesynapse.contracts.suite.machine import Machine, Store
from codesynapse.contracts.suite.steps import Script, scripts
from codesynapse.contracts.suite.worlds import NOW, later

__all__ = ["TestAgainstTheLaw"]

FAR_AHEAD = later(NOW, 36_500 * DAY_MS)
"""No sweep of another test, or of a server by its clock, reaches what expires after this."""


class TestAgainstTheLaw(OnSessionMemory):
    """No sequence of calls, and no race, has another answer than the law's."""

    @settings(
        max_examples=examples(10),
        deadline=None,
        database=None,
        # Each example has tenants of its own, and each backend an instance of this class, which keeps nothing.
        suppress_health_check=list(HealthCheck),
    )
    @given(script=scripts)
    async def test_any_calls_are_answered_as_the_law_answers(self, memory: SessionMemory, script: Script) -> None:
        await Machine([Store("store", [memory])], began_ms=FAR_AHEAD, sweeps=False).play(script)
