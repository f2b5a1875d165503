"""Reads the audit trail: pages from the newest entry back, and everything from the oldest on.

Entries are inside batches, so a filter decodes what it reads. A page reads a bounded number of batches: if they hold
too few matching entries, the page is short and its cursor continues from there.
"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pentad.access.audit import EVENTS, AuditEntry, decode_entries, first_batch_id
from pentad.access.audit_chain import read_head
from pentad.kernel.clock import iso, parse_iso
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Database, Row, Rows
from pentad.kernel.trace import trace_id_of

PAGE_MOST: Final = 1_000
BATCHES_READ: Final = 5_000
"""How many batches one page may read."""
BYTES_READ: Final = 16 * 1024 * 1024
FAILED: Final = "failed"
"""The filter value for every outcome except `ok`."""
_READ_AT_ONCE: Final = 50
_LATEST: Final = b"\xff" * 16
_LATE_SECONDS: Final = 3_600.0
"""How long an entry may have waited for the store. Batches later than `until` by more than this are not read."""
_AROUND: Final = 1_000
"""Batches of several processes are numbered almost in the order of their ids, never this far out of order."""
_CURSOR: Final = re.compile(r"([0-9a-f]{32})\.([0-9]{1,5})")
_PERIOD: Final = re.compile(r"([0-9]{1,6})\s*([smhdw])")
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries to read; None means any."""

    user: str | None = None
    """A user's name, which includes failed logins; or a whole principal or credential, e.g. `key:...`."""
    principal: str | None = None
    """Exactly this principal, without failed logins."""
    room: str | None = None
    tool: str | None = None
    outcome: str | None = None
    trace: str | None = None
    """A trace id, a whole `traceparent`, or the id of a request or incident."""
    since: float | None = None
    until: float | None = None

    def matches(self, entry: AuditEntry) -> bool:
        """Whether an entry matches every condition."""
        return (
            (self.principal is None or entry.principal == self.principal)
            and (self.room is None or entry.room == self.room)
            and (self.tool is None or entry.tool == self.tool)
            and (self.outcome is None or _is_outcome(entry.outcome, self.outcome))
            and (self.since is None or entry.at >= self.since)
            and (self.until is None or entry.at <= self.until)
            and (self.user is None or _is_about(entry, self.user))
            and (self.trace is None or self.trace in (trace_id_of(entry.trace), entry.trace, entry.request_id))
        )

    def marks(self) -> list[bytes]:
        """Byte strings that any batch with a match must contain. Searching for them is faster than decoding."""
        exact = [self.principal, self.room, self.tool, None if self.outcome == FAILED else self.outcome]
        parts = [self.user, self.trace]
        marks = [msgspec.json.encode(text) for text in exact if text is not None]
        return marks + [msgspec.json.encode(text)[1:-1] for text in parts if text is not None]

    def text(self) -> str:
        """The filter as text, recorded in the trail when it is read."""
        given = {name: getattr(self, name) for name in ("user", "room", "tool", "outcome", "trace")}
        times = {name: getattr(self, name) for name in ("since", "until")}
        shown = {name: value for name, value in given.items() if value is not None}
        shown |= {name: iso(value) for name, value in times.items() if value is not None}
        return " ".join(f"{name}={value}" for name, value in shown.items()) or "everything"


EVERYTHING: Final = AuditFilter()


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry with its place in the trail."""

    batch: bytes
    index: int
    entry: AuditEntry

    @property
    def id(self) -> str:
        return f"{self.batch.hex()}.{self.index}"

    def as_json(self) -> dict[str, Any]:
        """The entry as JSON, without empty fields."""
        fields = self.entry._asdict()
        duration_us = fields.pop("duration_us")
        times = fields.pop("times")
        shown = {name: value for name, value in fields.items() if value}
        shown |= {"id": self.id, "at": iso(self.entry.at), "duration_ms": duration_us / 1_000}
        return shown if times == 1 else {**shown, "times": times}


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Entries, newest first. `cursor` leads to older ones, if there may be any; `head` is the newest batch's number."""

    entries: list[StoredEntry]
    cursor: str | None
    head: int


def read_filter(given: Mapping[str, str | None], now: float) -> AuditFilter:
    """Parse a filter from strings, e.g. request parameters. Times are ISO 8601, or a period such as `24h`."""
    texts = {
        name: text.strip()
        for name in ("user", "room", "tool", "outcome", "trace")
        if (text := given.get(name)) is not None and text.strip()
    }
    if "user" in texts:
        texts["user"] = texts["user"] if ":" in texts["user"] else texts["user"].lower()
    since, until = (
        None if not (text := given.get(name)) else read_time(name, text, now) for name in ("since", "until")
    )
    return AuditFilter(**texts, since=since, until=until)


def read_time(name: str, text: str, now: float) -> float:
    """A time as ISO 8601, or as a period before now."""
    if (period := _PERIOD.fullmatch(text.strip())) is not None:
        return now - int(period[1]) * _UNITS[period[2]]
    try:
        return parse_iso(text.strip()).timestamp()
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{name} is {text[:40]!r}.",
            hint="Write a time such as 2026-07-01T12:00Z, or a period before now such as 30m, 24h or 7d.",
            details={"field": name},
        ) from None


