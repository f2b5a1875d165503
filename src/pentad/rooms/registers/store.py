"""The SQL for registers and schemas: finds them by id, uuid or slug, and writes them. Has no access rules.

Slugs ignore case. A slug never looks like an id or a uuid, so a reference is never ambiguous.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal
from uuid import UUID

import msgspec

from pentad.kernel.ports import Dialect, Row, Rows, Transaction
from pentad.rooms.registers.models import DEFAULT_ORGANISATION, Register, Schema

Kind = Literal["register", "schema"]
Ref = int | str

_TABLES: Final[dict[Kind, str]] = {"register": "registers", "schema": "schemas"}
_COLUMNS: Final[dict[Kind, str]] = {
    "register": "id, uuid, slug, organisation, body, created_at, updated_at",
    "schema": "id, uuid, slug, organisation, body, changes, created_at, updated_at, past_rules",
}
_LONGEST_SLUG: Final = 80
_LARGEST_ID: Final = 2**63 - 1
_GAPS: Final = re.compile(r"[^a-z0-9]+")
_DIGITS: Final = re.compile(r"[0-9]{1,18}")
_NUMBERED: Final = re.compile(r"(.*[^0-9])?([0-9]{1,18})", re.DOTALL)
_SLUG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def find_register(rows: Rows, ref: Ref) -> Register | None:
    """A register in any organisation; the oldest if several have the slug."""
    return next(iter(named_registers(rows, ref)), None)


def find_schema(rows: Rows, ref: Ref) -> Schema | None:
    """A schema in any organisation; the oldest if several have the slug."""
    return next(iter(named_schemas(rows, ref)), None)


def named_registers(rows: Rows, ref: Ref) -> list[Register]:
    """All registers with a name, oldest first; organisations may use the same slug."""
    return [_register(row) for row in _named(rows, "register", ref)]


def named_schemas(rows: Rows, ref: Ref) -> list[Schema]:
    """All schemas with a name, oldest first; organisations may use the same slug."""
    return [_schema(row) for row in _named(rows, "schema", ref)]


def all_registers(rows: Rows) -> list[Register]:
    return [_register(row) for row in rows.all(_select("register", "ORDER BY id"))]


def all_schemas(rows: Rows) -> list[Schema]:
    return [_schema(row) for row in rows.all(_select("schema", "ORDER BY id"))]


def insert_register(tx: Transaction, register: Register) -> Register:
    """Store a new register; the database assigns its id."""
    key = tx.value(
        "INSERT INTO registers (uuid, slug, organisation, body, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)"
        " RETURNING id",
        register.uuid, register.slug, register.organisation, _register_text(register), register.created_at,
        register.updated_at,
    )  # fmt: skip
    return replace(register, id=key)


def insert_schema(tx: Transaction, schema: Schema) -> Schema:
    """Store a new schema; the database assigns its id."""
    key = tx.value(
        "INSERT INTO schemas (uuid, slug, organisation, body, changes, created_at, updated_at, words)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, 1) RETURNING id",
        schema.uuid, schema.slug, schema.organisation, _schema_text(schema), schema.changes, schema.created_at,
        schema.updated_at,
    )  # fmt: skip
    return replace(schema, id=key)


def update_register(tx: Transaction, register: Register) -> None:
    tx.run(
        "UPDATE registers SET slug = ?, organisation = ?, body = ?, updated_at = ? WHERE id = ?",
        register.slug, register.organisation, _register_text(register), register.updated_at, register.id,
    )  # fmt: skip


def update_schema(tx: Transaction, schema: Schema) -> None:
    tx.run(
        "UPDATE schemas SET slug = ?, organisation = ?, body = ?, changes = ?, updated_at = ?, past_rules = ?"
        " WHERE id = ?",
        schema.slug, schema.organisation, _schema_text(schema), schema.changes, schema.updated_at,
        msgspec.json.encode(schema.past_rules).decode(), schema.id,
    )  # fmt: skip


def lock_registers(tx: Transaction, dialect: Dialect) -> None:
    """Keep others from changing registers until the transaction ends; they can still read them."""
    if dialect == "postgres":
        tx.run("LOCK TABLE registers IN SHARE ROW EXCLUSIVE MODE")


def delete_entity(tx: Transaction, kind: Kind, key: int) -> None:
    """Delete a register or schema and its views; its objects must be gone already."""
    tx.run(f"DELETE FROM views WHERE {kind} = ?", key)  # noqa: S608  one of two names
    tx.run(f"DELETE FROM {_TABLES[kind]} WHERE id = ?", key)  # noqa: S608  one of two names


def count_objects(rows: Rows, kind: Kind, key: int) -> tuple[int, int]:
    """The number of objects, and of deleted ones not purged yet."""
    row = rows.one(
        "SELECT coalesce(sum(CASE WHEN deleted IS NULL THEN 1 ELSE 0 END), 0),"  # noqa: S608  one of two names
        f" coalesce(sum(CASE WHEN deleted IS NULL THEN 0 ELSE 1 END), 0) FROM objects WHERE {kind} = ?",
        key,
    )
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def schemas_with_old_words(rows: Rows) -> list[Schema]:
    """The schemas whose words and slugs may be older than the protection of derived values."""
    return [_schema(row) for row in rows.all(_select("schema", "WHERE words = 0 ORDER BY id"))]


def mark_words_current(tx: Transaction, schema: int) -> None:
    tx.run("UPDATE schemas SET words = 1 WHERE id = ?", schema)


def schemas_with_old_references(rows: Rows) -> list[Schema]:
    """The schemas whose objects may have references other than uuids."""
    return [_schema(row) for row in rows.all(_select("schema", "WHERE uuid_references = 0 ORDER BY id"))]


def mark_references_current(tx: Transaction, schema: int) -> None:
    tx.run("UPDATE schemas SET uuid_references = 1 WHERE id = ?", schema)


def has_objects(rows: Rows, register: int, schema: int, *, deleted: bool = False) -> bool:
    """Whether a schema has objects in a register or, with `deleted`, deleted objects.

    The row comparison makes PostgreSQL read one entry of the index. With `register = ? AND schema = ?` it may read the
    table from its start, past all objects of other schemas.
    """
    which = "deleted IS NOT NULL" if deleted else "deleted IS NULL"
    found = rows.one(
        f"SELECT register, schema FROM objects WHERE (register, schema) >= (?, ?) AND {which}"  # noqa: S608  own text
        " ORDER BY register, schema, id LIMIT 1",
        register,
        schema,
    )
    return found is not None and tuple(found) == (register, schema)


def count_pair(rows: Rows, register: int, schema: int) -> int:
    """The number of objects of a schema in a register."""
    sql = "SELECT count(*) FROM objects WHERE register = ? AND schema = ? AND deleted IS NULL"
    return int(rows.value(sql, register, schema))


def schema_has_objects(rows: Rows, schema: int) -> bool:
    """Whether a schema has objects in any register, including deleted ones."""
    return any(
        has_objects(rows, register.id, schema) or has_objects(rows, register.id, schema, deleted=True)
        for register in all_registers(rows)
    )


def organisations_of(rows: Rows, schema: int) -> set[str]:
    """The organisations that own objects of a schema."""
    sql = "SELECT DISTINCT organisation FROM objects WHERE schema = ? AND deleted IS NULL"
    return {row[0] for row in rows.all(sql, schema)}


def organisation_named(rows: Rows, ref: str) -> str | None:
    """The id of an organisation, by its id or slug."""
    if ref == DEFAULT_ORGANISATION:
        return ref
    return rows.value("SELECT id FROM organisations WHERE id = ? OR slug = ?", ref, ref)


def attach(tx: Transaction, register_id: int, schema_id: int) -> bool:
    """Add a schema to a register if it is not there yet; returns whether anything changed."""
    register = find_register(tx, register_id)
    if register is None or schema_id in register.schemas:
        return False
    schemas = (*register.schemas, schema_id)
    update_register(tx, replace(register, schemas=schemas, version=next_version(register.version)))
    return True


def next_version(version: str) -> str:
    """The next version: the last number is incremented. A version without a number gets one."""
    found = _NUMBERED.fullmatch(version)
    return f"{found[1] or ''}{int(found[2]) + 1}" if found else f"{version}.1"


def free_slug(rows: Rows, kind: Kind, title: str, organisation: str) -> str:
    """A readable slug made from a title, with a number if the organisation already uses it."""
    stem = slugified(title, kind)
    # "." is the character after "-", so this covers exactly the numbered forms of the stem
    sql = (
        f"SELECT lower(slug) FROM {_TABLES[kind]} WHERE organisation = ?"  # noqa: S608  one of two names
        " AND (lower(slug) = ? OR (lower(slug) >= ? AND lower(slug) < ?))"
    )
    taken = {row[0] for row in rows.all(sql, organisation, stem, f"{stem}-", f"{stem}.")}
    number, slug = 1, stem
    while slug in taken:
        number += 1
        slug = f"{stem}-{number}"
    return slug


def slugified(title: str, fallback: str) -> str:
    """Lower-case letters, digits and single hyphens; never empty, never only digits."""
    plain = unicodedata.normalize("NFKD", title[: _LONGEST_SLUG * 4]).encode("ascii", "ignore").decode().lower()
    slug = _GAPS.sub("-", plain)[:_LONGEST_SLUG].strip("-")
    return slug if slug and is_slug(slug) else f"{fallback}-{slug}".strip("-")


def is_slug(text: str) -> bool:
    """Whether a text can be a slug, which looks neither like an id nor like a uuid."""
    return bool(_SLUG.fullmatch(text)) and not _DIGITS.fullmatch(text) and as_uuid(text) is None


def as_uuid(text: str) -> str | None:
    """The canonical form of a uuid, or None if the text is not one."""
    if len(text) != 36:
        return None
    try:
        return str(UUID(text))
    except ValueError:
        return None


def is_id_or_uuid(ref: Ref) -> bool:
    """Whether a reference is an id or a uuid, which mean the same to every caller."""
    return isinstance(ref, int) or bool(_DIGITS.fullmatch(ref)) or as_uuid(ref) is not None


def _named(rows: Rows, kind: Kind, ref: Ref) -> list[Row]:
    if isinstance(ref, int) or _DIGITS.fullmatch(ref):
        key = int(ref)
        return rows.all(_select(kind, "WHERE id = ?"), key) if 0 < key <= _LARGEST_ID else []
    if (uuid := as_uuid(ref)) is not None:
        return rows.all(_select(kind, "WHERE uuid = ?"), uuid)
    return rows.all(_select(kind, "WHERE lower(slug) = ? ORDER BY id"), ref.lower()) if _SLUG.fullmatch(ref) else []


def _select(kind: Kind, rest: str) -> str:
    return f"SELECT {_COLUMNS[kind]} FROM {_TABLES[kind]} {rest}"  # noqa: S608  own names only


def _register(row: Sequence[Any]) -> Register:
    key, uuid, slug, organisation, text, created_at, updated_at = row
    body: dict[str, Any] = {**msgspec.json.decode(text), "organisation": organisation}
    title, version, schemas = body.pop("title"), body.pop("version"), tuple(body.pop("schemas"))
    return Register(key, uuid, slug, title, version, body, schemas, created_at, updated_at)


def _schema(row: Sequence[Any]) -> Schema:
    key, uuid, slug, organisation, text, changes, created_at, updated_at, past_rules = row
    body: dict[str, Any] = {**msgspec.json.decode(text), "organisation": organisation}
    title, version, past = body.pop("title"), body.pop("version"), msgspec.json.decode(past_rules)
    return Schema(key, uuid, slug, title, version, body, changes, created_at, updated_at, past)


def _register_text(register: Register) -> str:
    body = {**register.body, "title": register.title, "version": register.version, "schemas": register.schemas}
    return msgspec.json.encode(body).decode()


def _schema_text(schema: Schema) -> str:
    return msgspec.json.encode({**schema.body, "title": schema.title, "version": schema.version}).decode()
