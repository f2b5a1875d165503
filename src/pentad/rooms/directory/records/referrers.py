"""Referrers: signatures, public keys and scan reports about a record, deleted together with it.

The CID of a referrer is the hash of its canonical JSON, so pushing it twice stores it once. Adding or removing one
discards the verification results of its record, which must then be verified again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

import msgspec

from pentad.kernel.cid import canonical_json, cid_of
from pentad.kernel.clock import Clock
from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, NotFound
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.directory import store
from pentad.rooms.directory.models import PUBLIC_KEY, SCAN_REPORT, SIGNATURE
from pentad.rooms.directory.records.changes import note_changes
from pentad.rooms.directory.records.namespaces import namespaces
from pentad.rooms.directory.records.service import LARGEST_RECORD, check_author
from pentad.rooms.directory.records.trust_marks import VisibilityObserver, quarantine_unchecked

TYPES: Final = (PUBLIC_KEY, SIGNATURE, SCAN_REPORT)
MOST_REFERRERS: Final = 1_000
"""Per record, because verification reads all of them."""

_SEVERITIES: Final = ("UNSPECIFIED", "NONE", "INFO", "LOW", "MEDIUM", "HIGH", "CRITICAL")


@dataclass(frozen=True, slots=True)
class Referrer:
    """A referrer. `cid` is its own, and empty until it is stored."""

    type: str
    record_cid: str
    data: Mapping[str, Any]
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    created_at: str = ""
    cid: str = ""

    def body(self) -> bytes:
        """The stored and hashed JSON, without empty fields."""
        parts: dict[str, Any] = {
            "type": self.type,
            "record_ref": {"cid": self.record_cid},
            "annotations": dict(self.annotations),
            "created_at": self.created_at,
            "data": dict(self.data),
        }
        return canonical_json({key: value for key, value in parts.items() if value})


class Referrers:
    """The referrers of one store."""

    def __init__(self, database: Database, clock: Clock, *, observer: VisibilityObserver | None = None) -> None:
        self._database = database
        self._clock = clock
        self._observer = observer

    async def push(self, who: Principal, referrer: Referrer, record_cid: str = "") -> str:
        """Store a referrer of `record_cid`, or of the record it names itself. Returns its CID."""
        checked = self.checked(referrer, record_cid)
        return await self._database.write(lambda tx: self.write(tx, who, [checked])[0])

    def checked(self, referrer: Referrer, record_cid: str = "") -> Referrer:
        """The referrer completed with its record and CID; InvalidInput or Conflict if it cannot be stored."""
        about = record_cid or referrer.record_cid
        if not about:
            raise InvalidInput("record_ref is required")
        if referrer.type not in TYPES:
            raise InvalidInput(f"unknown referrer type {referrer.type[:200]!r}", hint=f"Use one of {', '.join(TYPES)}.")
        if referrer.record_cid and referrer.record_cid != about:
            raise Conflict(f"the referrer is about {referrer.record_cid[:128]}, not about {about[:128]}")
        whole = replace(referrer, record_cid=about)
        body = whole.body()
        if len(body) > LARGEST_RECORD:
            raise LimitExceeded(f"The referrer has {len(body)} bytes; the limit is {LARGEST_RECORD}.")
        return replace(whole, cid=cid_of(body))

    def write(self, tx: Transaction, who: Principal, referrers: Iterable[Referrer]) -> list[str]:
        """Store checked referrers in the caller's transaction. Returns their CIDs."""
        cids: list[str] = []
        for referrer in referrers:
            record = _record(tx, referrer.record_cid)
            cids.append(referrer.cid)
            if tx.value("SELECT 1 FROM directory_referrers WHERE cid = ?", referrer.cid) is not None:
                continue
            if tx.value("SELECT count(*) FROM directory_referrers WHERE record = ?", record) >= MOST_REFERRERS:
                raise LimitExceeded(f"A record has at most {MOST_REFERRERS} referrers.", hint="Delete some first.")
            tx.run(
                "INSERT INTO directory_referrers (cid, record, type, body, pushed_by, pushed_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                referrer.cid, record, referrer.type, referrer.body().decode(), who.id, self._clock.now(),
            )  # fmt: skip
            _update_record(tx, record, {referrer.type})
            note_changes(tx, [referrer.record_cid])
        return cids

    async def pull(self, record_cid: str, kind: str | None = None, ref: str | None = None) -> list[Referrer]:
        """The referrers of a record in the order they were pushed, optionally of one type or with one CID."""
        return await self._database.read(lambda rows: self.read(rows, record_cid, kind, ref))

    def read(self, rows: Rows, record_cid: str, kind: str | None = None, ref: str | None = None) -> list[Referrer]:
        """The same inside the caller's transaction."""
        found = rows.all(
            "SELECT cid, type, body FROM directory_referrers WHERE record = ? ORDER BY pushed_at, cid",
            _record(rows, record_cid),
        )
        return [_read(cid, body) for cid, its, body in found if kind in (None, "", its) and ref in (None, "", cid)]

    async def delete(
        self, who: Principal, record_cid: str, kind: str | None = None, ref: str | None = None
    ) -> list[str]:  # fmt: skip
        """Remove referrers of a record. Returns the CIDs of those removed. Forbidden if one of them is by someone else,
        unless the caller pushed the record or is an administrator."""

        def work(tx: Transaction) -> list[str]:
            store.lock_terms(tx, self._database.dialect)
            gone = self.read(tx, record_cid, kind, ref)
            author = tx.value("SELECT pushed_by FROM directory_records WHERE cid = ?", record_cid)
            for one in gone:
                by = tx.value("SELECT pushed_by FROM directory_referrers WHERE cid = ?", one.cid)
                check_author(who, f"The referrer {one.cid}", by, author)
            self.remove(tx, record_cid, gone)
            return [referrer.cid for referrer in gone]

        return await self._database.write(work)

    def remove(self, tx: Transaction, record_cid: str, referrers: Sequence[Referrer]) -> None:
        """Remove these referrers of a record in the caller's transaction, which must have locked the terms first."""
        if not referrers:
            return
        for referrer in referrers:
            tx.run("DELETE FROM directory_referrers WHERE cid = ?", referrer.cid)
        record, types = _record(tx, record_cid), {referrer.type for referrer in referrers}
        _update_record(tx, record, types)
        if types & {SIGNATURE, PUBLIC_KEY}:
            is_quarantined = quarantine_unchecked(tx, record, namespaces(tx))
            if is_quarantined and self._observer is not None:
                self._observer.visibility_changed(tx, [record], self._clock.now())
        note_changes(tx, [record_cid])


