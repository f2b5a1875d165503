"""The SQL of listings."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Rows, Transaction
from pentad.listings.listing import Listing

STORED: Final = ""
"""The worker name of entries that belong to the store itself."""


def declared_by(rows: Rows, worker: str) -> dict[str, str]:
    """The revisions that a process has declared, by key."""
    return dict(rows.all("SELECT key, revision FROM listings WHERE worker = ?", worker))


def stored_revision(rows: Rows, key: str) -> str | None:
    """The revision of an entry that belongs to the store itself."""
    return rows.value("SELECT revision FROM listings WHERE key = ? AND worker = ?", key, STORED)


def declare(tx: Transaction, worker: str, listings: Iterable[Listing], now: float) -> None:
    """Store what a process hosts, new or changed."""
    for one in listings:
        tx.run(
            "INSERT INTO listings (key, worker, revision, body, changed_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (key, worker) DO UPDATE SET revision = excluded.revision, body = excluded.body,"
            " changed_at = excluded.changed_at",
            one.key, worker, one.revision, one.body().decode(), now,
        )  # fmt: skip
        _mark(tx, one.key)


def retract(tx: Transaction, worker: str, keys: Iterable[str]) -> None:
    """Forget what a process no longer hosts."""
    for key in keys:
        if tx.run("DELETE FROM listings WHERE worker = ? AND key = ?", worker, key):
            _mark(tx, key)


def current(rows: Rows, key: str) -> Listing | None:
    """The listing of a key: the newest if several processes host it, None if none does."""
    sql = "SELECT body FROM listings WHERE key = ? ORDER BY changed_at DESC, worker LIMIT 1"
    body: str | None = rows.value(sql, key)
    return None if body is None else msgspec.json.decode(body, type=Listing)


def changes(rows: Rows, most: int) -> Mapping[str, str]:
    """Keys that the directory has to process, each with its mark."""
    return dict(rows.all("SELECT key, mark FROM listing_changes ORDER BY key LIMIT ?", most))


def is_changed(rows: Rows, key: str) -> bool:
    """Whether the directory still has to process a key."""
    return rows.value("SELECT 1 FROM listing_changes WHERE key = ?", key) is not None


def settle(tx: Transaction, key: str, mark: str) -> None:
    """Forget a change, unless the key has changed again."""
    tx.run("DELETE FROM listing_changes WHERE key = ? AND mark = ?", key, mark)


def _mark(tx: Transaction, key: str) -> None:
    tx.run(
        "INSERT INTO listing_changes (key, mark) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET mark = excluded.mark",
        key, opaque_id(size=12),
    )  # fmt: skip
