"""SQL for records, their terms and words, and for the records of what this server hosts.

Statements handle many records at once. The record count of each term is updated in the same transaction, so it is
always exact.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pentad.kernel.errors import Conflict
from pentad.kernel.ports import Dialect, Rows, Transaction, Value
from pentad.kernel.sql import array_literal, chunks, marks
from pentad.rooms.directory.records.index_fields import WORDS, IndexedFields, Kind, Term

PULL: Final = "SELECT t.data FROM directory_records r JOIN directory_texts t ON t.record = r.id WHERE r.cid = ?"

_INSERT_RECORD: Final = (
    "INSERT INTO directory_records (id, cid, name, version, schema_version, created_at, previous_cid, version_key,"
    " created_key, pushed_by, pushed_at, description, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_TERM: Final = (
    "INSERT INTO directory_terms (id, digest, kind, number, records, text, detail) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_QUARANTINED: Final = "EXISTS (SELECT 1 FROM directory_quarantine q WHERE q.record = r.id)"
USABLE: Final = "CASE r.state WHEN 'approved' THEN 2 WHEN 'deprecated' THEN 2 WHEN 'withdrawn' THEN 0 ELSE 1 END"
"""How usable the record `r` is by its state: the higher, the better."""
_OF_NAMES: Final = (
    "FROM directory_terms t JOIN directory_postings p ON p.term = t.id JOIN directory_records r ON r.id = p.record"
)
_NEWEST: Final = (
    f"SELECT r.id {_OF_NAMES} WHERE t.digest = ? AND {{}} {_QUARANTINED}"
    f" ORDER BY {USABLE} DESC, r.version_key DESC, r.id DESC LIMIT 1"
)
_SEVERAL_OF_NAME: Final = (
    f"SELECT t.id, {_QUARANTINED}, {USABLE}, r.version_key, r.id {_OF_NAMES}"
    " LEFT JOIN directory_superseded s ON s.record = r.id"
    " WHERE t.digest IN ({}) AND t.records > 1 AND s.record IS NULL"
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A record ready to be stored."""

    cid: str
    text: str
    fields: IndexedFields
    state: str = ""
    """The initial state; empty to derive it from the author's rights."""


def lock_terms(tx: Transaction, dialect: Dialect) -> None:
    """Lock the terms for this transaction. Must come first, so that the snapshot is taken after the lock."""
    if dialect == "postgres":
        tx.run("LOCK TABLE directory_turn IN EXCLUSIVE MODE")


def insert(
    tx: Transaction, dialect: Dialect, drafts: Sequence[Draft], who: str, now: float, state: str = "approved"
) -> dict[int, Draft]:
    """Store the records that are new, in this state unless the draft has its own. Returns them by their row ids.

    The caller must have called `lock_terms`.
    """
    known = ids_of(tx, [draft.cid for draft in drafts])
    new = list({draft.cid: draft for draft in drafts if draft.cid not in known}.values())
    if not new:
        return {}
    ids = _reserve_ids(tx, dialect, "directory_records", len(new))
    tx.run_many(
        _INSERT_RECORD,
        [
            (key, d.cid, d.fields.name, d.fields.version, d.fields.schema_version, d.fields.created_at,
             d.fields.previous_cid, d.fields.version_key, d.fields.created_key, who, now, d.fields.description,
             d.state or state)
            for key, d in zip(ids, new, strict=True)
        ],
    )  # fmt: skip
    tx.run_many(
        "INSERT INTO directory_texts (record, data) VALUES (?, ?)",
        [(key, draft.text) for key, draft in zip(ids, new, strict=True)],
    )
    _insert_postings(tx, dialect, ids, new)
    WORDS.insert(tx, dialect, [(key, draft.fields.texts) for key, draft in zip(ids, new, strict=True)])
    _supersede(tx, [draft.fields.name for draft in new])
    return dict(zip(ids, new, strict=True))


