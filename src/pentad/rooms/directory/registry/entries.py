"""Registry rows: one per record of an MCP server, updated in the transaction that changes the record.

A row holds what hosts see and filter by; the `server.json` itself is made from the record.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from pentad.kernel.ports import Rows, Transaction
from pentad.rooms.directory.models import State
from pentad.rooms.directory.records.index_fields import Kind
from pentad.rooms.directory.records.trust_marks import quarantined_among
from pentad.rooms.directory.registry.server_files import ServerFile, server_file
from pentad.rooms.directory.search.sort_keys import is_version, version_key
from pentad.rooms.directory.store import Draft, choose_newest
from pentad.rooms.directory.translate.launches import MODULES

DELETED: Final = "deleted"
STATUSES: Final[Mapping[str, str]] = {
    "draft": "", "proposed": "", "approved": "active", "deprecated": "deprecated", "withdrawn": DELETED,
}  # fmt: skip
"""The status that hosts see for each state. Empty means none, or `deleted` if hosts have seen the record before; a
withdrawn record that they have not seen has none either."""
QUARANTINE_MESSAGE: Final = "It is in quarantine until a trusted signature is added."
"""The status message of a quarantined record that hosts have seen before."""

_PORTION: Final = 200
_SEEN: Final = (
    "SELECT s.name, s.published_at, s.status, s.message, r.state,"
    " EXISTS (SELECT 1 FROM directory_quarantine q WHERE q.record = r.id),"
    " (SELECT c.reason FROM directory_state_changes c WHERE c.record = r.id ORDER BY c.id DESC LIMIT 1)"
    " FROM directory_servers s JOIN directory_records r ON r.id = s.record WHERE s.record = ?"
)


class _Row(NamedTuple):
    record: int
    version: str
    version_key: str
    status: str
    is_current: int
    is_latest: int
    published_at: float | None


class ServerEntries:
    """Keeps the registry rows. Observes records, and writes in the transaction that changes them."""

    def added(self, tx: Transaction, records: Mapping[int, Draft], state: State, now: float) -> None:
        """Add rows for the servers among new records."""
        servers = {record: draft for record, draft in records.items() if _has_module(draft)}
        self._add(tx, {record: (draft.text, draft.state or state) for record, draft in servers.items()}, now)

    def erased(self, tx: Transaction, record: int, now: float) -> None:
        """Keep the row of a deleted record as a tombstone if hosts have seen it."""
        name = _name_of(tx, record)
        if name is None:
            return
        tx.run("DELETE FROM directory_servers WHERE record = ? AND published_at IS NULL", record)
        tx.run(
            "UPDATE directory_servers SET status = ?, message = '', status_changed_at = ? WHERE record = ?",
            DELETED, _moment(now), record,
        )  # fmt: skip
        _arrange(tx, name, {record}, now)
        tx.run(
            "DELETE FROM directory_servers WHERE record = ? AND is_current = 0", record
        )  # another record has taken its place

    def visibility_changed(self, tx: Transaction, records: Sequence[int], now: float) -> None:
        """Update what hosts see of these records, after their state or quarantine changed, and which versions searches
        find."""
        choose_newest(tx, records)
        changed: dict[str, set[int]] = {}
        for record in records:
            row = tx.one(_SEEN, record)
            if row is None:
                continue
            name, published_at, *old, state, is_quarantined, reason = row
            status = "" if is_quarantined or (state == "withdrawn" and published_at is None) else STATUSES[state]
            message = (reason or "") if status in ("deprecated", DELETED) else ""
            if not status and published_at is not None:  # hosts that have seen it must learn that it is gone
                status, message = DELETED, QUARANTINE_MESSAGE if is_quarantined else ""
            if [status, message] != old:
                tx.run(
                    "UPDATE directory_servers SET status = ?, message = ?, status_changed_at = ? WHERE record = ?",
                    status, message, _moment(now), record,
                )  # fmt: skip
                changed.setdefault(name, set()).add(record)
        for name, own in changed.items():
            _arrange(tx, name, own, now)

    def catch_up(self, tx: Transaction, now: float) -> int:
        """Add a portion of the servers from before the registry existed. Returns how many records were processed."""
        waiting = tx.all(
            "SELECT w.record, r.state, t.data FROM directory_servers_waiting w LEFT JOIN directory_records r"
            " ON r.id = w.record LEFT JOIN directory_texts t ON t.record = w.record ORDER BY w.record LIMIT ?",
            _PORTION,
        )
        known = {record: (text, state) for record, state, text in waiting if text is not None}
        self._add(tx, known, now)
        tx.run_many("DELETE FROM directory_servers_waiting WHERE record = ?", [(one[0],) for one in waiting])
        return len(waiting)

    def _add(self, tx: Transaction, records: Mapping[int, tuple[str, str]], now: float) -> None:
        moment = _moment(now)
        names: dict[str, set[int]] = {}
        rows: list[tuple[Any, ...]] = []
        quarantined = quarantined_among(tx, list(records))
        for record, (text, state) in records.items():
            server = _server(text)
            if server is not None:
                names.setdefault(server.name, set()).add(record)
                key = version_key(server.version)
                status = "" if record in quarantined else STATUSES[state]
                rows.append((record, server.name, server.version, key, server.name.lower(), status, "", moment, moment))
        tx.run_many(
            "INSERT INTO directory_servers (record, name, version, version_key, folded, status, message, is_current,"
            " is_latest, status_changed_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?)",
            rows,
        )
        for name, own in names.items():
            _arrange(tx, name, own, now)


def _has_module(draft: Draft) -> bool:
    return any(term.kind is Kind.MODULE and term.text in MODULES for term in draft.fields.terms)


def _server(text: str) -> ServerFile | None:
    return server_file(msgspec.json.decode(text))


def _name_of(rows: Rows, record: int) -> str | None:
    return rows.value("SELECT name FROM directory_servers WHERE record = ?", record)


def _moment(now: float) -> float:
    """A time in milliseconds, as clients see it, so that `updated_since` with a time from an answer is exact."""
    return round(now, 3)


def _arrange(tx: Transaction, name: str, changed: Iterable[int], now: float) -> None:
    """Choose again which records of a name hosts see, and which version is the latest.

    A visible row that `changed`, or was not visible before, is updated now. A row that merely stops being the latest
    keeps its time: some hosts take the most recently updated version for the newest.
    """
    touched = set(changed)
    rows = [_Row(*row) for row in tx.all(
        "SELECT record, version, version_key, status, is_current, is_latest, published_at FROM directory_servers"
        " WHERE name = ?", name,
    )]  # fmt: skip
    current: dict[str, _Row] = {}
    for row in sorted(rows, key=lambda one: (one.status not in ("", DELETED), one.record)):
        if row.status:
            current[row.version] = row
    usable = [row for row in current.values() if row.status != DELETED]
    latest = max(usable, key=lambda one: _precedence(one, now), default=None)
    for row in rows:
        is_current, is_latest = int(current.get(row.version) is row), int(latest is row)
        if is_current and (row.record in touched or not row.is_current):
            tx.run(
                "UPDATE directory_servers SET is_current = 1, is_latest = ?, updated_at = ?,"
                " published_at = coalesce(published_at, ?) WHERE record = ?",
                is_latest, _moment(now), _moment(now), row.record,
            )  # fmt: skip
        elif (is_current, is_latest) != (row.is_current, row.is_latest):
            tx.run(
                "UPDATE directory_servers SET is_current = ?, is_latest = ? WHERE record = ?",
                is_current, is_latest, row.record,
            )  # fmt: skip


def _precedence(row: _Row, now: float) -> tuple[bool, str, float, int]:
    """Versions with numbers rank above all others, which are ordered by time."""
    versioned = is_version(row.version_key)
    published = now if row.published_at is None else row.published_at
    return versioned, row.version_key if versioned else "", published, row.record
