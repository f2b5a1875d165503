"""Opens the store for verbs that need no room."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from pentad.access.browser_sessions import BrowserSessions
from pentad.access.passwords import Passwords
from pentad.access.users import Users
from pentad.app import CORE_SETS
from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Database
from pentad.settings.model import Settings
from pentad.storage.migrations import apply
from pentad.storage.open import locate, open_database
from pentad.terminal.running_servers import makes_default_store, tell_new_store


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncGenerator[Database]:
    """The store of these settings, with the tables it has."""
    is_new = makes_default_store(settings)
    database = await open_database(settings.database, settings.data)
    if is_new:
        tell_new_store(settings)
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def open_users(settings: Settings) -> AsyncGenerator[Users]:
    """The users of the store, with the core's tables up to date."""
    async with open_store(settings) as database:
        await apply(database, CORE_SETS)
        with closing(Passwords()) as passwords:
            yield Users(database, passwords)


@asynccontextmanager
async def open_sessions(settings: Settings) -> AsyncGenerator[BrowserSessions]:
    """The browser sessions and login links of the store."""
    async with open_store(settings) as database:
        await apply(database, CORE_SETS)
        yield BrowserSessions(database)


def existing_store(settings: Settings) -> Path | str:
    """The place of the store; NotFound if it is a file that does not exist."""
    place = locate(settings.database, settings.data)
    if isinstance(place, Path) and not place.exists():
        raise NotFound(f"There is no store at {place}.", hint="Name its folder with --data.")
    return place
