"""The vector files are a copy of the store: whatever happens to them, the right vectors are found."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pentad.kernel.ports import Database
from pentad.search.index import SearchIndex
from pentad.search.vector_files import Folder
from pentad.storage.open import open_database
from pentad.storage.sqlite import SqliteDatabase
from pentad.storage.sqlite_copy import save
from tests.search.hashing import DIMENSIONS, HashingEmbedder
from tests.search.opening import SENTENCES, SETS, found, put, remove
from tests.stores import Stores

pytestmark = pytest.mark.anyio


@pytest.fixture
async def stores(tmp_path: Path):
    """SQLite alone: PostgreSQL has no files."""
    stores = Stores(None, tmp_path)
    yield stores
    await stores.close()


def again(database: Database, folder: Path) -> SearchIndex:
    """The index as a process that starts now has it."""
    return SearchIndex(database, folder, HashingEmbedder())


def only(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def _cut(path: Path) -> None:
    for file in path.glob("*.vectors"):
        os.truncate(file, file.stat().st_size - 10)


def _lengthen(path: Path) -> None:
    for file in [*path.glob("*.vectors"), *path.glob("*.slots"), *path.glob("*.signs")]:
        with file.open("ab") as end:
            end.write(b"half a slot, written when the power went")


def _lose_one(path: Path) -> None:
    next(path.glob("*.slots")).unlink()


def _damage_head(path: Path) -> None:
    (path / "head.json").write_bytes(b'{"model": "hash')


def _lose_head(path: Path) -> None:
    (path / "head.json").unlink()


@pytest.mark.parametrize("harm", [shutil.rmtree, _cut, _lengthen, _lose_one, _damage_head, _lose_head])
async def test_harmed_files_are_mended(
    database: Database, index: SearchIndex, stores: Stores, harm: Callable[[Path], object]
):
    folder = stores.data / "search"
    await put(database, index, SENTENCES)
    expected = await index.search("shore", "copper ships", limit=6)
    harm(only(folder))
    assert await again(database, folder).search("shore", "copper ships", limit=6) == expected
    await put(database, again(database, folder), {7: "Copper ships again."})
    assert await found(again(database, folder), "copper ships again", limit=1) == [7]


async def test_rows_that_were_never_published_do_not_count(database: Database, index: SearchIndex, stores: Stores):
    folder = stores.data / "search"
    await put(database, index, {1: SENTENCES[1]})
    await found(index, "ships")
    files = Folder(only(folder))
    head = files.head("hashing", DIMENSIONS)
    assert head is not None
    stray = np.ones((3, DIMENSIONS), np.float32)
    files.append(head, stray, np.arange(3), np.arange(3))
    assert files.head("hashing", DIMENSIONS) == head
    await put(database, index, {2: SENTENCES[2]})
    assert set(await found(again(database, folder), "ships")) == {1, 2}
    after = files.head("hashing", DIMENSIONS)
    assert after is not None
    assert after.rows == 2


async def test_only_new_vectors_are_written(database: Database, index: SearchIndex, stores: Stores):
    await put(database, index, SENTENCES)
    await found(index, "ships")
    before = next((stores.data / "search").glob("*/*.vectors"))
    await put(database, index, {7: "more ships"})
    await found(index, "ships")
    after = next((stores.data / "search").glob("*/*.vectors"))
    assert after == before
    assert after.stat().st_size == 7 * DIMENSIONS * 4


async def test_files_that_are_mostly_waste_are_written_anew(database: Database, index: SearchIndex, stores: Stores):
    crowd = {number: f"ship {number}" for number in range(1500)}
    await put(database, index, crowd)
    await found(index, "ship")
    await remove(database, index, range(1400))
    await put(database, index, {2000: "ship last"})
    assert await found(index, "ship last", limit=1) == [2000]
    (left,) = (stores.data / "search").glob("*/*.vectors")
    assert left.stat().st_size == 101 * DIMENSIONS * 4


async def test_a_restored_store_does_not_believe_newer_files(stores: Stores, tmp_path: Path):
    folder = stores.data / "search"
    database = await open_database(None, stores.data)
    assert isinstance(database, SqliteDatabase)
    from pentad.storage.migrations import apply

    await apply(database, SETS)
    await put(database, again(database, folder), {1: SENTENCES[1]})
    copy = tmp_path / "copy.db"
    await save(database, copy)
    index = again(database, folder)
    await put(database, index, {2: SENTENCES[3], 3: SENTENCES[4]})
    await found(index, "ships")
    await database.close()
    for stale in stores.data.glob("pentad.db*"):
        stale.unlink()
    copy.replace(database.path)
    database = await stores.open(SETS)
    index = again(database, folder)
    for number in (2, 3, 4):
        await put(database, index, {number: f"other words {number}"})
    for number in (2, 3, 4):
        hit = (await index.search("shore", f"other words {number}", limit=1)).hits[0]
        assert (hit.id, hit.cosine) == (number, pytest.approx(1.0, abs=1e-6))


WRITER = """
import asyncio, sys
from pathlib import Path
from pentad.search.index import SearchIndex
from pentad.storage.open import open_database
from tests.search.hashing import HashingEmbedder
from tests.search.opening import found, put

async def main(folder):
    database = await open_database(None, folder)
    index = SearchIndex(database, folder / "search", HashingEmbedder())
    number = int(sys.argv[2])
    while True:
        await put(database, index, {number: f"ship {number}"})
        print(number, flush=True)
        await found(index, f"ship {number}")
        number += 1

asyncio.run(main(Path(sys.argv[1])))
"""


async def test_a_process_killed_at_work_leaves_what_it_confirmed(database: Database, stores: Stores):
    folder, confirmed = stores.data / "search", 0
    for more in (3, 7, 12):
        command = [sys.executable, "-c", WRITER, str(stores.data), str(confirmed + 1)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2], text=True)
        assert process.stdout is not None
        for _ in range(more):
            confirmed = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        confirmed = max([confirmed, *(int(line) for line in process.stdout.read().split())])
        process.wait()
        process.stdout.close()
        index = again(database, folder)
        for number in range(1, confirmed + 1):
            hit = (await index.search("shore", f"ship {number}", limit=1)).hits[0]
            assert (hit.id, hit.cosine) == (number, pytest.approx(1.0, abs=1e-6))
        await put(database, index, {confirmed + 1: f"ship {confirmed + 1}"})
        confirmed += 1
