"""Search by words: hits, order and explanations, the same on both stores."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pentad.kernel.ports import Database, Transaction
from pentad.rooms.directory.records.index_fields import WORDS, indexed_fields
from pentad.rooms.directory.search import ranking
from pentad.rooms.directory.search.query import Found, Query, build_query
from pentad.rooms.directory.search.ranking import COMMON, Matched, Ranking, Statistics, query_words
from pentad.rooms.directory.search.service import RecordSearch, find_page
from tests.health_checks import ALL_HEALTH_CHECKS
from tests.rooms.directory.search import oracle
from tests.rooms.directory.search.asking import filters
from tests.rooms.directory.search.seeding import agent, emptied, open_directory, put
from tests.stores import Stores

pytestmark = pytest.mark.anyio
INPUT = settings(
    max_examples=20,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=ALL_HEALTH_CHECKS,
)
SAID = st.lists(
    st.sampled_from(["image", "images", "Übersetzer", "ubersetzer", "city", "cities", "the", "of", "x-ray"]), max_size=4
)
TEXTS = SAID.map(" ".join)
RECORDS = st.lists(
    st.builds(
        agent,
        name=TEXTS,
        description=TEXTS,
        authors=st.lists(TEXTS, max_size=1),
        annotations=st.dictionaries(st.just("note"), TEXTS),
    ),
    max_size=10,
)
STORY = [
    agent("example.org/image-reader", description="Finds text in pictures."),
    agent("example.org/gallery", description="Keeps the images of the museum.", authors=["Image Guild"]),
    agent("example.org/translator", description="Translates letters between cities."),
    agent("example.org/clerk", description="Sorts letters.", annotations={"note": "image of a clerk"}),
]


@pytest.fixture
async def directory(stores: Stores) -> Database:
    return await open_directory(stores)


@pytest.fixture
async def search(directory: Database) -> RecordSearch:
    await directory.write(lambda tx: put(tx, directory.dialect, STORY))
    return RecordSearch(directory)


async def names(search: RecordSearch, query: Query) -> list[str]:
    hits = (await search.find(query)).hits
    return [record.data["name"].partition("/")[2] for record in await search.records([hit.cid for hit in hits])]


def expected(listed: list[dict[str, Any]], cids: list[str], query: Query) -> list[tuple[str, float]]:
    """Every record that has a word, by its score and then the newest; records are few, so no word is common."""
    wanted = query_words(query.words or "")
    texts = [indexed_fields(record).texts for record in listed]
    cut = [{word for text in fields for word in WORDS.words(text)} for fields in texts]
    having = [sum(not one.isdisjoint(word.forms) for one in cut) for word in wanted]
    ranked = Ranking("sqlite", wanted, Statistics(0, len(listed), tuple(having)), COMMON)
    asked = " ".join((query.words or "").lower().split())
    names = {asked, asked.replace(" ", "-"), asked.replace(" ", "_")}
    hits = [
        (
            -(
                1.0
                if (exact := record["name"].lower() in names)
                else Matched("", ranked.match(texts[place])).hit().score or 0.0
            ),
            not exact,
            -place,
            cids[place],
        )
        for place, record in enumerate(listed)
        if oracle.holds(record, query) and any(not cut[place].isdisjoint(word.forms) for word in wanted)
    ]
    return [(cid, -least) for least, _, _, cid in sorted(hits)]


@INPUT
@given(
    listed=RECORDS,
    asked_for=st.lists(
        st.tuples(TEXTS, st.lists(filters(), max_size=1), st.integers(0, 3), st.integers(0, 2)), min_size=3, max_size=8
    ),
)
async def test_hits_scores_and_totals_are_what_the_definition_says(
    directory: Database, listed: list[dict[str, Any]], asked_for: list[tuple[str, list[Any], int, int]]
) -> None:
    listed = [record | {"number": number} for number, record in enumerate(listed)]
    queries = [
        Query(tuple(chosen), words=said or "!", limit=limit, offset=offset, latest=False)
        for said, chosen, limit, offset in asked_for
    ]

    def work(tx: Transaction) -> tuple[list[str], list[Found]]:
        emptied(tx, directory.dialect)
        return put(tx, directory.dialect, listed), [find_page(tx, directory.dialect, query) for query in queries]

    cids, answers = await directory.write(work)
    for query, got in zip(queries, answers, strict=True):
        wanted = expected(listed, cids, query)
        end = query.offset + query.limit if query.limit else len(wanted)
        assert [(hit.cid, hit.score) for hit in got.hits] == wanted[query.offset : end], query
        assert (got.total, got.has_more) == (len(wanted), len(wanted) > end), query
        for hit in got.hits:
            assert hit.score == round(sum(reason.contribution for reason in hit.why), 4)


async def test_a_name_says_more_than_a_description_and_that_more_than_a_note(search: RecordSearch) -> None:
    assert await names(search, build_query({}, words="image")) == ["image-reader", "gallery", "clerk"]


@pytest.mark.requirement("search:explained")
async def test_a_hit_says_which_fields_had_which_words_and_what_they_were_worth(search: RecordSearch) -> None:
    hits = (await search.find(build_query({}, words="an image for the museum"))).hits
    gallery = hits[0]
    assert {reason.field: reason.words for reason in gallery.why} == {
        "description": ("image", "museum"),
        "authors": ("image",),
    }
    assert gallery.score == round(sum(reason.contribution for reason in gallery.why), 4)
    assert [reason.contribution for reason in gallery.why] == sorted(
        (r.contribution for r in gallery.why), reverse=True
    )


async def test_filters_decide_before_words_rank(search: RecordSearch) -> None:
    assert await names(search, build_query({"names": ["*clerk"]}, words="image")) == ["clerk"]
    assert await names(search, build_query({}, exclude={"authors": ["guild"]}, words="image")) == [
        "image-reader",
        "clerk",
    ]


async def test_words_may_be_sorted_otherwise_and_keep_their_scores(search: RecordSearch) -> None:
    query = build_query({}, words="images", sort="recency")
    assert await names(search, query) == ["clerk", "gallery", "image-reader"]
    assert all(hit.score for hit in (await search.find(query)).hits)


@pytest.mark.parametrize("said", ["zebra", "!!!", "the of"])
async def test_words_nobody_has_find_nothing(search: RecordSearch, said: str) -> None:
    answer = await search.find(build_query({}, words=said, exclude={"authors": ["guild"], "annotations": ["note"]}))
    assert (answer.hits, answer.total, answer.has_more) == ([], 0, False)


async def test_a_word_that_many_have_only_adds_to_the_score(directory: Database) -> None:
    listed = [agent(f"agent-{number}", description="helps" + (" pilots" if number == 3 else "")) for number in range(8)]
    cids = await directory.write(lambda tx: put(tx, directory.dialect, listed))
    search = RecordSearch(directory, common=4)
    together = await search.find(build_query({}, words="helps pilots"))
    assert ([hit.cid for hit in together.hits], together.total) == ([cids[3]], 1)
    assert {word for reason in together.hits[0].why for word in reason.words} == {"helps", "pilots"}
    alone = await search.find(build_query({}, words="helps", limit=3))
    assert (len(alone.hits), alone.total, alone.has_more) == (3, 8, True)
    newest = await search.find(build_query({}, words="helps", limit=3, sort="recency"))
    assert [hit.cid for hit in newest.hits] == cids[:-4:-1]
    impossible = await search.find(build_query({}, words="helps zebras"))
    assert (impossible.hits, impossible.total) == ([], 0)


@pytest.mark.parametrize("window", [2, 300])
async def test_cursors_lead_through_a_ranking_while_others_are_pushed(
    directory: Database, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    monkeypatch.setattr(ranking, "WINDOW", window)
    monkeypatch.setattr("pentad.rooms.directory.search.service.WINDOW", window)
    listed = [agent(f"a{number}", description="map " * (number % 3 + 1) + "x " * number) for number in range(9)]
    cids = await directory.write(lambda tx: put(tx, directory.dialect, listed))
    search = RecordSearch(directory)
    whole = await search.find(build_query({}, words="map", limit=1000))
    assert {hit.cid for hit in whole.hits} == set(cids)
    page, seen = build_query({}, words="map", limit=2), list[tuple[str, float | None]]()
    for number in range(9):
        answer = await search.find(page)
        seen += [(hit.cid, hit.score) for hit in answer.hits]
        assert answer.total == 9
        if answer.cursor is None:
            break
        newer = [agent(f"map-{number}", description="map")]
        await directory.write(lambda tx, newer=newer: put(tx, directory.dialect, newer))
        page = replace(page, cursor=answer.cursor)
    assert seen == [(hit.cid, hit.score) for hit in whole.hits]


def test_words_are_cut_folded_and_told_from_empty_ones() -> None:
    assert [word.text for word in query_words("Find me an agent that translates Cities, and cities!")] == [
        "translates", "cities",
    ]  # fmt: skip
    assert [word.forms for word in query_words("city images class x-3D APIs")] == [
        ("city", "cities"), ("image", "images"), ("class",), ("x",), ("3d",), ("api", "apis"),
    ]  # fmt: skip
    assert [word.text for word in query_words("to be")] == ["to", "be"]
    assert [word.text for word in query_words("an MCP server")] == ["mcp", "server"]
    assert len(query_words("image images IMAGE")) == 1
    assert len(query_words(" ".join(f"w{number}" for number in range(100)))) == 24
