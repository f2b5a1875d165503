"""SQL for verification: what to verify, and the stored results.

A result is stored only if the signatures and keys have not changed since they were read. `records/referrers.py` deletes
it when they change. Reading a stored result does not load `cryptography`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, cast

import msgspec

from pentad.kernel.cid import is_cid
from pentad.kernel.errors import PentadError
from pentad.kernel.ports import Row, Rows, Transaction
from pentad.rooms.directory.models import PUBLIC_KEY, SIGNATURE, SignatureVerdict, Signer
from pentad.rooms.directory.records.trust_marks import VisibilityObserver
from pentad.rooms.directory.trust.policy import Policy, evaluate_record, load_policy

Kind = Literal["signatures", "name"]

MOST_STATEMENTS: Final = 200
"""Per type."""
_LARGEST_STATEMENT: Final = 32_768
"""In characters. A signature with a sigstore bundle has about 10,000."""

# Referrers by the record's owner come first, so that others cannot crowd them out.
_OF_RECORD: Final = (
    "FROM directory_referrers WHERE record = ? AND type = ?"
    " ORDER BY CASE pushed_by WHEN ? THEN 0 ELSE 1 END, pushed_at, cid LIMIT ?"
)
_STATEMENTS: Final = f"SELECT cid, type, CASE WHEN length(body) <= {_LARGEST_STATEMENT} THEN body END {_OF_RECORD}"
_STATEMENT_CIDS: Final = f"SELECT cid {_OF_RECORD}"
_VERIFIED: Final = "UPDATE directory_records SET verified = ? WHERE id = ? AND verified <> ?"


class Statement(NamedTuple):
    """A signature or a public key; `data` is None if it is too large."""

    cid: str
    type: str
    data: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A stored result."""

    success: bool
    body: Mapping[str, Any]
    checked_at: float


@dataclass(frozen=True, slots=True)
class Subject:
    """A record to verify."""

    row: int
    cid: str
    owner: str
    name: str
    text: str
    statements: tuple[Statement, ...]
    results: Mapping[str, StoredResult]
    policy: Policy


def find_subject(rows: Rows, cid: str) -> Subject | None:
    """The record with its signatures, keys and stored results."""
    found = rows.one(
        "SELECT r.id, r.pushed_by, r.name, t.data FROM directory_records r JOIN directory_texts t ON t.record = r.id"
        " WHERE r.cid = ?",
        cid,
    ) if is_cid(cid) else None  # fmt: skip
    if found is None:
        return None
    row, owner, name, text = found
    statements = tuple(_statement(*one) for one in _of_both_types(rows, _STATEMENTS, row, owner))
    return Subject(row, cid, owner, name, text, statements, _results(rows, row), load_policy(rows))


def save_result(
    tx: Transaction, about: Subject, kind: Kind, found: StoredResult, observer: VisibilityObserver | None = None
) -> bool:
    """Store a result, unless signatures or keys have changed since. Applies the policy to results about signatures."""
    if tx.value("SELECT 1 FROM directory_records WHERE id = ?", about.row) is None:
        return False
    now = [cid for (cid,) in _of_both_types(tx, _STATEMENT_CIDS, about.row, about.owner)]
    if now != [one.cid for one in about.statements]:
        return False
    tx.run(
        "INSERT INTO directory_verifications (record, kind, success, body, checked_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (record, kind) DO UPDATE"
        " SET success = excluded.success, body = excluded.body, checked_at = excluded.checked_at",
        about.row, kind, int(found.success), msgspec.json.encode(found.body).decode(), found.checked_at,
    )  # fmt: skip
    if kind == "name":
        tx.run(_VERIFIED, int(found.success), about.row, int(found.success))
    else:
        evaluate_record(tx, about.row, found.checked_at, observer)
    return True


def has_statement(rows: Rows, cid: str) -> bool:
    """Whether this signature or key is stored."""
    return rows.value("SELECT 1 FROM directory_referrers WHERE cid = ?", cid) is not None


