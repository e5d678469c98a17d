"""The bounds: product.md's defaults, and that each can be set."""

from __future__ import annotations

import pytest

from codesynapse.server.limits import Limits
from codesynapse.server.services import limits_of
from codesynapse.server.settings import SettingsError, load

# product.md, "All settings …": the numbers, written down a second time.
DEFAULTS = {
    "body_max_bytes": 4 * 1024**2,
    "json_depth_max": 64,
    "calls_in_flight_max": 64,
    "transports_per_principal_max": 64,
    "transports_max": 10_000,
    "idle_ms": 30 * 60_000,
    "events_max": 256,
    "session_bytes_max": 1024**2,
    "events_bytes_max": 64 * 1024**2,
    "response_kept_ms": 10 * 60_000,
    "sse_retry_ms": 2_000,
    "store_deadline_ms": 10_000,
}


@pytest.mark.parametrize(("name", "value"), DEFAULTS.items())
def test_a_bound_has_the_promised_default(name: str, value: int):
    assert getattr(Limits(), name) == value


def test_settings_and_limits_agree_on_every_default():
    assert limits_of(load({})) == Limits()


@pytest.mark.parametrize("name", Limits.__struct_fields__)
def test_a_bound_is_set_by_its_setting_and_never_below_one(name: str):
    assert getattr(limits_of(load({f"CODESYNAPSE_{name.upper()}": "5000"})), name) == 5_000
    with pytest.raises(SettingsError, match=name.upper()):
        load({f"CODESYNAPSE_{name.upper()}": "0"})
