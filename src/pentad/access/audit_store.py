"""Audit entries at rest: who called what, when, and how it ended. Never arguments, results or secrets.

A second's entries are one row: a row for each would cost a busy server more than the calls they tell of. A batch is
stored once, however often it is tried: it is named by a UUIDv7 which is also the order in time.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from pentad.access.call_totals import CallKey, add_totals, grouped
from pentad.kernel.ports import Rows, Transaction
from pentad.kernel.secrets.text import scrub_text
from pentad.kernel.trace import parse_traceparent

PRUNED_AT_ONCE: Final = 10
RECENT_MOST: Final = 1000
LONGEST_TEXT: Final = 512
_SHORTEST_SECRET: Final = 10
_READ_AT_ONCE: Final = 20
_LATEST: Final = b"\xff" * 16


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
    credential: str = ""
    """The key that was used, if one was: `principal` says whose it is."""
    reason: str = ""
    """Why an administrator looked at what belongs to somebody else; or why a login failed."""
    login: str = ""
    """For a failed login, whose it claimed to be, e.g. `user ada`: nobody has proved that."""
    address: str = ""
    """Where a failed login came from."""
    times: int = 1
    """How many failed logins the entry stands for."""


class Batch(NamedTuple):
    """Entries ready to be stored together, with the totals they add to."""

    id: bytes
    size: int
    entries: bytes
    totals: dict[CallKey, list[int]]


_decode = msgspec.json.Decoder(list[AuditEntry]).decode


def made_batch(batch_id: uuid.UUID, entries: Sequence[AuditEntry]) -> Batch:
    """All the work that needs no store, done before the writer is held up."""
    kept = [entry if sum(map(len, entry[6:14])) < LONGEST_TEXT else _cut(entry) for entry in entries]
    kept = [entry if _is_plain(entry) else _without_secrets(entry) for entry in kept]
    totals = grouped(((entry[2], entry[3], entry[4]), entry[5]) for entry in kept)
    try:
        encoded = msgspec.json.encode(kept)
    except UnicodeEncodeError:  # half a surrogate pair, which no encoding knows
        encoded = msgspec.json.encode([_escaped(entry) for entry in kept])
    return Batch(batch_id.bytes, len(kept), encoded, totals)


def store_batch(tx: Transaction, batch: Batch) -> None:
    """Store a batch, unless an earlier try has, whose answer was lost."""
    if tx.run(
        "INSERT INTO audit_batches (id, size, entries) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
        batch.id,
        batch.size,
        batch.entries,
    ):
        add_totals(tx, batch.totals)


def recent_entries(rows: Rows, limit: int, filters: dict[str, str], since: float | None) -> list[AuditEntry]:
    """The newest entries that match every filter, newest first."""
    wanted = max(1, min(limit, RECENT_MOST))
    oldest = 0.0 if since is None else since
    found: list[AuditEntry] = []
    for batch_id, entries in _batches(rows, _first_batch_of(oldest)):
        if len(found) >= wanted and _written_at(batch_id) < found[wanted - 1].at:
            break  # batches of several processes overlap in time; older ones no longer do
        found += (entry for entry in entries if entry.at >= oldest and _matches(entry, filters))
        found.sort(key=lambda entry: entry.at, reverse=True)
    return found[:wanted]


def prune_slice(tx: Transaction, before: float) -> int:
    """Delete the oldest few batches written before that time; the number of entries gone, 0 when none are left."""
    old = tx.all(
        "SELECT id, size FROM audit_batches WHERE id < ? ORDER BY id LIMIT ?", _first_batch_of(before), PRUNED_AT_ONCE
    )
    tx.run_many("DELETE FROM audit_batches WHERE id = ?", [(batch_id,) for batch_id, _ in old])
    return sum(size for _, size in old)


def _batches(rows: Rows, first: bytes) -> Iterator[tuple[bytes, list[AuditEntry]]]:
    """Batches from the newest to `first`, a few at a time."""
    below = _LATEST
    while page := rows.all(
        "SELECT id, entries FROM audit_batches WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT ?",
        first,
        below,
        _READ_AT_ONCE,
    ):
        for batch_id, entries in page:
            yield batch_id, _decode(entries)
        below = page[-1][0]


def _matches(entry: AuditEntry, filters: dict[str, str]) -> bool:
    return all(getattr(entry, column) == value for column, value in filters.items())


def _first_batch_of(seconds: float) -> bytes:
    """The smallest name a batch of that time can have."""
    return max(0, int(seconds * 1000)).to_bytes(6, "big") + bytes(10)


def _written_at(batch_id: bytes) -> float:
    return int.from_bytes(batch_id[:6], "big") / 1000


def _cut(entry: AuditEntry) -> AuditEntry:
    """A caller chooses its request ids, trace and reason; they must not fill the trail."""
    return _with_texts(entry, lambda text: text[:LONGEST_TEXT])


def _is_plain(entry: AuditEntry) -> bool:
    """Whether the texts a caller chose cannot hold a secret, as is mostly the case."""
    request_id, trace = entry[6], entry[9] if len(entry) > 9 else ""
    is_short = len(request_id) < _SHORTEST_SECRET or request_id.isdigit()
    return is_short and not any(entry[11:13]) and (not trace or parse_traceparent(trace) is not None)


def _without_secrets(entry: AuditEntry) -> AuditEntry:
    whole = AuditEntry(*entry)
    trace = whole.trace if parse_traceparent(whole.trace) is not None else scrub_text(whole.trace)
    texts = {name: scrub_text(getattr(whole, name)) for name in ("request_id", "reason", "login")}
    return whole._replace(trace=trace, **texts)


def _escaped(entry: AuditEntry) -> AuditEntry:
    return _with_texts(entry, lambda text: text.encode("utf-8", "backslashreplace").decode())


def _with_texts(entry: AuditEntry, change: Callable[[str], str]) -> AuditEntry:
    """The entry with every text changed. Recorders give plain tuples that may lack the last fields."""
    values: list[Any] = [change(value) if isinstance(value, str) else value for value in entry]
    return AuditEntry(*values)
