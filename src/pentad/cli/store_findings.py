"""What `pentad doctor` finds out about the store: reachable, up to date, with what search needs, on the same clock.

The store is opened as it is and never migrated: looking must not change what is looked at.
"""

import time
from pathlib import Path
from typing import Final

from pentad.access.sealed_columns import check_sealed
from pentad.app import migration_sets, sealed_columns
from pentad.cli.findings import Finding
from pentad.cli.store import open_store
from pentad.kernel.errors import PentadError
from pentad.kernel.ports import Database
from pentad.rooms.finder import find_rooms
from pentad.settings.model import Settings
from pentad.storage.integrity import Progress, check_integrity
from pentad.storage.migrations import plan
from pentad.storage.open import locate
from pentad.storage.probe import probe_store

_MOST_SKEW_SECONDS: Final = 5.0
_FAULTS_SHOWN: Final = 3


async def about_store(settings: Settings, check_seconds: float, progress: Progress) -> list[Finding]:
    """Every question about the store, as far as it can be asked; `progress` hears how far its check is."""
    place = locate(settings.database, settings.data)
    if isinstance(place, Path) and not place.exists():
        return [Finding("store", "ok", "There is no store yet; the first start makes it.")]
    try:
        async with open_store(settings) as database:
            found = [await _about_answers(database), await _about_migrations(database, settings)]
            if found[-1].state == "ok":
                found.append(await _about_secrets(database, settings))
            if check_seconds:
                found.append(await _about_integrity(database, check_seconds, progress))
            if database.dialect == "postgres":
                found += [await _about_vectors(database), await _about_server_clock(database)]
            return found
    except PentadError as error:
        return [Finding("store", "fail", error.message, error.hint or "Check --database and --data.")]


async def _about_answers(database: Database) -> Finding:
    store = await probe_store(database)
    if store.trouble is not None:
        return Finding("store", "fail", store.trouble.message, store.trouble.hint or "Read the server's log.")
    title = "PostgreSQL" if store.dialect == "postgres" else "SQLite"
    return Finding(
        "store", "ok", f"{title} {store.version} answers; a commit takes {(store.write_seconds or 0) * 1000:.1f} ms."
    )


async def _about_migrations(database: Database, settings: Settings) -> Finding:
    try:
        pending = await plan(database, migration_sets(find_rooms(settings.rooms)))
    except PentadError as error:
        return Finding("migrations", "fail", error.message, error.hint or "Upgrade Pentad.")
    if pending:
        fix = "`pentad migrate` applies them now, the next start does so anyway."
        return Finding("migrations", "warn", f"{len(pending)} are due.", fix)
    return Finding("migrations", "ok", "The tables are up to date.")


async def _about_secrets(database: Database, settings: Settings) -> Finding:
    """Whether the keys and secrets in the store can be read with `secret_key`."""
    box = settings.secret_box()
    try:
        pending = await check_sealed(database, box, sealed_columns(find_rooms(settings.rooms)))
    except PentadError as error:
        return Finding("secrets", "fail", error.message, error.hint or "Set secret_key.")
    if pending:
        how = "encrypts" if box.is_on else "decrypts"
        return Finding("secrets", "ok", f"The next start {how} {pending} keys and secrets in the store.")
    if box.is_on:
        return Finding("secrets", "ok", "Keys and secrets in the store are encrypted.")
    return Finding("secrets", "ok", "Keys and secrets in the store are not encrypted; secret_key would do that.")


async def _about_integrity(database: Database, seconds: float, progress: Progress) -> Finding:
    found = await check_integrity(database, seconds=seconds, progress=progress)
    progress("")
    if found.faults:
        shown = "; ".join(found.faults[:_FAULTS_SHOWN])
        return Finding("integrity", "fail", f"The store is damaged: {shown}", "Stop the server, `pentad restore FILE`.")
    if not found.complete:
        fix = "Give it longer with --check-seconds."
        return Finding("integrity", "warn", f"Nothing was found in {seconds:g} s, but not all was read.", fix)
    return Finding("integrity", "ok", f"All of the store was read and is sound ({found.seconds:.1f} s).")


async def _about_vectors(database: Database) -> Finding:
    store = await probe_store(database)
    if store.pgvector is not None:
        return Finding("pgvector", "ok", f"pgvector {store.pgvector} is there.")
    if store.features.get("pgvector_available"):
        return Finding(
            "pgvector", "warn", "pgvector is not switched on.", "Run CREATE EXTENSION vector in the database."
        )
    return Finding("pgvector", "warn", "pgvector is not installed; search is lexical.", "Install it on the server.")


async def _about_server_clock(database: Database) -> Finding:
    theirs = await database.read(lambda rows: float(rows.value("SELECT extract(epoch FROM clock_timestamp())")))
    skew = abs(theirs - time.time())
    if skew > _MOST_SKEW_SECONDS:
        return Finding("store clock", "warn", f"The server's clock is off by {skew:.0f} s.", "Synchronise both clocks.")
    return Finding("store clock", "ok", "The server's clock agrees with this machine's.")
