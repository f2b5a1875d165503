"""Typed tools: a profile turns schemas into tools of their own, with the rights and rules of `objects`."""

import contextlib
import json
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from pentad.app import App, open_app
from pentad.cli.checks import server_health
from pentad.http.application import http_application
from pentad.mcp.profiles import Profile
from pentad.rooms.registers.interface.typed_tools import tool_labels
from pentad.settings.model import Settings
from tests.behaviour.clients import EVERY_REVISION, HTTP_MODERN, SESSION, HttpClient, Wire, wire_name
from tests.behaviour.connecting import connect_http
from tests.rooms.registers.site import ROLES, Object, Site
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio

PERSON: Object = {"title": "Person", "slug": "person", "properties": {"name": {"type": "string"}}}
PERMIT: Object = {
    "title": "Permit",
    "slug": "permit",
    "description": "A permit to build.",
    "required": ["number", "status"],
    "properties": {
        "number": {"type": "string", "unique": True, "pattern": "^P-[0-9]+$", "description": "As printed."},
        "status": {"type": "string", "enum": ["open", "closed"]},
        "fee": {"type": "number", "minimum": 0},
        "due": {"type": "string", "format": "date"},
        "urgent": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "applicant": {"$ref": "person"},
        "id": {"type": "string"},
        "first-name": {"type": "string"},
        "total": {"type": "number", "computed": "fee * 2"},
        "secret": {"type": "string", "authorization": {"read": ["admin"], "update": ["admin"]}},
    },
}
PROFILES = {
    "permits": Profile(typed=("registers:permits/permit", "registers:permits/nothing", "registers:permits")),
    "reading": Profile(typed=("registers:permits/permit",), read_only=True),
    "found": Profile(typed=("registers:permits/permit",), lists="search"),
    "both": Profile(rooms=("registers",), typed=("registers:permits/permit",)),
    "nowhere": Profile(typed=("registry:permits/permit",)),
}
NAMES = ["create_permit", "find_permits", "get_permit", "update_permit"]


@dataclass
class Office:
    site: Site

    @property
    def app(self) -> App:
        return self.site.app

    @contextlib.asynccontextmanager
    async def client(
        self, who: str = "admin", profile: str = "permits", wire: Wire = HTTP_MODERN
    ) -> AsyncGenerator[HttpClient]:
        path = f"/mcp/{profile}" if profile else "/mcp"
        authorization = self.site.credentials(who)["authorization"]
        client = await connect_http(self.app, wire, path=path, authorization=authorization)
        try:
            yield client
        finally:
            await client.close()

    async def call(self, name: str, who: str = "admin", /, **arguments: Any) -> Object:
        async with self.client(who) as client:
            return (await client.call(name, arguments)).result


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def office(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Office]:
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    settings = Settings(
        data=tmp_path_factory.mktemp("typed"), database=database, rooms=("registers",), profiles=PROFILES
    )
    async with open_app(settings) as app:
        keys = {role: (await app.api_keys.create(role, scopes=scopes)).token for role, scopes in ROLES.items()}
        site = Site(app, http_application(app), keys)
        schemas = [(await site.made("/schemas", one))["id"] for one in (PERSON, PERMIT)]
        await site.made("/registers", {"title": "Permits", "slug": "permits", "schemas": schemas})
        yield Office(site)


async def entries(client: HttpClient) -> dict[str, Object]:
    return {one["name"]: one for one in await client.everything("tools/list", "tools")}


@pytest.mark.requirement("registers:typed:list")
@pytest.mark.parametrize("wire", EVERY_REVISION, ids=wire_name)
async def test_a_profile_offers_tools_made_from_a_schema_instead_of_the_generic_one(office: Office, wire: Wire) -> None:
    async with office.client(wire=wire) as client:
        found = await entries(client)
    assert list(found) == NAMES
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in found)
    create = found["create_permit"]["inputSchema"]
    assert create["required"] == ["number", "status"]
    assert create["properties"]["status"]["enum"] == ["open", "closed"]
    assert create["properties"]["number"]["description"] == "As printed."
    assert create["properties"]["applicant"]["description"] == "uuid of person"
    assert "total" not in create["properties"], "a computed value cannot be given"
    assert create["additionalProperties"] is False
    find = found["find_permits"]["inputSchema"]["properties"]
    assert find["fee"]["anyOf"][0] == {"type": "number"}
    assert find["fee"]["anyOf"][1]["properties"].keys() == {"gt", "gte", "lt", "lte"}
    assert {"search", "sort", "limit", "cursor"} <= find.keys()
    assert found["update_permit"]["inputSchema"]["required"] == ["_id"], "a property is called id"
    assert found["get_permit"]["inputSchema"]["required"] == ["id"]
    assert "A permit to build." in found["create_permit"]["description"]
    for one in found.values():
        jsonschema_rs.Draft202012Validator(one["inputSchema"])