def read_page(rows: Rows, wanted: AuditFilter, limit: int, cursor: str | None = None) -> AuditPage:
    """The newest entries that match, from the cursor back. Newest first by batch; within a second by process."""
    most = max(1, min(limit, PAGE_MOST))
    below, index = _place(cursor)
    if wanted.until is not None:
        below = min(below, first_batch_id(wanted.until + _LATE_SECONDS))
    found: list[StoredEntry] = []
    marks, read, size = wanted.marks(), 0, 0
    head = read_head(rows).number
    for batch, encoded in _batches_back(rows, below, first_batch_id(wanted.since or 0.0), includes_newest=index > 0):
        read, size = read + 1, size + len(encoded)
        if all(mark in encoded for mark in marks):
            entries = decode_entries(encoded)
            last = index if batch == below else len(entries)
            for at in range(min(last, len(entries)) - 1, -1, -1):
                if wanted.matches(entries[at]):
                    found.append(StoredEntry(batch, at, entries[at]))
                    if len(found) == most:
                        return AuditPage(found, found[-1].id, head)
        if read >= BATCHES_READ or size >= BYTES_READ:
            return AuditPage(found, f"{batch.hex()}.0", head)
    return AuditPage(found, None, head)


async def recent(db: Database, limit: int = 100, wanted: AuditFilter = EVERYTHING) -> list[AuditEntry]:
    """The newest matching entries, newest first, however far back they are."""
    found: list[StoredEntry] = []
    cursor: str | None = None
    while True:
        left = limit - len(found)
        page = await db.read(lambda rows, cursor=cursor, left=left: read_page(rows, wanted, left, cursor))
        found += page.entries
        cursor = page.cursor
        if cursor is None or len(found) >= limit:
            return sorted((one.entry for one in found), key=lambda entry: entry.at, reverse=True)


async def export(
    db: Database, wanted: AuditFilter = EVERYTHING, *, after: int | None = None
) -> AsyncIterator[tuple[int, list[StoredEntry]]]:
    """Everything that matches, oldest first, in chunks, each with the number of its last batch.

    `after` is the number of a batch: only later ones are read.
    """
    first = first_batch_id(wanted.since or 0.0)
    if after is None:
        last = b""
        while page := await db.read(lambda rows, last=last: _unnumbered(rows, max(first, last), last)):
            yield 0, _matching(page, wanted)
            last = bytes(page[-1][0])
        after = await db.read(lambda rows: _number_before(rows, first))
    while page := await db.read(lambda rows, after=after: _numbered(rows, after)):
        after = int(page[-1][2])
        yield after, _matching(page, wanted)


def _is_outcome(outcome: str, wanted: str) -> bool:
    return outcome != "ok" if wanted == FAILED else outcome == wanted


def _is_about(entry: AuditEntry, user: str) -> bool:
    if ":" in user:
        return user in (entry.principal, entry.credential, entry.target)
    if entry.principal in (f"user:{user}", user):
        return True
    return entry.room == EVENTS and (entry.login == f"user {user}" or entry.target == f"user:{user}")


def _place(cursor: str | None) -> tuple[bytes, int]:
    if not cursor:
        return _LATEST, 0
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise InvalidInput("The cursor is not valid.", hint="Begin again without a cursor.")
    return bytes.fromhex(found[1]), int(found[2])


def _batches_back(rows: Rows, newest: bytes, oldest: bytes, *, includes_newest: bool) -> Iterator[tuple[bytes, bytes]]:
    """Batches from `newest` to `oldest`, read a few at a time, excluding `newest` if no entries of it remain."""
    comparison = "<=" if includes_newest else "<"
    while page := rows.all(
        f"SELECT id, entries FROM audit_batches WHERE id >= ? AND id {comparison} ? ORDER BY id DESC LIMIT ?",  # noqa: S608  constants
        oldest,
        newest,
        _READ_AT_ONCE,
    ):
        for batch_id, entries in page:
            yield bytes(batch_id), bytes(entries)
        newest, comparison = page[-1][0], "<"


def _unnumbered(rows: Rows, first: bytes, last: bytes) -> list[Row]:
    return rows.all(
        "SELECT id, entries, 0 FROM audit_batches WHERE number IS NULL AND id >= ? AND id > ? ORDER BY id LIMIT ?",
        first,
        last,
        _READ_AT_ONCE,
    )


def _number_before(rows: Rows, first: bytes) -> int:
    """A number before all batches from an id on."""
    found = rows.value(
        "SELECT number FROM audit_batches WHERE number IS NOT NULL AND id >= ? ORDER BY id LIMIT 1", first
    )
    return -1 if found is None else max(-1, int(found) - _AROUND)


def _numbered(rows: Rows, after: int) -> list[Row]:
    sql = "SELECT id, entries, number FROM audit_batches WHERE number > ? ORDER BY number LIMIT ?"
    return rows.all(sql, after, _READ_AT_ONCE)


def _matching(page: list[Row], wanted: AuditFilter) -> list[StoredEntry]:
    marks = wanted.marks()
    return [
        StoredEntry(bytes(batch), at, entry)
        for batch, encoded, _ in page
        if all(mark in bytes(encoded) for mark in marks)
        for at, entry in enumerate(decode_entries(bytes(encoded)))
        if wanted.matches(entry)
    ]
