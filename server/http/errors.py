"""Domain error → HTTP status: one table. Every leaf of the tree has its row here."""

from codesynapse.contracts import errors
from codesynapse.contracts.errors import CodeSynapseError

STATUS: dict[type[CodeSynapseError], int] = {
    errors.Unauthenticated: 401,
    errors.Suspended: 403,
    errors.MembershipWithdrawn: 403,
    errors.ExecutionMissing: 403,
    errors.ExecutionExpired: 403,
    errors.ExecutionCancelled: 409,
    errors.SessionNotRegistered: 403,
    errors.SessionExpired: 403,
    errors.SessionRevoked: 403,
    errors.RebindRefused: 403,
    errors.TransportUnknown: 404,
    errors.HeaderInvalid: 400,
    errors.OriginRefused: 403,
    errors.HostRefused: 403,
    errors.BindingConflict: 409,
    errors.ActiveCapacity: 429,
    errors.RetainedCapacity: 409,
    errors.SessionUnknown: 404,
    errors.Invalid: 422,
    errors.RepositoryForbidden: 403,
    errors.GrantInsufficient: 403,
    errors.AgentForbidden: 403,
    errors.IdempotencyConflict: 409,
    errors.ImportRefused: 422,
    errors.QuotaExceeded: 422,
    errors.SnapshotTooLarge: 422,
    errors.NamespaceClosed: 409,
    errors.RevisionConflict: 409,
    errors.SnapshotInvalid: 422,
    errors.ExpiryChanged: 409,
    errors.InputUnavailable: 422,
    errors.InputUnanswered: 422,
    errors.NotConfirmed: 409,
    errors.AlreadyExists: 409,
    errors.NotFound: 404,
    errors.BodyTooLarge: 413,
    errors.TooManyPauses: 429,
    errors.TooManyCalls: 429,
    errors.TooManyTransports: 429,
    errors.ServerFull: 503,
    errors.BodiesFull: 503,
    errors.EventsFull: 503,
    errors.StoreBusy: 503,
    errors.StoreFault: 503,
    errors.EmbedderDown: 503,
    errors.EmbedderMisconfigured: 503,
    errors.Unsupported: 501,
    errors.Unavailable: 503,
    errors.Refused: 403,
    errors.CodeSynapseError: 500,
}

RETRY_AFTER_S = {429: "1", 503: "1"}


def status_of(error: CodeSynapseError) -> int:
    """The status of an error: its own row, or that of the nearest ancestor."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def headers_of(status: int) -> dict[str, str]:
    """What a refusal of this status says beside its body."""
    headers = {}
    if status in RETRY_AFTER_S:
        headers["Retry-After"] = RETRY_AFTER_S[status]
    if status == 401:
        # Plain, without metadata: with it, clients would look for an authorization server that is not there.
        headers["WWW-Authenticate"] = "Bearer"
    return headers
