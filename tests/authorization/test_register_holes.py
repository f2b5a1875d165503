"""Rights in the registers room on every wire of its tools, on both stores: MCP in both eras, OpenRegister's endpoint,
and agents that call tools for others. REST and the console are also checked if they show the same thing.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from pentad.kernel.errors import Forbidden, NotFound
from tests.authorization.ways import WAYS, Said, reaches
from tests.rooms.registers.site import Object, Site, open_site
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio

SALARY: Final[Object] = {"type": "integer", "authorization": {"read": ["admin"], "update": ["admin"]}}
PERSON: Final[Object] = {"name": {"type": "string"}, "note": {"type": ["string", "integer", "null"]}, "salary": SALARY}
OPEN_ONLY: Final[Object] = {
    "read": [{"group": "authenticated", "match": {"state": "open"}}],
    "create": ["writer"],
    "update": ["writer"],
    "delete": ["writer"],
}
ABSENT: Final = "00000000-0000-7000-8000-00000000dead"
SCOPES: Final = {
    "outsider": ["*:read", "*:write"],
    "agents only": ["agents:read", "agents:write"],
    "registers read": ["registers:read", "agents:read", "agents:write"],
}
EVERY_WAY = pytest.mark.parametrize("way", WAYS)


@dataclass
class World:
    """Two pairs of an administrator: people, which any writer may define; and cases, visible while they are open."""

    site: Site
    people: tuple[int, int]
    cases: tuple[int, int]
    foreign: tuple[int, int]
    """A register and a schema that only the outsider's organisation has."""
    closed: str
    """A case that was once open."""

    async def ask(self, way: str, who: str, tool: str, **arguments: Any) -> Said:
        return await WAYS[way](self.site, who, tool, arguments)


async def _define(site: Site, slug: str, who: str = "admin", **schema: Any) -> tuple[int, int]:
    kind = await site.made("/schemas", {"title": slug, "slug": slug, **schema}, who=who)
    made = await site.made("/registers", {"title": slug, "slug": slug, "schemas": [kind["id"]]}, who=who)
    return made["id"], kind["id"]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    async with open_site(tmp_path_factory.mktemp("holes"), database, rooms=("registers", "agents")) as site:
        for name, scopes in SCOPES.items():
            key = await site.app.api_keys.create(name, scopes=scopes)
            site.keys = {**site.keys, name: key.token}
            if name == "outsider":
                await site.send("POST", "/api/organisations", {"slug": "there", "title": "There"})
                member = {"principal": key.key.credential}
                assert (await site.send("POST", "/api/organisations/there/members", member)).status == 204
        people = await _define(site, "people", properties=PERSON, authorization={"define": ["writer"]})
        await site.made(f"/objects/{people[0]}/{people[1]}", {"name": "Ada", "salary": 5_000_000_007})
        case = {"state": {"type": "string"}, "code": {"type": "string"}, "link": {"type": "string", "$ref": "cases"}}
        cases = await _define(site, "cases", properties=case, authorization=OPEN_ONLY)
        place = f"/objects/{cases[0]}/{cases[1]}"
        closed = (await site.made(place, {"state": "open", "code": "opal"}))["id"]
        assert (await site.send("PUT", f"/api{place}/{closed}", {"state": "shut", "code": "ruby"})).status == 200
        foreign = await _define(site, "theirs", "outsider", properties=case)
        await site.settled()
        yield World(site, people, cases, foreign, closed)


# the right to write is not enough to define

LOOSENED: Final[list[Object]] = [
    {"data": {"properties": {**PERSON, "salary": {"type": "integer", "authorization": None}}}},
    {"data": {"properties": {**PERSON, "copy": {"type": "integer", "computed": "salary"}}}},
    {"data": {"properties": {**PERSON, "copy": {"type": "string", "default": "{{ salary }}"}}}},
    {"data": {"description": "x"}, "migration": [{"step": "rename", "property": "salary", "to": "note"}]},
    {"data": {"description": "x"}, "migration": [{"step": "drop", "property": "salary"}]},
]


