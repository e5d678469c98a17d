"""What becomes of a text on its way into agent memory, and how it is compared: pure."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from codesynapse.contracts.agents import CONTENT_MAX, TERM_MAX, TERMS_MAX
from codesynapse.contracts.errors import Invalid
from codesynapse.server.clock import from_rfc3339
from codesynapse.server.memory.ranking import words

AHEAD_ALLOWED_MS = 300_000
"""How far a timestamp may lie ahead of the clock before the answer says so."""
EXCLUDED_PREFIX_MIN = 32
"""From how many characters on a text excludes what it begins, and what begins it; shorter ones only their like."""

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})
_annotations = re.compile(r"\[Memory from [^\[\]\n]{0,200}\]")
_TYPES = {
    **dict.fromkeys(("user", "human"), "User"),
    **dict.fromkeys(("agent", "ai", "assistant"), "Agent"),
    **dict.fromkeys(("system", "session"), "System"),
}


def terms_of(*texts: str) -> tuple[str, ...]:
    """What a record is found by: the words of its texts as a question's are folded, as often as they occur."""
    found = [term[:TERM_MAX] for text in texts for term in words(text)]
    return tuple(found[:TERMS_MAX])


def is_blank(text: str) -> bool:
    """Whether nobody would see any of it: blanks, controls and characters without a form alone."""
    return all(unicodedata.category(each) in _UNSEEN for each in text)


def cleaned(text: str, *, field: str, maximum: int = CONTENT_MAX) -> tuple[str, bool]:
    """A text without the marks that recalled memories wear, cut to `maximum` characters, and whether it was cut.

    A model that stores what it has just recalled must not store the mark as well. Raises Invalid for a blank one.
    """
    kept = text
    if "[Memory from " in text:
        kept = _annotations.sub("", text).strip()
    if is_blank(kept):
        raise Invalid(field=field, limit="not blank")
    return kept[:maximum], len(kept) > maximum


def folded_source(source: Mapping[str, object] | None) -> Mapping[str, object]:
    """A source whose type is one of User, Agent and System where it means one of them; none is an empty one."""
    if not source:
        return {}
    kind = source.get("type")
    known = _TYPES.get(kind.strip().casefold()) if isinstance(kind, str) else None
    return source if known is None else {**source, "type": known}


def ahead_ms(timestamp: str, now_ms: int) -> int:
    """How far a timestamp lies ahead of the clock, where that is more than is allowed; 0 otherwise."""
    moment = from_rfc3339(timestamp)
    ahead = 0 if moment is None else moment - now_ms
    return ahead if ahead > AHEAD_ALLOWED_MS else 0


def span(timestamps: Sequence[object]) -> tuple[str, str]:
    """The first and the last of some moments, as they were given; what names none does not count. '' for neither."""
    dated = [(moment, text) for text in timestamps if isinstance(text, str) and (moment := from_rfc3339(text))]
    if not dated:
        return "", ""
    return min(dated)[1], max(dated)[1]


class Exclusion:
    """Texts that a recall shall not give back."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [text for text in map(_normal, texts) if text]

    def excludes(self, content: str) -> bool:
        """Whether a content is one of them. Long ones are compared by their beginning, either way."""
        if not self._texts:
            return False
        normal = _normal(content)
        return any(_alike(text, normal) for text in self._texts)


def _alike(text: str, content: str) -> bool:
    if text == content:
        return True
    if len(text) < EXCLUDED_PREFIX_MIN:
        return False
    return content.startswith(text) or (len(content) >= EXCLUDED_PREFIX_MIN and text.startswith(content))


def _normal(text: str) -> str:
    return " ".join(text.casefold().split())
