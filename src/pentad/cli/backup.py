"""`pentad backup` and `pentad restore`: the whole store as one checked file."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pentad.terminal.options import settings_options, store_options
from pentad.terminal.output import say

if TYPE_CHECKING:
    from pentad.settings.model import Settings


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@store_options
def backup(file: Path, settings: "Settings") -> None:
    """Copy the store to FILE while it is in use.

    FILE appears or is replaced only once the copy is complete and verified.
    """
    asyncio.run(_backup(settings, file.absolute()))
    say(f"Saved {file} ({file.stat().st_size:,} bytes).")


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@settings_options("data", "database", "rooms", running="ignore")
def restore(file: Path, yes: bool, settings: "Settings") -> None:
    """Replace the store with the backup FILE, after checking it.

    No server may be running on the store. A replaced SQLite file is kept next to the new one.
    """
    if not yes and sys.stdin.isatty():
        click.confirm(f"Replace the store with {file}?", abort=True, err=True)
    kept = asyncio.run(_restore(settings, file.absolute()))
    say(f"Restored {file}." + (f" The replaced store is kept as {kept}" if kept else ""))


async def _backup(settings: "Settings", file: Path) -> None:
    from pentad.cli.store import existing_store, open_store
    from pentad.storage.backup import backup as save

    existing_store(settings)
    async with open_store(settings) as database:
        await save(database, file)


async def _restore(settings: "Settings", file: Path) -> Path | None:
    from pentad.app import migration_sets
    from pentad.rooms.finder import find_rooms
    from pentad.storage.backup import restore as load
    from pentad.storage.open import locate

    place = locate(settings.database, settings.data)
    if isinstance(place, Path):
        place.parent.mkdir(parents=True, exist_ok=True)
    return await load(place, file, sets=migration_sets(find_rooms(settings.rooms)))
