"""How an agent recalls: its precision and its threshold, read, changed and calibrated."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct, structs

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_recall import PRECISIONS, gate
from codesynapse.contracts.agents import AgentScope, Tuning
from codesynapse.contracts.errors import Invalid, RevisionConflict
from codesynapse.server.agents.calibrating import (
    PERCENTILE_DEFAULT,
    SAMPLE_DEFAULT,
    SAMPLE_MIN,
    Z_DEFAULT,
    Calibration,
    Method,
    calibrate,
    drawn,
    percentile_of,
)
from codesynapse.server.agents.scoping import require_level
from codesynapse.server.clock import Clock

GLOBAL_PRECISION = "balanced"
GLOBAL_BETA = PRECISIONS[GLOBAL_PRECISION]
BETA_MAX = 100.0
ATTEMPTS = 5
PAGE = 500


class Asked(Struct, frozen=True, kw_only=True):
    """What a calibration is asked for."""

    sample_size: int = SAMPLE_DEFAULT
    z_factor: float = Z_DEFAULT
    method: Method = "separation"
    percentile: float = PERCENTILE_DEFAULT


class Calibrated(Struct, frozen=True, kw_only=True):
    """A calibration that is kept. before: the threshold that held until then; None for the one by size."""

    calibration: Calibration
    before: float | None


class Tuned(Struct, frozen=True, kw_only=True):
    """A precision that is kept. gate: what an answer must have now, as a share of the best. calibrated: None where
    there is too little to calibrate by."""

    precision: str
    beta: float
    cleared: bool
    gate: float
    calibrated: Calibrated | None


class Tuner:
    """Reads and changes tunings. A change is computed on what was read, and kept only where nobody was faster."""

    def __init__(self, agents: AgentMemory, clock: Clock) -> None:
        self._agents = agents
        self._clock = clock

    async def read(self, scope: AgentScope) -> Tuning:
        """How the agent recalls. Raises AgentForbidden."""
        return await self._agents.tuning(scope)

    async def check(self, scope: AgentScope, asked: Asked) -> None:
        """Raises what `calibrate` would refuse."""
        percentile_of(asked.percentile)
        await require_level(self._agents, scope, Level.WRITE)
        drawn(await self._terms(scope), asked.sample_size)

    async def calibrate(self, scope: AgentScope, asked: Asked) -> Calibrated:
        """Calibrate, and keep the threshold. Raises AgentForbidden, and Invalid with fewer than 10 records."""
        percentile_of(asked.percentile)
        await require_level(self._agents, scope, Level.WRITE)
        calibration = await _calibrated(await self._terms(scope), asked)
        before = await self._change(scope, lambda held: _with(held, calibration))
        return Calibrated(calibration=calibration, before=before.threshold)

    async def set_precision(self, scope: AgentScope, precision: str, beta: float) -> Tuned:
        """Keep a precision together with a fresh threshold, or neither. Raises Invalid for an unknown one."""
        name, factor = precision_of(precision, beta)
        await require_level(self._agents, scope, Level.WRITE)
        records = await self._terms(scope)
        calibration = None
        if len([each for each in records if each]) >= SAMPLE_MIN:
            calibration = await _calibrated(records, Asked())
        before = await self._change(
            scope, lambda held: structs.replace(_with(held, calibration), precision=name, beta=factor)
        )
        threshold = before.threshold if calibration is None else calibration.threshold
        return Tuned(
            precision=name or GLOBAL_PRECISION,
            beta=factor or GLOBAL_BETA,
            cleared=not name and not factor,
            gate=round(gate(len(records), beta=factor or GLOBAL_BETA, threshold=threshold), 6),
            calibrated=None if calibration is None else Calibrated(calibration=calibration, before=before.threshold),
        )

    async def reset(self, scope: AgentScope) -> None:
        """Back to the defaults."""
        await self._change(scope, lambda held: Tuning(revision=held.revision))

    async def _terms(self, scope: AgentScope) -> list[tuple[str, ...]]:
        """The terms of every record."""
        terms: list[tuple[str, ...]] = []
        after = 0
        while page := await self._agents.scan(scope, after=after, limit=PAGE):
            terms += [each.terms for each in page]
            after = page[-1].id
        return terms

    async def _change(self, scope: AgentScope, change: Callable[[Tuning], Tuning]) -> Tuning:
        """Change what is kept; what was there before. Raises RevisionConflict where others were faster each time."""
        attempt = 0
        while True:
            attempt += 1
            held = await self._agents.tuning(scope)
            try:
                await self._agents.set_tuning(scope, change(held), now_ms=self._clock())
                return held
            except RevisionConflict:
                if attempt == ATTEMPTS:
                    raise


async def _calibrated(records: Sequence[tuple[str, ...]], asked: Asked) -> Calibration:
    return await asyncio.to_thread(
        calibrate,
        drawn(records, asked.sample_size),
        records=len(records),
        method=asked.method,
        z_factor=asked.z_factor,
        percentile=asked.percentile,
    )


def precision_of(precision: str, beta: float) -> tuple[str, float]:
    """The name and the factor that are kept: '' and 0 for none. A factor of one's own wins. Raises Invalid."""
    if precision and precision not in PRECISIONS:
        raise Invalid(field="precision", limit=", ".join(PRECISIONS) + ", or empty")
    if beta > BETA_MAX:
        raise Invalid(field="beta", limit=f"<= {BETA_MAX:g}")
    if beta > 0:
        return "custom", beta
    return precision, PRECISIONS.get(precision, 0.0)


def kept_calibration(tuning: Tuning) -> Calibration | None:
    """What is kept of the last calibration; None where there is none that can be read."""
    try:
        return msgspec.json.decode(tuning.calibration, type=Calibration) if tuning.calibration else None
    except msgspec.DecodeError:
        return None


def _with(held: Tuning, calibration: Calibration | None) -> Tuning:
    if calibration is None:
        return held
    kept = msgspec.json.encode(calibration).decode()
    return structs.replace(held, threshold=calibration.threshold, calibration=kept)
