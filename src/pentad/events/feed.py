"""The feed: the outbox and the rooms' own logs as one sequence, with a cursor that survives restarts.

A cursor contains the position in every source. Events of one source keep its order; different sources are merged by
time. Each source applies the caller's rights in its query.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from pentad.events.outbox import ADMINS, events_after, latest_events, newest, oldest_time, remove_before
from pentad.kernel import cursors
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import InvalidInput
from pentad.kernel.events import Event
from pentad.kernel.names import did_you_mean
from pentad.kernel.ports import Database
from pentad.kernel.principal import Principal

URI: Final = "pentad://events"
"""The feed as a resource."""
NOW: Final = "now"
"""The cursor after the latest event."""
MOST: Final = 500
_OUTBOX: Final = ""
_EXAMINED: Final = 5_000
"""The most events read for one page, because a filter may match few of them."""
_PORTION: Final = 500
_PRUNED_AT_ONCE: Final = 1_000

Read = Callable[[Principal, str, int], Awaitable[tuple[list[Event], str]]]


class Source(Struct, frozen=True):
    """One log, by the name of its room. `may` decides who can read it; `newest` is the position before its last
    entries, as many as asked for; `flush` stores pending entries."""

    name: str
    read: Read
    newest: Callable[[int], Awaitable[str]]
    may: Callable[[Principal], bool]
    flush: Callable[[], Awaitable[None]] | None = None


class EventFilter(Struct, frozen=True):
    """Selects events. Empty fields match everything."""

    rooms: frozenset[str] = frozenset()
    kinds: tuple[str, ...] = ()
    """Types (`registers.object.created`), kinds (`object.created`), or prefixes with `*` at the end."""
    subject: str = ""
    """A URI, or a prefix with `*` at the end."""
    since: float | None = None
    until: float | None = None

    def matches(self, event: Event) -> bool:
        """Whether the event matches every field."""
        return (
            (not self.rooms or event.room in self.rooms)
            and (self.since is None or event.at >= self.since)
            and (self.until is None or event.at <= self.until)
            and (not self.subject or _fits(self.subject, event.subject))
            and (not self.kinds or any(_fits(one, name) for one in self.kinds for name in (event.kind, event.type)))
        )


EVERYTHING: Final = EventFilter()


class EventPage(Struct, frozen=True):
    """Events, oldest first, and the cursor for the next page. `cursors` are the cursors right after each event."""

    events: list[Event]
    cursor: str
    has_more: bool
    cursors: list[str] = field(default_factory=list[str])
    removed_before: float | None = None
    """Set if events may have been removed by retention before they were read."""

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "events": [one.as_json() for one in self.events],
            "cursor": self.cursor,
            "has_more": self.has_more,
        }
        if self.removed_before is not None:
            found["incomplete"] = {
                "reason": "Retention has removed older events.",
                "events_since": iso(self.removed_before),
            }
        return found


class EventFeed:
    """Reads the feed. `sources` are the rooms' own logs; `rooms` lists all rooms with their kinds of events."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        sources: Callable[[], Sequence[Source]],
        rooms: Callable[[], Mapping[str, Mapping[str, str]]],
        *,
        retention_days: float = 90,
    ) -> None:
        self._database = database
        self._clock = clock
        self._sources = sources
        self._rooms = rooms
        self._retention_seconds = retention_days * 86_400

    def kinds(self) -> dict[str, Mapping[str, str]]:
        """The kinds of events of each room, with their meaning."""
        return {room: kinds for room, kinds in self._rooms().items() if kinds}

    def check(self, wanted: EventFilter) -> None:
        """InvalidInput for a filter that can never match."""
        rooms = self._rooms()
        for room in wanted.rooms:
            if room not in rooms:
                hint = did_you_mean(room, rooms) or f"Known: {', '.join(rooms)}."
                raise InvalidInput(f"There is no room {room[:80]!r}.", hint=hint, details={"field": "room"})
        known = [name for room, kinds in rooms.items() for kind in kinds for name in (kind, f"{room}.{kind}")]
        for kind in wanted.kinds:
            if not any(_fits(kind, one) for one in known):
                raise InvalidInput(
                    f"There is no kind of event {kind[:80]!r}.",
                    hint=did_you_mean(kind, known) or f"Known: {', '.join(sorted(set(known)))}.",
                    details={"field": "kind"},
                )

    def rooms_of(self, wanted: EventFilter) -> list[str]:
        """The rooms whose events may match."""
        return sorted(
            room
            for room, kinds in self._rooms().items()
            if (not wanted.rooms or room in wanted.rooms)
            and (
                not wanted.kinds
                or any(_fits(one, name) for one in wanted.kinds for kind in kinds for name in (kind, f"{room}.{kind}"))
            )
        )

    async def page(
        self, caller: Principal, wanted: EventFilter = EVERYTHING, cursor: str | None = None, limit: int = 100
    ) -> EventPage:
        """The matching events that the caller may see, after a cursor; None is the beginning, `NOW` the end."""
        self.check(wanted)
        most = max(1, min(limit, MOST))
        if cursor == NOW:
            for source in self._sources():
                if source.flush is not None and source.may(caller):
                    await source.flush()
            return EventPage([], await self.now(caller), has_more=False)
        positions = parse_cursor(cursor)
        removed = await self._removed_before(positions)
        found: list[Event] = []
        cursors: list[str] = []
        examined = 0
        while True:
            portion = await self._next(caller, wanted, positions, _PORTION if wanted != EVERYTHING else most)
            has_more = portion.has_more
            examined += max(1, len(portion.events))
            for source, event in portion.events:
                positions[source] = event.position
                if wanted.matches(event):
                    found.append(event)
                    cursors.append(_write(positions))
                    if len(found) == most:
                        is_last = event is portion.events[-1][1]
                        return EventPage(found, cursors[-1], has_more or not is_last, cursors, removed)
            positions |= portion.behind
            if not has_more or examined >= _EXAMINED:
                return EventPage(found, _write(positions), has_more, cursors, removed)

    async def latest(self, caller: Principal, limit: int = 100) -> list[Event]:
        """The last events of each log that the caller may see, newest first. The cost does not grow with the feed."""
        rooms, audiences = self._readable(caller)
        dialect = self._database.dialect
        found = await self._database.read(
            lambda rows: latest_events(rows, dialect, rooms=rooms, audiences=audiences, limit=limit)
        )
        for source in self._sources():
            if source.may(caller):
                events, _ = await source.read(caller, await source.newest(limit), limit)
                found += events[::-1]
        return sorted(found, key=lambda one: one.at, reverse=True)

    async def now(self, caller: Principal | None = None) -> str:
        """The cursor after all stored events, for one caller or for all."""
        dialect = self._database.dialect
        found = {_OUTBOX: await self._database.read(lambda rows: newest(rows, dialect))}
        for source in self._sources():
            if caller is None or source.may(caller):
                found[source.name] = await source.newest(0)
        return _write(found)

    async def prune(self) -> int:
        """Delete events of the outbox that have passed the retention; returns how many."""
        before = self._clock.now() - self._retention_seconds
        gone = 0
        while deleted := await self._database.write(lambda tx: remove_before(tx, before, _PRUNED_AT_ONCE)):
            gone += deleted
        return gone

    async def _next(
        self, caller: Principal, wanted: EventFilter, positions: Mapping[str, str], limit: int
    ) -> "_Portion":
        """The next events of all sources, ordered by time."""
        readable, audiences = self._readable(caller)
        rooms = [room for room in readable if not wanted.rooms or room in wanted.rooms]
        dialect = self._database.dialect
        read = await self._database.read(
            lambda rows: events_after(
                rows, dialect, positions.get(_OUTBOX, ""), rooms=rooms, audiences=audiences, limit=limit
            )
        )
        found = {_OUTBOX: read}
        for source in self._sources():
            if not source.may(caller) or (wanted.rooms and source.name not in wanted.rooms):
                continue
            found[source.name] = await source.read(caller, positions.get(source.name, ""), limit)
        return _merged(found, positions, limit)

    def _readable(self, caller: Principal) -> tuple[list[str], list[str]]:
        """The rooms and audiences whose events the caller may read."""
        rooms = [room for room in self._rooms() if caller.may(room, "read")]
        return rooms, [caller.id, *([ADMINS] if caller.may("access", "admin") else [])]

    async def _removed_before(self, positions: Mapping[str, str]) -> float | None:
        """The time of the oldest event that is kept, if retention may have removed events after the cursor."""
        if _OUTBOX in positions:
            return None
        oldest = await self._database.read(oldest_time)
        return oldest if oldest is not None and self._clock.now() - oldest >= self._retention_seconds * 0.99 else None


