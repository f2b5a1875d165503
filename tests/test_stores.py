"""Tests share an open PostgreSQL database one after the other, and none can tell what the previous one did."""

from pathlib import Path
from typing import Any

import pytest

from pentad.kernel.errors import Unavailable
from pentad.kernel.ports import Database, Transaction
from pentad.storage.migrations import STORAGE
from tests.refusing import read_only
from tests.stores import LentStores, PostgresServer

pytestmark = pytest.mark.anyio


def mark(tx: Transaction) -> None:
    tx.run("INSERT INTO store_probes VALUES ('before', ?)", b"")
    tx.run("CREATE INDEX left_over ON store_probes (filler)")
    tx.signal("news", "of before")


async def kept(server: PostgresServer, folder: Path) -> tuple[LentStores, Any]:
    """Stores whose handle another test is certain to get next."""
    stores = LentStores(server, folder)
    return stores, await stores.open([STORAGE])


async def rows_and_indexes(database: Database) -> tuple[int, int]:
    found = await database.lookup(
        "SELECT (SELECT count(*) FROM store_probes), (SELECT count(*) FROM pg_indexes WHERE indexname = 'left_over')"
    )
    assert found is not None
    return int(found[0]), int(found[1])


async def test_a_handle_that_is_used_again_is_as_new(
    postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, first = await kept(postgres_server, tmp_path)
    await first.write(mark)
    assert await rows_and_indexes(first) == (1, 1)
    monkeypatch.setattr(first, "lookup", None)
    await before.close()
    with pytest.raises(Unavailable, match="closed"):
        await first.write(mark)

    after, second = await kept(postgres_server, tmp_path)
    assert second._pool is first._pool, "that is what it is for"
    heard: list[str] = []
    stop = second.listen("news", heard.append)
    assert await rows_and_indexes(second) == (0, 0)
    assert (heard, second.health.status) == ([], "ok")
    stop()
    await after.close()


async def test_a_handle_that_was_broken_or_is_listened_to_is_not_used_again(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    for spoil in ("connections", "listener", "closed"):
        before, first = await kept(postgres_server, tmp_path)
        if spoil == "connections":
            with read_only(first):
                pass
        elif spoil == "listener":
            first.listen("news", lambda _: None)
        else:
            await first.close()
        await before.close()
        after, second = await kept(postgres_server, tmp_path)
        assert second._pool is not first._pool, spoil
        assert await rows_and_indexes(second) == (0, 0)
        await after.close()