def find_result(rows: Rows, cid: str, kind: Kind) -> StoredResult | None:
    """The stored result for a record, if any."""
    row = rows.value("SELECT id FROM directory_records WHERE cid = ?", cid) if is_cid(cid) else None
    return _results(rows, row).get(kind) if row is not None else None


def unchecked(rows: Rows, limit: int) -> list[str]:
    """Records with an unverified signature."""
    found = rows.all(
        "SELECT r.cid FROM directory_records r WHERE r.id IN"
        " (SELECT f.record FROM directory_referrers f WHERE f.type = ? AND NOT EXISTS"
        " (SELECT 1 FROM directory_verifications v WHERE v.record = f.record AND v.kind = 'signatures'))"
        " ORDER BY r.id LIMIT ?",
        SIGNATURE, limit,
    )  # fmt: skip
    return [cid for (cid,) in found]


def unverified_names(rows: Rows, limit: int) -> list[str]:
    """Records with a valid signature and a domain in their name that was never asked."""
    found = rows.all(
        "SELECT r.cid FROM directory_verifications s JOIN directory_records r ON r.id = s.record"
        " WHERE s.kind = 'signatures' AND s.success = 1"
        " AND (substr(r.name, 1, 8) = 'https://' OR substr(r.name, 1, 7) = 'http://') AND NOT EXISTS"
        " (SELECT 1 FROM directory_verifications n WHERE n.record = r.id AND n.kind = 'name')"
        " ORDER BY r.id LIMIT ?",
        limit,
    )  # fmt: skip
    return [cid for (cid,) in found]


def stale(rows: Rows, proved_before: float, failed_before: float, limit: int) -> list[str]:
    """Records whose domain should be asked again, least recently asked first."""
    found = rows.all(
        "SELECT r.cid FROM directory_verifications n JOIN directory_records r ON r.id = n.record"
        " WHERE n.kind = 'name' AND n.checked_at <= CASE n.success WHEN 1 THEN CAST(? AS DOUBLE PRECISION)"
        " ELSE CAST(? AS DOUBLE PRECISION) END ORDER BY n.checked_at, r.id LIMIT ?",
        proved_before, failed_before, limit,
    )  # fmt: skip
    return [cid for (cid,) in found]


def _of_both_types(rows: Rows, sql: str, row: int, owner: str) -> list[Row]:
    return [one for kind in (PUBLIC_KEY, SIGNATURE) for one in rows.all(sql, row, kind, owner, MOST_STATEMENTS)]


def _results(rows: Rows, row: int) -> dict[str, StoredResult]:
    found = rows.all("SELECT kind, success, body, checked_at FROM directory_verifications WHERE record = ?", row)
    return {kind: StoredResult(success == 1, msgspec.json.decode(body), at) for kind, success, body, at in found}


def _statement(cid: str, kind: str, body: str | None) -> Statement:
    data: Any = msgspec.json.decode(body).get("data", {}) if body is not None else None
    return Statement(cid, kind, cast("dict[str, Any]", data) if isinstance(data, dict) else None)


def not_trusted(reason: str, problems: Sequence[str] = ()) -> SignatureVerdict:
    return SignatureVerdict(False, f"not trusted: {reason}", (), tuple(problems))


def verdict_json(verdict: SignatureVerdict) -> dict[str, Any]:
    """The body of a stored verdict on signatures."""
    signers = [[one.identity, one.issuer] for one in verdict.signers]
    return {"message": verdict.message, "signers": signers, "problems": list(verdict.problems)}


def stored_verdict(found: StoredResult) -> SignatureVerdict:
    """The verdict that `verdict_json` wrote."""
    signers = tuple(Signer(identity, issuer) for identity, issuer in found.body["signers"])
    return SignatureVerdict(found.success, found.body["message"], signers, tuple(found.body["problems"]))


def reason_of(error: PentadError) -> str:
    """The message of an error as the end of a sentence."""
    text = error.message.rstrip(".")
    return text[:1].lower() + text[1:] if text.startswith("The ") else text
