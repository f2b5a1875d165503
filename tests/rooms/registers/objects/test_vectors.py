"""Objects found by words and meaning together: what is found, why, by whom, and that the index follows every write."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Rows
from pentad.rooms.registers.models import Caller, Operation, Pair, StoredObject
from pentad.rooms.registers.objects.vectors import collection_name, windows
from pentad.rooms.registers.query import text_search
from pentad.rooms.registers.query.models import (
    AggregateQuery,
    Compare,
    GroupKey,
    Metric,
    Query,
    QueryResult,
    Sort,
    Terms,
)
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.conftest import opened_idle
from tests.rooms.registers.opening import ADMIN, WRITER, TurnedClock
from tests.search.hashing import HashingEmbedder
from tests.stores import Stores

pytestmark = pytest.mark.anyio
HINT: dict[str, Any] = {
    "title": "Hint",
    "slug": "hint",
    "configuration": {"search": "hybrid"},
    "properties": {
        "text": {"type": "string"},
        "ward": {"type": "string", "facetable": True},
        "rank": {"type": "integer"},
        "secret": {"type": "string", "authorization": {"read": ["admin"]}},
    },
}
STORY = {
    "bees": "counts bees at noon",
    "fog": "steers boats through fog",
    "mail": "sorts letters by street",
    "old": "keeps pictures of old boats",
}


class Hints:
    """A register with one hybrid schema, and short ways to fill and ask it."""

    def __init__(self, room: Registers, pair: Pair, embedder: HashingEmbedder) -> None:
        self.room = room
        self.pair = pair
        self.embedder = embedder
        self.uuids: dict[str, str] = {}

    async def add(self, texts: Mapping[str, str], caller: Caller = ADMIN, **more: Any) -> None:
        data = [{"text": text, "ward": ward, **more} for ward, text in texts.items()]
        made = await self.room.objects.bulk(caller, self.pair, [Operation("create", one) for one in data], atomic=True)
        self.uuids |= {ward: one.uuid or "" for ward, one in zip(texts, made, strict=True)}

    async def embed(self) -> int:
        return await self.room.platform.search.embed_pending()

    async def find(self, search: str, caller: Caller = ADMIN, **more: Any) -> QueryResult:
        return await self.room.objects.find(caller, self.pair, Query(search=search, **more))

    async def wards(self, search: str, caller: Caller = ADMIN, **more: Any) -> list[str]:
        return wards(await self.find(search, caller, **more))

    async def kept(self) -> dict[int, list[str] | None]:
        """What the index has: the windows that wait for vectors, None for what has them."""
        sql = (
            "SELECT d.id, p.windows FROM search_documents d JOIN search_collections c ON c.number = d.collection"
            " LEFT JOIN search_pending p ON p.collection = d.collection AND p.document = d.document WHERE c.name = ?"
        )
        name = collection_name(self.pair.schema.id)
        found = await self.room.platform.database.read(lambda rows: rows.all(sql, name))
        return {key: None if waiting is None else json.loads(waiting) for key, waiting in found}

    async def living(self) -> dict[int, list[str]]:
        """What the index should have."""

        def read(rows: Rows) -> dict[int, list[str]]:
            found = self.room.catalogue.definitions.by_id(rows, self.pair.schema.id)
            assert found is not None
            listed = rows.all(
                "SELECT id, uuid, register, schema, version, data, slug, owner, organisation, created_at, updated_at,"
                " deleted, lock FROM objects WHERE schema = ? AND deleted IS NULL",
                self.pair.schema.id,
            )
            objects = [StoredObject(*row) for row in listed]
            texts = {stored.id: windows(found[1].texts(stored.data)) for stored in objects}
            return {key: pieces for key, pieces in texts.items() if pieces}

        return await self.room.platform.database.read(read)

    async def check(self) -> None:
        kept, living = await self.kept(), await self.living()
        assert kept.keys() == living.keys()
        assert all(waiting is None or waiting == living[key] for key, waiting in kept.items())

    async def reshape(self, **fields: Any) -> None:
        await self.room.catalogue.schemas.update(ADMIN, "hint", fields)
        self.pair = await self.room.catalogue.pair(ADMIN, "town", "hint")


def wards(found: QueryResult) -> list[str]:
    return [StoredObject(*row).data["ward"] for row in found.rows]


@pytest.fixture
async def hints(stores: Stores, clock: TurnedClock) -> AsyncIterator[Hints]:
    embedder = HashingEmbedder()
    async with opened_idle(stores, clock, embedder) as room:
        await room.catalogue.schemas.create(ADMIN, HINT)
        await room.catalogue.registers.create(ADMIN, {"title": "Town", "slug": "town", "schemas": ["hint"]})
        yield Hints(room, await room.catalogue.pair(ADMIN, "town", "hint"), embedder)


def check_sums(found: QueryResult) -> None:
    assert len(found.why) == len(found.rows)
    for relevance, why in zip(found.relevance, found.why, strict=True):
        assert relevance == pytest.approx(sum(why.words.values()) + why.meaning, abs=1e-9)
    assert found.relevance == sorted(found.relevance, reverse=True)


@pytest.mark.requirement("registers:search:hybrid", "search:explained")
async def test_what_is_near_is_found_without_all_the_words_and_each_hit_says_why(hints: Hints) -> None:
    await hints.add(STORY)
    assert await hints.embed() == 4
    found = await hints.find("who steers boats through thick fog")
    assert (found.retrieval, found.lexical_because) == ("hybrid", None)
    assert wards(found)[0] == "fog"
    assert found.why[0].words.keys() == {"steers", "boats", "through", "fog"}
    assert found.why[0].cosine is not None
    assert found.why[0].cosine > 0.6
    assert found.why[0].wire().keys() == {"words", "fields", "meaning", "cosine"}
    assert found.why[0].fields == {"text": ("steers", "boats", "through", "fog"), "ward": ("fog",)}
    check_sums(found)
    assert await hints.wards("zebras") == []


@pytest.mark.requirement("search:rank:pending", "search:verdict")
async def test_an_object_is_ranked_by_its_words_until_it_has_a_vector(hints: Hints) -> None:
    await hints.add({f"d{n}": f"answers letters for harbour {n}" for n in range(30)})
    await hints.embed()
    await hints.add({"tide": "tide table of the harbour"})
    found = await hints.find("tide table")
    assert (wards(found)[0], found.why[0].cosine, found.no_good_match) == ("tide", None, False)
    assert found.relevance[0] > 0.5
    nothing = await hints.find("zebras")
    assert (nothing.rows, nothing.retrieval_info()) == ([], {"retrieval": "hybrid", "no_good_match": True})


@pytest.mark.requirement("registers:search:hybrid")
async def test_without_vectors_words_decide_and_it_is_said(hints: Hints) -> None:
    await hints.add(STORY)
    found = await hints.find("boat")
    assert (found.retrieval, found.lexical_because) == ("lexical", "No object here has a vector yet.")
    assert set(wards(found)) == {"fog", "old"}
    assert 0.9 < found.relevance[0] < 1.0
    check_sums(found)
    await hints.embed()
    hints.embedder.broken = True
    found = await hints.find("bee")
    assert (found.retrieval, found.lexical_because) == ("lexical", "The embedding model did not respond.")
    assert wards(found) == ["bees"]


@pytest.mark.requirement("registers:search:hybrid")
async def test_words_find_what_they_always_found(hints: Hints) -> None:
    await hints.add(STORY)
    await hints.embed()
    for search in ("boa", "boats keep", "street", "co", "letters sorts", "a", "x"):
        plain = await hints.room.objects.find_in(ADMIN, [hints.pair], Query(search=search), words=True)
        assert plain.retrieval is None
        assert set(wards(plain)) <= set(await hints.wards(search)), search


@pytest.mark.requirement("registers:search:hybrid")
async def test_filters_choose_before_anything_is_ranked(hints: Hints, monkeypatch: pytest.MonkeyPatch) -> None:
    await hints.add(STORY)
    await hints.embed()
    alone = await hints.find("steers boats through fog", filter=Compare(("ward",), "eq", "old"))
    for many in (20_000, 0):
        monkeypatch.setattr(text_search, "MOST_COMPARED", many)
        assert await hints.wards("counts bees at noon", filter=Compare(("ward",), "eq", "fog")) == []
        found = await hints.find("steers boats through fog", filter=Compare(("ward",), "eq", "fog"))
        assert (wards(found), found.total) == (["fog"], 1)
    await hints.add({"new": "steers boats through fog"})
    await hints.embed()
    again = await hints.find("steers boats through fog", filter=Compare(("ward",), "eq", "old"))
    assert again == alone


@pytest.mark.requirement("registers:search:hybrid", "registers:search:rights")
async def test_what_a_caller_may_not_read_leaves_no_trace(hints: Hints) -> None:
    await hints.room.organisations.create(ADMIN, "zeta", "zeta")
    await hints.room.organisations.add_member(ADMIN, "zeta", ADMIN.principal.id)
    await hints.add(STORY, WRITER)
    await hints.embed()
    before = await hints.find("steers boats through fog", WRITER)
    await hints.add({"theirs": "steers boats through fog", "bees": "fog fog bees"})
    await hints.embed()
    assert await hints.find("steers boats through fog", WRITER) == before
    assert "theirs" in await hints.wards("steers boats through fog")
    await hints.add({"safe": "plain words"}, secret="counts bees at noon")
    await hints.embed()
    assert "safe" not in await hints.wards("counts bees at noon")


@pytest.mark.requirement("registers:search:hybrid")
async def test_totals_facets_figures_and_orders_are_of_the_same_objects(hints: Hints) -> None:
    await hints.add(STORY, rank=1)
    await hints.add({"fog": "steers carts through fog"}, rank=2)
    await hints.embed()
    search = "who steers boats through fog"
    found = await hints.find(search, facets=(Terms("ward", ("ward",), "text"),))
    members = wards(found)
    assert found.total == len(members) > 1
    counts = {one["key"]: one["count"] for one in found.facets["ward"]["buckets"]}
    assert counts == {ward: members.count(ward) for ward in members}
    figures = await hints.room.objects.aggregate(
        ADMIN,
        hints.pair,
        AggregateQuery((Metric("n", "count"),), search=search, group_by=(GroupKey("ward", ("ward",)),)),
    )
    assert figures.retrieval == "hybrid"
    assert {one["ward"]: one["n"] for one in figures.groups} == counts
    ordered = await hints.find(search, sort=(Sort(("ward",), "text"),))
    assert (wards(ordered), ordered.total, ordered.retrieval) == (sorted(members), found.total, "hybrid")
    nothing = await hints.find(search, limit=0)
    assert (nothing.rows, nothing.total) == ([], found.total)


@pytest.mark.requirement("registers:search:hybrid")
async def test_pages_follow_each_other_without_gap_or_repetition(hints: Hints, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_search, "WINDOW", 5)
    monkeypatch.setattr(text_search, "MOST_NEAREST", 4)
    await hints.add({f"b{n}": f"boats {'fog ' * (n % 3)} number{n}" for n in range(24)})
    await hints.add({f"n{n}": f"drives boat through fog lamp{n}" for n in range(3)})
    for expected in ("lexical", "hybrid"):
        whole = await hints.find("boat", limit=100)
        everything = wards(whole)
        assert whole.retrieval == expected
        assert len(set(everything)) == len(everything) == whole.total == 27
        for limit in (1, 4, 7):
            seen: list[str] = []
            cursor = None
            while True:
                page = await hints.find("boat", limit=limit, cursor=cursor)
                seen += wards(page)
                assert page.total == 27
                if (cursor := page.cursor) is None:
                    break
            assert seen == everything
        await hints.embed()


@pytest.mark.requirement("registers:search:hybrid")
async def test_a_listing_goes_on_in_the_way_it_began(hints: Hints) -> None:
    await hints.add(STORY)
    first = await hints.find("boats", limit=1)
    await hints.embed()
    rest = await hints.find("boats", limit=5, cursor=first.cursor)
    assert (rest.retrieval, len(rest.rows)) == ("lexical", 1)
    first = await hints.find("boats", limit=1)
    assert first.retrieval == "hybrid"
    for search in ("words", "hybrid"):  # which leaves all objects without vectors
        await hints.reshape(configuration={"search": search})
    with pytest.raises(InvalidInput, match="cannot continue by meaning"):
        await hints.find("boats", limit=5, cursor=first.cursor)


@pytest.mark.requirement("registers:search:hybrid")
async def test_every_way_to_change_an_object_is_followed(hints: Hints) -> None:
    objects, pair = hints.room.objects, hints.pair
    await hints.add(STORY)
    await hints.embed()
    embedded = len(hints.embedder.asked)
    await objects.write(ADMIN, pair, Operation("patch", {"rank": 3}, hints.uuids["fog"]))
    assert await hints.embed() == 0, "a change that no text sees needs no new vector"
    assert len(hints.embedder.asked) == embedded
    await objects.write(ADMIN, pair, Operation("patch", {"text": "paints fences green"}, hints.uuids["fog"]))
    assert await hints.embed() == 1
    assert (await hints.wards("paints fences green"))[0] == "fog"
    assert "fog" not in await hints.wards("steers boats through")
    change = (await hints.room.history.of(ADMIN, pair, hints.uuids["fog"], 10))[-1]
    await hints.room.history.revert(ADMIN, pair, hints.uuids["fog"], version=change.version)
    await hints.embed()
    assert (await hints.wards("steers boats through"))[0] == "fog"
    await objects.delete(ADMIN, pair, hints.uuids["bees"])
    assert await hints.wards("counts bees at noon") == []
    assert (await hints.find("counts bees at noon", include_deleted=True)).total == 0
    await hints.check()
    await objects.restore(ADMIN, pair, hints.uuids["bees"])
    await hints.embed()
    assert (await hints.wards("counts bees at noon"))[0] == "bees"
    await objects.delete(ADMIN, pair, hints.uuids["bees"])
    await objects.purge(ADMIN, pair, hints.uuids["bees"])
    await hints.check()


@pytest.mark.requirement("registers:search:hybrid")
async def test_a_plan_and_its_undoing_are_followed(hints: Hints) -> None:
    await hints.add(STORY)
    operations = [
        Operation("create", {"text": "winds clocks", "ward": "clock"}),
        Operation("delete", ref=hints.uuids["fog"]),
        Operation("patch", {"text": "digs wells"}, hints.uuids["mail"]),
    ]
    plan = await hints.room.plans.make(ADMIN, hints.pair, operations)
    await hints.check()
    await hints.room.plans.commit(ADMIN, plan.id)
    await hints.check()
    await hints.embed()
    assert "clock" in await hints.wards("winds clocks")
    await hints.room.plans.undo(ADMIN, plan.id)
    await hints.check()
    await hints.embed()
    assert "clock" not in await hints.wards("winds clocks")
    assert "fog" in await hints.wards("steers boats through")


@pytest.mark.requirement("registers:search:hybrid")
async def test_objects_that_change_along_with_others_are_followed(hints: Hints) -> None:
    catalogue, objects = hints.room.catalogue, hints.room.objects
    members = {"type": "array", "items": {"type": "string", "$ref": "hint"}, "inversedBy": "team", "writeBack": True}
    properties = {"name": {"type": "string"}, "members": members}
    await catalogue.schemas.create(ADMIN, {"title": "Team", "slug": "team", "properties": properties})
    teams = await catalogue.pair(ADMIN, "town", "team", "create")
    team = {"type": "string", "$ref": "team", "onDelete": "CASCADE"}
    await hints.reshape(properties={**HINT["properties"], "team": team})
    await hints.add(STORY)
    await hints.embed()
    made = await objects.create(ADMIN, teams, {"name": "north", "members": [hints.uuids["fog"], hints.uuids["bees"]]})
    assert (await objects.get(ADMIN, hints.pair, hints.uuids["fog"])).data["team"] == made.uuid
    await hints.check()
    assert await hints.embed() == 0, "whom an object names is not what it means"
    await objects.delete(ADMIN, teams, made.uuid)
    await hints.check()
    assert len(await hints.kept()) == 2
    assert await hints.wards("steers boats through fog") == []


@pytest.mark.requirement("registers:search:hybrid")
async def test_a_write_that_fails_leaves_the_index_alone(hints: Hints) -> None:
    await hints.add(STORY)
    before = await hints.kept()
    with pytest.raises(InvalidInput):
        await hints.room.objects.bulk(
            ADMIN,
            hints.pair,
            [Operation("patch", {"text": "x y z"}, hints.uuids["fog"]), Operation("create", {"rank": "high"})],
            atomic=True,
        )
    assert await hints.kept() == before


@pytest.mark.requirement("registers:search:switched")
async def test_search_by_meaning_is_switched_on_and_off_with_the_schema(hints: Hints) -> None:
    await hints.add(STORY)
    await hints.reshape(configuration={"search": "words"})
    assert await hints.kept() == {}
    found = await hints.find("boats")
    assert (found.retrieval, {why.cosine for why in found.why}) == (None, {None})
    await hints.add({"late": "counts bees at noon"})
    assert await hints.kept() == {}
    await hints.reshape(configuration={"search": "hybrid"})
    await hints.check()
    assert await hints.embed() == 5
    assert set((await hints.wards("who counts bees at noon"))[:2]) == {"bees", "late"}
    await hints.reshape(configuration={"search": "hybrid", "objectNameField": "ward"})
    assert await hints.embed() == 0, "what means the same keeps its vectors"
    await hints.reshape(properties={**HINT["properties"], "text": {"type": "string", "authorization": {"read": ["a"]}}})
    await hints.check()
    await hints.embed()
    assert await hints.wards("who counts at noon") == []
    await hints.reshape(searchable=False)
    assert await hints.kept() == {}


@pytest.mark.requirement("registers:search:switched")
async def test_a_schema_made_of_another_follows_it(hints: Hints) -> None:
    catalogue = hints.room.catalogue
    await catalogue.schemas.create(ADMIN, {"title": "Tip", "slug": "tip", "allOf": [{"$ref": "hint"}]})
    pair = await catalogue.pair(ADMIN, "town", "tip", "create")
    tips = Hints(hints.room, pair, hints.embedder)
    await tips.add(STORY)
    await tips.check()
    assert len(await tips.kept()) == 4
    await hints.reshape(configuration={"search": "words"})
    assert await tips.kept() == {}
    await hints.reshape(configuration={"search": "hybrid"})
    await tips.check()


@pytest.mark.requirement("registers:search:switched")
async def test_another_way_to_search_is_refused(hints: Hints) -> None:
    for wrong in ("vectors", "Hybrid", True, ["hybrid"], {}):
        with pytest.raises(InvalidInput, match="must be one of words, hybrid"):
            await hints.reshape(configuration={"search": wrong})
    with pytest.raises(InvalidInput, match="Did you mean 'hybrid'"):
        await hints.reshape(configuration={"search": "hybrids"})


@pytest.mark.requirement("registers:search:switched")
async def test_a_deleted_schema_takes_its_vectors_along(hints: Hints) -> None:
    await hints.add({"fog": STORY["fog"]})
    await hints.embed()
    await hints.room.objects.delete(ADMIN, hints.pair, hints.uuids["fog"])
    await hints.room.objects.purge(ADMIN, hints.pair, hints.uuids["fog"])
    await hints.room.catalogue.schemas.delete(ADMIN, "hint")
    name = collection_name(hints.pair.schema.id)
    sql = "SELECT count(*) FROM search_collections WHERE name = ?"
    assert await hints.room.platform.database.read(lambda rows: rows.value(sql, name)) == 0


@pytest.mark.requirement("registers:search:several")
async def test_several_schemas_are_ranked_together(hints: Hints) -> None:
    catalogue, objects = hints.room.catalogue, hints.room.objects
    plain: dict[str, Any] = {**HINT, "slug": "plain", "title": "Plain", "configuration": {}}
    other: dict[str, Any] = {**HINT, "slug": "other", "title": "Other"}
    pairs = [hints.pair]
    for schema in (plain, other):
        await catalogue.schemas.create(ADMIN, schema)
        pairs.append(await catalogue.pair(ADMIN, "town", schema["slug"], "create"))
    await hints.add(STORY)
    await objects.create(ADMIN, pairs[1], {"ward": "plain", "text": "boats on sale"})
    await objects.create(ADMIN, pairs[1], {"ward": "unfound", "text": "steers carts through fog"})
    await objects.create(ADMIN, pairs[2], {"ward": "other", "text": "who steers boats through thick"})
    await hints.embed()
    for several in (pairs, None):
        found = await objects.find_in(ADMIN, several, Query(search="boats"))
        assert found.retrieval == "hybrid"
        assert {"fog", "old", "other", "plain"} <= set(wards(found))
        assert found.total == len(found.rows)
        check_sums(found)
        plain_hit = found.why[wards(found).index("plain")]
        assert (plain_hit.cosine, plain_hit.meaning) == (None, 0.0)
        question = await objects.find_in(ADMIN, several, Query(search="who steers boats through thick fog"))
        assert set(wards(question)[:2]) == {"fog", "other"}
        assert "unfound" not in wards(question), "its schema is searched by words"
    only = await objects.find_in(ADMIN, [pairs[1]], Query(search="boats"))
    assert (wards(only), only.retrieval) == (["plain"], None)
    assert await objects.find_in(ADMIN, [], Query(search="boats")) == replace(
        only, rows=[], total=0, relevance=[], why=[]
    )


def test_windows_are_short_and_without_what_means_nothing() -> None:
    text = "0198aa11-1111-7111-8111-111111111111\nA lime tree.\n42\n2026-01-02\nIn bloom"
    assert windows(text) == ["A lime tree. In bloom"]
    assert windows("7\n\n☃") == []
    long = " ".join(f"word{n}" for n in range(1_000))
    assert max(map(len, windows(long))) <= 900
    assert " ".join(windows(long)) == long
    assert [len(piece) for piece in windows("x" * 2_000)] == [900, 900, 200]
    assert len(windows("xy " * 100_000)) == 16
