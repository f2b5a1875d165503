"""`pentad migrate`: apply the migrations that the next start would apply, or list them."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pentad.terminal.options import json_option, settings_options
from pentad.terminal.output import print_json, print_table

if TYPE_CHECKING:
    from pentad.settings.model import Settings
    from pentad.storage.migrations import Migration


@click.command()
@click.option("--plan", "only_plan", is_flag=True, help="List the pending migrations and change nothing.")
@json_option
@settings_options("data", "database", "rooms", running="ignore")
def migrate(only_plan: bool, as_json: bool, settings: "Settings") -> None:
    """Bring the store's tables up to date, or show what that would do."""
    steps = asyncio.run(_plan(settings) if only_plan else _apply(settings))
    rows = [(step.set_name, f"{step.number:04d}", step.title) for step in steps]
    columns = ("set", "number", "title")
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table(columns, rows, empty="The store is up to date.")


async def _plan(settings: "Settings") -> "list[Migration]":
    from pentad.app import migration_sets
    from pentad.cli.store import open_store
    from pentad.rooms.finder import find_rooms
    from pentad.storage.migrations import load, plan
    from pentad.storage.open import locate

    sets = migration_sets(find_rooms(settings.rooms))
    place = locate(settings.database, settings.data)
    if isinstance(place, Path) and not place.exists():
        # Opening the store would create it, and a plan changes nothing.
        return load(sets, "sqlite")
    async with open_store(settings) as database:
        return await plan(database, sets)


async def _apply(settings: "Settings") -> "list[Migration]":
    from pentad.app import migration_sets
    from pentad.cli.store import open_store
    from pentad.rooms.finder import find_rooms
    from pentad.storage.migrations import apply

    sets = migration_sets(find_rooms(settings.rooms))
    async with open_store(settings) as database:
        return await apply(database, sets)
