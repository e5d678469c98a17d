"""Every bound of the server beside the organisation's quotas, as one value. Settings fill it; all parts read it."""

from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=1, le=10_000_000)]
Bytes = Annotated[int, Meta(ge=1_024, le=1 << 40)]
Duration = Annotated[int, Meta(ge=1, le=1 << 40)]


class Limits(Struct, frozen=True, kw_only=True):
    """Counts, bytes and milliseconds; the defaults are product.md's."""

    body_max_bytes: Bytes = 4 * 1024 * 1024
    bodies_bytes_max: Bytes = 256 * 1024 * 1024
    json_depth_max: Count = 64
    batch_max: Count = 50
    calls_in_flight_max: Count = 64
    transports_per_principal_max: Count = 64
    transports_max: Count = 10_000
    idle_ms: Duration = 30 * 60 * 1000
    uninitialized_ms: Duration = 60 * 1000
    events_max: Count = 256
    session_bytes_max: Bytes = 1024 * 1024
    events_bytes_max: Bytes = 64 * 1024 * 1024
    response_kept_ms: Duration = 10 * 60 * 1000
    sse_retry_ms: Duration = 2_000
    heartbeat_ms: Duration = 15_000
    send_timeout_ms: Duration = 30_000
    shutdown_ms: Duration = 5_000
    store_deadline_ms: Duration = 10_000
    connections_max: Count = 12_000
    head_timeout_ms: Duration = 10_000
    body_timeout_ms: Duration = 30_000
    stream_after_ms: Duration = 2_000
    input_ms: Duration = 10 * 60 * 1000
    task_kept_ms: Duration = 60 * 60 * 1000
    tasks_per_principal_max: Count = 64
    subscriptions_per_principal_max: Count = 64
    subscribed_max: Count = 256
    resource_max_bytes: Bytes = 256 * 1024
    transfer_max_bytes: Bytes = 100 * 1024 * 1024
