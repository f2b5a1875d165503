"""The trust policy: whose signatures count for which names.

An entry names a key, or an issuer that publishes keys, for a namespace. The most specific namespace with entries
decides. Without any entry, every valid signature counts. Verdicts are stored with the verified signatures and need no
cryptography: a signer is a key in PEM, as in an entry.
"""

import base64
import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.ports import Row, Rows, Transaction
from pentad.rooms.directory.models import SIGNATURE
from pentad.rooms.directory.records.changes import note_changes
from pentad.rooms.directory.records.namespaces import Namespace, namespaces, rule_for
from pentad.rooms.directory.records.trust_marks import UNCHECKED, UNSIGNED, VisibilityObserver, quarantine

ANY_SIGNATURE: Final = "any valid signature"
"""Trusted by default: shown while the policy has no entries."""
INVALID: Final = "none of its signatures is valid"

_ENTRIES: Final = (
    "SELECT namespace, name, issuer, keys, checked_at, problem, created_by, created_at FROM directory_trust_entries"
    " ORDER BY namespace, name"
)
_STATE: Final = (
    "SELECT r.id, r.cid, r.name, r.trusted, s.success, s.body, p.body, q.reason,"
    " (SELECT count(*) FROM directory_listed l WHERE l.cid = r.cid),"
    " EXISTS (SELECT 1 FROM directory_referrers f WHERE f.record = r.id AND f.type = ?)"
    " FROM directory_records r"
    " LEFT JOIN directory_verifications s ON s.record = r.id AND s.kind = 'signatures'"
    " LEFT JOIN directory_verifications p ON p.record = r.id AND p.kind = 'policy'"
    " LEFT JOIN directory_quarantine q ON q.record = r.id"
)
_SAVE: Final = (
    "INSERT INTO directory_verifications (record, kind, success, body, checked_at) VALUES (?, 'policy', ?, ?, ?)"
    " ON CONFLICT (record, kind) DO UPDATE"
    " SET success = excluded.success, body = excluded.body, checked_at = excluded.checked_at"
)
_FORGET: Final = "DELETE FROM directory_verifications WHERE record = ? AND kind = 'policy'"


@dataclass(frozen=True, slots=True)
class TrustEntry:
    """A key or an issuer that is trusted in a namespace. `keys` are in PEM; `issuer` is empty for a key."""

    namespace: str
    name: str
    issuer: str
    keys: tuple[str, ...]
    checked_at: float
    problem: str | None
    created_by: str
    created_at: float

    def as_json(self) -> dict[str, Any]:
        about: dict[str, Any] = {"namespace": self.namespace, "name": self.name}
        if self.issuer:
            about |= {"issuer": self.issuer, "checked_at": iso(self.checked_at)}
        about["fingerprints"] = [fingerprint_of(key) for key in self.keys]
        if self.problem:
            about["problem"] = self.problem
        return {**about, "created_by": self.created_by, "created_at": iso(self.created_at)}


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """The names of the entries that vouch for a record, or the reason why none does."""

    trusted_by: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """The entries by namespace."""

    entries: Mapping[str, Sequence[TrustEntry]]

    def evaluate(self, name: str, signers: Collection[str]) -> PolicyVerdict:
        """Which entries vouch for a record with this name and valid signatures by these keys."""
        if not self.entries:
            return PolicyVerdict((ANY_SIGNATURE,))
        entries = rule_for(name, self.entries)
        if entries is None:
            return PolicyVerdict(reason="the trust policy has no entry for its namespace")
        names = tuple(one.name for one in entries if not set(signers).isdisjoint(one.keys))
        if names:
            return PolicyVerdict(names)
        where = entries[0].namespace or "all names"
        return PolicyVerdict(reason=f"it is signed, but not by anyone the trust policy trusts for {where}")


def fingerprint_of(pem: str) -> str:
    """The SHA-256 fingerprint of a public key in PEM as `trust/keys.py` writes it."""
    return hashlib.sha256(base64.b64decode("".join(pem.split("-----")[2].split()))).hexdigest()


def entries(rows: Rows) -> list[TrustEntry]:
    """Every entry, by namespace and name."""
    return [
        TrustEntry(namespace, name, issuer, tuple(msgspec.json.decode(keys)), *rest)
        for namespace, name, issuer, keys, *rest in rows.all(_ENTRIES)
    ]


def load_policy(rows: Rows) -> Policy:
    found: dict[str, list[TrustEntry]] = {}
    for one in entries(rows):
        found.setdefault(one.namespace, []).append(one)
    return Policy(found)


def evaluate_record(tx: Transaction, record: int, now: float, observer: VisibilityObserver | None) -> None:
    """Evaluate a record whose signatures were verified or changed, and store the verdict."""
    policy, rules = load_policy(tx), namespaces(tx)
    for row in tx.all(f"{_STATE} WHERE r.id = ?", SIGNATURE, record):
        if _store(tx, row, policy, rules, now) and observer is not None:
            observer.visibility_changed(tx, [record], now)


def evaluate_portion(
    tx: Transaction, after: int, most: int, now: float, observer: VisibilityObserver | None
) -> int | None:
    """Evaluate the next records after a row id again. Returns the last row id, or None if no records are left."""
    policy, rules = load_policy(tx), namespaces(tx)
    rows = tx.all(f"{_STATE} WHERE r.id > ? ORDER BY r.id LIMIT ?", SIGNATURE, after, most)
    changed = [row[0] for row in rows if _store(tx, row, policy, rules, now)]
    if changed and observer is not None:
        observer.visibility_changed(tx, changed, now)
    return rows[-1][0] if len(rows) == most else None


def _store(tx: Transaction, row: Row, policy: Policy, rules: Sequence[Namespace], now: float) -> bool:
    """Store a verdict if it changed. Returns whether the record entered or left quarantine."""
    record, cid, name, was_trusted, verified, signatures, old_body, old_reason, listed, has_signature = row
    evaluated = _evaluated(policy, name, verified, signatures, has_signature)
    trusted = int(bool(evaluated.trusted_by))
    if trusted != was_trusted:
        tx.run("UPDATE directory_records SET trusted = ? WHERE id = ?", trusted, record)
    stored = {"trusted_by": evaluated.trusted_by, "reason": evaluated.reason}
    body = None if verified is None else msgspec.json.encode(stored).decode()
    if body != old_body:
        tx.run(_SAVE, record, trusted, body, now) if body is not None else tx.run(_FORGET, record)
    is_quarantined = not trusted and not listed and rule_for(name, {one.namespace: one.quarantine for one in rules})
    reason = evaluated.reason if is_quarantined else None
    if reason is not None and reason != old_reason:
        quarantine(tx, [record], reason)
    elif reason is None and old_reason is not None:
        tx.run("DELETE FROM directory_quarantine WHERE record = ?", record)
    if (reason is None) == (old_reason is None):
        return False
    note_changes(tx, [cid])  # followers get no records in quarantine
    return True


def _evaluated(
    policy: Policy, name: str, verified: int | None, signatures: str | None, has_signature: int
) -> PolicyVerdict:  # fmt: skip
    if not has_signature:
        return PolicyVerdict(reason=UNSIGNED)
    if verified is None or signatures is None:
        return PolicyVerdict(reason=UNCHECKED)
    if not verified:
        return PolicyVerdict(reason=INVALID)
    return policy.evaluate(name, [identity for identity, _ in msgspec.json.decode(signatures)["signers"]])
