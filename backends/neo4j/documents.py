"""Session memory as properties: the document of a root, its kept commits, its entities and edges. Pure."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from codesynapse.contracts.commit import Accepted, Root
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import (
    COMMITS_KEPT,
    CommitId,
    Committed,
    Content,
    Entity,
    Fact,
    Outcome,
    Revision,
    Snapshot,
    content_of,
    entity_row,
)
from codesynapse.contracts.quotas import Quotas


class _Document(Struct, frozen=True):
    """What a root holds, in one property, so that it can only be read whole. content: the canonical JSON."""

    revision: Revision
    closed: bool
    content: msgspec.Raw


_document = msgspec.json.Decoder(_Document).decode
_outcome = msgspec.json.Decoder(Outcome).decode
_quotas = msgspec.json.Decoder(Quotas).decode
_encode = msgspec.json.Encoder().encode


def document(root: Root, content: bytes) -> str:
    """The property `doc` of a root."""
    return _encode(_Document(root.revision, root.closed, msgspec.Raw(content))).decode()


def read(doc: str) -> tuple[Revision, bool, Content]:
    """The revision, whether it is closed, and the content of a property `doc`."""
    found = _document(doc)
    return found.revision, found.closed, content_of(bytes(found.content))


def quotas_of(text: str | None) -> Quotas:
    """The caps of a tenant, the defaults where none were written."""
    return Quotas() if text is None else _quotas(text)


def quotas_text(quotas: Quotas) -> str:
    """The caps of a tenant as a property."""
    return _encode(quotas).decode()


def kept_slot(commit_id: CommitId, committed: Committed) -> tuple[str, str]:
    """The property in which a commit is kept, and its value; the one 32 revisions later takes its place."""
    name = f"commit_{committed.revision % COMMITS_KEPT:02}"
    return name, f"{kept_prefix(commit_id)}{committed.revision} {_encode(committed.outcome).decode()}"


def kept_prefix(commit_id: CommitId) -> str:
    """How the value of a kept commit begins. An id holds no blanks, so none is the beginning of another's."""
    return f"{commit_id} "


def kept_of(values: Iterable[str]) -> Committed | None:
    """The commit that is kept in the values that begin with its prefix, of which there is one or none."""
    for value in values:
        _, revision, outcome = value.split(" ", 2)
        return Committed(revision=Revision(int(revision)), outcome=_outcome(outcome))
    return None


def root_properties(
    accepted: Accepted, root: Root, proposed: Snapshot, commit_id: CommitId, now_ms: Millis
) -> dict[str, object]:
    """The properties of a root after a commit; None removes one."""
    slot, kept = kept_slot(commit_id, accepted.committed)
    return {
        "revision": root.revision,
        "expires_at_ms": root.expires_at_ms,
        "closed": root.closed,
        "live_facts": root.live_facts,
        "facts": len(proposed.facts),
        "doc": document(root, accepted.document),
        "written_at_ms": now_ms,
        "sweep_at_ms": root.expires_at_ms if proposed.facts else None,
        slot: kept,
    }


def changes(before: Content, written_at_ms: Millis, after: Content, now_ms: Millis) -> dict[str, object]:
    """What to do to entities and edges, as parameters of `queries.WRITE`.

    An edge stands for a fact that holds when it is written. written_at_ms: when `before` was written.
    """
    entities = {each.id: each for each in before[0]}
    edges = {each.id: each for each in before[1] if each.current(written_at_ms)}
    now_entities = {each.id: each for each in after[0]}
    now_edges = {each.id: each for each in after[1] if each.current(now_ms)}
    gone = [each for key, each in edges.items() if key not in now_edges]
    return {
        "gone_facts": [each.id for each in gone],
        "gone_subjects": list({each.subject for each in gone}),
        "gone_entities": [key for key in entities if key not in now_entities],
        "entities": [_entity(each) for key, each in now_entities.items() if entities.get(key) != each],
        "facts": [_edge(each) for key, each in now_edges.items() if edges.get(key) != each],
    }


def _entity(entity: Entity) -> dict[str, str]:
    return {"id": entity.id, "name": entity.name, "doc": _encode(entity_row(entity)).decode()}


def _edge(fact: Fact) -> dict[str, str]:
    return {
        "id": fact.id,
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "doc": _encode(fact).decode(),
    }
