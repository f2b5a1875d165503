"""Organisations keep their registers and schemas to themselves, on every surface and each store.

Whoever is of another organisation is told, to the letter, what it would be told if there were nothing.
"""

import contextlib
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from tests.behaviour.clients import HTTP_MODERN, SESSION, HttpClient, Wire, wire_name
from tests.behaviour.connecting import connect_http
from tests.behaviour.registers.openregister import OpenRegister
from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio

WIRES = pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
PERSON: Object = {"name": {"type": "string"}}


@dataclass
class Tenants:
    """Two writers of two organisations; the first has a register with a schema and an object in it."""

    site: Site
    here: str
    there: str
    stem: str
    register: Object
    schema: Object
    object: Object

    @property
    def path(self) -> str:
        return f"/api/objects/{self.register['id']}/{self.schema['id']}"

    def names(self, kind: str) -> list[tuple[str, str]]:
        """Every way to name the register or schema, each with a name of the same form that nothing has."""
        entity = self.register if kind == "registers" else self.schema
        return [
            (str(entity["id"]), str(10**9 + entity["id"])),
            (entity["uuid"], str(uuid4())),
            (entity["slug"], f"no-{uuid4().hex}"),
        ]

    def same(self, foreign: Any, absent: Any, name: str, other: str) -> bool:
        """Whether two answers differ in the name that was asked for alone.

        Names are random: one may happen to look like a name that the caller can read, and be answered with that.
        """
        said, absent_said = (re.sub(r" Did you mean '[^']*'\?", "", json.dumps(one)) for one in (foreign, absent))
        return f" {name} not found" in said and absent_said == said.replace(f" {name} not found", f" {other} not found")


@pytest.fixture
async def tenants(site: Site) -> AsyncIterator[Tenants]:
    stem = f"t{uuid4().hex[:10]}"
    members: dict[str, str] = {}
    for side in ("here", "there"):
        key = await site.app.api_keys.create(f"{stem}-{side}", scopes=["*:read", "*:write"])
        site.keys = {**site.keys, f"{stem}-{side}": key.token}
        assert (await site.send("POST", "/api/organisations", {"slug": f"{stem}-{side}", "title": side})).status == 201
        members[side] = f"key:{key.token.split('_')[1]}"
        added = await site.send("POST", f"/api/organisations/{stem}-{side}/members", {"principal": members[side]})
        assert added.status == 204
    here = f"{stem}-here"
    schema = await site.made("/schemas", {"title": "Person", "slug": stem, "properties": PERSON}, who=here)
    register = await site.made("/registers", {"title": "Staff", "slug": stem, "schemas": [schema["id"]]}, who=here)
    made = await site.made(f"/objects/{register['id']}/{schema['id']}", {"name": "Ada"}, who=here)
    yield Tenants(site, here, f"{stem}-there", stem, register, schema, made)
    for side, member in members.items():
        await site.send("DELETE", f"/api/organisations/{stem}-{side}/members/{member}")


@pytest.mark.requirement("registers:organisations:definitions")
@pytest.mark.parametrize("kind", ["registers", "schemas"])
async def test_over_rest_a_definition_of_another_organisation_is_like_none(tenants: Tenants, kind: str) -> None:
    site = tenants.site
    for name, other in tenants.names(kind):
        attempts: list[tuple[str, str, Any]] = [
            ("GET", f"/api/{kind}/{{}}", None),
            ("PUT", f"/api/{kind}/{{}}", {"title": "Mine"}),
            ("PATCH", f"/api/{kind}/{{}}", {"authorization": {"read": ["public"]}}),
            ("DELETE", f"/api/{kind}/{{}}", None),
        ]
        attempts += (
            [("GET", "/api/registers/{}/schemas", None), ("GET", "/api/registers/{}/oas", None)]
            if kind == "registers"
            else [("GET", "/api/schemas/{}/download", None), ("POST", "/api/schemas/{}/preflight", {"required": ["x"]})]
        )
        for verb, path, body in attempts:
            foreign = await site.send(verb, path.format(name), body, who=tenants.there)
            absent = await site.send(verb, path.format(other), body, who=tenants.there)
            assert foreign.status == absent.status == 404, (verb, path, foreign.body)
            assert tenants.same(foreign.json, absent.json, name, other), (verb, path)
            assert (await site.send("GET", f"/api/{kind}/{name}", who=tenants.here)).status == 200
    listed = (await site.send("GET", f"/api/{kind}?_limit=1000", who=tenants.there)).json
    assert tenants.stem not in json.dumps(listed)
    assert listed["total"] == len(listed["results"])