@pytest.mark.requirement("registers:typed:calls")
async def test_typed_tools_do_what_objects_does(office: Office) -> None:
    made = (await office.call("create_permit", number="P-1", status="open", fee=5, urgent=True))["structuredContent"]
    assert (made["number"], made["fee"], made["total"]) == ("P-1", 5, 10)
    uuid = made["@self"]["id"]
    await office.call("create_permit", number="P-2", status="closed", fee=50, **{"first-name": "Ada", "id": "mine"})
    answer = await office.call("update_permit", _id=uuid, fee=7, urgent=None, reason="a mistake")
    changed = answer["structuredContent"]
    assert (changed["fee"], changed["status"]) == (7, "open")
    assert "urgent" not in changed
    got = (await office.call("get_permit", id=uuid, fields=["number"]))["structuredContent"]
    assert got["number"] == "P-1"
    for arguments, expected in (
        ({"status": "open"}, ["P-1"]),
        ({"fee": {"gte": 7}, "sort": ["-fee"]}, ["P-2", "P-1"]),
        ({"fee": {"lt": 8}}, ["P-1"]),
        ({"status": {"in": ["open", "closed"]}, "sort": ["number"], "limit": 1}, ["P-1"]),
        ({"first-name": "Ada"}, ["P-2"]),
        ({"search": "ada"}, ["P-2"]),
        ({"urgent": None, "sort": ["number"]}, ["P-1", "P-2"]),
    ):
        found = (await office.call("find_permits", **arguments))["structuredContent"]
        assert [one["number"] for one in found["results"]] == expected, arguments
    history = await office.site.send("GET", f"/api/objects/permits/permit/{uuid}/history")
    assert "a mistake" in history.body.decode()


@pytest.mark.requirement("registers:typed:arguments")
async def test_wrong_arguments_are_repaired_or_explained(office: Office) -> None:
    repaired = await office.call("create_permit", number="P-10", status="open", fee="12")
    assert repaired["structuredContent"]["fee"] == 12
    exact = await office.call("create_permit", number="P-12", status="open", fee=2**53 + 1)
    assert exact["structuredContent"]["fee"] == 2**53 + 1
    for arguments, said in (
        ({"number": "P-11"}, "Missing argument 'status'"),
        ({"number": "P-11", "status": "opn"}, "Did you mean 'open'?"),
        ({"number": "P-11", "status": "open", "fees": 1}, "Did you mean 'fee'?"),
        ({"number": "nonsense", "status": "open"}, "number"),
        ({"number": "P-10", "status": "open"}, "P-10"),
        ({"number": "P-11", "status": "open", "property_0": "x"}, "property_0"),
    ):
        refused = await office.call("create_permit", **arguments)
        assert refused["isError"] is True, arguments
        assert said in refused["content"][0]["text"], arguments
    for arguments in ({"fee": {"about": 5}}, {"limit": -1}, {"sort": ["nothing"]}, {"cursor": "x" * 5000}):
        refused = await office.call("find_permits", **arguments)
        assert refused["isError"] is True, arguments
        assert "incident" not in json.dumps(refused), arguments


@pytest.mark.requirement("registers:typed:rights")
async def test_typed_tools_give_no_right_and_show_nothing_hidden(office: Office) -> None:
    secret = (await office.call("create_permit", number="P-20", status="open", secret="ruby"))["structuredContent"]
    async with office.client("reader") as client:
        assert list(await entries(client)) == ["find_permits", "get_permit"]
    async with office.client("writer") as client:
        found = await entries(client)
        assert list(found) == NAMES
        assert "secret" not in json.dumps(found)
    async with office.client("reader") as client:
        refused = (await client.call("create_permit", {"number": "P-21", "status": "open"})).error
        assert refused["data"]["details"] == {"required_scope": "registers:write"}
    uuid = secret["@self"]["id"]
    for name, arguments in (
        ("find_permits", {"secret": "ruby"}),
        ("find_permits", {"sort": ["secret"]}),
        ("get_permit", {"id": uuid, "fields": ["secret"]}),
        ("update_permit", {"_id": uuid, "secret": "emerald"}),
        ("create_permit", {"number": "P-22", "status": "open", "secret": "x"}),
    ):
        answer = await office.call(name, "writer", **arguments)
        assert answer["isError"] is True, name
        assert "ruby" not in json.dumps(answer)
    seen = await office.call("get_permit", "writer", id=uuid)
    assert "secret" not in seen["structuredContent"]
    assert (await office.site.send("POST", "/mcp/permits", {"jsonrpc": "2.0"}, who="")).status == 401


@pytest.mark.requirement("registers:typed:invisible")
async def test_a_schema_the_caller_may_not_see_gives_no_tool_and_no_hint(office: Office) -> None:
    only_admins = {"read": ["admin"], "create": ["admin"]}
    before = (await office.site.send("GET", "/api/schemas/permit")).json
    closed = await office.site.send("PATCH", "/api/schemas/permit", {"authorization": only_admins})
    assert closed.status == 200, closed.body
    try:
        async with office.client("writer") as client:
            assert await entries(client) == {}
            hidden = (await client.call("create_permit", {"number": "P-30", "status": "open"})).error
            absent = (await client.call("create_nothing", {"number": "P-30", "status": "open"})).error
        assert hidden["message"].replace("create_permit", "x") == absent["message"].replace("create_nothing", "x")
        async with office.client("admin") as client:
            assert list(await entries(client)) == NAMES
    finally:
        again = {"authorization": before.get("authorization")}
        assert (await office.site.send("PATCH", "/api/schemas/permit", again)).status == 200


