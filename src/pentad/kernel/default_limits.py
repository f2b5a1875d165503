"""Every limit of the server in one place. All are settings (`limits.<name>`, `PENTAD_LIMITS_<NAME>`)."""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Defaults that suit a team on one machine; 0 switches a rate or a deadline off."""

    body_bytes: int = 4 * MIB
    upload_bytes: int = 16 * MIB
    json_depth: int = 64
    json_keys: int = 10_000
    batch_messages: int = 50
    header_bytes: int = 16 * KIB
    header_seconds: float = 10.0
    body_bytes_per_second: int = 1 * KIB
    keep_alive_seconds: float = 5.0
    connections_per_address: int = 512
    calls_in_flight: int = 256
    calls_per_second: float = 1000.0
    calls_burst: int = 2000
    anonymous_per_second: float = 50.0
    anonymous_burst: int = 200
    anonymous_in_flight: int = 4
    anonymous_body_bytes: int = 320 * KIB
    logins_per_second: float = 2.0
    logins_burst: int = 30
    tool_seconds: float = 30.0
    result_bytes: int = 1 * MIB
    sessions: int = 10_000
    sessions_per_principal: int = 1000
    session_idle_seconds: float = 3600.0
    streams_per_principal: int = 64
    list_page: int = 250
