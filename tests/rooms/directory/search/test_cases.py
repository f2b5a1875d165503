"""Typical searches, each with the records it must find."""

from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Database
from pentad.rooms.directory.search.query import Filter, FilterKind, Query, build_query
from pentad.rooms.directory.search.service import RecordSearch
from tests.rooms.directory.search.seeding import agent, open_directory, put
from tests.stores import Stores

pytestmark = pytest.mark.anyio

RECORDS = {
    "assistant": agent(
        "example.org/research-assistant",
        version="v4.0.0",
        schema_version="0.8.0",
        created_at="2025-03-19T17:06:37Z",
        description="Reads papers and answers questions about them.",
        authors=["Ada Lovelace <ada@example.org>"],
        skills=[{"name": "language/completion", "id": 10201}, {"name": "language/summary", "id": 10202}],
        domains=[{"name": "life_science/biotechnology", "id": 1601}],
        modules=[{"name": "runtime/language_model", "id": 303}],
        locators=[{"type": "docker_image", "urls": ["https://ghcr.io/example/research-assistant"]}],
        annotations={"team": "Lab", "tier": "gold"},
        verified=1,
    ),
    "planner": agent(
        "example.org/trip-planner",
        version="v10.0.0",
        schema_version="1.0.0",
        created_at="2025-06-01T02:00:00+02:00",
        description="Plans journeys.",
        authors=["Grace Hopper"],
        skills=[{"name": "language/completion", "id": 77}],
        domains=[{"name": "travel/rail", "id": 2001}],
        locators=[{"type": "helm_chart", "urls": ["https://charts.example/trip"]}],
        annotations={"team": "Travel"},
        scan_severity=4,
        scan_safe=0,
    ),
    "painter": agent(
        "Painter",
        version="v9.0.0",
        schema_version="1.1.0",
        created_at="2026-01-01T00:00:00Z",
        description="Paints [pictures].",
        skills=[{"name": "vision/painting", "id": 10202}],
        modules=[{"name": "integration/mcp", "id": 202}],
        scan_severity=1,
        scan_safe=1,
        pulls=3,
    ),
}


@pytest.fixture
async def search(stores: Stores) -> RecordSearch:
    database: Database = await open_directory(stores)
    await database.write(lambda tx: put(tx, database.dialect, list(RECORDS.values())))
    return RecordSearch(database)


async def names(search: RecordSearch, query: Query) -> list[str]:
    found = await search.find(query)
    records = {record.cid: record.data["name"] for record in await search.records([hit.cid for hit in found.hits])}
    by_name = {record["name"]: short for short, record in RECORDS.items()}
    assert found.total is not None
    assert found.total >= len(found.hits)
    return [by_name[records[hit.cid]] for hit in found.hits]


