"""SQL for the records that the server makes of what it hosts."""

from typing import NamedTuple

from pentad.kernel.errors import Conflict
from pentad.kernel.ports import Rows, Transaction


class Listed(NamedTuple):
    """The record of a listing; `cid` is empty while it is withdrawn."""

    revision: str
    cid: str
    created_at: float


def find(rows: Rows, key: str) -> Listed | None:
    row = rows.one("SELECT revision, cid, created_at FROM directory_listed WHERE key = ?", key)
    return None if row is None else Listed(*row)


def save(tx: Transaction, key: str, listed: Listed) -> None:
    tx.run(
        "INSERT INTO directory_listed (key, revision, cid, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (key)"
        " DO UPDATE SET revision = excluded.revision, cid = excluded.cid, created_at = excluded.created_at",
        key, *listed,
    )  # fmt: skip


def check_unlisted(rows: Rows, cid: str) -> None:
    """Conflict if the server maintains the record itself."""
    if (key := rows.value("SELECT key FROM directory_listed WHERE cid = ?", cid)) is not None:
        raise Conflict(
            f"The server lists {key} itself, and keeps its record up to date.",
            hint="Change or remove what is listed; the record follows.",
        )
