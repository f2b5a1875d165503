"""What a second user finds: nothing it may not read, and nothing that lets it tell that there is something."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.kernel.principal import LOCAL, Principal
from pentad.room_search.search import Filters
from pentad.rooms.registers.models import Caller
from pentad.settings.model import Settings
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio

_WRITES = frozenset({"*:read", "*:write"})
ADA = Principal("user:ada", "ada", _WRITES, user="user:ada")
BOB = Principal("user:bob", "bob", _WRITES, user="user:bob")
EVE = Principal("user:eve", "eve", _WRITES, user="user:eve")
"""Eve is a member of another organisation."""
QUERY = "zeppelin mooring permit"
_TEXTS = {"title": {"type": "string"}, "notes": {"type": "string"}}


class House:
    """An app with all rooms, and callers as the store would know them."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def call(self, who: Principal, tool: str, **arguments: Any) -> dict[str, Any]:
        bound = self.app.internal_server.registry.tools[tool]
        assert bound is not None
        result = await self.app.neighbours.call_tool(who, tool, arguments)
        assert not result.get("isError"), result
        return dict(result["structuredContent"])

    async def schema(self, who: Principal, title: str, **definition: Any) -> tuple[str, str]:
        """A register with one schema."""
        register = await self.call(who, "registers", action="create", data={"title": f"Register {title}"})
        data = {"title": title, "properties": _TEXTS, **definition}
        schema = await self.call(who, "schemas", action="create", data=data)
        change = {"schemas": [schema["id"]]}
        await self.call(who, "registers", action="update", id=str(register["id"]), data=change)
        return str(register["id"]), str(schema["id"])

    async def put(self, who: Principal, place: tuple[str, str], **data: str) -> str:
        register, schema = place
        return str(
            (await self.call(who, "objects", action="create", register=register, schema=schema, data=data))["id"]
        )

    async def search(self, who: Principal, query: str = QUERY, filters: Filters = Filters()) -> dict[str, Any]:  # noqa: B008  frozen
        return (await self.app.room_search.find(who, query, filters, limit=50, tokens=None)).as_json()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    folder: Path = tmp_path_factory.mktemp("house")
    database = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    async with open_app(Settings(data=folder, database=database, models=folder / "none")) as app:
        for name in ("ada", "bob", "eve"):
            await app.users.add(name, "correct horse battery", role="writer")
        organisations = next(one.service for one in app.rooms if one.room.name == "registers").organisations
        await organisations.create(Caller(LOCAL), "beta", "beta")
        await organisations.add_member(Caller(LOCAL), "beta", "user:eve")
        yield House(app)


def uris(found: dict[str, Any], kind: str) -> set[str]:
    return {hit["uri"] for group in found["groups"] if group["kind"] == kind for hit in group["hits"]}


@pytest.mark.requirement("search:rooms:rights")
async def test_a_second_user_sees_no_trace_of_what_it_may_not_read(house: House) -> None:
    open_place = await house.schema(ADA, "Open")
    closed = await house.schema(ADA, "Closed", authorization={"read": ["user:ada"]})
    partly = await house.schema(
        ADA, "Partly", authorization={"read": [{"group": "authenticated", "match": {"title": {"$eq": "shown"}}}]}
    )
    guarded = await house.schema(
        ADA, "Guarded", properties={**_TEXTS, "notes": {"type": "string", "authorization": {"read": ["user:ada"]}}}
    )
    for number in range(3):
        await house.put(ADA, open_place, title=f"Mooring {number}", notes="A zeppelin may be moored with a permit.")
    before = {who.id: json.dumps(await house.search(who)) for who in (BOB, EVE)}
    assert before[BOB.id].count("openregister://objects/") == 3
    assert "openregister://" not in before[EVE.id]

    hidden = [await house.put(ADA, closed, title="Zeppelin mooring permit", notes=f"Hidden {n}") for n in range(30)]
    hidden += [await house.put(ADA, partly, title="kept back", notes="zeppelin mooring permit") for _ in range(5)]
    hidden.append(await house.put(ADA, guarded, title="Plain", notes="zeppelin mooring permit"))
    assert {who.id: json.dumps(await house.search(who)) for who in (BOB, EVE)} == before

    seen = uris(await house.search(ADA), "object")
    assert sum(uri.rpartition("/")[2] in hidden for uri in seen) >= 35
    shown = await house.put(ADA, partly, title="shown", notes="zeppelin mooring permit")
    assert shown in json.dumps(await house.search(BOB))
    assert shown not in json.dumps(await house.search(EVE))