ALL = ["painter", "planner", "assistant"]
EXACT: list[tuple[dict[str, list[str]], list[str]]] = [
    ({"names": ["example.org/research-assistant"]}, ["assistant"]),
    ({"versions": ["v4.0.0"]}, ["assistant"]),
    ({"skill_ids": ["10201"]}, ["assistant"]),
    ({"skill_names": ["language/completion"]}, ["planner", "assistant"]),
    ({"locators": ["docker_image:https://ghcr.io/example/research-assistant"]}, ["assistant"]),
    ({"module_names": ["integration/mcp"], "module_ids": ["202"]}, ["painter"]),
    ({"domain_ids": ["1601"], "domain_names": ["life_science/biotechnology"]}, ["assistant"]),
]
WILDCARDS: list[tuple[dict[str, list[str]], list[str]]] = [
    ({"names": ["*research*"]}, ["assistant"]),
    ({"names": ["PAINT??"]}, ["painter"]),
    ({"skill_names": ["language/*"], "locators": ["helm*:*"]}, ["planner"]),
    ({"versions": ["v[0-9].*"]}, ["painter", "assistant"]),
    ({"locators": ["*ghcr.io*"]}, ["assistant"]),
    ({"locators": ["*://charts.example/*"]}, ["planner"]),
    ({"locators": ["helm_chart"]}, ["planner"]),
    ({"authors": ["lovelace"]}, ["assistant"]),
    ({"annotations": ["team"]}, ["planner", "assistant"]),
    ({"annotations": ["t*:l?b"]}, ["assistant"]),
    ({"descriptions": ["*[[]pictures*"]}, ["painter"]),
]
LOGIC: list[tuple[dict[str, list[str]], list[str]]] = [
    ({"versions": ["v1.0.0", "v4.0.0"]}, ["assistant"]),
    ({"names": ["*research-assistant*"], "versions": ["v1.*"]}, []),
    ({"names": ["*research-assistant*"], "versions": ["v4.*"]}, ["assistant"]),
    ({"skill_ids": ["10202"], "skill_names": ["language/completion"]}, []),
    ({"skill_ids": ["10202"], "skill_names": ["language/*"]}, ["assistant"]),
    ({"module_names": ["  "]}, ALL),
]
COMPARISONS: list[tuple[dict[str, list[str]], list[str]]] = [
    ({"versions": [">=v9.0.0"]}, ["painter", "planner"]),
    ({"versions": [">v9.0.0"]}, ["planner"]),
    ({"versions": ["<v9.0.0"]}, ["assistant"]),
    ({"versions": ["<=9"]}, ["painter", "assistant"]),
    ({"versions": ["=10"]}, ["planner"]),
    ({"versions": [">v4.0.0", "<v10.0.0"]}, ["painter"]),
    ({"versions": [">v4.0.0", "<v10.0.0", "v4*"]}, ["painter", "assistant"]),
    ({"created_ats": [">=2025-06-01T00:00:00Z"]}, ["painter", "planner"]),
    ({"created_ats": ["<2025-06-01"]}, ["assistant"]),
    ({"created_ats": ["=2025-06-01T00:00:00Z"]}, ["planner"]),
    ({"created_ats": ["2025-*"]}, ["planner", "assistant"]),
    ({"schema_versions": [">0.8.0"]}, ["painter", "planner"]),
    ({"schema_versions": ["<=1.0.0", ">=0.8.0"]}, ["planner", "assistant"]),
]
EXCLUDED: list[tuple[dict[str, list[str]], list[str]]] = [
    ({"names": ["*research*"]}, ["painter", "planner"]),
    ({"versions": ["v9.0.0", "v10*"]}, ["assistant"]),
    ({"skill_ids": ["10202"]}, ["planner"]),
    ({"skill_names": ["language/completion"]}, ["painter"]),
    ({"locators": ["docker_image"]}, ["painter", "planner"]),
    ({"module_names": ["integration/*"]}, ["planner", "assistant"]),
    ({"domain_names": ["*"]}, ["painter"]),
    ({"created_ats": [">=2026-01-01"]}, ["planner", "assistant"]),
    ({"authors": ["a"]}, ["painter"]),
    ({"annotations": ["tier:gold"]}, ["painter", "planner"]),
]


@pytest.mark.parametrize(("arrays", "expected"), [*EXACT, *WILDCARDS, *LOGIC, *COMPARISONS])
async def test_filters_find(search: RecordSearch, arrays: dict[str, list[str]], expected: list[str]) -> None:
    assert await names(search, build_query(arrays)) == expected


@pytest.mark.parametrize(("arrays", "expected"), EXCLUDED)
async def test_negated_filters_leave_out(
    search: RecordSearch, arrays: dict[str, list[str]], expected: list[str]
) -> None:
    assert await names(search, build_query({}, exclude=arrays)) == expected


async def test_a_filter_and_an_exclusion_go_together(search: RecordSearch) -> None:
    query = build_query({"skill_names": ["language/*"]}, exclude={"annotations": ["team:travel"]})
    assert await names(search, query) == ["assistant"]


@pytest.mark.parametrize("value", ["nobody/like-this", "example.org", "research-assistant"])
async def test_a_name_nobody_has_finds_nothing(search: RecordSearch, value: str) -> None:
    found = await search.find(build_query({"names": [value]}))
    assert (found.hits, found.total, found.has_more, found.cursor) == ([], 0, False, None)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (FilterKind.VERIFIED, "true", ["assistant"]),
        (FilterKind.VERIFIED, "false", ["painter", "planner"]),
        (FilterKind.TRUSTED, "true", []),
        (FilterKind.SCAN_SAFE, "true", ["painter"]),
        (FilterKind.SCAN_SAFE, "false", ["planner"]),
        (FilterKind.SCAN_SEVERITY, "none", ["painter", "planner"]),
        (FilterKind.SCAN_SEVERITY, "MEDIUM", ["planner"]),
        (FilterKind.SCAN_SEVERITY, "HIGH", []),
    ],
)
async def test_what_was_found_out_about_a_record(
    search: RecordSearch, kind: FilterKind, value: str, expected: list[str]
) -> None:
    assert await names(search, Query((Filter(kind, value),))) == expected


