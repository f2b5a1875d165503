"""Schemas that say little: a property may be anything, and every surface takes it."""

import pytest

from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("registers:schemas:json-schema")
async def test_a_property_may_be_anything(site: Site) -> None:
    made = await site.made(
        "/schemas", {"title": "Open", "properties": {"a": {}, "b": True, "c": {"description": "said"}, "d": False}}
    )
    container = await site.made("/registers", {"title": "Opens", "schemas": [made["id"]]})
    path = f"/api/objects/{container['id']}/{made['id']}"
    for value in (1, "x", [1, {"y": 2}], {"z": None}, True):
        assert (await site.send("POST", path, {"a": value, "b": value, "c": value})).status == 201
    assert (await site.send("POST", path, {"d": 1})).status == 400
    assert (await site.send("GET", f"{path}?a=x")).json["total"] == 1
    assert (await site.send("GET", f"{path}?a.y=2")).json["total"] == 0
    assert (await site.send("GET", f"/api/registers/{container['id']}/oas")).status == 200
    assert (await site.send("GET", f"/api/schemas/{made['id']}")).json["properties"]["b"] is True


async def test_an_unsound_schema_is_refused_and_a_stored_one_stays_readable(site: Site) -> None:
    refused = await site.send(
        "POST", "/api/schemas", {"title": "No", "properties": {"n": {"type": "integer", "default": "x"}}}
    )
    assert (refused.status, "default" in refused.json["error"]) == (400, True)
    made = await site.made("/schemas", {"title": "Yes", "properties": {"n": {"type": "integer", "default": 1}}})
    body = '{"title": "Yes", "version": "0.0.1", "properties": {"n": {"type": "integer", "default": "x"}}}'
    await site.app.database.write(lambda tx: tx.run("UPDATE schemas SET body = ? WHERE id = ?", body, made["id"]))
    container = await site.made("/registers", {"title": "Olds", "schemas": [made["id"]]})
    assert (await site.send("GET", f"/api/objects/{container['id']}/{made['id']}")).status == 200