@pytest.mark.requirement("registers:organisations:definitions")
async def test_over_rest_objects_of_a_foreign_register_can_neither_be_read_nor_put_there(tenants: Tenants) -> None:
    site = tenants.site
    attempts: list[tuple[str, str, Object | None]] = [
        ("GET", tenants.path, None),
        ("POST", tenants.path, {"name": "Mallory"}),
        ("GET", f"{tenants.path}/{tenants.object['id']}", None),
        ("PUT", f"{tenants.path}/{tenants.object['id']}", {"name": "Mallory"}),
        ("DELETE", f"{tenants.path}/{tenants.object['id']}", None),
        ("POST", "/api/webhooks", {"url": "https://example.org", "register": tenants.register["id"]}),
        ("POST", "/api/views", {"title": "V", "register": tenants.stem, "schema": tenants.stem, "query": {}}),
        ("GET", f"/api/audit-trails?register={tenants.register['id']}", None),
    ]
    for verb, path, body in attempts:
        assert (await site.send(verb, path, body, who=tenants.there)).status == 404, (verb, path)
    assert (await site.send("GET", tenants.path, who=tenants.here)).json["total"] == 1
    feed = (await site.send("GET", "/api/audit-trails?_limit=1000", who=tenants.there)).json
    assert tenants.object["id"] not in {change["uuid"] for change in feed["results"]}


@pytest.mark.requirement("registers:organisations:slugs")
async def test_a_slug_is_free_in_one_organisation_whatever_it_is_in_another(tenants: Tenants) -> None:
    site = tenants.site
    schema = await site.made("/schemas", {"title": "Mine", "slug": tenants.stem}, who=tenants.there)
    register = await site.made(
        "/registers", {"title": "Mine", "slug": tenants.stem, "schemas": [tenants.stem]}, who=tenants.there
    )
    assert register["schemas"] == [schema["id"]]
    place = f"/api/objects/{tenants.stem}/{tenants.stem}"
    for _ in range(2):  # the second time it may be remembered
        assert (await site.send("GET", place, who=tenants.there)).json["total"] == 0
        assert (await site.send("GET", place, who=tenants.here)).json["total"] == 1
    again = await site.send("POST", "/api/registers", {"title": "Twice", "slug": tenants.stem}, who=tenants.there)
    assert again.status == 409
    titled = await site.made("/schemas", {"title": tenants.stem}, who=tenants.there)
    assert titled["slug"] == f"{tenants.stem}-2"


@pytest.mark.requirement("registers:organisations:slugs")
async def test_a_reference_by_slug_means_the_own_organisations_schema(tenants: Tenants) -> None:
    site = tenants.site
    properties = {"person": {"type": "string", "$ref": tenants.stem}}
    path = "/api" + await site.pair(properties, who=tenants.there)
    refused = await site.send("POST", path, {"person": tenants.object["id"]}, who=tenants.there)
    assert refused.status == 400
    assert b"names a schema that does not exist" in refused.body
    for composed in (tenants.stem, tenants.schema["id"]):
        given = {"title": "Mine", "allOf": [{"$ref": composed}]}
        foreign = await site.send("POST", "/api/schemas", given, who=tenants.there)
        assert (foreign.status, b"there is no schema" in foreign.body) == (400, True)


@pytest.mark.requirement("registers:organisations:public")
async def test_what_is_public_is_read_from_another_organisation_and_changed_by_none(tenants: Tenants) -> None:
    site = tenants.site
    shared = {"authorization": {"read": ["public"], "define": ["authenticated"]}}
    assert (await site.send("PUT", f"/api/schemas/{tenants.stem}", shared, who=tenants.here)).status == 200
    for who in (tenants.there, ""):
        assert (await site.send("GET", tenants.path, who=who)).json["total"] == 1
        by_slug = f"/api/objects/{tenants.stem}/{tenants.stem}"
        assert (await site.send("GET", by_slug, who=who)).json["total"] == 1
    register = (await site.send("GET", f"/api/registers/{tenants.stem}", who=tenants.there)).json
    assert register["schemas"] == [tenants.schema["id"]]
    for verb, path, body in (
        ("POST", tenants.path, {"name": "Mallory"}),
        ("PUT", f"/api/schemas/{tenants.stem}", {"title": "Mallory"}),
        ("DELETE", f"/api/registers/{tenants.stem}", None),
    ):
        assert (await site.send(verb, path, body, who=tenants.there)).status == 403, (verb, path)
    assert (await site.send("DELETE", f"{tenants.path}/{tenants.object['id']}", who=tenants.there)).status == 403


@contextlib.asynccontextmanager
async def connected(site: Site, wire: Wire, who: str) -> AsyncGenerator[HttpClient]:
    client = await connect_http(site.app, wire, authorization=site.credentials(who)["authorization"])
    try:
        yield client
    finally:
        await client.close()


