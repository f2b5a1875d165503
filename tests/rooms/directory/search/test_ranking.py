"""Search by words and meaning: hits, explanations, filters and cursors, and search without a model."""

from collections.abc import AsyncIterator, Sequence

import pytest

from pentad.kernel.clock import SystemClock
from pentad.kernel.ports import Database, Embedder
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.records.events import Events
from pentad.rooms.directory.records.popularity import Popularity
from pentad.rooms.directory.records.service import Records
from pentad.rooms.directory.search import ranking
from pentad.rooms.directory.search.query import Found, build_query
from pentad.rooms.directory.search.service import SEARCHABLE, RecordSearch
from pentad.search.index import SearchIndex
from pentad.search.minilm import MiniLM
from pentad.search.models.catalogue import PulledModel
from pentad.search.relevance import GOOD_MATCH
from pentad.storage.migrations import MigrationSet
from tests.rooms.directory.search.seeding import SETS, agent
from tests.search.hashing import HashingEmbedder
from tests.stores import Stores

pytestmark = pytest.mark.anyio
STORY = [
    agent("example.org/scribe", description="turn speech into written notes"),
    agent("example.org/gallery", description="keeps pictures of old boats"),
    agent("example.org/clerk", description="sorts letters by street"),
    agent("example.org/pilot", description="steers boats through fog", authors=["Harbour"]),
]


class Room:
    """The records and the search of a directory, over one index."""

    def __init__(self, database: Database, stores: Stores, embedder: Embedder | None) -> None:
        self.database = database
        self.index = SearchIndex(database, stores.data / "search", embedder)
        self.index.declare(SEARCHABLE)
        events = Events(database, SystemClock())
        self.popularity = Popularity(database, events)
        self.records = Records(database, SystemClock(), events, self.popularity, self.index)
        self.search = RecordSearch(database, self.index)

    async def find(self, words: str, *, limit: int = 100, cursor: str = "", **filters: list[str]) -> Found:
        return await self.search.find(build_query(filters, words=words, limit=limit, cursor=cursor))

    async def names(self, found: Found) -> list[str]:
        records = await self.search.records([hit.cid for hit in found.hits])
        return [record.data["name"].partition("/")[2] for record in records]


@pytest.fixture
async def database(stores: Stores) -> Database:
    return await stores.open((*SETS, MigrationSet("search", "pentad.search.schema")))


@pytest.fixture
async def room(database: Database, stores: Stores) -> AsyncIterator[Room]:
    room = Room(database, stores, HashingEmbedder())
    await room.records.push_many(LOCAL, STORY)
    yield room
    await room.records.stop()
    await room.popularity.stop()


