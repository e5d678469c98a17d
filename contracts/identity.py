"""The trusted identity: who executes, for one chat thread (seed 0, "Primary session contract")."""

import hashlib
import re
from typing import Annotated, NewType

from msgspec import Meta, Struct

from codesynapse.contracts.errors import (
    ExecutionCancelled,
    ExecutionExpired,
    ExecutionMissing,
    HeaderInvalid,
    Invalid,
)

Millis = NewType("Millis", int)
"""A moment or a duration in milliseconds; moments count from the Unix epoch."""

# `\Z`, not `$`: a trailing newline must not slip through.
ID_PATTERN = r"^[A-Za-z0-9._:-]{1,128}\Z"
Id = Annotated[str, Meta(pattern=ID_PATTERN)]
"""1 to 128 ASCII letters, digits or `._:-`."""

_matches = re.compile(r"[A-Za-z0-9._:-]{1,128}").fullmatch


def valid_id(text: object) -> bool:
    """Whether this is an identifier, to its very end."""
    return isinstance(text, str) and _matches(text) is not None


def require_id(text: object, *, field: str) -> str:
    """The identifier itself. Raises Invalid that names the field and the bound, never the value."""
    if not isinstance(text, str) or _matches(text) is None:
        raise Invalid(field=field, limit="1 to 128 letters, digits or ._:-")
    return text


def require_repository(text: object) -> str:
    """The name that a new repository may have. Raises Invalid.

    `.` and `..` are names of folders to whoever normalises a URI, so that no resource could be asked for by them.
    """
    if require_id(text, field="repository") in (".", ".."):
        raise Invalid(field="repository", limit="neither . nor ..")
    return str(text)


def require_ids(**given: str | None) -> None:
    """Let identifiers pass that were given by their names. Raises Invalid that names the first that is none."""
    for name, text in given.items():
        if text is not None:
            require_id(text, field=name)


class Identity(Struct, frozen=True, kw_only=True):
    """Who executes, for one chat thread. Immutable; `parent_session_id` equals `session_id`.

    Raises Invalid for a malformed field and HeaderInvalid where the parent differs.
    """

    tenant_id: Id
    subject_id: Id
    session_id: Id
    parent_session_id: Id

    def __post_init__(self) -> None:
        # msgspec checks patterns on decode only; a value built by hand must be as good.
        for name in self.__struct_fields__:
            require_id(getattr(self, name), field=name)
        if self.parent_session_id != self.session_id:
            raise HeaderInvalid(field="parent_session_id")


class Cancellation:
    """Whether a call was cancelled: set once by the shell, read by `require`."""

    __slots__ = ("_cancelled",)

    def __init__(self) -> None:
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    def cancel(self) -> None:
        """Cancel, for good."""
        self._cancelled = True


class CommitIds:
    """The ids of one call's commits, in their order: the same ones for whoever knows the call's seed.

    So the result of a commit can be read back by another process, after the one that ran the call is gone.
    """

    __slots__ = ("_seed", "_taken")

    def __init__(self, seed: bytes) -> None:
        """seed: 16 bytes that no other call has."""
        self._seed = seed
        self._taken = 0

    def take(self) -> str:
        """The id of the next commit, 32 hex digits. All attempts at one commit share one."""
        counted = self._seed + self._taken.to_bytes(4, "big")
        self._taken += 1
        return hashlib.blake2b(counted, digest_size=16).hexdigest()


class Execution(Struct, frozen=True, kw_only=True):
    """An identity at work: what every service, model call and job takes as its first argument.

    actor_id: who acts, the subject or a worker for it. key_id: which API key, never the key.
    deadline_ms: when the binding ends. cancellation: shared with the shell that runs the call. commits: ids of what it
    commits, where its result may have to be read back; None: any.
    """

    identity: Identity
    actor_id: Id
    key_id: Id | None
    deadline_ms: Millis
    cancellation: Cancellation
    commits: CommitIds | None = None


def require(execution: Execution | None, now_ms: Millis) -> Identity:
    """The identity of a call that may go on.

    Raises ExecutionMissing without one, ExecutionCancelled after a cancel, ExecutionExpired at its deadline.
    """
    if not isinstance(execution, Execution):
        raise ExecutionMissing
    if execution.cancellation.cancelled:
        raise ExecutionCancelled
    if now_ms >= execution.deadline_ms:
        raise ExecutionExpired
    return execution.identity