@pytest.mark.requirement("registers:typed:changes")
@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
async def test_a_changed_schema_changes_the_list_and_clients_are_told(office: Office, wire: Wire) -> None:
    name = f"extra_{wire.transport}"
    async with office.client(wire=wire) as client, client.following(("tools",)) as news:
        assert name not in (await entries(client))["create_permit"]["inputSchema"]["properties"]
        added = {"properties": {name: {"type": "integer"}}}
        assert (await office.site.send("PATCH", "/api/schemas/permit", added)).status == 200
        await news.wait_for("notifications/tools/list_changed")
        assert name in (await entries(client))["create_permit"]["inputSchema"]["properties"]
        made = await client.call("create_permit", {"number": f"P-4{len(name)}", "status": "open", name: 3})
        assert made.result["structuredContent"][name] == 3


@pytest.mark.requirement("registers:typed:profiles")
async def test_profiles_combine_typed_tools_with_the_others(office: Office) -> None:
    async with office.client(profile="reading") as client:
        assert list(await entries(client)) == ["find_permits", "get_permit"]
        refused = (await client.call("create_permit", {"number": "P-50", "status": "open"})).error
        assert "read-only" in refused["message"]
    async with office.client(profile="both") as client:
        assert list(await entries(client))[-4:] == NAMES
        assert "objects" in await entries(client)
    async with office.client(profile="found") as client:
        assert NAMES[0] not in await entries(client)
        found = (await client.call("search_tools", {"query": "create a permit"})).result["structuredContent"]
        assert found["tools"][0]["name"] == "create_permit"
        described = (await client.call("describe_tool", {"name": "create_permit"})).result["structuredContent"]
        assert described["inputSchema"]["required"] == ["number", "status"]
        called = await client.call(
            "call_tool", {"name": "create_permit", "arguments": {"number": "P-51", "status": "open"}}
        )
        assert called.result["structuredContent"]["number"] == "P-51"
    async with office.client(profile="") as client:
        assert not set(NAMES) & set(await entries(client)), "other endpoints have none"
        assert (await client.call("create_permit", {})).error["code"] == -32602


@pytest.mark.requirement("registers:typed:audit")
async def test_a_typed_call_is_audited_under_its_own_name(office: Office) -> None:
    async with office.client() as client:
        await client.call("create_permit", {"number": "P-60", "status": "open"})
        await client.call("create_unknown", {})
    await office.app.audit.flush()
    calls = [(one.room, one.tool, one.outcome) for one in await office.app.audit.recent(limit=2)]
    assert calls == [("", "(unknown tool)", "-32602"), ("registers", "create_permit", "ok")]


@pytest.mark.requirement("registers:typed:confirm")
async def test_rules_about_objects_cover_typed_tools(tmp_path: Path) -> None:
    settings = Settings(
        data=tmp_path, rooms=("registers",), auth="none", profiles=PROFILES, confirm=("objects:create",)
    )
    async with open_app(settings) as app:
        site = Site(app, http_application(app), {})
        schema = (await site.made("/schemas", PERMIT, who=""))["id"]
        await site.made("/registers", {"title": "Permits", "slug": "permits", "schemas": [schema]}, who="")
        async with app.client(app.profile("permits")) as client:
            asked = await client.call_tool("create_permit", {"number": "P-1", "status": "open"})
            assert asked["isError"] is True
            assert "confirm_token" in asked["content"][0]["text"]
            assert (await client.call_tool("find_permits", {}))["isError"] is False


@pytest.mark.requirement("registers:typed:missing")
async def test_the_operator_is_told_of_names_that_lead_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(data=tmp_path, rooms=("registers",), auth="none", profiles=PROFILES)
    with caplog.at_level(logging.WARNING, "pentad.app"):
        async with open_app(settings) as app, app.client(app.profile("permits")) as client:
            assert await client.list_all("tools/list", "tools") == []
            health = (await Site(app, http_application(app), {}).send("GET", "/api/admin/health", who="")).json
    found = [one for one in server_health(health) if one.check == "profile permits"]
    assert [one.state for one in found] == ["warn"] * 3
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "permits offers no tools for registers:permits/permit" in said
    assert "registers:permits: Write it as registers:<register>/<schema>" in said
    assert "nowhere offers no tools for registry:permits/permit: No open room of that name generates tools" in said


@pytest.mark.requirement("registers:typed:names")
def test_names_are_valid_for_every_client_and_unique() -> None:
    names = ["a/permit", "b/permit", "c/déjà vu", "d/" + "x" * 100, "e/" + "x" * 100, "f/9", "g/___", "h/permits"]
    labels = tool_labels(names)
    assert labels["a/permit"] == "a_permit"
    assert labels["c/déjà vu"] == "d_j_vu"
    assert labels["g/___"] == ""
    given = [label for label in labels.values() if label]
    assert len(set(given)) == len(given)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", f"create_{label}s") for label in given)
