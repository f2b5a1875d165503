"""W3C trace context: reads and writes `traceparent`, and holds what ties log lines to their request.

A malformed header is treated as absent, as the recommendation asks: a broken trace must not break a call.
"""

import re
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, NamedTuple

from pentad.kernel.clock import Randomness, SystemRandomness

_RANDOMNESS: Final = SystemRandomness()
_TRACEPARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[^\s]*)?")
_LONGEST: Final = 512
_NO_TRACE: Final = "0" * 32
_NO_SPAN: Final = "0" * 16


@dataclass(frozen=True, slots=True)
class TraceParent:
    """A position in a trace. Written as version 00, the only one so far."""

    trace_id: str
    span_id: str
    sampled: bool = False

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"

    def child(self, randomness: Randomness = _RANDOMNESS) -> "TraceParent":
        """A new span of our own in the same trace."""
        return TraceParent(self.trace_id, _nonzero(randomness, 8), self.sampled)


def parse_traceparent(header: str | None) -> TraceParent | None:
    """The position a header names, or None if it is absent or malformed.

    Future versions may append fields; version 00 may not, and ff is forbidden.
    """
    if header is None or len(header) > _LONGEST:
        return None
    match = _TRACEPARENT.fullmatch(header.strip(" \t"))
    if match is None:
        return None
    version, trace_id, span_id, flags, more = match.groups()
    if version == "ff" or (version == "00" and more is not None) or trace_id == _NO_TRACE or span_id == _NO_SPAN:
        return None
    return TraceParent(trace_id, span_id, bool(int(flags, 16) & 1))


class RequestMark(NamedTuple):
    """The request a log line belongs to."""

    request_id: str
    trace_id: str | None = None
    traceparent: str | None = None
    """As the caller sent it; outgoing requests continue the trace."""
    reason: str = ""
    """The reason the caller gave; goes into the audit trail."""
    principal: str | None = None
    """The caller, for log lines about failures."""


request_mark: ContextVar[RequestMark | None] = ContextVar("request_mark", default=None)
"""Set by a transport for the length of a request; read by the log formatters."""


def outgoing_traceparent() -> str | None:
    """The `traceparent` for requests sent on behalf of the current one: the caller's trace, a span of our own."""
    mark = request_mark.get()
    parent = parse_traceparent(mark.traceparent) if mark is not None else None
    return None if parent is None else str(parent.child())


def _nonzero(randomness: Randomness, size: int) -> str:
    text = randomness.token_bytes(size).hex()
    return text if text.strip("0") else "1".zfill(size * 2)
