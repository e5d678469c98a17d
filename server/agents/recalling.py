"""Recall from agent memory: what answers a question by its words, best first, within what a model can bear to read."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct, structs

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_recall import PRECISIONS, Question, Ranked, gate, passing, rank
from codesynapse.contracts.agents import AgentScope, Episode, Kind, Memory, Reach, Tuning
from codesynapse.contracts.errors import Unavailable
from codesynapse.contracts.identity import Execution
from codesynapse.server.agents.scoping import Embed, scope_of
from codesynapse.server.agents.views import PREVIEW_CHARS, Hit, MatchReason, content_of, time_of
from codesynapse.server.agents.wording import Exclusion
from codesynapse.server.clock import Clock
from codesynapse.server.memory.ranking import query_terms
from codesynapse.server.telemetry import fault

CHARS_DEFAULT = 1_100
"""What an answer spends on its hits: with the short notice beside them it stays under 1,500 characters."""
FULL_CHARS_MAX = 200_000


class Asked(Struct, frozen=True, kw_only=True):
    """A recall. query: '' for the newest. excluding: contents that shall not come back. max_chars: of the hits' JSON.

    counting: whether what is served is counted at the memories.
    """

    query: str
    limit: int
    reach: Reach
    source_id: str = ""
    deep: bool = False
    excluding: tuple[str, ...] = ()
    full_content: bool = False
    explain: bool = False
    max_chars: int | None = None
    counting: bool = True


class Found(Struct, frozen=True, kw_only=True):
    """A record and what speaks for it; None where nothing was asked."""

    record: Memory | Episode
    score: float | None


class Recalling:
    """Recalls."""

    def __init__(self, agents: AgentMemory, embed: Embed, clock: Clock) -> None:
        self._agents = agents
        self._embed = embed
        self._clock = clock

    async def recall(self, execution: Execution, agent_id: str, asked: Asked) -> list[Hit]:
        """The hits, best first; for an empty query the newest first. Raises AgentForbidden without a grant."""
        scope = scope_of(execution, agent_id, self._clock())
        if asked.query.strip():
            found = await self._best(execution, scope, asked)
        else:
            found = await self._newest(scope, asked)
        if asked.counting:
            await self._count(scope, found)
        return fitted([_hit(each, asked) for each in found], chars_max(asked))

    async def _best(self, execution: Execution, scope: AgentScope, asked: Asked) -> list[Found]:
        await self._embed(execution, [asked.query])
        question = Question(terms=tuple(query_terms(asked.query)), reach=asked.reach, source_id=asked.source_id)
        candidates = await self._agents.candidates(scope, question)
        tuning = await self._agents.tuning(scope)
        least = gate(candidates.total, beta=beta_of(tuning), threshold=tuning.threshold, deep=asked.deep)
        return await self._read(scope, passing(rank(question, candidates), least), asked)

    async def _read(self, scope: AgentScope, ranked: Sequence[Ranked], asked: Asked) -> list[Found]:
        """The first of the ranked that are still there and not excluded."""
        exclusion, found = Exclusion(asked.excluding), list[Found]()
        step = max(asked.limit, 1)
        for start in range(0, len(ranked), step):
            if len(found) >= asked.limit:
                break
            scores = {(each.candidate.kind, each.candidate.id): each.score for each in ranked[start : start + step]}
            for record in await self._agents.contents(scope, list(scores)):
                if not exclusion.excludes(_text(record)):
                    found.append(Found(record=record, score=scores[_key(record)]))
        return found[: asked.limit]

    async def _newest(self, scope: AgentScope, asked: Asked) -> list[Found]:
        """Memories and episodes, the newest first. Those that are excluded are replaced by older ones, to a bound."""
        if not asked.limit:
            await self._agents.tally(scope)  # The grant is asked for all the same.
            return []
        limit = asked.limit + len(asked.excluding)
        records: list[Memory | Episode] = []
        records += await self._agents.memories(scope, reach=asked.reach, source_id=asked.source_id, limit=limit)
        if not asked.source_id or asked.reach.channel:
            records += await self._agents.episodes(scope, reach=asked.reach, limit=limit)
        records.sort(key=lambda each: (-each.created_at_ms, -each.id))
        exclusion = Exclusion(asked.excluding)
        kept = [Found(record=each, score=None) for each in records if not exclusion.excludes(_text(each))]
        return kept[: asked.limit]

    async def _count(self, scope: AgentScope, found: Sequence[Found]) -> None:
        served = [each.record.id for each in found if isinstance(each.record, Memory)]
        if not served:
            return
        try:
            await self._agents.note_recalls(scope, served, now_ms=self._clock())
        except Unavailable as error:
            fault("recall_uncounted", error)  # A figure by the way: no answer is lost to it.


def beta_of(tuning: Tuning) -> float:
    """What an agent's gate is multiplied by: a beta of its own, or that of its precision, or 1."""
    return tuning.beta if tuning.beta > 0 else PRECISIONS.get(tuning.precision, 1.0)


def fitted(hits: Sequence[Hit], chars_max: int) -> list[Hit]:
    """All the hits, the best ones in full as long as there are characters left, the others by reference and time."""
    full = [_chars(hit) for hit in hits]
    briefs = [Hit(ref=hit.ref, timestamp=hit.timestamp) for hit in hits]
    brief = [_chars(hit) for hit in briefs]
    left, shown = chars_max - sum(brief), list[Hit]()
    for index, hit in enumerate(hits):
        more = full[index] - brief[index]
        if more > left:
            return shown + briefs[index:]
        left -= more
        shown.append(hit)
    return shown


def _chars(hit: Hit) -> int:
    return len(msgspec.json.encode(hit).decode()) + 1  # And the comma.


def chars_max(asked: Asked) -> int:
    """What an answer may spend on its hits."""
    if asked.max_chars is not None:
        return asked.max_chars
    return FULL_CHARS_MAX if asked.full_content else CHARS_DEFAULT


def _hit(found: Found, asked: Asked) -> Hit:
    record, text = found.record, content_of(found.record)
    cut = not asked.full_content and len(text) > PREVIEW_CHARS
    hit = Hit(
        content=text[:PREVIEW_CHARS] if cut else text,
        ref=record.ref,
        source=record.source if isinstance(record, Memory) else {},
        timestamp=time_of(record),
    )
    if isinstance(record, Memory) and record.message_id:
        hit.id = record.message_id
    if asked.explain and found.score is not None:
        hit.match_reason = MatchReason(signal="lexical", score=round(found.score, 6))
    return structs.replace(hit, content_truncated=True, content_len=len(text)) if cut else hit


def _text(record: Memory | Episode) -> str:
    return record.content if isinstance(record, Memory) else record.summary


def _key(record: Memory | Episode) -> tuple[Kind, int]:
    return (Kind.MEMORY if isinstance(record, Memory) else Kind.EPISODE, record.id)
