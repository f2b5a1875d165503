"""The discovery API: public first document, live second ones, and nothing advertised that does not answer."""

from uuid import uuid4

import pytest

from pentad.rooms.registers.interface.rest.routes import TABLE
from tests.rooms.registers.site import PREFIXES, Site

pytestmark = pytest.mark.anyio

IDS = ["registers", "schemas", "objects", "search", "files", "audit", "bulk", "webhooks", "chat", "views"]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.requirement("openregister:discovery")
async def test_the_first_document_is_public_small_and_complete(site: Site, prefix: str) -> None:
    reply = await site.send("GET", f"{prefix}/mcp/v1/discover", who="")
    assert reply.status == 200
    assert len(reply.body.decode()) < 3000
    told = reply.json
    assert (told["version"], told["name"]) == ("1.0", "OpenRegister")
    assert told["description"]
    assert told["authentication"].keys() >= {"type", "description", "header"}
    assert told["authentication"]["type"] == "basic"
    assert [one["id"] for one in told["capabilities"]] == IDS
    for one in told["capabilities"]:
        assert one.keys() == {"id", "name", "description", "href"}
        assert one["href"] == f"{prefix}/mcp/v1/discover/{one['id']}"
        assert one["description"].count(".") == 1, "one sentence"
    assert "endpoints" not in told


async def test_the_first_document_may_be_read_by_pages_of_every_origin(site: Site) -> None:
    origin = {"origin": "https://elsewhere.example"}
    asked = await site.send(
        "OPTIONS", "/api/mcp/v1/discover", who="", headers=origin | {"access-control-request-method": "GET"}
    )
    assert asked.status == 204
    assert asked.headers["access-control-allow-origin"] == origin["origin"]
    assert (await site.send("GET", "/api/mcp/v1/discover", who="", headers=origin)).status == 200


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("capability", IDS)
@pytest.mark.requirement("openregister:discovery-capability")
async def test_every_capability_has_endpoints_for_who_is_known(site: Site, prefix: str, capability: str) -> None:
    path = f"{prefix}/mcp/v1/discover/{capability}"
    stranger = await site.send("GET", path, who="")
    assert stranger.status == 401
    assert stranger.json["error"]
    told = (await site.send("GET", path, who="reader")).json
    assert told.keys() == {"id", "name", "description", "context", "endpoints"}
    assert told["id"] == capability
    assert told["endpoints"]
    for endpoint in told["endpoints"]:
        assert {"method", "path", "description"} <= endpoint.keys()
        assert endpoint["path"].startswith(prefix + "/")
        assert endpoint["description"].endswith(".")
        for parameter in endpoint.get("parameters", []):
            assert parameter.keys() == {"name", "in", "type", "required", "description"}


async def test_an_unknown_capability_names_the_ten(site: Site) -> None:
    reply = await site.send("GET", "/api/mcp/v1/discover/nonexistent", who="reader")
    assert reply.status == 404
    assert "nonexistent" in reply.json["error"]
    assert reply.json["available"] == IDS


@pytest.mark.requirement("openregister:discovery-context")
async def test_the_context_is_what_there_is_right_now(fresh_site: Site) -> None:
    for capability, empty in (("registers", "registers"), ("schemas", "schemas"), ("objects", "registers")):
        told = (await fresh_site.send("GET", f"/api/mcp/v1/discover/{capability}")).json
        assert told["context"] == {empty: []}
    schema = await fresh_site.made(
        "/schemas", {"title": "S", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    )
    register = await fresh_site.made("/registers", {"title": "R", "schemas": [schema["id"]]})

    async def context(capability: str) -> object:
        return (await fresh_site.send("GET", f"/api/mcp/v1/discover/{capability}")).json["context"]

    shown = {"id": register["id"], "title": "R", "uuid": register["uuid"]}
    assert await context("registers") == {"registers": [shown]}
    counted = {"id": schema["id"], "title": "S", "uuid": schema["uuid"], "property_count": 2}
    assert await context("schemas") == {"schemas": [counted]}
    inside = [{"id": schema["id"], "title": "S"}]
    assert await context("objects") == {"registers": [{"id": register["id"], "title": "R", "schemas": inside}]}


@pytest.mark.requirement("openregister:discovery-truth")
async def test_every_advertised_endpoint_answers(site: Site) -> None:
    """Real things are put into the paths, so that 404 would mean that there is no such route."""
    place = await site.pair({"name": {"type": "string"}})
    _, _, register, schema = place.split("/")
    view = await site.made("/views", {"title": "V", "register": int(register), "schema": int(schema)})
    hook = await site.made("/webhooks", {"url": "https://hooks.example/in"})
    seen = 0
    for capability in IDS:
        for endpoint in (await site.send("GET", f"/api/mcp/v1/discover/{capability}")).json["endpoints"]:
            path = endpoint["path"]
            made = (await site.made(place, {"name": "one"}))["id"]
            known = {"register": register, "schema": schema, "name": "a.txt", "delivery": "1", "id": made}
            if path.startswith("/api/registers/"):
                known["id"] = register
            elif path.startswith("/api/schemas/"):
                known["id"] = schema
            elif path.startswith("/api/views/"):
                known["id"] = view["id"]
            elif path.startswith("/api/webhooks/"):
                known["id"] = hook["id"]
            target = path.format_map(known)
            body = None if endpoint["method"] == "GET" else {}
            reply = await site.send(endpoint["method"], target, body)
            missing = reply.status == 404 and "There is nothing at" in reply.body.decode()
            assert not missing, (endpoint["method"], target)
            assert reply.status not in (405, 500), (endpoint["method"], target, reply.body)
            seen += 1
    assert seen == sum(row.capability in IDS for row in TABLE)


async def test_a_path_outside_the_table_is_told_apart(site: Site) -> None:
    reply = await site.send("GET", f"/api/nowhere/{uuid4()}")
    assert reply.status == 404
    assert "There is nothing at" in reply.body.decode()
