"""The one point at which a declared session key becomes a bucket (seed 1 §3)."""

TRANSPORT_KEY = "transport"
"""The bucket that every caller without a key shares; declaring its very name joins it (decision 4)."""

KEY_MAX = 256


def resolve_session_key(declared: str | None) -> tuple[str, bool]:
    """The effective key, and whether the caller declared one.

    Blanks around it do not count; an empty or blank key is none.
    """
    if isinstance(declared, str):
        stripped = declared.strip()
        if stripped and stripped != TRANSPORT_KEY:
            return stripped, True
    return TRANSPORT_KEY, False
