"""A page of a PostgreSQL store is overwritten behind its back: callers who hit it are told, and a check finds it."""

import asyncio

import pytest

from pentad.kernel.errors import Misconfigured
from pentad.storage.health import health_of
from pentad.storage.integrity import check_integrity
from pentad.storage.migrations import STORAGE, apply
from pentad.storage.postgres import PostgresDatabase
from tests.stores import PostgresServer

pytestmark = [pytest.mark.anyio, pytest.mark.faults, pytest.mark.timeout(120)]


@pytest.mark.requirement("storage:health:damaged", "storage:integrity")
async def test_a_damaged_page_of_postgres_is_told_and_found():
    server = PostgresServer()
    try:
        db = await PostgresDatabase.open(server.url(), connections=2)
        await apply(db, [STORAGE])
        await db.write(lambda tx: tx.run("CREATE TABLE things (id BIGINT PRIMARY KEY, filler TEXT)"))
        await db.write(lambda tx: tx.run_many("INSERT INTO things VALUES (?, ?)", [(n, "x" * 500) for n in range(100)]))
        assert (await check_integrity(db, seconds=60)).faults == []
        path = await db.read(lambda rows: rows.value("SELECT pg_relation_filepath('things')"))
        await db.close()
        await asyncio.to_thread(server.stop)
        with (server._folder / "data" / path).open("r+b") as file:
            file.seek(8192)
            file.write(b"\xff" * 512)
        await asyncio.to_thread(server.start)
        db = await PostgresDatabase.open(server.url(), connections=2)
        with pytest.raises(Misconfigured) as caught:
            await db.read(lambda rows: rows.all("SELECT * FROM things"))
        assert caught.value.details["reason"] == "damaged"
        assert health_of(db).status == "failing"
        health_of(db).found_sound()
        found = await check_integrity(db, seconds=60)
        assert "The table things is damaged." in found.faults
        assert health_of(db).status == "failing"
        await db.close()
    finally:
        server.remove()