class _Portion(Struct, frozen=True):
    """Events, each with its source, and the positions up to which sources were searched."""

    events: list[tuple[str, Event]]
    behind: Mapping[str, str]
    has_more: bool


def _merged(found: Mapping[str, tuple[Sequence[Event], str]], positions: Mapping[str, str], limit: int) -> _Portion:
    """The first events by time, in the order of each source, because a clock may have been set back.

    A source that was not read to its end may have more events with the time of its last one, so later ones wait.
    """
    keyed: list[tuple[float, str, Event]] = []
    ends: list[float] = []
    for source, (events, _) in found.items():
        latest = 0.0
        for event in events:
            latest = max(latest, event.at)
            keyed.append((latest, source, event))
        if len(events) >= limit:
            ends.append(latest)
    end = min(ends, default=math.inf)
    ordered = [(source, event) for at, source, event in sorted(keyed, key=lambda one: one[0]) if at <= end]
    taken = ordered[:limit]
    if len(taken) < len(keyed):
        return _Portion(taken, {}, has_more=True)
    behind = {source: position for source, (_, position) in found.items() if position}
    skipped = any(
        position not in ("", events[-1].position if events else positions.get(source, position))
        for source, (events, position) in found.items()
    )
    return _Portion(taken, behind, has_more=bool(ends) or skipped)


def _fits(pattern: str, text: str) -> bool:
    return text.startswith(pattern[:-1]) if pattern.endswith("*") else text == pattern


def _write(positions: Mapping[str, str]) -> str:
    return cursors.pack(dict(sorted(positions.items())))


def parse_cursor(cursor: str | None) -> dict[str, str]:
    """The position of each source."""
    if not cursor:
        return {}
    try:
        return cursors.unpack(cursor, dict[str, str])
    except ValueError:
        raise InvalidInput(
            "The cursor is not valid.",
            hint="Pass the cursor of an earlier answer or `now`, or leave it out to start at the beginning.",
            details={"field": "cursor"},
        ) from None
