"""Opens the store that a database URL names. The one place that chooses the dialect.

A URL can hold a password, so no error here repeats it.
"""

from pathlib import Path

from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import Database
from pentad.storage.sqlite import SqliteDatabase

_POSTGRES_SCHEMES = ("postgresql://", "postgres://")
_SQLITE_SCHEME = "sqlite:///"
FILE_NAME = "pentad.db"


async def open_database(
    url: str | None, data: Path, *, readers: int = 4, connections: int = 8, listens: bool = True
) -> Database:
    """Open the store: `<data>/pentad.db` without a URL, the file of `sqlite:///path`, or a PostgreSQL database.

    The store is not migrated here; `migrations.apply` does that. Without `listens`, a PostgreSQL database belongs to
    someone else: no connection waits for signals, and no lock marks it as in use by a server.
    """
    target = locate(url, data)
    if isinstance(target, Path):
        return await SqliteDatabase.open(target, readers=readers)
    try:
        from pentad.storage.postgres import PostgresDatabase
    except ImportError as error:
        raise Misconfigured(
            "PostgreSQL support is not installed.", hint="Install it with: pip install 'pentad[postgres]'"
        ) from error
    return await PostgresDatabase.open(target, connections=connections, listens=listens)


def locate(url: str | None, data: Path) -> Path | str:
    """The path of an SQLite store or the URL of a PostgreSQL one, as `backup.restore` takes it."""
    if url is None:
        return data / FILE_NAME
    if url.startswith(_POSTGRES_SCHEMES):
        return url
    if url.startswith(_SQLITE_SCHEME) and len(url) > len(_SQLITE_SCHEME):
        return Path(url.removeprefix(_SQLITE_SCHEME))
    raise Misconfigured(
        "The database URL is of no known kind.",
        hint="Use sqlite:///relative/path.db, sqlite:////absolute/path.db or postgresql://user:password@host/name.",
    )