@WIRES
@pytest.mark.requirement("registers:organisations:definitions")
async def test_over_mcp_a_definition_of_another_organisation_is_like_none(tenants: Tenants, wire: Wire) -> None:
    async with connected(tenants.site, wire, tenants.there) as client:

        async def called(tool: str, **arguments: Any) -> Object:
            return (await client.request("tools/call", {"name": tool, "arguments": arguments})).result

        for kind in ("registers", "schemas"):
            for name, other in tenants.names(kind):
                for arguments in (
                    {"action": "get"},
                    {"action": "update", "data": {"title": "Mine"}},
                    {"action": "delete"},
                    *([{"action": "preflight", "data": {"required": ["x"]}}] if kind == "schemas" else []),
                ):
                    foreign, absent = (
                        await called(kind, id=name, **arguments),
                        await called(kind, id=other, **arguments),
                    )
                    assert foreign["isError"] is True
                    assert tenants.same(foreign["content"], absent["content"], name, other), (kind, arguments)
            listed = (await called(kind, action="list", limit=1000))["structuredContent"]
            assert tenants.stem not in json.dumps(listed)
            assert listed["total"] == len(listed["results"])
        place = {"register": tenants.register["id"], "schema": tenants.schema["id"]}
        for action in ("list", "create", "changes", "plan"):
            answer = await called("objects", action=action, data={"name": "x"}, operations=[], **place)
            assert answer["isError"] is True
        uris = [
            f"openregister://registers/{tenants.stem}",
            f"openregister://schemas/{tenants.schema['id']}",
            f"openregister://objects/{tenants.register['id']}/{tenants.schema['id']}",
        ]
        for uri in uris:
            assert (await client.request("resources/read", {"uri": uri})).error is not None
        listed = (await client.request("resources/list", {})).result["resources"]
        assert uris[-1] not in {one["uri"] for one in listed}
        for whole in ("registers", "schemas"):
            read = (await client.request("resources/read", {"uri": f"openregister://{whole}"})).result
            assert tenants.stem not in read["contents"][0]["text"]


@pytest.mark.requirement("registers:organisations:definitions")
async def test_over_openregisters_endpoint_a_definition_of_another_organisation_is_like_none(tenants: Tenants) -> None:
    endpoint = OpenRegister(tenants.site, "/api/mcp", tenants.there)
    for kind in ("registers", "schemas"):
        for name, other in tenants.names(kind):
            for arguments in ({"action": "get"}, {"action": "update", "data": {"title": "x"}}, {"action": "delete"}):
                foreign = await endpoint.failure(kind, id=name, **arguments)
                absent = await endpoint.failure(kind, id=other, **arguments)
                assert tenants.same(foreign, absent, name, other), (kind, arguments)
        assert tenants.stem not in json.dumps(await endpoint.call(kind, action="list", limit=1000))
    place = {"register": tenants.register["id"], "schema": tenants.schema["id"]}
    assert "not found" in await endpoint.failure("objects", action="list", **place)
    listed = (await endpoint.result("resources/list"))["resources"]
    pair = f"openregister://objects/{tenants.register['id']}/{tenants.schema['id']}"
    assert pair not in {one["uri"] for one in listed}


@pytest.mark.requirement("registers:organisations:definitions")
async def test_the_console_and_discovery_show_a_visitor_the_own_organisation_alone(tenants: Tenants) -> None:
    site = tenants.site
    for path in (
        f"/console/registers/{tenants.register['id']}",
        f"/console/registers/schemas/{tenants.schema['id']}",
        f"/console/registers/{tenants.register['id']}/{tenants.schema['id']}",
    ):
        assert (await site.send("GET", path, who=tenants.here)).status == 200
        assert (await site.send("GET", path, who=tenants.there)).status == 404
    for capability in ("registers", "schemas", "objects"):
        told = (await site.send("GET", f"/api/mcp/v1/discover/{capability}", who=tenants.there)).json["context"]
        assert all(one["id"] != tenants.register["id"] for one in told.get("registers", []))
        assert all(one["id"] != tenants.schema["id"] for one in told.get("schemas", []))


@pytest.mark.requirement("registers:define:owners")
async def test_over_every_wire_a_writer_of_the_same_organisation_does_not_define(site: Site) -> None:
    salary = {"type": "integer", "authorization": {"read": ["admin"]}}
    path = await site.pair({**PERSON, "salary": salary})
    _, _, register, schema = path.split("/")
    await site.made(path, {"name": "Ada", "salary": 5_000_000_007})
    opened = {"properties": {**PERSON, "salary": {"type": "integer"}}}
    for verb, target, body in (
        ("PUT", f"/api/schemas/{schema}", opened),
        ("PATCH", f"/api/schemas/{schema}", {"authorization": {"read": ["public"]}}),
        ("POST", f"/api/schemas/{schema}/preflight", opened),
        ("DELETE", f"/api/schemas/{schema}", None),
        ("PUT", f"/api/registers/{register}", {"authorization": {"read": ["public"]}}),
        ("DELETE", f"/api/registers/{register}", None),
        ("POST", "/api/webhooks", {"url": "https://example.org", "schema": int(schema)}),
        ("POST", "/api/webhooks", {"url": "https://example.org"}),
    ):
        assert (await site.send(verb, target, body, who="writer")).status == 403, (verb, target)
    endpoint = OpenRegister(site, "/api/mcp", "writer")
    assert "may not define" in await endpoint.failure("schemas", action="update", id=int(schema), data=opened)
    for wire in (SESSION, HTTP_MODERN):
        async with connected(site, wire, "writer") as client:
            arguments = {"action": "update", "id": schema, "data": opened}
            answer = (await client.request("tools/call", {"name": "schemas", "arguments": arguments})).result
            assert "may not define" in answer["content"][0]["text"]
    seen = await site.send("GET", f"/api{path}", who="writer")
    assert seen.json["total"] == 1
    assert b"5000000007" not in seen.body
