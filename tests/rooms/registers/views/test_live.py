"""Views: read with one's own rights, and followed only when the answer changes."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from pentad.app import open_app
from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound
from pentad.kernel.principal import LOCAL
from pentad.rooms.registers.models import Caller, Operation, Pair
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.views import service as views_service
from pentad.settings.model import Settings
from tests.rooms.registers.opening import ADMIN, OTHER, TREE, WRITER, opened, with_trees
from tests.rooms.registers.views.offices import fill, open_office
from tests.search.hashing import HashingEmbedder
from tests.stores import Stores

pytestmark = pytest.mark.anyio


class Heard:
    """The notifications of one store, in the order they came."""

    def __init__(self, registers: Registers) -> None:
        self.uris: list[str] = []
        self._more = asyncio.Event()
        self.stop = registers.platform.database.listen("mcp", self._hear)

    def _hear(self, payload: str) -> None:
        kind, _, subject = payload.partition("\n")[0].partition(" ")
        if kind == "resource":
            self.uris.append(subject)
            self._more.set()

    async def until(self, uri: str, times: int = 1) -> None:
        async with asyncio.timeout(60):
            while self.uris.count(uri) < times:
                self._more.clear()
                await self._more.wait()


@pytest.mark.requirement("registers:live:saved")
async def test_a_view_answers_with_what_is_there_now(registers: Registers, trees: Pair):
    query = await registers.views.create(WRITER, trees, " Tall ones ", {"filter": {"height": {"gte": 10}}})
    assert (await registers.views.run(WRITER, query.id)).wire()["total"] == 0
    await registers.objects.create(WRITER, trees, {"number": "T-1", "height": 12})
    await registers.objects.create(WRITER, trees, {"number": "T-2", "height": 2})
    result = (await registers.views.run(WRITER, query.id)).wire()
    assert (result["title"], result["total"]) == ("Tall ones", 1)
    assert result["results"][0]["number"] == "T-1"


@pytest.mark.requirement("registers:live:owners")
async def test_a_view_is_its_owners_and_unknown_to_others(registers: Registers, trees: Pair):
    query = await registers.views.create(WRITER, trees, "Mine", {})
    assert [one.id for one in await registers.views.visible(WRITER)] == [query.id]
    assert [one.id for one in await registers.views.visible(ADMIN)] == [query.id]
    assert await registers.views.visible(OTHER) == []
    for attempt in (registers.views.run, registers.views.delete, registers.views.get):
        with pytest.raises(NotFound):
            await attempt(OTHER, query.id)
    await registers.views.delete(WRITER, query.id)
    assert await registers.views.visible(ADMIN) == []


async def test_a_view_that_cannot_be_asked_is_not_saved(registers: Registers, trees: Pair):
    with pytest.raises(InvalidInput, match="heigth"):
        await registers.views.create(WRITER, trees, "Typo", {"filter": {"heigth": 1}})
    with pytest.raises(InvalidInput, match="cursor"):
        await registers.views.create(WRITER, trees, "Cursor", {"cursor": "x"})
    with pytest.raises(InvalidInput, match="title"):
        await registers.views.create(WRITER, trees, "  ", {})
    assert await registers.views.visible(ADMIN) == []


async def test_the_number_of_views_is_bounded(registers: Registers, trees: Pair, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(views_service, "MOST_VIEWS", 1)
    await registers.views.create(WRITER, trees, "One", {})
    with pytest.raises(LimitExceeded, match="already"):
        await registers.views.create(WRITER, trees, "Two", {})
    await registers.views.create(OTHER, trees, "Somebody else's", {})


@pytest.mark.requirement("registers:live:changes-only")
async def test_only_a_change_of_the_answer_is_told(registers: Registers, trees: Pair):
    await registers.objects.create(WRITER, trees, {"number": "T-1", "height": 12})
    tall = await registers.views.create(WRITER, trees, "Tall", {"filter": {"height": {"gte": 10}}})
    everything = await registers.views.create(WRITER, trees, "All", {"fields": ["number"]})
    heard = Heard(registers)
    await registers.objects.create(WRITER, trees, {"number": "T-2", "height": 1})
    await heard.until(everything.uri)
    await registers.objects.create(WRITER, trees, {"number": "T-3", "height": 40})
    await heard.until(everything.uri, 2)
    await heard.until(tall.uri)
    assert heard.uris.count(tall.uri) == 1


@pytest.mark.requirement("registers:live:fields")
async def test_a_change_outside_the_fields_of_a_view_is_not_told(registers: Registers, trees: Pair):
    stored = await registers.objects.create(WRITER, trees, {"number": "T-1", "height": 12})
    names = await registers.views.create(WRITER, trees, "Numbers", {"fields": ["number"]})
    whole = await registers.views.create(WRITER, trees, "Whole", {})
    heard = Heard(registers)
    await registers.objects.write(WRITER, trees, Operation("patch", {"height": 13}, stored.uuid))
    await heard.until(whole.uri)
    await registers.objects.delete(WRITER, trees, stored.uuid)
    await heard.until(names.uri)
    await heard.until(whole.uri, 2)
    assert heard.uris.count(names.uri) == 1


@pytest.mark.requirement("registers:live:once")
async def test_a_change_is_told_once_however_many_processes_watch(stores: Stores):
    async with AsyncExitStack() as stack:
        first, second, third = [await stack.enter_async_context(opened(stores)) for _ in range(3)]
        trees = await with_trees(first)
        query = await first.views.create(WRITER, trees, "All", {})
        heard = Heard(third)
        for number in range(1, 4):
            writer = (first, second, third)[number % 3]
            pair = await writer.catalogue.pair(WRITER, "city", "tree")
            await writer.objects.create(WRITER, pair, {"number": f"T-{number}"})
            await heard.until(query.uri, number)
        marker = await first.views.create(WRITER, trees, "Marker", {"filter": {"number": "T-9"}})
        await first.objects.create(WRITER, trees, {"number": "T-9"})
        await heard.until(marker.uri)
        await heard.until(query.uri, 4)
        assert heard.uris.count(query.uri) == 4


async def test_a_deleted_view_is_told_once_more(registers: Registers, trees: Pair):
    query = await registers.views.create(WRITER, trees, "All", {})
    heard = Heard(registers)
    await registers.views.delete(WRITER, query.id)
    await heard.until(query.uri)


async def test_a_view_saved_after_the_last_one_was_deleted_is_followed(stores: Stores):
    async with opened(stores) as first, opened(stores) as second:
        trees = await with_trees(first)
        heard = Heard(second)
        for number in range(1, 4):
            query = await first.views.create(WRITER, trees, "All", {})
            pair = await second.catalogue.pair(WRITER, "city", "tree")
            await second.objects.create(WRITER, pair, {"number": f"T-{number}"})
            await heard.until(query.uri)
            await first.views.delete(WRITER, query.id)
            await heard.until(query.uri, 2)
            await second.objects.create(WRITER, pair, {"number": f"T-1{number}"})


@pytest.mark.requirement("registers:live:client")
async def test_a_client_that_follows_a_view_is_notified_and_reads_the_new_answer(tmp_path: Path):
    settings = Settings(data=tmp_path, rooms=("registers",), auth="none")
    async with open_app(settings) as app, app.client() as client:
        registers: Registers = app.rooms[0].service
        trees = await with_trees(registers)
        query = await registers.views.create(Caller(LOCAL), trees, "Oaks", {"filter": {"kind": "oak"}})
        await client.request("resources/subscribe", {"uri": query.uri})
        place = {"action": "create", "register": "city", "schema": "tree"}
        for data in ({"number": "T-1", "kind": "lime"}, {"number": "T-2", "kind": "oak"}):
            assert not (await client.call_tool("objects", {**place, "data": data}))["isError"]
        async with asyncio.timeout(60):
            while not (told := [one for one in client.notifications if one["method"].endswith("resources/updated")]):
                await asyncio.sleep(0)
        assert [one["params"] for one in told] == [{"uri": query.uri}]
        read = await client.request("resources/read", {"uri": query.uri})
        answer = json.loads(read["contents"][0]["text"])
        assert [tree["number"] for tree in answer["results"]] == ["T-2"]


@pytest.mark.requirement("registers:live:changes-only", "registers:search:hybrid")
async def test_an_answer_that_changes_by_new_vectors_is_told(stores: Stores):
    async with opened(stores, embedder=HashingEmbedder()) as registers:
        schema = {"title": "Hint", "configuration": {"search": "hybrid"}, "properties": {"text": {"type": "string"}}}
        made = await registers.catalogue.schemas.create(ADMIN, schema)
        await registers.catalogue.registers.create(ADMIN, {"title": "Town", "slug": "town", "schemas": [made.id]})
        pair = await registers.catalogue.pair(ADMIN, "town", made.id)
        query = await registers.views.create(ADMIN, pair, "Fog", {"search": "who steers boats through fog"})
        heard = Heard(registers)
        await registers.objects.create(ADMIN, pair, {"text": "steers boats through fog"})
        assert (await registers.views.run(ADMIN, query.id)).wire()["total"] == 0
        assert await registers.platform.search.embed_pending() == 1
        await heard.until(query.uri)
        assert (await registers.views.run(ADMIN, query.id)).wire()["total"] == 1
        heard.stop()


@pytest.mark.requirement("registers:live:changes-only")
async def test_a_change_of_a_related_object_is_told_if_it_changes_the_answer(registers: Registers):
    office = await open_office(registers)
    made = await fill(office)
    columns = ["name", {"name": "Fees", "sum": "permits.fee"}]
    view = await registers.views.create(ADMIN, office.pairs["person"], "Fees", {"columns": columns})
    names = await registers.views.create(ADMIN, office.pairs["person"], "Names", {"columns": ["name"]})
    heard = Heard(registers)
    await registers.objects.write(ADMIN, office.pairs["permit"], Operation("patch", {"status": "shut"}, made["P-1"]))
    await registers.objects.write(ADMIN, office.pairs["permit"], Operation("patch", {"fee": 11}, made["P-1"]))
    await heard.until(view.uri)
    await registers.objects.write(ADMIN, office.pairs["person"], Operation("patch", {"name": "Ann"}, made["Ada"]))
    await heard.until(names.uri)
    await heard.until(view.uri, 2)
    assert (heard.uris.count(view.uri), heard.uris.count(names.uri)) == (2, 1)


@pytest.mark.requirement("registers:views:checked")
async def test_a_schema_change_that_breaks_a_view_is_told(registers: Registers, trees: Pair):
    view = await registers.views.create(WRITER, trees, "Notes", {"columns": ["number", "note"]})
    heard = Heard(registers)
    rest = {name: one for name, one in TREE["properties"].items() if name != "note"}
    await registers.catalogue.schemas.update(ADMIN, "tree", {"properties": rest})
    await heard.until(view.uri)


async def test_a_changed_view_is_told(registers: Registers, trees: Pair):
    view = await registers.views.create(WRITER, trees, "All", {"columns": ["number"]})
    heard = Heard(registers)
    await registers.views.update(WRITER, view.id, {"query": {"columns": ["height"]}})
    await heard.until(view.uri)
