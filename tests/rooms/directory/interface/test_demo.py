"""The demo's records: present, valid, in every OASF version, and unchanged by a second start."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pentad.app import open_app
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.interface.demo import SIGNED, demo_records, fill_demo
from pentad.rooms.directory.oasf.validator import validate
from pentad.rooms.directory.oasf.versions import EMBEDDED
from pentad.rooms.directory.room import ROOM
from pentad.rooms.directory.search.query import Query, build_query
from pentad.rooms.directory.service import Directory
from pentad.settings.model import Settings

pytestmark = pytest.mark.anyio

RECORDS = list(demo_records())


@pytest.fixture(scope="module")
async def directory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Directory]:
    async with open_app(Settings(data=Path(tmp_path_factory.mktemp("demo")), rooms=("directory",))) as app:
        await app.users.add("admin", "a long password", role="admin")  # the demo's things belong to its admin
        found: Directory = app.rooms[0].service
        await fill_demo(found)
        yield found


def test_some_forty_records_are_of_all_versions_of_oasf():
    versions = Counter(one.data["schema_version"] for one in RECORDS)
    assert set(versions) == set(EMBEDDED)
    assert min(versions.values()) >= 5
    assert 40 <= len({one.cid for one in RECORDS}) == len(RECORDS) <= 50


@pytest.mark.parametrize("data", [one.data for one in RECORDS], ids=lambda data: f"{data['name']}:{data['version']}")
def test_a_record_has_no_errors(data: Mapping[str, Any]):
    assert validate(data).errors == []


def test_the_demo_is_filled_by_the_room_itself():
    assert ROOM.demo is not None


async def test_all_of_them_are_there(directory: Directory):
    assert await directory.records.count() == len(RECORDS)


async def test_filling_it_again_changes_nothing(directory: Directory):
    before = await _state(directory)
    await fill_demo(directory)
    assert await _state(directory) == before


async def test_what_is_missing_is_put_back(directory: Directory):
    before = await directory.records.count()
    (gone,) = [one for one in RECORDS if (one.data["name"], one.data["version"]) == SIGNED]
    assert await directory.records.delete(LOCAL, gone.cid)
    await fill_demo(directory)
    assert await directory.records.count() == before
    assert (await directory.trust.verify(gone.cid)).success


async def test_an_agent_has_several_versions_newest_first(directory: Directory):
    found = [one.version for one in await directory.naming.resolve("lindenlibrary.example/librarian")]
    assert found == ["v2.1.0", "v2.0.0", "v1.4.0", "v0.9.0"]


async def test_a_later_version_names_the_one_before(directory: Directory):
    older, newer = [one for one in RECORDS if one.data["name"] == "lindenlibrary.example/translator"]
    assert newer.data["previous_record_cid"] == older.cid


async def test_one_record_is_signed_and_trusted(directory: Directory):
    signed = [one.cid for one in RECORDS if (await directory.trust.verify(one.cid)).success]
    assert signed == [one.cid for one in RECORDS if (one.data["name"], one.data["version"]) == SIGNED]


async def test_some_are_published(directory: Directory):
    listed = {one.cid for one in await directory.routing.list()}
    assert listed == {one.cid for one in RECORDS if one.published}
    assert 10 <= len(listed) < len(RECORDS)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        (build_query({"names": ["*/echo"], "versions": [">=1.2"]}, limit=5), "kettlerook.example/echo"),
        (build_query({}, words="which lift is broken on the tram", limit=1), "havnsted.example/tram-planner"),
        (build_query({"skill_names": ["*/image_classification"], "domain_names": ["*/sustainability"]}, limit=5),
         "havnsted.example/recycling-helper"),
        (build_query({"module_names": ["*/agentskills"], "authors": ["linden"]}, limit=5),
         "lindenlibrary.example/citation-style"),
    ],
)  # fmt: skip
async def test_they_are_found_as_one_would_ask(directory: Directory, query: Query, name: str):
    (hit,) = (await directory.search.find(query)).hits
    assert (await directory.records.pull(hit.cid)).data["name"] == name


async def _state(directory: Directory) -> tuple[int, int, int]:
    """The number of records, publications, and referrers of the signed record."""
    (signed,) = [one.cid for one in RECORDS if (one.data["name"], one.data["version"]) == SIGNED]
    statements = await directory.referrers.pull(signed)
    return await directory.records.count(), len(await directory.publications.list()), len(statements)
