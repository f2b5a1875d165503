"""Versions of one agent: search by words shows the newest; filters and `latest: false` show all."""

from importlib.resources import files

import pytest

from pentad.kernel.ports import Database, Transaction
from pentad.rooms.directory import store
from pentad.rooms.directory.search.query import Query, build_query
from pentad.rooms.directory.search.service import RecordSearch
from tests.rooms.directory.search.seeding import agent, open_directory, put
from tests.stores import Stores

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("dir:search:latest")]
VERSIONS = [
    agent("example.org/pilot", version="v1.9.0", description="steers boats by the stars"),
    agent("example.org/pilot", version="v1.10.0", description="steers boats through fog"),
    agent("Example.org/Pilot", version="v0.1.0", description="steers boats"),
    agent("example.org/ferry", version="v3.0.0", description="boats across the river"),
    agent("example.org/pilot", version="v1.10.0-rc.1", description="steers boats through rain"),
]


@pytest.fixture
async def directory(stores: Stores) -> Database:
    directory = await open_directory(stores)
    for version in VERSIONS:  # one by one and together, as pushes come
        await directory.write(lambda tx, version=version: put(tx, directory.dialect, [version]))
    return directory


async def found(directory: Database, query: Query) -> list[str]:
    search = RecordSearch(directory)
    answer = await search.find(query)
    assert answer.total == len(answer.hits)
    return [record.data["version"] for record in await search.records([hit.cid for hit in answer.hits])]


async def test_words_find_the_newest_version_of_each_agent(directory: Database) -> None:
    assert sorted(await found(directory, build_query({}, words="boats"))) == ["v1.10.0", "v3.0.0"]
    assert await found(directory, build_query({}, words="stars")) == []
    newest_first = build_query({}, words="boats", sort="recency")
    assert await found(directory, newest_first) == ["v3.0.0", "v1.10.0"]


async def test_all_versions_are_found_on_request_and_by_filters(directory: Database) -> None:
    assert len(await found(directory, build_query({}, words="boats", latest=False))) == 5
    assert await found(directory, build_query({}, words="stars", latest=False)) == ["v1.9.0"]
    assert await found(directory, build_query({"versions": ["v1.9.*"]}, words="boats")) == ["v1.9.0"]
    assert len(await found(directory, build_query({"names": ["*pilot"]}))) == 4
    assert await found(directory, build_query({"names": ["*pilot"]}, latest=True)) == ["v1.10.0"]


async def test_a_deleted_version_gives_its_place_to_the_one_before(directory: Database) -> None:
    for gone, left in (("v1.10.0", "v1.10.0-rc.1"), ("v1.10.0-rc.1", "v1.9.0"), ("v0.1.0", "v1.9.0")):

        def delete(tx: Transaction, gone: str = gone) -> None:
            store.lock_terms(tx, directory.dialect)
            store.remove(tx, directory.dialect, tx.value("SELECT id FROM directory_records WHERE version = ?", gone))

        await directory.write(delete)
        assert sorted(await found(directory, build_query({}, words="boats"))) == sorted([left, "v3.0.0"])


async def test_versions_pushed_together_are_told_apart(stores: Stores) -> None:
    directory = await open_directory(stores)
    await directory.write(lambda tx: put(tx, directory.dialect, VERSIONS))
    assert sorted(await found(directory, build_query({}, words="boats"))) == ["v1.10.0", "v3.0.0"]


async def test_older_stores_learn_which_versions_are_superseded(directory: Database) -> None:
    folder = files("pentad.rooms.directory.schema")
    text = (folder / "0009_newest.sql").read_text("utf-8")
    noted = "SELECT record FROM directory_superseded ORDER BY record"

    def again(tx: Transaction) -> tuple[list[int], list[int]]:
        before = [record for (record,) in tx.all(noted)]
        tx.run("DELETE FROM directory_superseded")
        tx.run(text[text.index("INSERT INTO") : text.index(";", text.index("INSERT INTO"))])
        return before, [record for (record,) in tx.all(noted)]

    before, after = await directory.write(again)
    assert before == after
    assert len(before) == 3