async def test_what_is_not_known_is_not_left_out(search: RecordSearch) -> None:
    assert await names(search, Query((Filter(FilterKind.SCAN_SAFE, "true", negate=True),))) == ["planner", "assistant"]


async def test_any_filter_is_enough_when_any_is_asked_for(search: RecordSearch) -> None:
    query = build_query({"names": ["Painter"], "versions": ["v4.0.0"]}, match="any")
    assert await names(search, query) == ["painter", "assistant"]


async def test_no_filter_finds_everything_newest_first(search: RecordSearch) -> None:
    assert await names(search, Query()) == ALL


async def test_the_most_used_come_first_when_popularity_is_asked_for(search: RecordSearch) -> None:
    assert await names(search, Query(sort="popularity")) == ["painter", "planner", "assistant"]


async def test_a_page_says_whether_there_is_more_exactly(search: RecordSearch) -> None:
    seen: list[tuple[int, bool, int | None]] = []
    for offset in range(4):
        found = await search.find(Query(limit=1, offset=offset))
        seen.append((len(found.hits), found.has_more, found.total))
    assert seen == [(1, True, 3), (1, True, 3), (1, False, 3), (0, False, 3)]


async def test_records_come_in_the_order_of_the_hits_without_those_that_have_gone(search: RecordSearch) -> None:
    cids = [hit.cid for hit in (await search.find(Query())).hits]
    asked_for = [cids[2], "baearei" + "a" * 52, cids[0]]
    assert [record.cid for record in await search.records(asked_for)] == [cids[2], cids[0]]


@pytest.mark.parametrize(
    "arrays", [{"skill_ids": ["ten"]}, {"domain_ids": ["-1"]}, {"module_ids": ["1.5"]}, {"skill_ids": ["\u0663"]}]
)
async def test_an_id_that_is_no_number_is_refused(search: RecordSearch, arrays: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="must be an unsigned integer"):
        await search.find(build_query(arrays))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (build_query({"created_ats": [">yesterday"]}), "'yesterday' is not a time"),
        (Query((Filter(FilterKind.SCAN_SEVERITY, "awful"),)), "'awful' is not a severity"),
        (build_query({"skill_ids": ["102"]}, id_version="7"), "invalid version '7'"),
        (build_query({"skill_ids": ["999999"]}, id_version="1.0.0"), "OASF 1.0.0 has no skill 999999"),
    ],
)
async def test_what_cannot_be_read_is_refused(search: RecordSearch, query: Query, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        await search.find(query)


@pytest.mark.parametrize(
    ("arrays", "exclude", "total"),
    [
        ({"skill_names": ["language/*"]}, {}, 2),
        ({"skill_names": ["language/completion"]}, {}, 2),
        ({"skill_ids": ["10201", "10202", "77"]}, {}, 3),
        ({"annotations": ["*"]}, {}, 2),
        ({"versions": ["v*"]}, {}, 3),
        ({"versions": [">=v4", "v4*"]}, {}, 3),
        ({"names": ["*trip*", "Painter"], "skill_names": ["language/*"]}, {}, 1),
        ({}, {"names": ["Painter"]}, 2),
        ({}, {"skill_names": ["vision/*"]}, 2),
        ({}, {"skill_ids": ["1"], "names": ["x"]}, 3),
    ],
)
async def test_a_total_counts_each_record_once_whatever_the_page(
    search: RecordSearch, arrays: dict[str, list[str]], exclude: dict[str, list[str]], total: int
) -> None:
    found = await search.find(build_query(arrays, exclude=exclude, limit=1))
    assert (len(found.hits), found.total, found.has_more) == (1, total, total > 1)