def remove(tx: Transaction, dialect: Dialect, record: int) -> None:
    """Delete a record and everything about it. The caller must have called `lock_terms`."""
    terms = [term for (term,) in tx.all("SELECT term FROM directory_postings WHERE record = ?", record)]
    tx.run("DELETE FROM directory_postings WHERE record = ?", record)
    _add_counts(tx, dialect, Counter(dict.fromkeys(terms, -1)))
    for part in chunks(terms):
        tx.run(f"DELETE FROM directory_terms WHERE records = 0 AND id IN ({marks(len(part))})", *part)  # noqa: S608  only marks
    WORDS.delete(tx, dialect, [record])
    tx.run("DELETE FROM directory_texts WHERE record = ?", record)
    name = tx.value("SELECT name FROM directory_records WHERE id = ?", record)
    tx.run("DELETE FROM directory_records WHERE id = ?", record)  # what refers to it goes with it
    _choose_newest(tx, name or "")


def ids_of(rows: Rows, cids: Sequence[str]) -> dict[str, int]:
    """The row ids of those CIDs that are stored."""
    found: dict[str, int] = {}
    for part in chunks(cids):
        found.update(rows.all(f"SELECT cid, id FROM directory_records WHERE cid IN ({marks(len(part))})", *part))  # noqa: S608  only marks
    return found


def names_of(rows: Rows, cids: Iterable[str]) -> dict[str, str]:
    """The names of those CIDs that are stored."""
    found: dict[str, str] = {}
    for part in chunks(list(cids)):
        found.update(rows.all(f"SELECT cid, name FROM directory_records WHERE cid IN ({marks(len(part))})", *part))  # noqa: S608  only marks
    return found


def texts_of(rows: Rows, cids: Sequence[str]) -> dict[str, str]:
    """The texts of those CIDs that are stored."""
    found: dict[str, str] = {}
    for part in chunks(cids):
        found.update(
            rows.all(
                "SELECT r.cid, t.data FROM directory_records r JOIN directory_texts t ON t.record = r.id"  # noqa: S608  only marks
                f" WHERE r.cid IN ({marks(len(part))})",
                *part,
            )
        )
    return found


def count(rows: Rows) -> int:
    """The number of records: each has exactly one schema version among its terms."""
    return rows.value("SELECT coalesce(sum(records), 0) FROM directory_terms WHERE kind = 9")


class Listed(NamedTuple):
    """The record of something this server hosts; `cid` is empty while it is withdrawn."""

    revision: str
    cid: str
    created_at: float


def find_listed(rows: Rows, key: str) -> Listed | None:
    row = rows.one("SELECT revision, cid, created_at FROM directory_listed WHERE key = ?", key)
    return None if row is None else Listed(*row)


def save_listed(tx: Transaction, key: str, listed: Listed) -> None:
    tx.run(
        "INSERT INTO directory_listed (key, revision, cid, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (key)"
        " DO UPDATE SET revision = excluded.revision, cid = excluded.cid, created_at = excluded.created_at",
        key, *listed,
    )  # fmt: skip


def check_unlisted(rows: Rows, cid: str) -> None:
    """Conflict if the server maintains the record itself."""
    if (key := rows.value("SELECT key FROM directory_listed WHERE cid = ?", cid)) is not None:
        raise Conflict(
            f"The server lists {key} itself, and keeps its record up to date.",
            hint="Change or remove what is listed; the record follows.",
        )


def digest_of(term: Term) -> bytes:
    """The hash by which a term is found, whatever its length."""
    text = f"{int(term.kind)}\0{term.number}\0{term.text}\0{term.detail}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _insert_postings(tx: Transaction, dialect: Dialect, ids: Sequence[int], drafts: Sequence[Draft]) -> None:
    counts = Counter(term for draft in drafts for term in draft.fields.terms)
    terms = _term_ids(tx, dialect, counts)
    pairs = sorted((terms[term], key) for key, draft in zip(ids, drafts, strict=True) for term in draft.fields.terms)
    if dialect == "sqlite":
        tx.run_many("INSERT INTO directory_postings (term, record) VALUES (?, ?)", pairs)
    else:
        tx.run(
            "INSERT INTO directory_postings (term, record)"
            " SELECT * FROM unnest(CAST(? AS bigint[]), CAST(? AS bigint[]))",
            array_literal(term for term, _ in pairs), array_literal(record for _, record in pairs),
        )  # fmt: skip


