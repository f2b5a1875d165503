"""The SQL for objects, their changes, references and words. Only statements; other modules make the decisions.

Every function handles many objects in a few statements; a single object is a list of one.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from pentad.kernel.ports import Dialect, Row, Rows, Transaction, Value
from pentad.kernel.sql import chunks, marks
from pentad.rooms.registers.models import OBJECT_COLUMNS, StoredObject
from pentad.rooms.registers.objects.pending_changes import (
    NO_HASH,
    ExistingObject,
    PendingChange,
    Provenance,
    Reference,
    chain_facts,
    chain_hash,
    state_digest,
)
from pentad.rooms.registers.query.search_words import WORDS
from pentad.rooms.registers.store import as_uuid

CHUNK: Final = 500
"""Values per IN list; both dialects allow many more, but statements should stay readable in a log."""

_INSERT: Final = (
    "INSERT INTO objects (id, uuid, register, schema, version, data, slug, owner, organisation, created_at, updated_at,"
    " deleted, lock, schema_version, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_UPDATE: Final = (
    "UPDATE objects SET version = ?, data = ?, slug = ?, updated_at = ?, deleted = ?, lock = ?, schema_version = ?,"
    " hash = ? WHERE id = ?"
)
_INSERT_CHANGE: Final = (
    "INSERT INTO object_changes (uuid, register, schema, version, action, at, since, before, before_deleted, principal,"
    " agent, session, call, reason, plan, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
SELECT_BY_UUID: Final = f"SELECT {OBJECT_COLUMNS} FROM objects WHERE uuid = ?"  # noqa: S608  own columns
_SELECT_EXISTING: Final = f"SELECT {OBJECT_COLUMNS}, hash FROM objects"  # noqa: S608  own columns
_STATE_NEUTRAL: Final = frozenset({"lock", "unlock"})


def rows_in(rows: Rows, sql: str, values: Sequence[Value]) -> Iterator[Row]:
    """The rows of a statement that ends in a column name, where the column has one of these values."""
    for part in chunks(values):
        yield from rows.all(f"{sql} IN ({marks(len(part))})", *part)


def existing_by_uuid(rows: Rows, uuids: Sequence[str]) -> dict[str, ExistingObject]:
    """The objects with these uuids, including deleted ones."""
    found = rows_in(rows, f"{_SELECT_EXISTING} WHERE uuid", uuids)
    return {row[1]: ExistingObject(StoredObject(*row[:-1]), row[-1]) for row in found}


def existing_by_refs(
    rows: Rows, register: int, schema: int, refs: Sequence[int | str], start: int, most: int
) -> dict[int | str, list[ExistingObject]]:
    """The objects of a pair with these uuids, ids or slugs, including deleted ones: live ones first, then by id.

    Several may share a slug; returns at most `most` of them, from position `start`.
    """
    named: dict[str, dict[Value, list[int | str]]] = {}
    for ref in refs:
        column, value = ref_column(ref)
        named.setdefault(column, {}).setdefault(value, []).append(ref)
    found: dict[int | str, list[ExistingObject]] = {}
    for column, values in named.items():
        for part in chunks(list(values)):
            sql, window = _named(column, len(part)), () if column != "slug" else (start, start + most)
            for row in rows.all(sql, *part, register, schema, *window):
                for ref in values.get(row[-1], ()):
                    found.setdefault(ref, []).append(ExistingObject(StoredObject(*row[:-2]), row[-2]))
    return found


@cache
def _named(column: str, count: int) -> str:
    """Selects objects of a pair by values of a column. Objects with the same slug are numbered: there may be many."""
    columns = f"{OBJECT_COLUMNS}, hash"
    here = f"FROM objects WHERE {column} IN ({marks(count)}) AND register = ? AND schema = ?"
    if column != "slug":
        return f"SELECT {columns}, {column} {here}"
    place = "row_number() OVER (PARTITION BY slug ORDER BY deleted IS NOT NULL, id)"
    return (
        f"SELECT {columns}, slug FROM (SELECT {columns}, {place} AS place {here}) AS named"  # noqa: S608  own columns
        " WHERE place > ? AND place <= ? ORDER BY place"
    )


def existing_where(rows: Rows, condition: str, values: Sequence[Value], most: int) -> list[ExistingObject]:
    """The objects that satisfy a condition, by id, up to a limit."""
    found = rows.all(f"{_SELECT_EXISTING} WHERE {condition} ORDER BY id LIMIT ?", *values, most)
    return [ExistingObject(StoredObject(*row[:-1]), row[-1]) for row in found]


def is_uuid(ref: int | str) -> bool:
    return isinstance(ref, str) and as_uuid(ref) is not None


def is_unique_ref(ref: int | str) -> bool:
    """Whether a name can match only one object, like a uuid or id; several may share a slug."""
    return ref_column(ref)[0] != "slug"


def ref_column(ref: int | str) -> tuple[str, Value]:
    """The column and value behind the name a caller gives an object."""
    if isinstance(ref, int):
        return "id", ref if 0 < ref < 2**63 else 0
    if (uuid := as_uuid(ref)) is not None:
        return "uuid", uuid
    if ref.isascii() and ref.isdigit() and len(ref) < 19:
        return "id", int(ref)
    return "slug", ref.replace("\0", "")


def stream_objects(rows: Rows, schema: int) -> Iterator[list[ExistingObject]]:
    """All live objects of a schema, in batches."""
    last = 0
    while found := objects_after(rows, schema, last):
        yield found
        last = found[-1].stored.id


def objects_after(rows: Rows, schema: int, last: int) -> list[ExistingObject]:
    """The next live objects of a schema, by id."""
    found = rows.all(
        f"{_SELECT_EXISTING} WHERE schema = ? AND deleted IS NULL AND id > ? ORDER BY id LIMIT ?", schema, last, CHUNK
    )
    return [ExistingObject(StoredObject(*row[:-1]), row[-1]) for row in found]


def present_moment(rows: Rows, dialect: Dialect) -> int:
    """A position in the history: anything this unit of work cannot see yet comes after it."""
    if dialect == "postgres":
        return int(rows.value("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"))
    return int(rows.value("SELECT coalesce(max(seq), 0) + 1 FROM object_changes"))


def stream_objects_since(rows: Rows, dialect: Dialect, schema: int, moment: int) -> Iterator[list[ExistingObject]]:
    """The live objects of a schema that changed since a moment, in batches."""
    place = "xact" if dialect == "postgres" else "seq"
    sql = f"SELECT DISTINCT uuid FROM object_changes WHERE {place} >= ? AND schema = ?"  # noqa: S608  own names
    for part in chunks([row[0] for row in rows.all(sql, moment, schema)]):
        yield [one for one in existing_by_uuid(rows, part).values() if not one.stored.is_deleted]


def stream_deleted(rows: Rows, register: int | None = None, schema: int | None = None) -> Iterator[StoredObject]:
    """All deleted objects, or those of a register or schema, most recently deleted first."""
    at, key = float("inf"), 0
    here = "".join(
        f" AND {name} = {int(value)}"
        for name, value in (("register", register), ("schema", schema))
        if value is not None
    )
    while True:
        found = rows.all(
            f"SELECT {OBJECT_COLUMNS} FROM objects WHERE deleted IS NOT NULL{here}"  # noqa: S608  own columns
            " AND (updated_at < ? OR (updated_at = ? AND id < ?)) ORDER BY updated_at DESC, id DESC LIMIT ?",
            at, at, key, CHUNK,
        )  # fmt: skip
        if not found:
            return
        yield from (StoredObject(*row) for row in found)
        key, at = found[-1][0], found[-1][10]


def write_changes(
    tx: Transaction, dialect: Dialect, pending_changes: Sequence[PendingChange], provenance: Provenance
) -> None:
    """Write changes with their history, references and words. No object may occur twice."""
    new = [pending.after for pending in pending_changes if pending.before is None]
    _assign_ids(tx, dialect, new)
    hashes = _hashes(pending_changes, provenance)
    if dialect == "sqlite" and new and len(new) == len(pending_changes):
        _bulk_insert(tx, new, hashes, provenance)
    else:
        _write_rows(tx, pending_changes, hashes, provenance)
    _write_references(tx, pending_changes)
    _write_words(tx, dialect, pending_changes)


def _hashes(pending_changes: Sequence[PendingChange], provenance: Provenance) -> list[bytes]:
    """The link of each change in the chain of its object."""
    hashes: list[bytes] = []
    known: tuple[object, ...] = ()
    shared = b""
    for pending in pending_changes:
        if pending.link is not None:
            hashes.append(pending.link)
            continue
        now, existing = pending.after, pending.before
        at = now.updated_at if pending.at is None else pending.at
        facts = (now.register, now.schema, now.version, pending.action, at)
        if facts != known:
            known, shared = facts, chain_facts(*facts, provenance)
        hashes.append(
            chain_hash(NO_HASH if existing is None else existing.hash, now.uuid, shared, state_digest(now.text))
        )
    return hashes


def _write_rows(
    tx: Transaction, pending_changes: Sequence[PendingChange], hashes: Sequence[bytes], provenance: Provenance
) -> None:
    inserts: list[Sequence[Value]] = []
    updates: list[Sequence[Value]] = []
    changes: list[Sequence[Value]] = []
    for pending, hashed in zip(pending_changes, hashes, strict=True):
        now, existing = pending.after, pending.before
        at = now.updated_at if pending.at is None else pending.at
        since, before, before_deleted = None, None, 0
        if existing is not None and pending.action not in _STATE_NEUTRAL:
            old = existing.stored
            since, before, before_deleted = old.updated_at, old.text, int(old.is_deleted)
        changes.append(
            (now.uuid, now.register, now.schema, now.version, pending.action, at, since, before, before_deleted,
             *provenance, hashed)
        )  # fmt: skip
        if existing is None:
            inserts.append((*now.row, hashed))
        elif pending.action != "purge":
            row = now.row
            updates.append((now.version, now.text, now.slug, now.updated_at, *row[11:], hashed, now.id))
    if inserts:
        tx.run_many(_INSERT, inserts)
    if updates:
        tx.run_many(_UPDATE, updates)
    if changes:
        tx.run_many(_INSERT_CHANGE, changes)


def reindex(tx: Transaction, dialect: Dialect, pending_changes: Sequence[PendingChange]) -> None:
    """Update references, words and slugs of objects whose data did not change but is now read differently."""
    tx.run_many(
        "UPDATE objects SET slug = ? WHERE id = ?",
        [(pending.after.slug, pending.after.id) for pending in pending_changes],
    )
    _write_references(tx, pending_changes)
    _write_words(tx, dialect, pending_changes)


def _assign_ids(tx: Transaction, dialect: Dialect, new: Sequence[StoredObject]) -> None:
    """Assign ids to all new objects at once, so that no insert has to return its id."""
    if not new:
        return
    if dialect == "sqlite":
        first: int = tx.value("SELECT coalesce(max(id), 0) + 1 FROM objects")
        ids = list(range(first, first + len(new)))
    else:
        sql = "SELECT nextval(pg_get_serial_sequence('objects', 'id')) FROM generate_series(1, ?)"
        ids = sorted(row[0] for row in tx.all(sql, len(new)))
    for stored, key in zip(new, ids, strict=True):
        stored.id = key


def _write_references(tx: Transaction, pending_changes: Sequence[PendingChange]) -> None:
    gone = [
        pending.after.uuid
        for pending in pending_changes
        if pending.before is not None and pending.references is not None
    ]
    if gone:
        _delete_references(tx, gone)
    made = [
        (pending.after.uuid, reference.path, reference.target, pending.after.schema)
        for pending in pending_changes
        if pending.references
        for reference in dict.fromkeys(pending.references)
    ]
    if made:
        tx.run_many("INSERT INTO object_references (source, path, target, schema) VALUES (?, ?, ?, ?)", made)


def _delete_references(tx: Transaction, sources: Sequence[str]) -> None:
    for part in chunks(sources):
        tx.run(f"DELETE FROM object_references WHERE source IN ({marks(len(part))})", *part)  # noqa: S608  only marks


def _write_words(tx: Transaction, dialect: Dialect, pending_changes: Sequence[PendingChange]) -> None:
    gone = [pending.after.id for pending in pending_changes if pending.before is not None and pending.words is not None]
    if gone:
        WORDS.delete(tx, dialect, gone)
    made = [(pending.after.id, (pending.words,)) for pending in pending_changes if pending.words]
    if made:
        WORDS.insert(tx, dialect, made)


def references_to(rows: Rows, targets: Sequence[str]) -> list[tuple[str, Reference, int]]:
    """The references to these objects: source, reference, and the source's schema."""
    sql = "SELECT source, path, target, schema FROM object_references WHERE target"
    return [(source, Reference(path, target), schema) for source, path, target, schema in rows_in(rows, sql, targets)]