@EVERY_WAY
@pytest.mark.requirement("registers:define:widening", "registers:define:migrations")
async def test_a_definer_does_not_bring_a_protected_value_into_the_open(world: World, way: str) -> None:
    for change in LOOSENED:
        if reaches(way, change):
            said = await world.ask(way, "writer", "schemas", action="update", id=world.people[1], **change)
            assert said.refused, change
            assert "5000000007" not in said.text
            body = {**change["data"], **({"migration": change["migration"]} if "migration" in change else {})}
            reply = await world.site.send("PUT", f"/api/schemas/{world.people[1]}", body, who="writer")
            assert reply.status == 403, reply.body
    for operation in (
        {"op": "change", "property": "salary", "definition": {"authorization": None}},
        {"op": "rename", "property": "salary", "to": "pay"},
        {"op": "drop", "property": "salary"},
    ):
        for action in ("plan", "patch"):
            change = {"id": world.people[1], "operations": [operation]}
            assert (await world.ask(way, "writer", "schemas", action=action, **change)).refused, operation
    opened = {"properties": {"salary": {"authorization": None}}}
    assert (await world.site.send("PATCH", f"/api/schemas/{world.people[1]}", opened, who="writer")).status == 403
    register, schema = world.people
    listed = await world.ask(way, "writer", "objects", action="list", register=register, schema=schema)
    assert ("Ada" in listed.text, "5000000007" in listed.text) == (True, False)


@EVERY_WAY
@pytest.mark.requirement("registers:define:owners")
async def test_a_writer_neither_publishes_nor_locks_nor_ends_what_is_not_its_own(world: World, way: str) -> None:
    for tool, name in (("registers", world.people[0]), ("registers", world.cases[0]), ("schemas", world.cases[1])):
        for rule in ({"read": ["public"]}, {"read": ["user:nobody"]}, {"define": ["writer"]}):
            said = await world.ask(way, "writer", tool, action="update", id=name, data={"authorization": rule})
            assert said.refused
            assert "may not define" in said.text
        assert (await world.ask(way, "writer", tool, action="delete", id=name)).refused


@EVERY_WAY
@pytest.mark.parametrize("who", ["agents only", "registers read"])
@pytest.mark.requirement("registers:define:owners")
async def test_a_key_does_nothing_beyond_its_scopes(world: World, way: str, who: str) -> None:
    register, schema = world.people
    made = {"register": register, "schema": schema, "data": {"name": "Mallory"}}
    assert (await world.ask(way, who, "objects", action="create", **made)).refused
    assert (await world.ask(way, who, "registers", action="create", data={"title": "Mine"})).refused
    if who == "agents only":
        for tool, arguments in (("registers", {"action": "list"}), ("objects", {"action": "list", **made})):
            arguments.pop("data", None)
            said = await world.ask(way, who, tool, **arguments)
            assert "people" not in said.text
            assert "Ada" not in said.text


# organisations


@EVERY_WAY
@pytest.mark.requirement("registers:organisations:definitions")
async def test_another_organisations_register_and_schema_are_like_none(world: World, way: str) -> None:
    for tool, name in (("registers", world.foreign[0]), ("schemas", world.foreign[1])):
        for more in ({"action": "get"}, {"action": "update", "data": {"title": "Mine"}}, {"action": "delete"}):
            foreign, absent = [await world.ask(way, "writer", tool, id=one, **more) for one in (name, 987654321)]
            assert foreign.refused
            assert foreign.text.replace(f" {name} ", " 987654321 ") == absent.text, more
        listed = await world.ask(way, "writer", tool, action="list", limit=1000)
        assert "theirs" not in listed.text
    register, schema = world.foreign
    for action in ("list", "create"):
        given = {"register": register, "schema": schema, "data": {"code": "x"}}
        assert (await world.ask(way, "writer", "objects", action=action, **given)).refused