def check_sums(found: Found) -> None:
    for hit in found.hits:
        assert hit.score == pytest.approx(sum(reason.contribution for reason in hit.why), abs=1e-9)
    scores = [hit.score or 0.0 for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


async def test_records_without_vectors_are_found_by_words_and_it_is_said_how_many_wait(room: Room) -> None:
    found = await room.find("boats")
    assert (found.retrieval, found.waiting) == ("lexical", 4)
    assert set(await room.names(found)) == {"gallery", "pilot"}


async def test_with_vectors_both_arms_rank_and_each_hit_says_what_it_owes_to_which(room: Room) -> None:
    assert await room.index.embed_pending() == 4
    found = await room.find("steers boats through fog")
    assert (found.retrieval, found.waiting) == ("hybrid", 0)
    best = found.hits[0]
    assert (await room.names(found))[0] == "pilot"
    assert best.meaning is not None
    assert best.meaning > 0.6
    assert {"meaning", "description"} <= {reason.field for reason in best.why}
    assert best.as_json()["meaning"] == best.meaning
    check_sums(found)


@pytest.mark.requirement("search:rank:pending", "search:scores")
async def test_an_exact_name_ranks_first_before_its_vector_is_made(room: Room) -> None:
    """Most records have vectors, the one that is asked for has none; others have some of the words, or are near."""
    fleet = [agent(f"example.org/desk-{n}", description=f"answers letters for harbour {n}") for n in range(40)]
    await room.records.push_many(LOCAL, fleet)
    await room.index.embed_pending()
    await room.records.push_many(LOCAL, [agent("example.org/tide-table", description="high water for every port")])
    for words in ("tide-table", "example.org/tide-table", "tide table for the harbour"):
        found = await room.find(words)
        assert (found.retrieval, found.waiting, found.no_good_match) == ("hybrid", 1, False)
        assert (await room.names(found))[0] == "tide-table", words
        assert found.hits[0].meaning is None
        assert all(0 <= (hit.score or 0.0) <= 1 for hit in found.hits)
        check_sums(found)


@pytest.mark.requirement("search:verdict")
async def test_an_answer_says_that_nothing_is_a_good_match(room: Room) -> None:
    await room.index.embed_pending()
    assert not (await room.find("steers boats through fog")).no_good_match
    assert (await room.find("zebra")).no_good_match
    weak = await room.find("boats racing regatta rules committee")
    assert weak.hits
    assert weak.no_good_match
    assert not (await room.search.find(build_query({"names": ["*pilot"]}))).no_good_match


async def test_an_answer_without_a_good_match_has_the_nearest_records(room: Room) -> None:
    await room.index.embed_pending()
    found = await room.find("zebra")
    assert (found.no_good_match, len(found.hits), found.total) == (True, ranking.NEAREST, ranking.NEAREST)
    assert all((hit.score or 0.0) < GOOD_MATCH for hit in found.hits)
    check_sums(found)


@pytest.mark.requirement("dir:search:kind-words")
async def test_a_word_for_the_kind_of_thing_says_nothing(room: Room) -> None:
    fleet = [agent("example.org/calendar-agent", description="books meetings"), agent("example.org/agent")]
    await room.records.push_many(LOCAL, fleet)
    await room.index.embed_pending()
    assert (await room.names(await room.find("an agent that sorts letters by street")))[0] == "clerk"
    vague = await room.find("agents")
    assert vague.no_good_match
    assert all(not hit.score for hit in vague.hits)
    exact = await room.find("agent")
    assert ((await room.names(exact))[0], exact.no_good_match) == ("agent", False)


@pytest.mark.requirement("dir:search:exact-name")
@pytest.mark.parametrize("embedded", [False, True])
async def test_an_exact_name_is_first_even_if_all_its_words_are_common(room: Room, *, embedded: bool) -> None:
    fleet = [agent("example.org/report-writer", description="weekly")]
    fleet += [agent(f"example.org/the-report-writer-{n}", description="report writer report") for n in range(12)]
    await room.records.push_many(LOCAL, fleet)
    if embedded:
        await room.index.embed_pending()
    search = RecordSearch(room.database, room.index, common=4)
    for words in ("report-writer", "Report writer", "example.org/report-writer"):
        found = await search.find(build_query({}, words=words, limit=5))
        assert (await room.names(found))[0] == "report-writer", words
        assert found.hits[0].why[0].field == "name"
        check_sums(found)
    filtered = await search.find(build_query({"names": ["*-3"]}, words="report-writer"))
    assert await room.names(filtered) == ["the-report-writer-3"]


@pytest.mark.requirement("dir:search:latest")
async def test_versions_of_one_agent_do_not_fill_the_first_places(room: Room) -> None:
    fleet = [agent("example.org/tug", version=f"v1.{n}.0", description="steers boats through fog") for n in range(30)]
    await room.records.push_many(LOCAL, fleet)
    await room.index.embed_pending()
    found = await room.find("steers boats through fog")
    assert sorted((await room.names(found))[:2]) == ["pilot", "tug"]
    assert (await room.names(found)).count("tug") == 1
    every = await room.search.find(build_query({}, words="steers boats through fog", latest=False))
    assert (await room.names(every)).count("tug") == 30


async def test_filters_hold_for_what_is_near_too(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    await room.index.embed_pending()
    for many in (20_000, 0):
        monkeypatch.setattr(ranking, "MANY", many)
        found = await room.find("turn speech into written notes", authors=["Harbour"])
        assert (await room.names(found), found.no_good_match) == (["pilot"], True), many
        found = await room.find("steers boats through fog", authors=["Harbour"])
        assert (await room.names(found), found.total) == (["pilot"], 1), many


@pytest.mark.requirement("dir:search:latest")
async def test_filters_hold_before_the_nearest_are_taken(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many records are nearer than those that pass the filter, and one of these has an older version."""
    for limit, few in {"_NEAR": 5, "_FEW_LEFT": 2, "_MANY_VERSIONS": 8}.items():
        monkeypatch.setattr(ranking, limit, few)
    fleet = [agent(f"example.org/tug-{n}", description="steers boats through thick fog") for n in range(20)]
    quay = [
        agent("example.org/buoy", version=v, description="fog boats steers", authors=["Quay"]) for v in ("v1", "v2")
    ]
    await room.records.push_many(LOCAL, [*fleet, *quay])
    await room.index.embed_pending()
    found = await room.find("steering", authors=["Quay"])
    assert (await room.names(found), found.no_good_match) == (["buoy"], True)
    found = await room.find("steers boats through thick fog", authors=["Quay"])
    assert await room.names(found) == ["buoy"]
    assert found.hits[0].meaning is not None


async def test_a_deleted_record_is_near_no_more(room: Room) -> None:
    await room.index.embed_pending()
    found = await room.find("sorts letters by street")
    await room.records.delete(LOCAL, found.hits[0].cid)
    assert "clerk" not in await room.names(await room.find("sorts letters by street"))
    assert (await room.find("boats")).waiting == 0
    assert await room.index.embed_pending() == 0


async def test_records_pushed_later_get_their_vectors_too(room: Room) -> None:
    await room.index.embed_pending()
    await room.records.push_many(LOCAL, [agent("example.org/late", description="counts bees at noon")])
    assert (await room.find("boats")).waiting == 1
    assert await room.index.embed_pending() == 1
    found = await room.find("counts bees at noon")
    assert (await room.names(found))[0] == "late"
    assert found.hits[0].meaning is not None


async def test_another_model_begins_anew(room: Room, database: Database, stores: Stores) -> None:
    await room.index.embed_pending()
    other = Room(database, stores, HashingEmbedder("other", 32))
    assert (await other.find("boats")).retrieval == "lexical"
    assert await other.index.embed_pending() == 4
    assert (await other.find("boats")).retrieval == "hybrid"


async def _walked(room: Room, words: str, limit: int) -> tuple[list[str], list[int | None]]:
    cids: list[str] = []
    totals: list[int | None] = []
    cursor = ""
    while True:
        found = await room.find(words, limit=limit, cursor=cursor)
        cids += [hit.cid for hit in found.hits]
        totals.append(found.total)
        if not found.has_more:
            return cids, totals
        assert found.cursor is not None
        cursor = found.cursor


async def test_pages_follow_each_other_without_gap_or_repetition(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    from pentad.rooms.directory.search import service

    for module in (ranking, service):
        monkeypatch.setattr(module, "WINDOW", 5)
    fleet = [agent(f"example.org/b{n}", description=f"boats {'fog ' * (n % 3)} number{n}") for n in range(24)]
    fleet += [agent(f"example.org/n{n}", description=f"steers through fog lamp{n}") for n in range(3)]
    await room.records.push_many(LOCAL, fleet)
    await room.index.embed_pending()
    whole = await room.find("steers boats through fog")
    assert whole.retrieval == "hybrid"
    everything = [hit.cid for hit in whole.hits]
    assert len(set(everything)) == len(everything) == whole.total
    for limit in (1, 4, 7):
        cids, totals = await _walked(room, "steers boats through fog", limit)
        assert cids == everything
        assert set(totals) == {whole.total}


async def test_vectors_made_between_two_pages_do_not_change_the_order(room: Room) -> None:
    await room.index.embed_pending()
    first = await room.find("steers boats through fog", limit=1)
    rest = await room.find("steers boats through fog", limit=10, cursor=first.cursor or "")
    await room.records.push_many(LOCAL, [agent("example.org/new", description="steers boats through fog")])
    await room.index.embed_pending()
    again = await room.find("steers boats through fog", limit=10, cursor=first.cursor or "")
    assert [hit.cid for hit in again.hits] == [hit.cid for hit in rest.hits]


async def test_without_a_model_words_alone_decide_and_it_is_said(database: Database, stores: Stores) -> None:
    room = Room(database, stores, None)
    await room.records.push_many(LOCAL, STORY)
    assert await room.index.embed_pending() == 0
    found = await room.find("boats")
    assert (found.retrieval, found.waiting) == ("lexical", None)
    assert set(await room.names(found)) == {"gallery", "pilot"}


async def test_a_model_that_is_away_leaves_words(room: Room) -> None:
    await room.index.embed_pending()
    embedder = room.index.embedder
    assert isinstance(embedder, HashingEmbedder)
    embedder.broken = True
    found = await room.find("pictures")
    assert found.retrieval == "lexical"
    assert await room.names(found) == ["gallery"]


async def _near(room: Room, questions: Sequence[str]) -> list[str]:
    return [((await room.names(await room.find(question))) or [""])[0] for question in questions]


async def test_the_real_model_finds_what_shares_no_word(
    database: Database, stores: Stores, pulled_model: PulledModel
) -> None:
    embedder = MiniLM(pulled_model)
    try:
        room = Room(database, stores, embedder)
        await room.records.push_many(LOCAL, STORY)
        await room.index.embed_pending()
        assert await _near(room, ["audio transcription", "ship navigation", "mail delivery"]) == [
            "scribe", "pilot", "clerk",
        ]  # fmt: skip
        nothing = await room.find("recipe for soup")
        assert nothing.no_good_match
        assert len(nothing.hits) == ranking.NEAREST
    finally:
        embedder.close()


@pytest.mark.requirement("search:verdict")
async def test_some_words_with_another_meaning_are_no_good_match(
    database: Database, stores: Stores, pulled_model: PulledModel
) -> None:
    """The hits stay, in their order; their scores say that they are doubtful."""
    embedder = MiniLM(pulled_model)
    bridge = agent(
        "example.org/sketch-bridge", description="reads design files: frames, colours and fonts for web code"
    )
    try:
        room = Room(database, stores, embedder)
        await room.records.push_many(LOCAL, [*STORY, bridge])
        await room.index.embed_pending()
        found = await room.find("design a suspension bridge")
        assert (await room.names(found))[0] == "sketch-bridge"
        assert found.no_good_match
        assert all((hit.score or 0.0) < GOOD_MATCH for hit in found.hits)
        check_sums(found)
        assert not (await room.find("read fonts from design files")).no_good_match
    finally:
        embedder.close()
