"""The one tree of errors.

The first line of a class's docstring *is* its message: constant, so that it cannot echo an identifier. What varies
is named apart: `field` (which argument or header), `limit` (the bound that was passed) and `details` (figures such
as the current revision). Each leaf has one row in `server/http/errors.py` (its status); over MCP a leaf that
arguments decide is a result with `isError`, and one that credentials or headers decide is an HTTP status.
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class CodeSynapseError(Exception):
    """Something failed."""

    code: ClassVar[str] = "error"

    def __init__(
        self,
        *,
        field: str | None = None,
        limit: int | str | None = None,
        details: Mapping[str, int] | None = None,
    ) -> None:
        self.field = field
        self.limit = limit
        self.details: dict[str, int] = dict(details or {})
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The docstring's first line, then the field, the limit and the figures, if any."""
        text = (type(self).__doc__ or "").strip().splitlines()[0]
        if self.field is not None:
            text += f" Field: {self.field}."
        if self.limit is not None:
            text += f" Limit: {self.limit}."
        for name, figure in self.details.items():
            text += f" {name.replace('_', ' ').capitalize()}: {figure}."
        return text


class Refused(CodeSynapseError):
    """The caller may not have this; asking again changes nothing."""

    code = "refused"


class Unsupported(CodeSynapseError):
    """This store does not offer the operation."""

    code = "unsupported"


class Unavailable(CodeSynapseError):
    """A service did not answer; the same request may succeed later.

    cause: a name out of a fixed list, such as a driver's code, for the operator alone; no caller is told.
    """

    code = "unavailable"
    cause: str | None = None


# --- Who is asking: decided by the credential and the headers. ---------------------------------------------------


class Unauthenticated(Refused):
    """A valid API key is required: send it as "Authorization: Bearer csk_…"."""

    code = "unauthenticated"


class Suspended(Refused):
    """The user or the organisation is suspended; an administrator can lift it."""

    code = "suspended"


class MembershipWithdrawn(Refused):
    """The user is no longer a member of the organisation of this key."""

    code = "membership_withdrawn"


class ExecutionMissing(Refused):
    """A bound chat session is required: send both execution headers, X-CodeSynapse-Session and its parent."""

    code = "execution_missing"


class ExecutionExpired(Refused):
    """The time given to this call is over."""

    code = "execution_expired"


class ExecutionCancelled(Refused):
    """This call was cancelled."""

    code = "cancelled"


class SessionNotRegistered(Refused):
    """The chat session is not registered to this caller; its launcher must register it first."""

    code = "session_not_registered"


class SessionExpired(Refused):
    """The chat session has expired; start a new chat, whose launcher registers a new session."""

    code = "expired"


class SessionRevoked(Refused):
    """The chat session was revoked; start a new chat, whose launcher registers a new session."""

    code = "revoked"


class RebindRefused(Refused):
    """This transport session is bound to another chat session, for good."""

    code = "rebind_refused"


class TransportUnknown(Refused):
    """Session not found: initialize again."""

    code = "transport_unknown"


class HeaderInvalid(Refused):
    """A header is repeated, malformed, or disagrees with its partner."""

    code = "header_invalid"


class OriginRefused(Refused):
    """Requests from this origin are not allowed; the operator can add it to CODESYNAPSE_ALLOWED_ORIGINS."""

    code = "origin_refused"


class HostRefused(Refused):
    """This host name is not served; the operator can add it to CODESYNAPSE_ALLOWED_HOSTS."""

    code = "host_refused"


# --- Registration of chat sessions. ------------------------------------------------------------------------------


class BindingConflict(Refused):
    """The chat session is bound to another participant."""

    code = "binding_conflict"


class ActiveCapacity(Refused):
    """The organisation has no room for another active chat session; revoke one or wait for one to expire."""

    code = "too_many_sessions"


class RetainedCapacity(Refused):
    """The organisation has no room for another retained chat session; its operator can raise the limit."""

    code = "capacity"