def _supersede(tx: Transaction, names: Iterable[str]) -> None:
    """Mark the records of these names that are no longer the newest. Usable versions rank before those that wait for
    approval, and those before withdrawn ones; records in quarantine are ranked separately."""
    for part in chunks([digest_of(Term(Kind.NAME, name)) for name in {name.lower() for name in names}]):
        newest: dict[tuple[int, bool], tuple[int, str, int]] = {}
        older: list[int] = []
        for term, is_quarantined, *place in tx.all(_SEVERAL_OF_NAME.format(marks(len(part))), *part):
            usable, key, record = place
            own, group = (usable, key, record), (term, bool(is_quarantined))
            other = newest.setdefault(group, own)
            newest[group] = max(other, own)
            if other != own:
                older.append(min(other, own)[2])
        tx.run_many("INSERT INTO directory_superseded (record) VALUES (?)", [(record,) for record in older])


def choose_newest(tx: Transaction, records: Sequence[int]) -> None:
    """Choose the newest version again for the names of these records, whose state or quarantine changed."""
    names: set[str] = set()
    for part in chunks(records):
        sql = f"SELECT name FROM directory_records WHERE id IN ({marks(len(part))})"  # noqa: S608  only marks
        names |= {name.lower() for (name,) in tx.all(sql, *part)}
    for name in sorted(names):
        _choose_newest(tx, name)


def _choose_newest(tx: Transaction, name: str) -> None:
    digest = digest_of(Term(Kind.NAME, name.lower()))
    found = [tx.value(_NEWEST.format(held), digest) for held in ("", "NOT")]
    tx.run_many("DELETE FROM directory_superseded WHERE record = ?", [(one,) for one in found if one is not None])
    _supersede(tx, [name])


def _term_ids(tx: Transaction, dialect: Dialect, counts: Counter[Term]) -> dict[Term, int]:
    """The ids of terms, created if they are new, with their counts raised."""
    digests = {digest_of(term): term for term in counts}
    found: dict[Term, int] = {}
    for part in chunks(list(digests)):
        sql = f"SELECT digest, id FROM directory_terms WHERE digest IN ({marks(len(part))})"  # noqa: S608  only marks
        found.update((digests[bytes(digest)], key) for digest, key in tx.all(sql, *part))
    _add_counts(tx, dialect, Counter({key: counts[term] for term, key in found.items()}))
    new = [(digest, term) for digest, term in digests.items() if term not in found]
    rows: list[Sequence[Value]] = []
    for key, (digest, term) in zip(_reserve_ids(tx, dialect, "directory_terms", len(new)), new, strict=True):
        found[term] = key
        rows.append((key, digest, int(term.kind), term.number, counts[term], term.text, term.detail))
    if rows:
        tx.run_many(_INSERT_TERM, rows)
    return found


def _add_counts(tx: Transaction, dialect: Dialect, changes: Counter[int]) -> None:
    """Change the number of records of each term."""
    if not changes:
        return
    if dialect == "sqlite":
        tx.run_many(
            "UPDATE directory_terms SET records = records + ? WHERE id = ?",
            [(change, key) for key, change in changes.items()],
        )
    else:
        tx.run(
            "UPDATE directory_terms SET records = records + change.by FROM"
            " unnest(CAST(? AS bigint[]), CAST(? AS bigint[])) AS change (id, by)"
            " WHERE directory_terms.id = change.id",
            array_literal(changes), array_literal(changes.values()),
        )  # fmt: skip


def _reserve_ids(tx: Transaction, dialect: Dialect, table: str, count: int) -> list[int]:
    """Reserve ids for new rows, so that inserts need not return them."""
    if count == 0:
        return []
    if dialect == "postgres":
        sql = "SELECT nextval(pg_get_serial_sequence(?, 'id')) FROM generate_series(1, ?)"
        return sorted(key for (key,) in tx.all(sql, table, count))
    last: int = tx.value(f"SELECT coalesce(max(id), 0) FROM {table}")  # noqa: S608  own table
    if table == "directory_records":  # ids are never reused, even after the latest record was deleted
        used = tx.value("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
        last = max(last, used or 0)
    return list(range(last + 1, last + 1 + count))
