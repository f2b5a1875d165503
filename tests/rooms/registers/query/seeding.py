"""Putting objects straight into the tables, as the room's writers leave them."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from pentad.kernel.ports import Database, Dialect, Transaction
from pentad.rooms.registers.query.json_sql import index_columns
from pentad.rooms.registers.query.models import Kind, Path
from pentad.rooms.registers.query.search_words import WORDS
from tests.rooms.registers.opening import SETS
from tests.rooms.registers.query.oracle import Thing
from tests.stores import Stores


async def open_room(stores: Stores) -> Database:
    """A store with the room's tables, two registers and two schemas."""
    db = await stores.open(SETS)

    def work(tx: Transaction) -> None:
        for table in ("registers", "schemas"):
            for number in (1, 2):
                tx.run(
                    f"INSERT INTO {table} (id, uuid, slug, body, created_at, updated_at) VALUES (?, ?, ?, ?, 0, 0)",
                    number, f"{table}-{number}", f"slug-{number}", "{}",
                )  # fmt: skip

    await db.write(work)
    return db


def put(tx: Transaction, things: Iterable[Thing]) -> None:
    tx.run_many(
        "INSERT INTO objects (id, uuid, register, schema, version, data, slug, owner, organisation, created_at,"
        " updated_at, deleted, lock, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)",
        [
            (
                thing.id, thing.uuid, thing.register, thing.schema, thing.version, encoded(thing), thing.slug,
                thing.owner, thing.organisation, thing.created, thing.updated, thing.deleted, b"",
            )
            for thing in things
        ],
    )  # fmt: skip


def put_words(tx: Transaction, dialect: Dialect, texts: Iterable[tuple[int, str]]) -> None:
    WORDS.insert(tx, dialect, [(number, (text,)) for number, text in texts])


def put_indexes(tx: Transaction, dialect: Dialect, schema: int, paths: Sequence[tuple[Path, Kind]]) -> None:
    for number, (path, kind) in enumerate(paths):
        tx.run(
            f"CREATE INDEX ox_{schema}_{number} ON objects ({index_columns(dialect, path, kind)})"
            f" WHERE schema = {schema} AND deleted IS NULL"
        )


def encoded(thing: Thing) -> str:
    return msgspec.json.encode(thing.data).decode()


def simple(number: int, data: dict[str, Any], **more: Any) -> Thing:
    """An object of the first pair with as little said as possible."""
    said: dict[str, Any] = {
        "register": 1, "schema": 1, "version": 1, "slug": None, "owner": "user:ada", "organisation": "home",
        "created": float(number), "updated": float(number),
    }  # fmt: skip
    return Thing(id=number, uuid=uuid_of(number), data=data, **{**said, **more})


def uuid_of(number: int) -> str:
    return f"00000000-0000-7000-8000-{number:012d}"
