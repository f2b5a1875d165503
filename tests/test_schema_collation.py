"""Text sorts by bytes on PostgreSQL too, whatever the database's own collation is."""

from pathlib import Path

import pytest

from pentad.app import migration_sets
from pentad.rooms.finder import find_rooms
from pentad.storage.migrations import apply
from pentad.storage.open import open_database
from tests.stores import PostgresServer

LEDGER = "schema_migrations"


@pytest.mark.anyio
async def test_every_text_column_of_pentad_sorts_by_bytes(postgres_server: PostgresServer, tmp_path: Path):
    with postgres_server.empty_database() as url:
        database = await open_database(url, tmp_path)
        try:
            await apply(database, migration_sets(find_rooms(())))
            columns = await database.read(
                lambda rows: rows.all(
                    "SELECT table_name, column_name, collation_name FROM information_schema.columns"
                    " WHERE table_schema = 'public' AND data_type IN ('text', 'character varying')"
                )
            )
        finally:
            await database.close()
    assert columns
    stray = [(table, column) for table, column, collation in columns if collation != "C" and table != LEDGER]
    assert stray == []
