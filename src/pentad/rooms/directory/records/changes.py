"""Lists what changed in this directory after a position, for directories that follow it.

New records come in the order of their row ids. Later changes to a record have a row in `directory_changes`: the last
change of each CID. PostgreSQL assigns ids before it commits, so writers take turns: for records by `store.lock_terms`,
for changes by the row of `directory_store`. Only records that were pushed here are listed, not copies, and none that
are in quarantine, drafts or withdrawn.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.kernel.sql import chunks, marks
from pentad.rooms.directory.store import ids_of

MOST_CHANGES: Final = 500
NOT_SHARED: Final = ("draft", "withdrawn")
"""Followers do not receive records in these states, and drop their copies."""
_POSITION: Final = re.compile(r"([0-9a-f]{16})-(\d{1,18})-(\d{1,18})-([a-z2-7]{0,100})-([a-z2-7]{0,100})")
"""The store, the last row ids of records and changes, and their CIDs."""
_IS_TOLD: Final = (
    "NOT EXISTS (SELECT 1 FROM directory_origins o WHERE o.record = r.id)"
    " AND NOT EXISTS (SELECT 1 FROM directory_quarantine q WHERE q.record = r.id)"
    " AND r.state NOT IN ('draft', 'withdrawn')"
)
_NEW: Final = f"SELECT r.id, r.cid, r.name FROM directory_records r WHERE r.id > ? AND {_IS_TOLD} ORDER BY r.id LIMIT ?"  # noqa: S608  own condition
_CHANGED: Final = (
    f"SELECT c.position, c.cid, r.name, CASE WHEN r.id IS NOT NULL AND {_IS_TOLD} THEN 0 ELSE 1 END"  # noqa: S608  own condition
    " FROM directory_changes c LEFT JOIN directory_records r ON r.cid = c.cid"
    " WHERE c.position > ? ORDER BY c.position LIMIT ?"
)
_HIGHEST: Final[dict[Dialect, str]] = {
    "sqlite": "SELECT seq FROM sqlite_sequence WHERE name = 'directory_records'",
    "postgres": "SELECT last_value FROM directory_records_id_seq",
}
"""The highest row id that a record has ever had."""


class Change(NamedTuple):
    """A record to fetch with its referrers, or to drop."""

    cid: str
    name: str
    deleted: bool


class Changes(NamedTuple):
    """A page of changes. `reset`: the position was of another store, and this is the first page."""

    changes: list[Change]
    position: str
    more: bool
    reset: bool


def note_changes(tx: Transaction, cids: Sequence[str]) -> None:
    """Note for followers that these records, or their referrers, changed."""
    if not cids:
        return
    tx.run("UPDATE directory_store SET id = id")
    for part in chunks(cids):
        tx.run(f"DELETE FROM directory_changes WHERE cid IN ({marks(len(part))})", *part)  # noqa: S608  only marks
    tx.run_many("INSERT INTO directory_changes (cid) VALUES (?)", [(cid,) for cid in cids])


def adopt_copies(tx: Transaction, cids: Sequence[str]) -> None:
    """Turn copies of peers' records into records of this directory, because somebody pushed them here too."""
    copies = [
        cid
        for cid, record in ids_of(tx, cids).items()
        if tx.run("DELETE FROM directory_origins WHERE record = ?", record)
    ]
    note_changes(tx, copies)


def withdrawn(rows: Rows, cids: Sequence[str]) -> set[str]:
    """Those CIDs whose record was deleted here."""
    gone: set[str] = set()
    for part in chunks(cids):
        sql = (
            "SELECT c.cid FROM directory_changes c LEFT JOIN directory_records r ON r.cid = c.cid"  # noqa: S608  only marks
            f" WHERE r.id IS NULL AND c.cid IN ({marks(len(part))})"
        )
        gone |= {cid for (cid,) in rows.all(sql, *part)}
    return gone


class _Position(NamedTuple):
    """How far a follower has read."""

    record: int = 0
    change: int = 0
    record_cid: str = ""
    change_cid: str = ""


def list_changes(rows: Rows, dialect: Dialect, position: str, limit: int) -> Changes:
    """The changes after a position: new records first, then what happened to older ones."""
    most = min(limit or MOST_CHANGES, MOST_CHANGES)
    store: str = rows.value("SELECT id FROM directory_store")
    parsed = _POSITION.fullmatch(position)
    after = _Position(int(parsed[2]), int(parsed[3]), parsed[4], parsed[5]) if parsed else _Position()
    is_known = parsed is not None and parsed[1] == store and _is_known(rows, dialect, after)
    if not is_known:
        after = _Position()
    new = rows.all(_NEW, after.record, most + 1)
    if len(new) > most:
        found = [Change(cid, name, deleted=False) for _, cid, name in new[:most]]
        last, cid, _ = new[most - 1]
        reached = after._replace(record=last, record_cid=cid)
        return Changes(found, _written(store, reached), more=True, reset=not is_known)
    last_row = rows.one("SELECT id, cid FROM directory_records ORDER BY id DESC LIMIT 1")
    if last_row is not None and last_row[0] > after.record:
        after = after._replace(record=last_row[0], record_cid=last_row[1])
    left = most - len(new)
    changed = rows.all(_CHANGED, after.change, left + 1)
    found = [Change(cid, name, deleted=False) for _, cid, name in new]
    found += [Change(cid, name or "", bool(deleted)) for _, cid, name, deleted in changed[:left]]
    if changed[:left]:
        after = after._replace(change=changed[:left][-1][0], change_cid=changed[:left][-1][1])
    return Changes(found, _written(store, after), len(changed) > left, reset=not is_known)


def _written(store: str, at: _Position) -> str:
    return f"{store}-{at.record}-{at.change}-{at.record_cid}-{at.change_cid}"


def _is_known(rows: Rows, dialect: Dialect, at: _Position) -> bool:
    """Whether this store gave out a position. A store restored from a backup assigns the same row ids again, to other
    records. Reading once too often from the beginning is harmless."""
    if at.record > (rows.value(_HIGHEST[dialect]) or 0):
        return False
    record = rows.value("SELECT cid FROM directory_records WHERE id = ?", at.record)
    if record is None and at.record:  # deleted since
        record = rows.value("SELECT cid FROM directory_changes WHERE cid = ?", at.record_cid)
    change = rows.value("SELECT cid FROM directory_changes WHERE position = ?", at.change)
    if change is None and at.change:  # changed again since
        sql = "SELECT cid FROM directory_changes WHERE cid = ? AND position > ?"
        change = rows.value(sql, at.change_cid, at.change)
    return (record or "", change or "") == (at.record_cid, at.change_cid)
