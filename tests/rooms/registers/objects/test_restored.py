"""A restored PostgreSQL store is whole: what is unique stays so, and the feed goes on."""

from pathlib import Path

import pytest

from pentad.kernel.errors import Conflict
from pentad.storage.backup import backup, restore
from tests.rooms.registers.opening import SETS, WRITER, opened, with_trees
from tests.stores import PostgresServer, Stores

pytestmark = pytest.mark.anyio


async def test_a_restored_store_has_its_indexes_and_its_feed(postgres_server: PostgresServer, tmp_path: Path) -> None:
    with postgres_server.empty_database() as before, postgres_server.empty_database() as after:
        stores = Stores(before, tmp_path)
        async with opened(stores) as registers:
            pair = await with_trees(registers)
            await registers.objects.create(WRITER, pair, {"number": "T-1"})
            await backup(registers.platform.database, tmp_path / "saved")
        await stores.close()
        await restore(after, tmp_path / "saved", sets=SETS)
        stores = Stores(after, tmp_path)
        async with opened(stores) as registers:
            pair = await registers.catalogue.pair(WRITER, "city", "tree")
            with pytest.raises(Conflict, match="number"):
                await registers.objects.create(WRITER, pair, {"number": "T-1"})
            await registers.objects.create(WRITER, pair, {"number": "T-2"})
            changes, _cursor = await registers.history.feed(WRITER, None, limit=10)
            assert [change.action for change in changes] == ["create", "create"]
        await stores.close()