def live_objects(rows: Rows, uuids: Sequence[str]) -> dict[str, int]:
    """Which of these objects are live, with their schemas."""
    return dict(rows_in(rows, "SELECT uuid, schema FROM objects WHERE deleted IS NULL AND uuid", uuids))


def with_attachment_texts(rows: Rows, schemas: Sequence[int]) -> list[int]:
    """Which of these schemas have objects with attachments whose text was extracted."""
    known = "SELECT 1 FROM attachment_texts AS texts WHERE texts.schema = schemas.id AND texts.state = 'done'"
    return [key for (key,) in rows_in(rows, f"SELECT id FROM schemas WHERE EXISTS ({known}) AND id", schemas)]  # noqa: S608  a constant


def places_of(rows: Rows, uuids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Which of these objects are live, with their registers and schemas."""
    sql = "SELECT uuid, register, schema FROM objects WHERE deleted IS NULL AND uuid"
    return {uuid: (register, schema) for uuid, register, schema in rows_in(rows, sql, uuids)}


def used_uuids(rows: Rows, uuids: Sequence[str]) -> set[str]:
    """Which of these uuids are used by live or deleted objects, or were used by purged ones."""
    found: set[str] = set()
    for part in chunks(uuids):
        here = marks(len(part))
        sql = (
            f"SELECT uuid FROM objects WHERE uuid IN ({here})"  # noqa: S608  only marks
            f" UNION SELECT uuid FROM object_changes WHERE uuid IN ({here})"
        )
        found.update(row[0] for row in rows.all(sql, *part, *part))
    return found


def delete_objects(tx: Transaction, dialect: Dialect, objects: Sequence[StoredObject]) -> None:
    """Erase objects; the caller takes care of their history."""
    _delete_references(tx, [stored.uuid for stored in objects])
    WORDS.delete(tx, dialect, [stored.id for stored in objects])
    for part in chunks([stored.id for stored in objects]):
        tx.run(f"DELETE FROM objects WHERE id IN ({marks(len(part))})", *part)  # noqa: S608  only marks


_ROWS_PER_INSERT: Final = 200
_INSERT_MANY: Final = (
    "INSERT INTO objects (register, schema, version, owner, organisation, created_at, updated_at, schema_version, id,"
    " uuid, data, slug, hash) VALUES "
)
_ROW_MARKS: Final = "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?, ?, ?, ?, ?)"
_shared_columns = attrgetter(
    "register", "schema", "version", "owner", "organisation", "created_at", "updated_at", "schema_version"
)
_INSERT_CHANGES: Final = (
    "INSERT INTO object_changes (uuid, register, schema, version, action, at, principal, agent, session, call, reason,"
    " plan, hash) SELECT uuid, register, schema, version, 'create', updated_at, ?, ?, ?, ?, ?, ?, hash"
    " FROM objects WHERE id BETWEEN ? AND ? ORDER BY id"
)


def _bulk_insert(tx: Transaction, new: Sequence[StoredObject], hashes: Sequence[bytes], provenance: Provenance) -> None:
    """Write objects with consecutive ids, each with the hash of its creation."""
    place = 0
    for shared, group in groupby(new, key=_shared_columns):
        members = list(group)
        for start in range(0, len(members), _ROWS_PER_INSERT):
            part = members[start : start + _ROWS_PER_INSERT]
            values: list[Value] = [*shared]
            for stored, hashed in zip(part, hashes[place : place + len(part)], strict=True):
                values += (stored.id, stored.uuid, stored.text, stored.slug, hashed)
            tx.run(_insert_statement(len(part)), *values)
            place += len(part)
    tx.run(_INSERT_CHANGES, *provenance, new[0].id, new[-1].id)


@cache
def _insert_statement(rows: int) -> str:
    return _INSERT_MANY + ", ".join([_ROW_MARKS] * rows)


class ChangeSpan(NamedTuple):
    """The range of changes one transaction wrote: by transaction id in PostgreSQL, by sequence number in SQLite."""

    xact: int
    after: int
    last: int


def written_span(tx: Transaction, dialect: Dialect, count: int) -> ChangeSpan:
    """The span of the `count` changes this transaction wrote."""
    if dialect == "postgres":
        return ChangeSpan(int(tx.value("SELECT pg_current_xact_id()::text::bigint")), 0, 2**62)
    last = int(tx.value("SELECT coalesce(max(seq), 0) FROM object_changes"))
    return ChangeSpan(0, last - count, last)
