"""W3C trace context: reads and writes `traceparent`, and holds the data that ties log lines to their request.

Every request belongs to a trace: the caller's, or one that begins here. A trace that begins here is identified by its
id alone, 32 hex digits; one that continues a caller's is the caller's `traceparent`. A malformed header is treated as
absent, as the recommendation asks: a broken trace must not break a call.
"""

import itertools
import os
import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from hashlib import blake2b
from typing import Final, NamedTuple

from msgspec import Struct

from pentad.kernel.clock import Randomness, SystemRandomness
from pentad.kernel.ports import Rows

_RANDOMNESS: Final = SystemRandomness()
_TRACEPARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[^\s]*)?")
_LONGEST: Final = 512
_NO_TRACE: Final = "0" * 32
_NO_SPAN: Final = "0" * 16
TRACE_ID: Final = 32
"""The length of a trace id."""
_HEX_ID: Final = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:/+=@~-]{1,128}")


class TraceParent(Struct, frozen=True):
    """A position in a trace. Written as version 00, the only one so far."""

    trace_id: str
    span_id: str
    sampled: bool = False

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"

    def child(self, randomness: Randomness = _RANDOMNESS) -> "TraceParent":
        """A new span in the same trace."""
        return TraceParent(self.trace_id, _nonzero(randomness, 8), self.sampled)


def parse_traceparent(header: str | None) -> TraceParent | None:
    """The position in a header, or None if the header is absent or malformed.

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


def _nonzero(randomness: Randomness, size: int) -> str:
    text = randomness.token_bytes(size).hex()
    return text if text.strip("0") else "1".zfill(size * 2)


def _trace_ids() -> Callable[[], str]:
    """Makes trace ids: 16 digits that are random for each process, then a 16-digit counter.

    Every request needs one, so generating it runs no line of Python. Random bytes, or hexadecimal numbers, would cost
    more than everything else about a trace.
    """
    first = 10**15 + int.from_bytes(_RANDOMNESS.token_bytes(6), "big")
    return map(_nonzero(_RANDOMNESS, 8).__add__, map(str, itertools.count(first))).__next__


new_trace_id = _trace_ids()
"""Returns the id of a new trace. Call it as `trace.new_trace_id()`, because a fork replaces it."""


def _renew_ids() -> None:
    """Reseed after a fork, so that the child does not repeat its parent's ids."""
    global new_trace_id  # noqa: PLW0603  see there
    new_trace_id = _trace_ids()


os.register_at_fork(after_in_child=_renew_ids)


def accept_trace(traceparent: str | None, request_id: str | None) -> tuple[str, str]:
    """The trace of a request and the request id to return, from the headers `traceparent` and `X-Request-Id`.

    `traceparent` decides; without one, the request id names the trace. Malformed headers count as absent.
    """
    parent = parse_traceparent(traceparent)
    given = None if request_id is None or _REQUEST_ID.fullmatch(request_id) is None else request_id
    if parent is not None:
        return str(parent), given or parent.trace_id
    trace = new_trace_id() if given is None else resolve_trace_id(given)
    return trace, given or trace


def resolve_trace_id(text: str) -> str:
    """The trace id for a trace id, a `traceparent` or a request id.

    A UUID or 32 hex digits are the id itself; any other request id is hashed.
    """
    if (parent := parse_traceparent(text)) is not None:
        return parent.trace_id
    if _HEX_ID.fullmatch(text.lower()) and (found := text.lower().replace("-", "")) != _NO_TRACE:
        return found
    return blake2b(text.encode(), digest_size=16).hexdigest()


def trace_id_of(trace: str) -> str:
    """The trace id of what a request carries: a trace id or a `traceparent`."""
    return trace if len(trace) == TRACE_ID else trace[3:35]


def position_in(trace: str) -> str:
    """The `traceparent` for work that a request causes. The request that begins a trace is its first span."""
    return f"00-{trace}-{trace[16:]}-01" if len(trace) == TRACE_ID else trace


class Span(Struct, frozen=True):
    """Something that happened as part of a trace: a call, a task, a job."""

    kind: str
    room: str
    name: str
    at: float
    seconds: float | None
    """None while it is running."""
    outcome: str
    """`ok`, a state, or an error code."""
    principal: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    resource: str = ""
    """The URI to read for more."""
    via: str = ""
    """How it arrived: http, stdio, internal ..."""


SpansOf = Callable[[Rows, str, Sequence[str], float], Sequence[Span]]
"""Returns a room's spans of a trace. Receives the trace id, the principals whose part of the trace to read, and when
the trace began."""


OriginOf = Callable[[Rows, str], str | None]
"""Returns the `traceparent` that a chain of tasks began with, given the URI of any task in it; None if unknown."""


class RequestMark(NamedTuple):
    """The request a log line belongs to."""

    request_id: str
    trace_id: str | None = None
    trace: str | None = None
    """The caller's `traceparent`, or the id of the trace that begins with this request; outgoing requests continue
    it."""
    reason: str = ""
    """The reason the caller gave, for the audit trail."""
    principal: str | None = None
    """The caller, for log lines about failures."""


request_mark: ContextVar[RequestMark | None] = ContextVar("request_mark", default=None)
"""Set by a transport for the length of a request; read by the log formatters."""


def current_traceparent() -> str | None:
    """The position of the current request in its trace."""
    mark = request_mark.get()
    return None if mark is None or not mark.trace else position_in(mark.trace)


def outgoing_traceparent() -> str | None:
    """The `traceparent` for requests sent on behalf of the current one: the same trace, with a new span."""
    parent = parse_traceparent(current_traceparent())
    return None if parent is None else str(parent.child())
