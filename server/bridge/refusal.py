"""What can become of a request beside an answer."""

from typing import Any

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INTERNAL_ERROR = -32603


class Refusal(Exception):
    """A request that gets this JSON-RPC error. error: the object that goes on the wire."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error.get("message"))
        self.error = error

    @property
    def kind(self) -> object:
        """The stable code, such as `revoked`."""
        data = self.error.get("data")
        return data.get("code") if isinstance(data, dict) else None


class Unsent(Exception):
    """Nothing ran, so the same request may be sent again. refusal: what to say when there is no more time for that."""

    def __init__(self, refusal: Refusal, after_s: float = 0.0) -> None:
        super().__init__(refusal)
        self.refusal = refusal
        self.after_s = after_s


class Cut(Exception):
    """The line broke before the answer came; whether the request ran is not known."""


class Gone(Exception):
    """The server does not know this transport session; what was asked under it did not run."""


def refusal(kind: str, message: str, *, code: int = INTERNAL_ERROR, **data: object) -> Refusal:
    """A refusal by the launcher itself, in the shape of the server's."""
    return Refusal({"code": code, "message": message, "data": {"ok": False, "code": kind, **data}})


def lost() -> Refusal:
    """The answer cannot be had any more."""
    return refusal(
        "answer_lost", "The line broke before the answer came. The call may have run: read before repeating it."
    )


def unreachable(reason: str) -> Refusal:
    """reason: the kind of fault, which names neither the server nor the session."""
    return refusal("unreachable", "The memory server cannot be reached; try again later.", reason=reason)