@pytest.mark.requirement("search:rooms:rights")
async def test_a_key_for_one_room_finds_only_that_room_and_the_tools_it_may_use(house: House) -> None:
    key = Principal("key:1", "key", frozenset({"directory:read"}), "key", "key:1")
    found = await house.search(key, "search agent records")
    assert {group["kind"] for group in found["groups"]} <= {"record", "tool"}
    names = {uri.rpartition("/")[2] for uri in uris(found, "tool")}
    assert "agntcy_dir_search_local" in names
    assert not names & {"agntcy_dir_push_record", "objects", "agents_list"}
    assert not found.keys() & {"incomplete", "left_out"}


@pytest.mark.requirement("search:rooms:filters")
async def test_filters_by_owner_and_time_hold_in_every_room_that_knows_them(house: House) -> None:
    place = await house.schema(ADA, "Filtered")
    mine, other = [await house.put(who, place, title="gyroscope", notes="gyroscope repair") for who in (BOB, ADA)]
    for filters, expected in (
        (Filters(owner="me"), {mine}),
        (Filters(owner="user:ada"), {other}),
        (Filters(since="2020-01-01"), {mine, other}),
        (Filters(until="2020-01-01"), set[str]()),
    ):
        found = await house.search(BOB, "gyroscope repair", filters)
        assert {uri.rpartition("/")[2] for uri in uris(found, "object")} == expected
        left_out = {gap["kind"] for gap in found.get("left_out", ())}
        assert left_out == ({"passage", "metric", "tool"} if filters.owner else {"metric", "tool"})


@pytest.mark.requirement("search:rooms:uris")
async def test_every_hit_can_be_read_at_its_uri(house: House) -> None:
    place = await house.schema(ADA, "Readable")
    await house.put(ADA, place, title="memory agent", notes="An echo agent that measures memory.")
    await house.call(ADA, "agents_send_task", agent="echo", text="Measure the memory of the agent.")
    found: dict[str, Any] = {}
    for query in ("memory used", "echo agent", "measure memory", "search agent records"):
        for group in (await house.search(ADA, query))["groups"]:
            found |= {hit["uri"]: (group["kind"], hit["why"]) for hit in group["hits"]}
    assert {kind for kind, _ in found.values()} >= {"object", "agent", "task", "metric", "tool"}
    for uri, (_, why) in found.items():
        assert await house.app.neighbours.read(ADA, uri), uri
        assert why, uri


@pytest.mark.requirement("search:rooms:tasks")
async def test_a_task_is_found_by_its_words_by_its_owner_alone(house: House) -> None:
    before = json.dumps(await house.search(BOB, "carburettor"))
    sent = await house.call(
        ADA, "agents_send_task", agent="echo", text="Please overhaul the carburettors of the barge."
    )
    found = await house.search(ADA, "overhaul of the carburettor")
    assert uris(found, "task") == {f"agents://tasks/{sent['task_id']}"}
    (hit,) = next(group["hits"] for group in found["groups"] if group["kind"] == "task")
    assert hit["title"] == "echo: Please overhaul the carburettors of the barge."
    assert hit["owner"] == "user:ada"
    assert "carburettor" in {word for reason in hit["why"] for word in reason["words"]}
    assert json.dumps(await house.search(BOB, "carburettor")) == before
    assert uris(await house.search(BOB, "carburettor", Filters(owner="user:ada")), "task") == set()
    further = await house.call(ADA, "agents_send_task", agent="echo", text="Overhaul the carburettor again.")
    assert f"agents://tasks/{further['task_id']}" in uris(await house.search(ADA, "carburettor"), "task")
    old = await house.search(ADA, "carburettor", Filters(until="2020-01-01"))
    assert uris(old, "task") == set()
