"""What a caller may assert: a triple, checked and normalised before anything is decided on it."""

import re
import unicodedata
from collections.abc import Sequence

from msgspec import Struct

from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import EntityId, FactId, entity_id, fact_id

NAME_MAX = 256
TYPE_MAX = 64
ALIAS_MAX = 128
ALIASES_MAX = 8
SOURCE_MAX = 512
TRIPLES_MAX = 50
PREDICATE_PATTERN = r"^[a-z][a-z0-9_]{0,63}\Z"

YEAR_1_MS = Millis(-62_135_596_800_000)
YEAR_9999_MS = Millis(253_402_300_799_999)
"""Moments that a fact may name: the years 1 to 9999."""

_predicate = re.compile(r"[a-z][a-z0-9_]{0,63}").fullmatch


def is_storable(text: str) -> bool:
    """Whether a text is without lone surrogates. One with them is in no store, so none need be asked for it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def require_storable(text: str, *, field: str) -> str:
    """The text itself. Raises Invalid for lone surrogates."""
    if not is_storable(text):
        raise Invalid(field=field, limit="no lone surrogates")
    return text


def is_predicate(text: str) -> bool:
    """Whether this names a predicate, to its very end."""
    return _predicate(text) is not None


class Triple(Struct, frozen=True, kw_only=True):
    """A statement to assert or to retract.

    subject, object: 1 to 256 characters. predicate: `[a-z][a-z0-9_]{0,63}`. aliases: at most 8 of 1 to 128
    characters. valid_from_ms: since when; None means now, and never changes a fact that holds already.
    """

    subject: str
    predicate: str
    object: str
    subject_type: str = ""
    object_type: str = ""
    subject_aliases: tuple[str, ...] = ()
    object_aliases: tuple[str, ...] = ()
    functional: bool = False
    retract: bool = False
    valid_from_ms: Millis | None = None
    source: str | None = None

    @property
    def subject_id(self) -> EntityId:
        return entity_id(self.subject, self.subject_type)

    @property
    def object_id(self) -> EntityId:
        return entity_id(self.object, self.object_type)

    @property
    def fact_id(self) -> FactId:
        return fact_id(self.subject_id, self.predicate, self.object_id)


def normalised(triple: Triple, *, field: str = "triple") -> Triple:
    """The triple in NFC, without blanks around its names. Raises Invalid that names the field and the limit."""
    if not is_predicate(triple.predicate):
        raise Invalid(field=f"{field}.predicate", limit="[a-z][a-z0-9_]{0,63}")
    moment = triple.valid_from_ms
    if moment is not None and not YEAR_1_MS <= moment <= YEAR_9999_MS:
        raise Invalid(field=f"{field}.valid_from", limit="years 1 to 9999")
    return Triple(
        subject=name_of(triple.subject, field=f"{field}.subject"),
        predicate=triple.predicate,
        object=name_of(triple.object, field=f"{field}.object"),
        subject_type=type_of(triple.subject_type, field=f"{field}.subject_type"),
        object_type=type_of(triple.object_type, field=f"{field}.object_type"),
        subject_aliases=aliases_of(triple.subject_aliases, field=f"{field}.subject_aliases"),
        object_aliases=aliases_of(triple.object_aliases, field=f"{field}.object_aliases"),
        functional=triple.functional,
        retract=triple.retract,
        valid_from_ms=moment,
        source=source_of(triple.source, field=f"{field}.source"),
    )


def all_normalised(triples: Sequence[Triple], *, field: str = "triples") -> tuple[Triple, ...]:
    """1 to 50 triples, each normalised. Raises Invalid."""
    if not 1 <= len(triples) <= TRIPLES_MAX:
        raise Invalid(field=field, limit=f"1 to {TRIPLES_MAX}")
    return tuple(normalised(triple, field=f"{field}[{index}]") for index, triple in enumerate(triples))


def name_of(text: str, *, field: str) -> str:
    """An entity's name in NFC and without blanks around it: 1 to 256 characters."""
    return text_of(text, longest=NAME_MAX, field=field)


def type_of(text: str, *, field: str) -> str:
    """An entity's type, at most 64 characters; the empty one is no type."""
    return text_of(text, longest=TYPE_MAX, field=field) if text else ""


def aliases_of(texts: Sequence[str], *, field: str) -> tuple[str, ...]:
    """At most 8 aliases of 1 to 128 characters, each once."""
    if len(texts) > ALIASES_MAX:
        raise Invalid(field=field, limit=ALIASES_MAX)
    each = (text_of(text, longest=ALIAS_MAX, field=f"{field}[{index}]") for index, text in enumerate(texts))
    return tuple(dict.fromkeys(each))


def source_of(text: str | None, *, field: str) -> str | None:
    """Where a statement comes from, at most 512 characters."""
    return text_of(text, longest=SOURCE_MAX, field=field) if text else None


def text_of(text: str, *, longest: int, field: str) -> str:
    """One line of text in NFC, stripped: 1 to `longest` characters, no control characters or lone surrogates."""
    # Counted before the costly normalisation; NFC never makes a text more than three times as long.
    if not isinstance(text, str) or len(text) > 4 * longest:
        raise Invalid(field=field, limit=longest)
    clean = unicodedata.normalize("NFC", text).strip()
    if not 1 <= len(clean) <= longest:
        raise Invalid(field=field, limit=f"1 to {longest} characters")
    # Printable text holds neither, and is told in one step; only the rest is looked at by character.
    if not clean.isprintable() and any(unicodedata.category(each) in ("Cc", "Cs") for each in clean):
        raise Invalid(field=field, limit="no control characters or lone surrogates")
    return clean