# no leaks through errors, and the past

ASKED: Final[list[Object]] = [
    {"action": "get", "id": "{}"},
    {"action": "update", "id": "{}", "data": {"state": "open"}},
    {"action": "delete", "id": "{}"},
    {"action": "create", "data": {"state": "open", "link": "{}"}},
    {"action": "get", "id": "{}", "as_of": "change:1"},
    {"action": "history", "id": "{}"},
    {"action": "diff", "id": "{}", "version": 1},
    {"action": "revert", "id": "{}", "version": 1},
    {"action": "verify", "id": "{}"},
    {"action": "plan", "operations": [{"action": "patch", "id": "{}", "data": {"code": "x"}}]},
]


def _filled(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _filled(one, name) for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType]  plain JSON
    if isinstance(value, list):
        return [_filled(one, name) for one in value]  # pyright: ignore[reportUnknownVariableType]  likewise
    return value.replace("{}", name) if isinstance(value, str) else value


@EVERY_WAY
@pytest.mark.requirement("registers:oracles:not-found", "registers:access:past-today")
async def test_an_object_that_became_hidden_is_like_none_now_and_in_the_past(world: World, way: str) -> None:
    register, schema = world.cases
    for question in ASKED:
        if not reaches(way, question):
            continue
        answers: list[str] = []
        for name in (world.closed, ABSENT):
            asked = {"register": register, "schema": schema, **_filled(question, name)}
            said = await world.ask(way, "writer", "objects", **asked)
            assert said.refused or question["action"] == "plan", said.text
            assert "opal" not in said.text
            assert "ruby" not in said.text
            answers.append(said.text.replace(name, "<name>"))
        if question["action"] != "plan":
            assert answers[0] == answers[1], question


@EVERY_WAY
@pytest.mark.requirement("registers:access:past-today")
async def test_lists_of_the_past_lack_what_became_hidden(world: World, way: str) -> None:
    register, schema = world.cases
    site = world.site
    then = (await site.send("GET", f"/api/objects/{register}/{schema}/{world.closed}/history")).json["results"][-1]
    for moment in (then["at"], f"change:{then['id']}"):
        asked: Object = {"action": "list", "register": register, "schema": schema, "as_of": moment}
        if reaches(way, asked):
            assert "opal" in (await world.ask(way, "admin", "objects", **asked)).text
            assert "opal" not in (await world.ask(way, "writer", "objects", **asked)).text
        for path in (f"/api/objects/{register}/{schema}", f"/api/objects/{register}/{schema}/{world.closed}"):
            seen = [await site.send("GET", f"{path}?_asOf={moment}", who=who) for who in ("admin", "writer")]
            assert [b"opal" in one.body for one in seen] == [True, False]
    page = f"/console/registers/{register}/{schema}/{world.closed}"
    assert [(await site.send("GET", page, who=who)).status for who in ("admin", "writer")] == [200, 404]


@pytest.mark.requirement("registers:oracles:not-found", "registers:access:past-today")
async def test_a_reference_in_the_context_of_a_message_is_followed_with_the_rights_of_its_sender(world: World) -> None:
    site = world.site
    for who, expected in (("writer", NotFound), ("outsider", NotFound), ("agents only", Forbidden)):
        principal = await site.app.authenticator.authenticate(f"Bearer {site.keys[who]}".encode())
        for tail in ("", "?asOf=change:1", "?asOf=2040-01-01"):
            said: list[str] = []
            for name in (world.closed, ABSENT):
                uri = f"openregister://objects/{world.cases[0]}/{world.cases[1]}/{name}{tail}"
                with pytest.raises(expected) as refused:
                    await site.app.neighbours.read(principal, uri)
                said.append(json.dumps(refused.value.as_json()).replace(name, "<name>"))
            assert said[0] == said[1]