def _record(rows: Rows, cid: str) -> int:
    if not cid:
        raise InvalidInput("record cid is required")
    found = store.ids_of(rows, [cid]) if "\0" not in cid else {}
    if cid not in found:
        raise NotFound(f"record not found for CID {cid[:128]}", hint="Push the record before what refers to it.")
    return found[cid]


def _read(cid: str, body: str) -> Referrer:
    stored: dict[str, Any] = msgspec.json.decode(body)
    return Referrer(
        stored["type"],
        stored["record_ref"]["cid"],
        stored.get("data", {}),
        stored.get("annotations", {}),
        stored.get("created_at", ""),
        cid,
    )


def _update_record(tx: Transaction, record: int, types: set[str]) -> None:
    """Update the searchable fields of a record from its referrers."""
    if types & {SIGNATURE, PUBLIC_KEY}:
        tx.run("DELETE FROM directory_verifications WHERE record = ?", record)
        tx.run("UPDATE directory_records SET verified = 0, trusted = 0 WHERE id = ?", record)
    if SCAN_REPORT in types:
        bodies = tx.all("SELECT body FROM directory_referrers WHERE record = ? AND type = ?", record, SCAN_REPORT)
        reports = [_scan(msgspec.json.decode(body).get("data", {})) for (body,) in bodies]
        worst = max((severity for severity, _ in reports), default=None)
        safe = int(all(is_safe for _, is_safe in reports)) if reports else None
        tx.run("UPDATE directory_records SET scan_severity = ?, scan_safe = ? WHERE id = ?", worst, safe, record)


def _scan(data: Any) -> tuple[int, bool]:
    """The worst severity in a scan report, and whether the record was found safe; in either JSON spelling."""
    report = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    severity = report.get("maxSeverity", report.get("max_severity", 0))
    if isinstance(severity, str):
        name = severity.upper().removeprefix("SEVERITY_")
        severity = _SEVERITIES.index(name) if name in _SEVERITIES else 0
    if not isinstance(severity, int | float) or not 0 <= severity < len(_SEVERITIES):
        severity = 0
    return int(severity), report.get("isSafe", report.get("is_safe")) is True
