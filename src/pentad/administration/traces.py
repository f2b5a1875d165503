"""One trace: every call, task and job that a request led to, in all rooms, as far as the reader may see them.

Calls and finished jobs are in the audit trail, so traces need no separate log. Rooms add their own spans
(`Room.spans`), and the queue adds waiting jobs. Callers who may read the audit trail see the whole trace; everyone else
sees their own part.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from pentad.access.audit import EVENTS, AuditEntry, AuditTrail
from pentad.access.audit_query import AuditFilter, StoredEntry, read_page
from pentad.administration.rights import AUDIT
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.ports import Database, Rows
from pentad.kernel.principal import Principal
from pentad.kernel.trace import TRACE_ID, Span, SpansOf, resolve_trace_id, trace_id_of
from pentad.mcp.rights import refuse_anonymous

TracedRooms = Callable[[], Awaitable[Mapping[str, SpansOf]]]
"""The rooms that know about traces, by name."""

MOST_SPANS: Final = 1_000
PAGES_READ: Final = 20
"""How many pages of the trail are searched, each of `audit_query.BYTES_READ`."""
_LONGEST_ID: Final = 200
_SLACK_SECONDS: Final = 5.0
"""The clocks of processes differ by less than this."""
_JOB: Final = "job "


class Traces:
    """Reads traces. `actor` is always the caller."""

    def __init__(self, db: Database, audit: AuditTrail, jobs: JobQueue, clock: Clock, rooms: TracedRooms) -> None:
        self._db = db
        self._audit = audit
        self._jobs = jobs
        self._clock = clock
        self._rooms = rooms

    async def trace(self, actor: Principal, named: str) -> dict[str, Any]:
        """The trace that a trace id, a `traceparent` or an `X-Request-Id` names."""
        refuse_anonymous(actor)
        if not named or len(named) > _LONGEST_ID:
            hint = "Give the X-Request-Id of a response, or a trace id."
            raise InvalidInput("That is not the id of a trace.", hint=hint)
        owner = None if actor.may(AUDIT, "admin") else actor.id
        await self._audit.flush()
        now = self._clock.now()
        trace_id = resolve_trace_id(named)
        entries, searched = await self._entries(AuditFilter(principal=owner, trace=trace_id))
        if not entries and named != trace_id:
            # A request with both headers: its id is in the trail, but its trace is another one.
            found, searched = await self._entries(AuditFilter(principal=owner, trace=named))
            with_trace = [one for one in found if one.entry.trace]
            if with_trace:
                trace_id = trace_id_of(with_trace[0].entry.trace)
                entries, searched = await self._entries(AuditFilter(principal=owner, trace=trace_id))
        if owner is None:
            self._audit.event(actor, "trace read", target=trace_id)
        spans = [span_of(one.entry) for one in entries]
        rooms = {name: read for name, read in (await self._rooms()).items() if actor.may(name, "read")}
        spans += await self._db.read(lambda rows: self._more(rows, trace_id, owner, spans, rooms))
        if not spans:
            raise NotFound(
                f"There is no trace {named[:80]!r} that you may see.",
                hint="The audit trail keeps traces for as long as its entries, and you see your own calls only.",
            )
        return _trace_json(trace_id, spans, now, searched)

    def _more(
        self, rows: Rows, trace_id: str, owner: str | None, spans: Sequence[Span], rooms: Mapping[str, SpansOf]
    ) -> list[Span]:
        """What the rooms and the queue add. What a trace led to belongs to the principals whose calls are in it."""
        since = min((one.at for one in spans), default=0.0) - _SLACK_SECONDS
        owners = sorted({one.principal for one in spans} if owner is None else {owner})
        found = [span for read in rooms.values() for span in read(rows, trace_id, owners, since)]
        return found + self._jobs.of_trace(rows, trace_id, owner)

    async def _entries(self, wanted: AuditFilter) -> tuple[list[StoredEntry], str | None]:
        """The entries that match, and how far back the trail was searched; None if all of it was."""
        found: list[StoredEntry] = []
        cursor: str | None = None
        for _ in range(PAGES_READ):
            left = MOST_SPANS - len(found)
            page = await self._db.read(lambda rows, cursor=cursor, left=left: read_page(rows, wanted, left, cursor))
            found += page.entries
            cursor = page.cursor
            if cursor is None:
                return found, None
            if len(found) >= MOST_SPANS:
                break
        return found, None if cursor is None else iso(int(cursor[:12], 16) / 1000)


def span_of(entry: AuditEntry) -> Span:
    """A call, job or event of the trail. The call that begins a trace is its first span."""
    seconds = entry.duration_us / 1_000_000
    begins = len(entry.trace) == TRACE_ID
    kind = "event" if entry.room == EVENTS and not entry.transport else "call"
    is_job = entry.tool.startswith(_JOB)
    return Span(
        "job" if is_job else kind,
        entry.room,
        entry.tool.removeprefix(_JOB) if is_job else entry.tool,
        entry.at - seconds,
        seconds,
        entry.outcome,
        entry.principal,
        span_id=entry.trace[16:] if begins else "",
        parent_span_id="" if begins else entry.trace[36:52],
        via=entry.transport,
    )


def _trace_json(trace_id: str, spans: Sequence[Span], now: float, searched: str | None) -> dict[str, Any]:
    began = min(one.at for one in spans)
    ended = max(one.at + (one.seconds or 0.0) for one in spans)
    found: dict[str, Any] = {
        "trace_id": trace_id,
        "at": iso(began),
        "seconds": round(ended - began, 6),
        "is_running": any(one.seconds is None for one in spans),
        "spans": [_span_json(one, depth, began) for one, depth in _nested(spans)],
        "as_of": iso(now - 1.0),
    }
    if searched is not None or len(spans) >= MOST_SPANS:
        found["incomplete"] = {
            "reason": f"Only {MOST_SPANS} entries are read, from a part of the audit trail.",
            "searched_since": searched,
        }
    return found


def _nested(spans: Sequence[Span]) -> Iterable[tuple[Span, int]]:
    """The spans in order of time, each after the one that caused it, with its depth."""
    ordered = sorted(spans, key=lambda one: one.at)
    known = {one.span_id for one in ordered if one.span_id}
    below: dict[str, list[Span]] = {}
    for one in ordered:
        below.setdefault(one.parent_span_id if one.parent_span_id in known else "", []).append(one)
    waiting = [(one, 0) for one in reversed(below.pop("", []))]
    while waiting:
        one, depth = waiting.pop()
        yield one, depth
        waiting += [(child, depth + 1) for child in reversed(below.pop(one.span_id, []) if one.span_id else [])]
    yield from ((one, 0) for left in below.values() for one in left)  # spans that cause each other in a circle


def _span_json(span: Span, depth: int, began: float) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": span.kind,
        "room": span.room,
        "name": span.name,
        "outcome": span.outcome,
        "at": iso(span.at),
        "offset_ms": round((span.at - began) * 1000, 3),
        "duration_ms": None if span.seconds is None else round(span.seconds * 1000, 3),
        "depth": depth,
        "principal": span.principal,
        "via": span.via,
        "span_id": span.span_id,
        "parent_span_id": span.parent_span_id,
        "resource": span.resource,
    }
    return {name: value for name, value in found.items() if value not in ("", None)}
