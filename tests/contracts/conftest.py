"""How many examples hypothesis tries here: few by default, ten times as many with CODESYNAPSE_FULL=1."""

from __future__ import annotations

import os

from hypothesis import settings

EXAMPLES = 60

settings.register_profile("short", max_examples=EXAMPLES, deadline=None)
settings.register_profile("full", max_examples=10 * EXAMPLES, deadline=None)
settings.load_profile("full" if os.environ.get("CODESYNAPSE_FULL") == "1" else "short")
