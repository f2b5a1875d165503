"""A PostgreSQL store as one file, written and read by Pentad itself, so that no client tools are needed.

The file is a ZIP: `manifest.json` (format, applied migrations, tables with columns and SHA-256, sequences) and one
member of COPY text per table, all from one snapshot. It holds rows, not definitions. Those come from the migrations,
so a backup goes into an empty database or into one with the same migrations.
"""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from pentad.kernel.clock import SystemClock, iso
from pentad.kernel.errors import Misconfigured
from pentad.storage.errors import unreachable
from pentad.storage.migrations import Step, read_applied
from pentad.storage.postgres_connection import Connection, PostgresRows
from pentad.storage.postgres_errors import ConnectionLost, SerializationConflict, translate_error

FORMAT = "pentad-backup"
_VERSION = 1
_CHUNK = 1 << 20
_MANIFEST = "manifest.json"
_TABLES = """
    SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
    GROUP BY c.relname ORDER BY c.relname
"""
_SEQUENCES = "SELECT sequencename, last_value, start_value FROM pg_sequences WHERE schemaname = current_schema()"
_REFERENCES = """
    SELECT c.relname, r.conname, pg_get_constraintdef(r.oid)
    FROM pg_constraint r JOIN pg_class c ON c.oid = r.conrelid
    WHERE r.contype = 'f' AND r.conparentid = 0 AND r.connamespace = current_schema()::regnamespace
"""


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of one table inside the file."""

    name: str
    columns: list[str]
    sha256: str = ""

    @property
    def member(self) -> str:
        return f"tables/{self.name}.copy"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of the file."""

    migrations: dict[Step, str]
    tables: list[Table]
    sequences: list[tuple[str, int, bool]]
    made_at: str = field(default_factory=lambda: iso(SystemClock().now()))

    def encoded(self) -> bytes:
        body: dict[str, Any] = {
            "format": FORMAT,
            "version": _VERSION,
            "dialect": "postgres",
            "made_at": self.made_at,
            "migrations": [[name, number, checksum] for (name, number), checksum in self.migrations.items()],
            "tables": [asdict(table) for table in self.tables],
            "sequences": self.sequences,
        }
        return json.dumps(body, indent=1).encode()


def write(connection: Connection, target: Path) -> None:
    """Save every table of the current schema, from one snapshot."""
    with _translating_errors(), zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        tables = [_save(connection, archive, *row) for row in connection.execute(_TABLES).fetchall()]
        sequences = [
            (name, start if last is None else last, last is not None)
            for name, last, start in connection.execute(_SEQUENCES).fetchall()
        ]
        manifest = Manifest(read_applied(PostgresRows(connection), "postgres"), tables, sequences)
        archive.writestr(_MANIFEST, manifest.encoded())
        connection.execute("ROLLBACK")


def read(source: Path) -> Manifest:
    """Check every byte of the file and return its manifest; Misconfigured if it is incomplete or changed."""
    try:
        with zipfile.ZipFile(source) as archive:
            manifest = _manifest(archive.read(_MANIFEST))
            for table in manifest.tables:
                if _digest(archive, table) != table.sha256:
                    raise _damaged(source)
            return manifest
    except (OSError, KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _damaged(source) from error


def load_rows(connection: Connection, source: Path, manifest: Manifest) -> None:
    """Replace the rows of every table with those of the file, in one transaction."""
    with _translating_errors(), connection.transaction(), zipfile.ZipFile(source) as archive:
        present: list[tuple[str, list[str]]] = connection.execute(_TABLES).fetchall()
        if {name: set(columns) for name, columns in present} != {t.name: set(t.columns) for t in manifest.tables}:
            raise Misconfigured(
                "The tables of this database do not match the backup.",
                hint="Restore into an empty database, with the same rooms switched on.",
            )
        references = connection.execute(_REFERENCES).fetchall()
        for table, name, _ in references:
            connection.execute(sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(*_identifiers(table, name)))
        for table in manifest.tables:
            _fill(connection, archive, table)
        for table, name, definition in references:
            addition = sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} ").format(*_identifiers(table, name))
            connection.execute(addition.as_bytes(connection) + definition.encode())
        for name, value, used in manifest.sequences:
            sequence = sql.Identifier(name).as_string(connection)
            connection.execute("SELECT setval(%s::regclass, %s, %s)", (sequence, value, used))


@contextmanager
def _translating_errors() -> Generator[None]:
    try:
        yield
    except psycopg.Error as error:
        translation = translate_error(error)
        is_gone = isinstance(translation, ConnectionLost | SerializationConflict)
        raise (unreachable() if is_gone else translation) from error


def _save(connection: Connection, archive: zipfile.ZipFile, name: str, columns: list[str]) -> Table:
    table = Table(name, columns)
    digest = hashlib.sha256()
    query = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(_column_list(columns), sql.Identifier(name))
    with (
        archive.open(table.member, "w", force_zip64=True) as member,
        connection.cursor() as cursor,
        cursor.copy(query) as rows,
    ):
        for data in rows:
            digest.update(data)
            member.write(data)
    return Table(name, columns, digest.hexdigest())


def _fill(connection: Connection, archive: zipfile.ZipFile, table: Table) -> None:
    name = sql.Identifier(table.name)
    connection.execute(sql.SQL("ALTER TABLE {} DISABLE TRIGGER USER").format(name))
    connection.execute(sql.SQL("TRUNCATE {}").format(name))
    query = sql.SQL("COPY {} ({}) FROM STDIN").format(name, _column_list(table.columns))
    with archive.open(table.member) as member, connection.cursor() as cursor, cursor.copy(query) as rows:
        while data := member.read(_CHUNK):
            rows.write(data)
    connection.execute(sql.SQL("ALTER TABLE {} ENABLE TRIGGER USER").format(name))


def _manifest(data: bytes) -> Manifest:
    body = json.loads(data)
    if body["format"] != FORMAT or body["version"] != _VERSION or body["dialect"] != "postgres":
        raise ValueError(body["format"])
    return Manifest(
        {(name, number): checksum for name, number, checksum in body["migrations"]},
        [Table(**table) for table in body["tables"]],
        [(name, value, used) for name, value, used in body["sequences"]],
        body["made_at"],
    )


def _digest(archive: zipfile.ZipFile, table: Table) -> str:
    digest = hashlib.sha256()
    with archive.open(table.member) as member:
        while data := member.read(_CHUNK):
            digest.update(data)
    return digest.hexdigest()


def _damaged(source: Path) -> Misconfigured:
    return Misconfigured(
        f"{source.name} is not a complete backup of a PostgreSQL store.",
        hint="Give the path of a file made by `pentad backup`; a cut or changed file is refused.",
    )


def _identifiers(*names: str) -> list[sql.Identifier]:
    return [sql.Identifier(name) for name in names]


def _column_list(columns: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(_identifiers(*columns))
