"""The outbox: events that rooms write inside the transactions that cause them.

    emit(tx, "avatars", "corpus.changed", [f"avatar://{avatar}"])

A rollback removes the event, too. SQLite commits rows in the order of their numbers. PostgreSQL does not, so there a
reader goes by transaction and stops before the oldest one still running: no event can appear behind a reader's cursor.
Rooms with an ordered log of their own publish that instead (`Room.events`) and write nothing here.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from pentad.kernel.clock import SystemClock
from pentad.kernel.errors import InvalidInput
from pentad.kernel.events import Event
from pentad.kernel.ports import Dialect, Row, Rows, Transaction
from pentad.kernel.sql import marks
from pentad.kernel.trace import current_traceparent, request_mark

ADMINS: Final = "admin"
"""The audience of events for administrators."""
CHANNEL: Final = "events"
"""Signalled with every event; on SQLite only for events in other logs."""
LAST: Final = "SELECT max(seq) FROM events"
"""Changes with every event on SQLite."""
SUBJECTS_PER_ROW: Final = 500
_LATEST_ROWS: Final = 1_000
_CLOCK: Final = SystemClock()
_COLUMNS: Final = "seq, at, room, kind, subjects, principal, trace, data"
_INSERT: Final = (
    "INSERT INTO events (at, room, kind, audience, subjects, principal, trace, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_POSITION: Final = re.compile(r"(\d{1,19})-(\d{1,19})-(\d{1,9})")
_WHOLE: Final = 10**9 - 1
"""The index of a row whose subjects have all been read."""
_encode: Final = msgspec.json.Encoder().encode


def emit(
    tx: Transaction,
    room: str,
    kind: str,
    subjects: Sequence[str],
    *,
    audience: str = "",
    at: float | None = None,
    principal: str | None = None,
    data: Mapping[str, Any] | None = None,
) -> None:
    """Record an event for each of these subjects, visible when the transaction commits. Many subjects share one row.

    `audience` says who may read it: empty for everyone who may read the room, a principal, or `ADMINS`. The trace, and
    by default the principal, are those of the current request.
    """
    mark = request_mark.get()
    who = principal if principal is not None else "" if mark is None else mark.principal or ""
    moment = _CLOCK.now() if at is None else at
    text = "{}" if data is None else _encode(data).decode()
    trace = current_traceparent() or ""
    for start in range(0, len(subjects), SUBJECTS_PER_ROW):
        part = _encode(subjects[start : start + SUBJECTS_PER_ROW]).decode()
        tx.run(_INSERT, moment, room, kind, audience, part, who, trace, text)
    if subjects:
        tx.signal(CHANNEL, has_row=True)


def events_after(
    rows: Rows, dialect: Dialect, position: str, *, rooms: Iterable[str], audiences: Iterable[str], limit: int
) -> tuple[list[Event], str]:
    """The events of these rooms and audiences after a position, oldest first, and the position after the last one.

    Fewer than `limit` events mean that there are no more.
    """
    named, allowed = sorted(rooms), sorted({"", *audiences})
    xact, seq, index = _parse(position)
    if not named:
        return [], position
    where = f"room IN ({marks(len(named))}) AND audience IN ({marks(len(allowed))})"
    if dialect == "sqlite":
        found = rows.all(
            f"SELECT 0, {_COLUMNS} FROM events WHERE seq >= ? AND {where} ORDER BY seq LIMIT ?",  # noqa: S608  marks
            seq, *named, *allowed, limit + 1,
        )  # fmt: skip
    else:
        found = rows.all(
            f"SELECT xact, {_COLUMNS} FROM events WHERE (xact, seq) >= (?, ?) AND {where}"  # noqa: S608  marks
            " AND xact < pg_snapshot_xmin(pg_current_snapshot())::text::bigint ORDER BY xact, seq LIMIT ?",
            xact, seq, *named, *allowed, limit + 1,
        )  # fmt: skip
    events = [event for row in found for event in _events(row, index if row[1] == seq else 0)][:limit]
    return events, events[-1].position if events else position


def latest_events(
    rows: Rows, dialect: Dialect, *, rooms: Iterable[str], audiences: Iterable[str], limit: int
) -> list[Event]:
    """The last events of these rooms and audiences, newest first. Looks only at the newest rows of the outbox."""
    named, allowed = sorted(rooms), sorted({"", *audiences})
    if not named:
        return []
    xact = "0" if dialect == "sqlite" else "xact"
    found = rows.all(
        f"SELECT {xact}, {_COLUMNS} FROM events WHERE seq > (SELECT coalesce(max(seq), 0) - ? FROM events)"  # noqa: S608
        f" AND room IN ({marks(len(named))}) AND audience IN ({marks(len(allowed))}) ORDER BY seq DESC LIMIT ?",
        _LATEST_ROWS, *named, *allowed, limit,
    )  # fmt: skip
    return [event for row in found for event in reversed(list(_events(row, 0)))][:limit]


def newest(rows: Rows, dialect: Dialect) -> str:
    """The position after the latest event."""
    if dialect == "sqlite":
        last = rows.value("SELECT coalesce(max(seq), 0) FROM events")
        return f"0-{last}-{_WHOLE}"
    horizon = rows.value("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
    return f"{int(horizon) - 1}-{2**62}-{_WHOLE}"


def running_transactions(rows: Rows) -> tuple[int, int]:
    """PostgreSQL only: the oldest running transaction, which hides later events, and the next one to start."""
    sql = "SELECT pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint FROM pg_current_snapshot() AS s"
    ((oldest, following),) = rows.all(sql)
    return oldest, following


def oldest_time(rows: Rows) -> float | None:
    """The time of the oldest event that is still kept."""
    return rows.value("SELECT at FROM events ORDER BY seq LIMIT 1")


def remove_before(tx: Transaction, at: float, most: int) -> int:
    """Delete the oldest events from before a time, at most that many; returns how many."""
    sql = "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE at < ? ORDER BY seq LIMIT ?)"
    return tx.run(sql, at, most)


def _events(row: Row, index: int) -> Iterable[Event]:
    """The events of a row whose first `index` were read before."""
    xact, seq, at, room, kind, subjects, principal, trace, data = row
    named: list[str] = msgspec.json.decode(subjects)
    shown: dict[str, Any] = msgspec.json.decode(data)
    for number, subject in enumerate(named[index:], index + 1):
        yield Event(room, kind, subject, at, f"{xact}-{seq}-{number}", principal, trace, shown)


def _parse(position: str) -> tuple[int, int, int]:
    """The transaction, the row, and how many of the row's subjects were read."""
    found = _POSITION.fullmatch(position or "0-0-0")
    if found is None:
        raise InvalidInput(
            "The cursor is not valid.", hint="Pass the cursor of an earlier answer unchanged, or leave it out."
        )
    return int(found[1]), int(found[2]), int(found[3])
