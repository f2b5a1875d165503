"""Opens the store for verbs that need no room."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Database
from pentad.settings.model import Settings
from pentad.storage.open import locate, open_database
from pentad.terminal.running_servers import makes_default_store, report_new_store


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncGenerator[Database]:
    """Open the store of these settings, without migrating it."""
    is_new = makes_default_store(settings)
    database = await open_database(settings.database, settings.data)
    if is_new:
        report_new_store(settings)
    try:
        yield database
    finally:
        await database.close()


def existing_store(settings: Settings) -> Path | str:
    """The location of the store; NotFound if its file does not exist."""
    place = locate(settings.database, settings.data)
    if isinstance(place, Path) and not place.exists():
        raise NotFound(f"There is no store at {place}.", hint="Name its folder with --data.")
    return place
