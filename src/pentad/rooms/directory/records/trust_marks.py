"""The trust policy's verdicts, as searches and lists use them: who vouches for a record, and which are in quarantine.

`trust/policy.py` decides. A quarantined record is stored but not found, from the transaction that stores it. Approval
does not end a quarantine: approval says that somebody read the record, not that its author is known.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from pentad.kernel.ports import Rows, Transaction
from pentad.kernel.sql import chunks, marks
from pentad.rooms.directory.models import SIGNATURE
from pentad.rooms.directory.records.namespaces import Namespace, rule_for
from pentad.rooms.directory.store import Draft

UNSIGNED: Final = "it is not signed"
UNCHECKED: Final = "its signatures are not checked yet"
NOT_QUARANTINED: Final = "NOT EXISTS (SELECT 1 FROM directory_quarantine q WHERE q.record = r.id)"
"""The condition that the record `r` is not in quarantine."""


class TrustMark(NamedTuple):
    """The policy entries that vouch for a record, why it is in quarantine (if it is), and its state (unless it is
    approved)."""

    trusted_by: tuple[str, ...] = ()
    quarantined: str | None = None
    state: str | None = None


class QuarantinedRecord(NamedTuple):
    """A record in quarantine."""

    cid: str
    name: str
    version: str
    pushed_by: str
    reason: str


class VisibilityObserver(Protocol):
    """Takes part in transactions that change the state of records, or move them into or out of quarantine."""

    def visibility_changed(self, tx: Transaction, records: Sequence[int], now: float) -> None: ...


def quarantine_new(tx: Transaction, records: Mapping[int, Draft], rules: Sequence[Namespace]) -> list[int]:
    """Put new records, which nobody has signed yet, into quarantine if their namespace requires it. Returns those."""
    by_name = {one.namespace: one.quarantine for one in rules}
    if not any(by_name.values()):
        return []
    quarantined = [record for record, draft in records.items() if rule_for(draft.fields.name, by_name)]
    quarantine(tx, quarantined, UNSIGNED)
    return quarantined


def quarantine_unchecked(tx: Transaction, record: int, rules: Sequence[Namespace]) -> bool:
    """Put a record that lost a signature or key into quarantine until it is evaluated again. Returns whether it is
    there."""
    by_name = {one.namespace: one.quarantine for one in rules}
    if not any(by_name.values()):
        return False
    name, listed, signed = tx.one(
        "SELECT name, (SELECT count(*) FROM directory_listed l WHERE l.cid = r.cid),"
        " (SELECT count(*) FROM directory_referrers f WHERE f.record = r.id AND f.type = ?)"
        " FROM directory_records r WHERE r.id = ?",
        SIGNATURE, record,
    ) or ("", 1, 0)  # fmt: skip
    is_quarantined = bool(rule_for(name, by_name)) and not listed
    if is_quarantined:
        quarantine(tx, [record], UNCHECKED if signed else UNSIGNED)
    return is_quarantined


def quarantine(tx: Transaction, records: Sequence[int], reason: str) -> None:
    """Put records into quarantine, or change the reason."""
    tx.run_many(
        "INSERT INTO directory_quarantine (record, reason) VALUES (?, ?)"
        " ON CONFLICT (record) DO UPDATE SET reason = excluded.reason",
        [(one, reason) for one in records],
    )


def trust_marks(rows: Rows, cids: Sequence[str]) -> dict[str, TrustMark]:
    """The verdicts on these records."""
    found: dict[str, TrustMark] = {}
    for part in chunks(cids):
        sql = (
            "SELECT r.cid, v.body, q.reason, r.state FROM directory_records r"  # noqa: S608  only marks
            " LEFT JOIN directory_verifications v ON v.record = r.id AND v.kind = 'policy'"
            f" LEFT JOIN directory_quarantine q ON q.record = r.id WHERE r.cid IN ({marks(len(part))})"
        )
        for cid, body, reason, state in rows.all(sql, *part):
            names = () if body is None else tuple(msgspec.json.decode(body)["trusted_by"])
            found[cid] = TrustMark(names, reason, None if state == "approved" else state)
    return found


def quarantined_among(rows: Rows, records: Sequence[int]) -> set[int]:
    """Which of these row ids are in quarantine."""
    quarantined: set[int] = set()
    for part in chunks(records):
        sql = f"SELECT record FROM directory_quarantine WHERE record IN ({marks(len(part))})"  # noqa: S608  only marks
        quarantined |= {record for (record,) in rows.all(sql, *part)}
    return quarantined


def quarantined_records(rows: Rows, limit: int, after: str = "") -> list[QuarantinedRecord]:
    """Records in quarantine, ordered by CID, after a given CID."""
    found = rows.all(
        "SELECT r.cid, r.name, r.version, r.pushed_by, q.reason FROM directory_quarantine q"
        " JOIN directory_records r ON r.id = q.record WHERE r.cid > ? ORDER BY r.cid LIMIT ?",
        after, limit,
    )  # fmt: skip
    return [QuarantinedRecord(*row) for row in found]
