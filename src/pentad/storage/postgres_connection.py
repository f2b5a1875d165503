"""How Pentad connects to PostgreSQL: bounded waiting, explicit transactions, UTF-8.

TEXT has to sort the same in both dialects, or paging by name would give other pages. The database's own collation is
the operator's affair: Pentad's columns say `COLLATE "C"` themselves.
"""

from typing import Any

import psycopg
from psycopg import conninfo

from pentad.kernel.errors import Misconfigured
from pentad.storage.postgres_errors import connecting
from pentad.storage.postgres_rows import Connection, portable_types

_DEFAULTS: dict[str, str | int] = {
    "application_name": "pentad",
    "connect_timeout": 3,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 6_000,
    "client_encoding": "UTF8",
    "options": "-c statement_timeout=60s -c idle_in_transaction_session_timeout=60s",
}
_OLDEST = 140_000


def settings(url: str) -> dict[str, Any]:
    """What the URL says, over Pentad's defaults, as arguments of `psycopg.connect`."""
    try:
        given = conninfo.conninfo_to_dict(url)
    except psycopg.Error as error:
        raise connecting(error) from None
    return {**_DEFAULTS, **given, "autocommit": True, "context": portable_types()}


def connect(url: str, **more: Any) -> Connection:
    """One connection outside the pool; the caller closes it."""
    try:
        return psycopg.connect("", **{**settings(url), **more})
    except psycopg.Error as error:
        raise connecting(error) from None


def check_server(connection: Connection) -> None:
    """Misconfigured unless the server and the database are fit to hold a store."""
    if connection.info.server_version < _OLDEST:
        raise Misconfigured("The PostgreSQL server is too old.", hint="Pentad needs PostgreSQL 14 or newer.")
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise Misconfigured(
            "The database does not use UTF-8.",
            hint="Create it with: CREATE DATABASE pentad ENCODING 'UTF8' TEMPLATE template0",
        )
