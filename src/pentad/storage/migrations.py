"""Migrations: the numbered SQL files of each package, and applying them to a store.

A package owns a folder of files named `0001_title.sql`, or one per dialect, `0001_title.sqlite.sql`. Each migration is
one transaction that also records it, so a crash leaves whole steps; a new store gets all of them in one. Whether a step
is still due is checked inside that transaction under the store's write lock: if two processes start at once, one does
the work and the other finds it done.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files

from msgspec import Struct

from pentad.kernel.clock import SystemClock, iso
from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import Database, Dialect, Rows, Transaction
from pentad.storage.sql_text import split_statements
from pentad.storage.sqlite import SqliteDatabase
from pentad.storage.sqlite_copy import save_before_migrating

Step = tuple[str, int]
"""A set's name and a number in it."""

_FILE_NAME = re.compile(r"(\d{4})_([a-z0-9_]+?)(?:\.(sqlite|postgres))?\.sql")
_CREATE_TABLE = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        set_name TEXT NOT NULL,
        number INTEGER NOT NULL,
        title TEXT NOT NULL,
        checksum TEXT NOT NULL,
        applied_at TEXT NOT NULL,
        PRIMARY KEY (set_name, number)
    )
"""
_CREATE_LOCK = 0x50454E544D49
_TABLE_EXISTS = {
    "sqlite": "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'",
    "postgres": "SELECT count(to_regclass('schema_migrations'))",
}
_CLOCK = SystemClock()


class MigrationSet(Struct, frozen=True):
    """The migrations of one part of Pentad; `package` is the importable package that holds the files."""

    name: str
    package: str


STORAGE = MigrationSet("storage", "pentad.storage.schema")
"""The store's own tables; always the first set."""


class Migration(Struct, frozen=True):
    """One numbered step of a set, in one dialect."""

    set_name: str
    number: int
    title: str
    checksum: str
    text: str
    dialect: Dialect

    @property
    def statements(self) -> Sequence[str]:
        return split_statements(self.text, self.dialect)

    @property
    def label(self) -> str:
        return f"{self.set_name} {self.number:04d}_{self.title}"


def load(sets: Iterable[MigrationSet], dialect: Dialect) -> list[Migration]:
    """Every migration of the sets, by set and number; Misconfigured if a folder has gaps or duplicates."""
    return [migration for one in sets for migration in _load_set(one, dialect)]


async def plan(db: Database, sets: Sequence[MigrationSet]) -> list[Migration]:
    """The migrations `apply` would run, in order; Misconfigured for a store it would refuse. Changes nothing."""
    return pending(load(sets, db.dialect), await applied(db))


async def apply(db: Database, sets: Sequence[MigrationSet], *, only: Collection[Step] | None = None) -> list[Migration]:
    """Bring the store up to date, or only as far as the steps in `only`; returns the migrations this call ran."""
    done = await applied(db)
    planned = [
        step for step in pending(load(sets, db.dialect), done) if only is None or (step.set_name, step.number) in only
    ]
    if not planned:
        return []
    if isinstance(db, SqliteDatabase):
        await save_before_migrating(db)
    await db.write(lambda tx: _create_table(tx, db.dialect))
    portions = [[step] for step in planned] if done else [planned]
    return [step for portion in portions for step in await db.write(_applying(portion, db.dialect))]


async def applied(db: Database) -> dict[Step, str]:
    """Every applied step and its checksum."""
    return await db.read(lambda rows: read_applied(rows, db.dialect))


async def versions(db: Database) -> dict[str, int]:
    """The highest applied number of each set."""
    found: dict[str, int] = {}
    for name, number in await applied(db):
        found[name] = max(number, found.get(name, 0))
    return found


def read_applied(rows: Rows, dialect: Dialect) -> dict[Step, str]:
    """Every applied step and its checksum; empty for a store that was never set up."""
    if not rows.value(_TABLE_EXISTS[dialect]):
        return {}
    found = rows.all("SELECT set_name, number, checksum FROM schema_migrations ORDER BY set_name, number")
    return {(name, number): checksum for name, number, checksum in found}


def pending(known: Iterable[Migration], done: dict[Step, str]) -> list[Migration]:
    """The known migrations that are not yet applied; Misconfigured if the applied ones do not match the known ones."""
    known = list(known)
    by_step = {(step.set_name, step.number): step for step in known}
    names = {step.set_name for step in known}
    for (name, number), checksum in done.items():
        if name not in names:
            continue  # a room that is not loaded now keeps its tables
        if (step := by_step.get((name, number))) is None:
            raise Misconfigured(
                f"The store was made by a newer Pentad: {name} is at {number:04d}, this one knows less.",
                hint="Upgrade Pentad, or restore a backup that was made by this version.",
            )
        if step.checksum != checksum:
            raise Misconfigured(
                f"The migration {step.label} was changed after it had been applied to this store.",
                hint="Install an unmodified Pentad; changes to the schema go into a new migration.",
            )
    return [step for step in known if (step.set_name, step.number) not in done]


@cache
def _load_set(one: MigrationSet, dialect: Dialect) -> Sequence[Migration]:
    found: dict[int, Migration] = {}
    for entry in sorted(files(one.package).iterdir(), key=lambda entry: entry.name):
        name = _FILE_NAME.fullmatch(entry.name)
        if name is None or name[3] not in (None, dialect):
            continue
        number = int(name[1])
        if number in found:
            raise _bad_numbering(one, f"has two files numbered {number:04d} for {dialect}")
        text = entry.read_text(encoding="utf-8").replace("\r\n", "\n")
        checksum = hashlib.sha256(text.encode()).hexdigest()
        found[number] = Migration(one.name, number, name[2], checksum, text, dialect)
    for expected, number in enumerate(sorted(found), 1):
        if number != expected:
            raise _bad_numbering(one, f"has no file numbered {expected:04d} for {dialect}")
    return [found[number] for number in sorted(found)]


def _bad_numbering(one: MigrationSet, what: str) -> Misconfigured:
    return Misconfigured(
        f"The migrations of {one.name!r} {what}.",
        hint="Number them 0001, 0002, ... without gaps, each once for every dialect.",
    )


def _create_table(tx: Transaction, dialect: Dialect) -> None:
    if dialect == "postgres":  # IF NOT EXISTS alone still fails if two sessions create the table at the same moment
        tx.run("SELECT pg_advisory_xact_lock(?)", _CREATE_LOCK)
    tx.run(_CREATE_TABLE)


def _applying(steps: Iterable[Migration], dialect: Dialect) -> Callable[[Transaction], list[Migration]]:
    def work(tx: Transaction) -> list[Migration]:
        if dialect == "postgres":  # before any query, so that the snapshot is taken after the wait for the lock
            tx.run("SET LOCAL statement_timeout = 0")
            tx.run("LOCK TABLE schema_migrations IN ACCESS EXCLUSIVE MODE")
        done = read_applied(tx, dialect)
        due = [step for step in steps if (step.set_name, step.number) not in done]
        for step in due:
            for statement in step.statements:
                tx.run(statement)
            tx.run(
                "INSERT INTO schema_migrations (set_name, number, title, checksum, applied_at) VALUES (?, ?, ?, ?, ?)",
                step.set_name, step.number, step.title, step.checksum, iso(_CLOCK.now()),
            )  # fmt: skip
        return due

    return work
