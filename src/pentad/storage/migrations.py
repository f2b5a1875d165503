"""Bringing a store up to date, and refusing one that this code must not touch.

Each migration is one transaction that also records it, so a crash leaves whole steps. The check whether a step is
still due is made inside that transaction under the store's write lock: of two processes that start at once, one does
the work and the other finds it done.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from pentad.kernel.clock import SystemClock, iso
from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import Database, Dialect, Rows, Transaction
from pentad.storage.migration_files import Migration, MigrationSet, load
from pentad.storage.sqlite import SqliteDatabase
from pentad.storage.sqlite_copy import keep_before_migrating

Step = tuple[str, int]
"""A set's name and a number in it."""

_LEDGER = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        set_name TEXT NOT NULL,
        number INTEGER NOT NULL,
        title TEXT NOT NULL,
        checksum TEXT NOT NULL,
        applied_at TEXT NOT NULL,
        PRIMARY KEY (set_name, number)
    )
"""
_LEDGER_LOCK = 0x50454E544D49
_LEDGER_EXISTS = {
    "sqlite": "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'",
    "postgres": "SELECT count(to_regclass('schema_migrations'))",
}
_CLOCK = SystemClock()


async def plan(db: Database, sets: Sequence[MigrationSet]) -> list[Migration]:
    """What `apply` would do, in order; Misconfigured for a store it would refuse. Changes nothing."""
    return due(load(sets, db.dialect), await recorded(db))


async def apply(db: Database, sets: Sequence[MigrationSet], *, only: Collection[Step] | None = None) -> list[Migration]:
    """Bring the store up to date (or only as far as the steps in `only`); returns what this call did."""
    planned = [step for step in await plan(db, sets) if only is None or (step.set_name, step.number) in only]
    if not planned:
        return []
    if isinstance(db, SqliteDatabase):
        await keep_before_migrating(db)
    await db.write(lambda tx: _make_ledger(tx, db.dialect))
    return [step for step in planned if await db.write(_applying(step, db.dialect))]


async def recorded(db: Database) -> dict[Step, str]:
    """Every applied step and its checksum."""
    return await db.read(lambda rows: ledger(rows, db.dialect))


async def versions(db: Database) -> dict[str, int]:
    """The highest applied number of each set."""
    found: dict[str, int] = {}
    for name, number in await recorded(db):
        found[name] = max(number, found.get(name, 0))
    return found


def ledger(rows: Rows, dialect: Dialect) -> dict[Step, str]:
    """Every applied step and its checksum; empty for a store that was never set up."""
    if not rows.value(_LEDGER_EXISTS[dialect]):
        return {}
    found = rows.all("SELECT set_name, number, checksum FROM schema_migrations ORDER BY set_name, number")
    return {(name, number): checksum for name, number, checksum in found}


def due(known: Iterable[Migration], applied: dict[Step, str]) -> list[Migration]:
    """The known migrations that are not applied; Misconfigured if what is applied does not fit what is known."""
    known = list(known)
    by_step = {(step.set_name, step.number): step for step in known}
    names = {step.set_name for step in known}
    for (name, number), checksum in applied.items():
        if name not in names:
            continue  # a room that is not loaded today keeps its tables
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
    return [step for step in known if (step.set_name, step.number) not in applied]


def _make_ledger(tx: Transaction, dialect: Dialect) -> None:
    if dialect == "postgres":  # IF NOT EXISTS alone still fails when two make the table in the same moment
        tx.run("SELECT pg_advisory_xact_lock(?)", _LEDGER_LOCK)
    tx.run(_LEDGER)


def _applying(step: Migration, dialect: Dialect) -> Callable[[Transaction], bool]:
    def work(tx: Transaction) -> bool:
        if dialect == "postgres":  # before any query, so that the snapshot is taken after the wait for the lock
            tx.run("SET LOCAL statement_timeout = 0")
            tx.run("LOCK TABLE schema_migrations IN ACCESS EXCLUSIVE MODE")
        if (step.set_name, step.number) in ledger(tx, dialect):
            return False
        for statement in step.statements:
            tx.run(statement)
        tx.run(
            "INSERT INTO schema_migrations (set_name, number, title, checksum, applied_at) VALUES (?, ?, ?, ?, ?)",
            step.set_name, step.number, step.title, step.checksum, iso(_CLOCK.now()),
        )  # fmt: skip
        return True

    return work
