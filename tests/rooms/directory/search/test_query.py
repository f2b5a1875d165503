"""The query in a tool's arguments, and what is refused before the store is read."""

from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.ports import Database
from pentad.rooms.directory.oasf.taxonomy import map_class, taxonomy
from pentad.rooms.directory.search.query import Filter, FilterKind, Query, build_query, filters_of
from pentad.rooms.directory.search.service import RecordSearch
from tests.rooms.directory.search.seeding import agent, open_directory, put
from tests.stores import Stores


def test_every_element_is_one_filter_in_the_documented_order() -> None:
    arrays = {
        "module_ids": ["1"], "schema_versions": ["2"], "authors": ["3"], "created_ats": ["4"], "domain_names": ["5"],
        "domain_ids": ["6"], "module_names": ["7"], "locators": ["8"], "skill_names": ["9"], "skill_ids": ["10"],
        "versions": ["11"], "names": ["12", " 13 "],
    }  # fmt: skip
    kinds = ["NAME", "NAME", "VERSION", "SKILL_ID", "SKILL_NAME", "LOCATOR", "MODULE_NAME", "DOMAIN_ID", "DOMAIN_NAME",
             "CREATED_AT", "AUTHOR", "SCHEMA_VERSION", "MODULE_ID"]  # fmt: skip
    made = filters_of(arrays)
    assert [item.kind.name for item in made] == kinds
    assert [item.value for item in made][:3] == ["12", " 13 ", "11"]
    assert filters_of({}) == []
    assert filters_of({"names": ["x"]}, negate=True) == [Filter(FilterKind.NAME, "x", negate=True)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limit": 1001}, "limit cannot exceed 1000"),
        ({"limit": -1}, "limit must be positive"),
        ({"offset": -1}, "offset cannot be negative"),
    ],
)
def test_a_page_that_cannot_be_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        build_query({"names": ["x"]}, **arguments)
    assert refused.value.message == message


def test_something_must_be_asked_for() -> None:
    with pytest.raises(InvalidInput) as refused:
        build_query({"names": []}, words="  ")
    assert refused.value.message == "at least one query filter must be provided"


def test_a_hundred_are_returned_unless_the_caller_says() -> None:
    assert build_query({"names": ["x"]}).limit == 100
    assert build_query({"names": ["x"]}, limit=1000).limit == 1000


def test_too_many_filters_are_refused() -> None:
    with pytest.raises(LimitExceeded):
        build_query({"names": ["x"] * 501})


@pytest.mark.anyio
@pytest.mark.parametrize("harm", ["other question", "changed", "cut", "nonsense", "long"])
async def test_a_cursor_that_does_not_fit_is_refused(stores: Stores, harm: str) -> None:
    database: Database = await open_directory(stores)
    await database.write(lambda tx: put(tx, database.dialect, [agent("a"), agent("b")]))
    search = RecordSearch(database)
    cursor = (await search.find(Query(limit=1))).cursor
    assert cursor is not None
    flipped = cursor[:-2] + ("A" if cursor[-2] != "A" else "B") + cursor[-1]
    given = {"changed": flipped, "cut": cursor[:-3], "nonsense": "%%%", "long": "A" * 9_999}.get(harm, cursor)
    filters = (Filter(FilterKind.NAME, "*"),) if harm == "other question" else ()
    with pytest.raises(InvalidInput, match="does not belong to this search"):
        await search.find(Query(filters, limit=1, cursor=given))
    assert [hit.cid for hit in (await search.find(Query(limit=1, cursor=cursor))).hits]


def test_a_cursor_and_an_offset_exclude_each_other() -> None:
    with pytest.raises(InvalidInput, match="exclude each other"):
        Query(cursor="x", offset=1)


@pytest.mark.anyio
async def test_ids_of_one_oasf_version_find_the_class_in_records_of_others(stores: Stores) -> None:
    database: Database = await open_directory(stores)
    entry, same, reused = next(
        (entry, found.entry, reused)
        for entry in taxonomy("1.0.0", "skill").all
        if (found := map_class(entry, "1.0.0", "1.1.0", "skill")) is not None
        and found.entry.id != entry.id
        and (reused := taxonomy("1.1.0", "skill").by_id(entry.id)) is not None
    )
    old = agent("old", schema_version="1.0.0", skills=[{"id": entry.id, "name": entry.name}])
    new = agent("new", schema_version="1.1.0", skills=[{"id": same.id, "name": same.name}])
    other = agent("other", schema_version="1.1.0", skills=[{"id": reused.id, "name": reused.name}])
    cids = await database.write(lambda tx: put(tx, database.dialect, [old, new, other]))
    search = RecordSearch(database)
    as_written = await search.find(build_query({"skill_ids": [str(entry.id)]}))
    assert [hit.cid for hit in as_written.hits] == [cids[2], cids[0]]
    by_class = await search.find(build_query({"skill_ids": [str(entry.id)]}, id_version="1.0.0"))
    assert [hit.cid for hit in by_class.hits] == [cids[1], cids[0]]


@pytest.mark.anyio
@pytest.mark.parametrize("value", [">=", "<", "= "])
@pytest.mark.parametrize("kind", [FilterKind.VERSION, FilterKind.SCHEMA_VERSION, FilterKind.CREATED_AT])
async def test_a_comparison_with_nothing_is_refused(stores: Stores, kind: FilterKind, value: str) -> None:
    search = RecordSearch(await open_directory(stores))
    with pytest.raises(InvalidInput, match="compares with nothing"):
        await search.find(Query((Filter(kind, value),)))
