"""What the trust policy says about records, as searches and lists use it: who vouches for one, and which are held back.

`trust/policy.py` decides. A record in quarantine is stored but not found, from the transaction that stores it on.
Approval does not end a quarantine: it says that somebody has read the record, and not that its author is known.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from pentad.kernel.ports import Rows, Transaction
from pentad.rooms.directory.models import SIGNATURE
from pentad.rooms.directory.records.namespaces import Namespace, rule_for
from pentad.rooms.directory.store import Draft, chunks, marks

UNSIGNED: Final = "it is not signed"
UNCHECKED: Final = "its signatures are not checked yet"
NOT_HELD: Final = "NOT EXISTS (SELECT 1 FROM directory_quarantine q WHERE q.record = r.id)"
"""The condition that the record `r` is not in quarantine."""


class TrustMark(NamedTuple):
    """Who vouches for a record, by the names of the policy, why it is in quarantine, if it is, and its state, unless
    it is approved."""

    trusted_by: tuple[str, ...] = ()
    quarantined: str | None = None
    state: str | None = None


class HeldRecord(NamedTuple):
    """A record in quarantine."""

    cid: str
    name: str
    version: str
    pushed_by: str
    reason: str


class VisibilityObserver(Protocol):
    """What has to know, in the same transaction, that records have another state or entered or left quarantine."""

    def visibility_changed(self, tx: Transaction, records: Sequence[int], now: float) -> None: ...


def hold_new(tx: Transaction, records: Mapping[int, Draft], rules: Sequence[Namespace]) -> list[int]:
    """Put new records, which nobody has signed yet, into quarantine where their namespace asks for it. Returns them."""
    by_name = {one.namespace: one.quarantine for one in rules}
    if not any(by_name.values()):
        return []
    held = [record for record, draft in records.items() if rule_for(draft.fields.name, by_name)]
    hold(tx, held, UNSIGNED)
    return held


def hold_unchecked(tx: Transaction, record: int, rules: Sequence[Namespace]) -> bool:
    """Put a record that lost a signature or key into quarantine, until it is judged anew. Returns whether it is."""
    by_name = {one.namespace: one.quarantine for one in rules}
    if not any(by_name.values()):
        return False
    name, listed, signed = tx.one(
        "SELECT name, (SELECT count(*) FROM directory_listed l WHERE l.cid = r.cid),"
        " (SELECT count(*) FROM directory_referrers f WHERE f.record = r.id AND f.type = ?)"
        " FROM directory_records r WHERE r.id = ?",
        SIGNATURE, record,
    ) or ("", 1, 0)  # fmt: skip
    is_held = bool(rule_for(name, by_name)) and not listed
    if is_held:
        hold(tx, [record], UNCHECKED if signed else UNSIGNED)
    return is_held


def hold(tx: Transaction, records: Sequence[int], reason: str) -> None:
    """Put records into quarantine, or change the reason."""
    tx.run_many(
        "INSERT INTO directory_quarantine (record, reason) VALUES (?, ?)"
        " ON CONFLICT (record) DO UPDATE SET reason = excluded.reason",
        [(one, reason) for one in records],
    )


def trust_marks(rows: Rows, cids: Sequence[str]) -> dict[str, TrustMark]:
    """What the policy says about these records."""
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


def held_among(rows: Rows, records: Sequence[int]) -> set[int]:
    """Those of the records, by their row ids, that are in quarantine."""
    held: set[int] = set()
    for part in chunks(records):
        sql = f"SELECT record FROM directory_quarantine WHERE record IN ({marks(len(part))})"  # noqa: S608  only marks
        held |= {record for (record,) in rows.all(sql, *part)}
    return held


def held_records(rows: Rows, limit: int, after: str = "") -> list[HeldRecord]:
    """Records in quarantine by CID, those after a CID."""
    found = rows.all(
        "SELECT r.cid, r.name, r.version, r.pushed_by, q.reason FROM directory_quarantine q"
        " JOIN directory_records r ON r.id = q.record WHERE r.cid > ? ORDER BY r.cid LIMIT ?",
        after, limit,
    )  # fmt: skip
    return [HeldRecord(*row) for row in found]
