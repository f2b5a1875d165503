"""Migrations over both dialects: in order, once, recorded, and refused when the store and the code do not fit."""

import asyncio
import importlib
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from pentad.kernel.errors import Misconfigured, PentadError
from pentad.kernel.ports import Database
from pentad.storage.migrations import STORAGE, MigrationSet, apply, plan, versions
from tests.stores import Stores

pytestmark = pytest.mark.anyio

FIRST = "-- one; two\nCREATE TABLE people (id TEXT PRIMARY KEY);\nINSERT INTO people VALUES ('ada; 100 %?');\n"
SECOND = "CREATE TABLE pets (owner TEXT REFERENCES people (id));"

Package = Callable[[dict[str, str]], MigrationSet]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Package:
    """Writes an importable folder of migrations. Each has a name of its own, because folders are read once."""
    (tmp_path / "code").mkdir()  # a folder that is looked up before it exists is never looked up again
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    names = (f"made_for_test_{abs(hash(request.node.name))}_{number}" for number in itertools.count())

    def make(files: dict[str, str]) -> MigrationSet:
        name = next(names)
        folder = tmp_path / "code" / name
        folder.mkdir()
        (folder / "__init__.py").touch()
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        importlib.invalidate_caches()
        return MigrationSet("people", name)

    return make


async def people(db: Database) -> list[str]:
    return [row[0] for row in await db.read(lambda rows: rows.all("SELECT id FROM people"))]


@pytest.mark.requirement("storage:migrations:order")
async def test_what_is_due_is_planned_applied_in_order_and_recorded(stores: Stores, package: Package):
    db = await stores.open([])
    sets = [STORAGE, package({"0001_people.sql": FIRST, "0002_pets.sql": SECOND, "notes.txt": "ignored"})]
    labels = ["storage 0001_signals", "storage 0002_probes", "people 0001_people", "people 0002_pets"]
    assert await versions(db) == {}
    assert [step.label for step in await plan(db, sets)] == labels
    assert [step.label for step in await apply(db, sets)] == labels
    assert await plan(db, sets) == []
    assert await apply(db, sets) == []
    assert await people(db) == ["ada; 100 %?"]
    assert await versions(db) == {"storage": 2, "people": 2}
    row = await db.lookup("SELECT title, checksum, applied_at FROM schema_migrations WHERE set_name = 'people'")
    assert row is not None
    assert row[0] == "people"
    assert len(row[1]) == 64
    assert row[2].endswith("Z")


async def test_each_dialect_takes_its_own_file(stores: Stores, package: Package):
    db = await stores.open([])
    one = package(
        {
            "0001_people.sqlite.sql": "CREATE TABLE people (id TEXT); INSERT INTO people VALUES ('sqlite')",
            "0001_people.postgres.sql": "CREATE TABLE people (id TEXT); INSERT INTO people VALUES ('postgres')",
        }
    )
    await apply(db, [one])
    assert await people(db) == [db.dialect]


async def test_a_failing_migration_leaves_no_part_of_itself(stores: Stores, package: Package):
    db = await stores.open([])
    one = package(
        {"0001_people.sql": FIRST, "0002_bad.sql": "CREATE TABLE half (a TEXT); INSERT INTO nowhere VALUES (1)"}
    )
    with pytest.raises(Exception, match="nowhere"):
        await apply(db, [one])
    assert await versions(db) == {}, "a new store is made whole or not at all"
    await apply(db, [package({"0001_people.sql": FIRST})])
    with pytest.raises(Exception, match="nowhere"):
        await apply(db, [one])
    assert await versions(db) == {"people": 1}
    one = package({"0001_people.sql": FIRST, "0002_good.sql": "CREATE TABLE half (a TEXT)"})
    assert [step.label for step in await apply(db, [one])] == ["people 0002_good"]


@pytest.mark.requirement("storage:migrations:newer")
async def test_a_store_of_a_newer_pentad_is_refused(stores: Stores, package: Package):
    db = await stores.open([])
    await apply(db, [package({"0001_people.sql": FIRST, "0002_pets.sql": SECOND})])
    older = package({"0001_people.sql": FIRST})
    for attempt in (plan, apply):
        with pytest.raises(Misconfigured, match="newer Pentad") as caught:
            await attempt(db, [older])
        assert caught.value.hint


@pytest.mark.requirement("storage:migrations:checksum")
async def test_a_migration_changed_after_it_was_applied_is_refused(stores: Stores, package: Package):
    db = await stores.open([])
    await apply(db, [package({"0001_people.sql": FIRST})])
    await apply(db, [package({"0001_people.sql": FIRST.replace("\n", "\r\n")})])
    with pytest.raises(Misconfigured, match="people 0001_people was changed"):
        await apply(db, [package({"0001_people.sql": FIRST + "-- harmless?"})])


@pytest.mark.parametrize(
    "files",
    [
        {"0001_a.sql": "", "0003_c.sql": ""},
        {"0002_b.sql": ""},
        {"0001_a.sql": "", "0001_b.sql": ""},
        {"0001_a.sql": "", "0001_a.sqlite.sql": "", "0001_a.postgres.sql": ""},
    ],
)
async def test_a_folder_out_of_order_is_refused(stores: Stores, package: Package, files: dict[str, str]):
    db = await stores.open([])
    with pytest.raises(Misconfigured, match="people"):
        await plan(db, [package(files)])


async def test_a_room_that_is_not_loaded_keeps_its_tables(stores: Stores, package: Package):
    db = await stores.open([])
    await apply(db, [package({"0001_people.sql": FIRST})])
    assert [step.label for step in await apply(db, [STORAGE])] == ["storage 0001_signals", "storage 0002_probes"]
    assert await versions(db) == {"storage": 2, "people": 1}


@pytest.mark.requirement("storage:migrations:order")
async def test_of_several_that_start_at_once_each_step_is_done_by_one(stores: Stores, package: Package):
    sets = [STORAGE, package({"0001_people.sql": FIRST, "0002_pets.sql": SECOND})]
    handles = [await stores.open([]) for _ in range(4)]
    done = await asyncio.gather(*(apply(db, sets) for db in handles))
    assert sorted(step.label for steps in done for step in steps) == [
        "people 0001_people", "people 0002_pets", "storage 0001_signals", "storage 0002_probes",
    ]  # fmt: skip
    assert await people(handles[0]) == ["ada; 100 %?"]


@pytest.mark.requirement("storage:migrations:backup")
async def test_an_sqlite_store_with_content_is_saved_before_it_is_changed(tmp_path: Path, package: Package):
    stores = Stores(None, tmp_path / "data")
    db = await stores.open([])
    try:
        await apply(db, [package({"0001_people.sql": FIRST})])
        assert list(stores.data.glob("*.bak")) == []
        files = {"0001_people.sql": FIRST}
        for number in range(2, 7):
            files[f"{number:04}_more.sql"] = f"CREATE TABLE more_{number} (a TEXT)"
            await apply(db, [package(files)])
        kept = sorted(stores.data.glob("pentad.db.before-*.bak"))
        assert len(kept) == 3
        saved = Stores(f"sqlite:///{kept[-1]}", stores.data)
        copy = await saved.open([])
        assert await versions(copy) == {"people": 5}
        assert await people(copy) == ["ada; 100 %?"]
        await saved.close()
    finally:
        await stores.close()


async def test_a_set_that_cannot_be_found_is_an_error_at_once(stores: Stores):
    db = await stores.open([])
    with pytest.raises((ModuleNotFoundError, PentadError)):
        await plan(db, [MigrationSet("ghost", "pentad.no_such_package")])
