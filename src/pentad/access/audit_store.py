"""Audit entries at rest: who called what, when, and how it ended. Never arguments, results or secrets.

A batch is stored once, however often it is tried: it is named by a UUIDv7 which is also the order in time.
"""

import uuid
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pentad.access.call_totals import CallKey, add_totals, grouped
from pentad.kernel.ports import Rows, Transaction, Value

PRUNED_AT_ONCE: Final = 10
RECENT_MOST: Final = 1000
LONGEST_TEXT: Final = 512
_COLUMNS: Final = "at, principal, room, tool, outcome, duration_us, request_id, session, transport, trace"
_INSERT: Final = f"INSERT INTO audit_entries (batch, seq, {_COLUMNS}) VALUES (?, ?, {', '.join('?' * 10)})"  # noqa: S608  constants


class AuditEntry(NamedTuple):
    """One call."""

    at: float
    principal: str
    room: str
    tool: str
    """The tool, or the method or route where there is none; never text a caller is free to make up."""
    outcome: str
    """`ok`, or the code of the error."""
    duration_us: int
    request_id: str = ""
    session: str = ""
    transport: str = ""
    trace: str = ""


class Batch(NamedTuple):
    """Entries ready to be stored together, with the totals they add to."""

    id: bytes
    rows: list[tuple[Any, ...]]
    totals: dict[CallKey, list[int]]


def made_batch(batch_id: uuid.UUID, entries: Sequence[AuditEntry]) -> Batch:
    """All the work that needs no store, done before the writer is held up."""
    name = batch_id.bytes
    rows: list[tuple[Any, ...]] = [
        (
            name, seq, at, _plain(principal), _plain(room), _plain(tool), _plain(outcome), duration_us,
            _plain(request_id), _plain(session), transport, _plain(trace),
        )
        for seq, (at, principal, room, tool, outcome, duration_us, request_id, session, transport, trace)
        in enumerate(entries)
    ]  # fmt: skip
    totals = grouped(((row[4], row[5], row[6]), row[7]) for row in rows)
    return Batch(name, rows, totals)


def store_batch(tx: Transaction, batch: Batch) -> None:
    """Store a batch, unless an earlier try has, whose answer was lost."""
    if tx.one("SELECT 1 FROM audit_entries WHERE batch = ? AND seq = 0", batch.id) is not None:
        return
    tx.run_many(_INSERT, batch.rows)
    add_totals(tx, batch.totals)


def recent_entries(rows: Rows, limit: int, filters: dict[str, str], since: float | None) -> list[AuditEntry]:
    """The newest entries that match every filter, newest first."""
    conditions = [f"{column} = ?" for column in filters]
    values: list[Value] = [_plain(value) for value in filters.values()]
    if since is not None:
        conditions.append("batch >= ?")
        values.append(_first_batch_of(since))
        conditions.append("at >= ?")
        values.append(since)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    found = rows.all(
        f"SELECT {_COLUMNS} FROM audit_entries{where} ORDER BY batch DESC, seq DESC LIMIT ?",  # noqa: S608  constants
        *values,
        max(1, min(limit, RECENT_MOST)),
    )
    return sorted((AuditEntry(*row) for row in found), key=lambda entry: entry.at, reverse=True)


def prune_slice(tx: Transaction, before: float) -> int:
    """Delete the oldest few batches written before that time; the number of entries gone, 0 when none are left."""
    return tx.run(
        "DELETE FROM audit_entries WHERE batch IN"
        " (SELECT DISTINCT batch FROM audit_entries WHERE batch < ? ORDER BY batch LIMIT ?)",
        _first_batch_of(before),
        PRUNED_AT_ONCE,
    )


def _first_batch_of(seconds: float) -> bytes:
    """The smallest name a batch of that time can have."""
    return max(0, int(seconds * 1000)).to_bytes(6, "big") + bytes(10)


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    """Text every store takes: a caller's id may be long, or hold what a store refuses, and must not stop the trail."""
    if len(text) > LONGEST_TEXT:
        text = text[:LONGEST_TEXT]
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