class SessionUnknown(Refused):
    """No such chat session is registered to this caller."""

    code = "session_unknown"


# --- What is asked: decided by the arguments. --------------------------------------------------------------------


class Invalid(Refused):
    """An argument is not valid."""

    code = "invalid"


class RepositoryForbidden(Refused):
    """There is no such repository, or no grant on it."""

    code = "repository_forbidden"


class GrantInsufficient(Refused):
    """The grant on this repository allows reading only."""

    code = "grant_insufficient"


class AgentForbidden(Refused):
    """There is no such agent, or no grant on it that allows this."""

    code = "agent_forbidden"


class IdempotencyConflict(Refused):
    """This idempotency key was used with other content in the last 24 hours; choose another one."""

    code = "idempotency_conflict"


class ImportRefused(Refused):
    """The file cannot be imported; nothing was changed."""

    code = "import_refused"


class QuotaExceeded(Refused):
    """A quota would be exceeded."""

    code = "quota_exceeded"


class SnapshotTooLarge(Refused):
    """The memory of this namespace would be too large; retract facts or use repository memory."""

    code = "snapshot_too_large"


class NamespaceClosed(Refused):
    """This session's memory of the repository was cleared and stays closed."""

    code = "namespace_closed"


class RevisionConflict(Refused):
    """Someone else wrote in between: read again, then repeat with the current revision."""

    code = "revision_conflict"


class SnapshotInvalid(Refused):
    """The snapshot breaks a rule of session memory."""

    code = "snapshot_invalid"


class ExpiryChanged(Refused):
    """The expiry of session memory is fixed by its binding and cannot be changed."""

    code = "expiry_changed"


class InputUnavailable(Refused):
    """This needs an answer from the client, which did not declare that it can be asked."""

    code = "input_unavailable"

    def __init__(self, required: Mapping[str, Any] | None = None) -> None:
        self.required = dict(required or {})
        super().__init__(limit=", ".join(self.required) or None)


class InputUnanswered(Refused):
    """The client was asked and did not answer in time, or refused to."""

    code = "input_unanswered"


class NotConfirmed(Refused):
    """The user was asked to confirm this and did not; nothing was changed."""

    code = "not_confirmed"


class AlreadyExists(Refused):
    """Something of this name exists already."""

    code = "already_exists"


class NotFound(Refused):
    """There is nothing of this name."""

    code = "not_found"


# --- Limits of the server. ---------------------------------------------------------------------------------------


class BodyTooLarge(Refused):
    """The request body is too large."""

    code = "body_too_large"


class TooManyPauses(Refused):
    """The server has no room for another pause; wait until some have ended, or keep to one session_key."""

    code = "too_many_pauses"


class TooManyCalls(Refused):
    """Too many calls are in flight for this principal; wait for one to finish."""

    code = "too_many_calls"


class TooManyTransports(Refused):
    """Too many transport sessions are busy for this principal; end one."""

    code = "too_many_transports"


class ServerFull(Unavailable):
    """The server has no room for another transport session; try again later."""

    code = "server_full"


class BodiesFull(Unavailable):
    """Too many large request bodies are on their way; send fewer at once, or try again later."""

    code = "bodies_full"


class EventsFull(Unavailable):
    """Too many answers wait to be fetched; fetch them, end transport sessions, or try again later."""

    code = "events_full"


class StoreBusy(Unavailable):
    """The store did not answer in time; the same request may succeed later."""

    code = "store_busy"


class StoreFault(Unavailable):
    """The store failed; the operator's log says more."""

    code = "store_fault"


# --- The embedder. -----------------------------------------------------------------------------------------------


class EmbedderDown(Unavailable):
    """The embedder did not answer; recall goes by words until it does."""

    code = "embedder_down"


class EmbedderMisconfigured(Unavailable):
    """The embedder is configured wrongly and cannot be used; recall goes by words."""

    code = "embedder_misconfigured"
