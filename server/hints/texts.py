"""What the schemas say of the session key (seed 1 §6): one full text, one short one, and one for the findings."""

from typing import Annotated, Final

from msgspec import Meta

from codesynapse.server.hints.session_key import KEY_MAX

CLAUSE: Final = "does NOT filter stored data (use agent_id / project_id / channel for that)"
"""Where a reader is most likely to take the key for an axis of the data."""

FULL: Final = (
    "Hint, any text of yours, that names this conversation: send the same one with every call. It decides only whose "
    "pause and whose notices a call meets. It is not a credential, is compared and never stored, and it "
    f"{CLAUSE}: the same query finds the same under every key. Without one you share a bucket with all keyless callers."
)
SHORT: Final = f"Names this conversation, for whose pause and notices apply; it {CLAUSE}."
FINDINGS: Final = "Hint that names this conversation; changes nothing but whether the answer says identity_shared."

FullKey = Annotated[str, Meta(max_length=KEY_MAX, description=FULL)]
"""For `recall` and `recall_with_context`, where it is asked whether the key filters what one sees."""
SessionKey = Annotated[str, Meta(max_length=KEY_MAX, description=SHORT)]
"""For all others that take one."""
FindingsKey = Annotated[str, Meta(max_length=KEY_MAX, description=FINDINGS)]
"""For `get_session_findings`."""
