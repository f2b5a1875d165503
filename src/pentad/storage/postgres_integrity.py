"""Reads a whole PostgreSQL store to see whether it is sound; see `integrity.py`."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from pentad.kernel.errors import PentadError
from pentad.storage.postgres import PostgresDatabase
from pentad.storage.postgres_connection import Connection

_TABLES = """
    SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY 1
"""
_INDEXES = """
    SELECT i.indexrelid::regclass::text FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
    WHERE a.amname = 'btree' AND i.indisvalid AND c.relnamespace = current_schema()::regnamespace ORDER BY 1
"""
_FAILURES = "SELECT coalesce(checksum_failures, 0) FROM pg_stat_database WHERE datname = current_database()"
_HAS_AMCHECK = """
    SELECT count(*) FROM pg_extension, pg_proc p
    WHERE extname = 'amcheck' AND proname = 'bt_index_check' AND has_function_privilege(p.oid, 'execute')
"""


class _TimeUp(Exception):
    """The deadline has passed."""


def check(
    db: PostgresDatabase, deadline: float, progress: Callable[[str], None], *, most: int
) -> tuple[list[str], bool]:
    """The faults found, and whether everything was read in time."""
    faults: list[str] = []
    try:
        with db.connect() as connection:
            connection.autocommit = True
            _check(connection, deadline, progress, faults)
    except _TimeUp:
        return faults[:most], False
    except PentadError as error:
        return [error.message], False
    except psycopg.OperationalError:
        return [*faults[:most], "The server stopped responding before the end."], False
    return faults[:most], True


def _check(connection: Connection, deadline: float, progress: Callable[[str], None], faults: list[str]) -> None:
    failures = connection.execute(_FAILURES).fetchone()
    if failures is not None and failures[0]:
        faults.append(f"The server has counted {failures[0]} pages with a wrong checksum.")
    indexes = connection.execute(_INDEXES).fetchall() if _value(connection, _HAS_AMCHECK) else []
    tables = connection.execute(_TABLES).fetchall()
    for position, (name,) in enumerate(tables, 1):
        progress(f"table {position} of {len(tables)}")
        query = sql.SQL("SELECT sum(length(t::text)) FROM {} t").format(sql.Identifier(name))
        with _collecting_faults(f"The table {name}", faults):
            _limit_time(connection, deadline)
            connection.execute(query)
    for position, (name,) in enumerate(indexes, 1):
        progress(f"index {position} of {len(indexes)}")
        with _collecting_faults(f"The index {name}", faults):
            _limit_time(connection, deadline)
            connection.execute("SELECT bt_index_check(%s::regclass, true)", (name,))


def _limit_time(connection: Connection, deadline: float) -> None:
    left = int((deadline - time.monotonic()) * 1000)
    if left < 1:
        raise _TimeUp
    connection.execute(f"SET statement_timeout = {left}".encode())


@contextmanager
def _collecting_faults(what: str, faults: list[str]) -> Generator[None]:
    try:
        yield
    except psycopg.errors.QueryCanceled:
        raise _TimeUp from None
    except (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted, psycopg.errors.IoError):
        faults.append(f"{what} is damaged.")
    except psycopg.InternalError:
        faults.append(f"{what} cannot be read to the end.")


def _value(connection: Connection, query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    return 0 if row is None else int(row[0])
