"""The search over all rooms, with small rooms of its own: one ranking, filters, the budget, and rooms that fail."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pentad.kernel.errors import Forbidden, InvalidInput, Unavailable
from pentad.kernel.ports import Database
from pentad.kernel.principal import LOCAL, Principal
from pentad.platform import OpenRoom, Platform, Room
from pentad.room_search.search import Filters, RoomSearch
from pentad.search.index import SearchIndex
from pentad.search.scoring import Reason
from pentad.search.sources import FoundItem, FoundItems, SearchRequest, SearchSource
from tests.search.opening import SETS
from tests.stores import Stores

pytestmark = pytest.mark.anyio

Find = Callable[[Any, SearchRequest], Awaitable[FoundItems]]


@asynccontextmanager
async def nothing(_platform: Platform) -> AsyncGenerator[None]:
    yield None


def room(name: str, *sources: SearchSource[Any]) -> OpenRoom:
    return OpenRoom(Room(name, name.title(), "", nothing, search_sources=sources), None)


def finds(*items: FoundItem, **facts: Any) -> Find:
    async def find(_service: Any, request: SearchRequest) -> FoundItems:
        return FoundItems(items[: request.limit], more=len(items) > request.limit, **facts)

    return find


def item(uri: str, score: float, text: str = "", **facts: Any) -> FoundItem:
    why = facts.pop("why", (Reason("name", ("oak",), score),))
    return FoundItem(uri, facts.pop("title", uri), score, text, why, **facts)


@pytest.fixture
async def database(stores: Stores) -> Database:
    return await stores.open(SETS)


@pytest.fixture
def index(database: Database, stores: Stores) -> SearchIndex:
    return SearchIndex(database, stores.data / "search")


@pytest.fixture
def two(index: SearchIndex) -> RoomSearch:
    trees = finds(item("tree:1", 0.9, "An oak."), item("tree:2", 0.3, "A beech."))
    boats = finds(item("boat:1", 0.6, "A boat of oak.", owner="user:ada", time=0.0))
    return RoomSearch(
        [room("wood", SearchSource("tree", trees, has_owner=False)), room("sea", SearchSource("boat", boats))], index
    )


@pytest.mark.requirement("search:rooms:one-ranking")
async def test_hits_of_all_rooms_are_grouped_by_kind_and_ranked_together(two: RoomSearch) -> None:
    found = (await two.find(LOCAL, "oak")).as_json()
    assert [(group["kind"], group["room"]) for group in found["groups"]] == [("tree", "wood"), ("boat", "sea")]
    ranked = {hit["uri"]: hit["rank"] for group in found["groups"] for hit in group["hits"]}
    assert ranked == {"tree:1": 1, "boat:1": 2, "tree:2": 3}
    boat = found["groups"][1]["hits"][0]
    assert boat == {
        "rank": 2, "uri": "boat:1", "title": "boat:1", "score": 0.6, "snippet": "A boat of oak.",
        "why": [{"field": "name", "words": ["oak"], "contribution": 0.6}], "owner": "user:ada",
        "time": "1970-01-01T00:00:00.000Z",
    }  # fmt: skip
    assert not found.keys() & {"no_good_match", "incomplete", "left_out", "stale", "cut"}


@pytest.mark.requirement("search:rooms:no-good-match")
async def test_an_answer_without_a_good_hit_says_so_and_leaves_out_what_is_unrelated(index: SearchIndex) -> None:
    search = RoomSearch([room("wood", SearchSource("tree", finds(item("near", 0.3), item("far", 0.1))))], index)
    found = await search.find(LOCAL, "oak")
    assert (found.no_good_match, [hit.item.uri for hit in found.hits]) == (True, ["near"])
    nothing_there = await RoomSearch([], index).find(LOCAL, "oak")
    assert nothing_there.as_json() == {"query": "oak", "groups": [], "no_good_match": True}


@pytest.mark.requirement("search:rooms:filters")
async def test_filters_narrow_to_rooms_and_kinds_and_name_what_they_cannot_be_applied_to(two: RoomSearch) -> None:
    assert [hit.item.uri for hit in (await two.find(LOCAL, "oak", Filters(rooms=("sea",)))).hits] == ["boat:1"]
    assert [hit.source.kind for hit in (await two.find(LOCAL, "oak", Filters(kinds=("tree",)))).hits] == ["tree"] * 2
    owned = await two.find(LOCAL, "oak", Filters(owner="me"))
    assert [hit.item.uri for hit in owned.hits] == ["boat:1"]
    assert [(gap.kind, gap.reason) for gap in owned.left_out] == [("tree", "It has no owner to filter by.")]


@pytest.mark.requirement("search:rooms:filters")
async def test_a_source_receives_the_filters_as_values(index: SearchIndex) -> None:
    asked: list[SearchRequest] = []

    async def find(_service: Any, request: SearchRequest) -> FoundItems:
        asked.append(request)
        return FoundItems()

    search = RoomSearch([room("wood", SearchSource("tree", find))], index)
    await search.find(
        LOCAL, "  an \n oak ", Filters(owner="me", since="1970-01-02", until="1970-01-03T00:00:00Z"), limit=3
    )
    assert asked == [SearchRequest("an oak", LOCAL, 3, "local", 86_400.0, 172_800.0)]


@pytest.mark.parametrize(
    ("query", "filters", "words"),
    [
        ("", Filters(), "The query is empty."),
        ("x" * 1_001, Filters(), "at most 1000"),
        ("oak", Filters(kinds=("tre",)), "Did you mean 'tree'?"),
        ("oak", Filters(rooms=("air",)), "Known: sea, wood."),
        ("oak", Filters(since="yesterday"), "since is 'yesterday'."),
    ],
)
@pytest.mark.requirement("search:rooms:filters")
async def test_what_cannot_be_asked_is_refused_with_what_to_do(
    two: RoomSearch, query: str, filters: Filters, words: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await two.find(LOCAL, query, filters)
    assert words in refused.value.sentence()


@pytest.mark.requirement("search:rooms:incomplete")
async def test_a_room_that_fails_crashes_or_takes_too_long_is_named_and_the_others_answer(index: SearchIndex) -> None:
    async def down(_service: Any, _request: SearchRequest) -> FoundItems:
        raise Unavailable("The lake is frozen.")

    async def broken(_service: Any, _request: SearchRequest) -> FoundItems:
        raise ZeroDivisionError

    async def slow(_service: Any, _request: SearchRequest) -> FoundItems:
        await asyncio.Event().wait()
        return FoundItems()

    partly = finds(item("a", 0.8), incomplete="Half of it was not searched.", waiting=7)
    sources = {"down": down, "broken": broken, "slow": slow, "part": partly, "whole": finds(item("b", 0.5))}
    search = RoomSearch([room(name, SearchSource(name, find)) for name, find in sources.items()], index, seconds=0.05)
    found = (await search.find(LOCAL, "oak")).as_json()
    assert [hit["uri"] for group in found["groups"] for hit in group["hits"]] == ["a", "b"]
    gaps = {gap["kind"]: gap["reason"] for gap in found["incomplete"]}
    assert gaps.keys() == {"down", "broken", "slow", "part"}
    assert (gaps["slow"], gaps["part"]) == ("It took longer than 0.05 seconds.", "Half of it was not searched.")
    assert "The lake is frozen." in gaps["down"]
    assert "incident" in gaps["broken"]
    assert "ZeroDivisionError" not in gaps["broken"]
    assert found["stale"] == [{"kind": "part", "waiting": 7}]


@pytest.mark.requirement("search:rooms:budget")
@pytest.mark.parametrize("tokens", [200, 500, 1_000])
async def test_an_answer_keeps_its_token_budget_and_loses_its_last_hits_first(index: SearchIndex, tokens: int) -> None:
    many = [item(f"tree:{number}", 0.9 - number / 100, "An oak in a wood. " * 20) for number in range(50)]
    search = RoomSearch([room("wood", SearchSource("tree", finds(*many)))], index)
    found = await search.find(LOCAL, "oak", limit=50, tokens=tokens)
    assert len(json.dumps(found.as_json(), separators=(",", ":"), ensure_ascii=False).encode()) <= 4 * tokens
    assert [hit.rank for hit in found.hits] == list(range(1, len(found.hits) + 1))
    assert found.cut == 50 - len(found.hits) > 0
    assert found.groups[0].more
    whole = await search.find(LOCAL, "oak", limit=50, tokens=None)
    assert (len(whole.hits), whole.cut, whole.groups[0].more) == (50, 0, False)


@pytest.mark.requirement("search:rooms:rights")
async def test_a_room_that_the_caller_may_not_read_is_not_asked_and_not_mentioned(two: RoomSearch) -> None:
    sailor = Principal("user:sam", "sam", frozenset({"sea:read"}))
    found = (await two.find(sailor, "oak", Filters(owner="user:ada"))).as_json()
    assert [group["kind"] for group in found["groups"]] == ["boat"]
    assert found.keys() == {"query", "groups"}
    with pytest.raises(Forbidden):
        await two.find(Principal("user:sam", "sam", frozenset()), "oak")
