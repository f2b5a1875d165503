"""`preflight` over REST and from a terminal: which objects would not fit, which migration helps, and what is lost."""

import json
from pathlib import Path
from typing import Any

import pytest

from pentad.rooms.registers.interface import tool_schemas
from tests.rooms.registers.interface.terminal import Terminal
from tests.rooms.registers.site import Object, Site

TEXT: Object = {"type": "string"}
PERMIT: Object = {"number": TEXT, "fee": {"type": "integer"}}
STEPS = ("rename", "default", "cast", "drop", "enum_map")


async def permits(site: Site, rows: list[Object]) -> tuple[str, list[str]]:
    """The path of a schema with these objects, and their ids."""
    place = await site.pair(PERMIT)
    _, _, register, schema = place.split("/")
    body = {"operations": [{"data": row} for row in rows]}
    reply = await site.send("POST", f"/api/bulk/{register}/{schema}", body)
    assert reply.status == 200, reply.body
    return f"/api/schemas/{schema}", [one["id"] for one in reply.json["results"]]


async def report(site: Site, schema: str, change: Object) -> Any:
    reply = await site.send("POST", f"{schema}/preflight?merge=true", change)
    assert reply.status == 200, reply.body
    return reply.json


@pytest.mark.anyio
@pytest.mark.requirement("registers:schema-change:report")
async def test_rest_names_the_objects_that_share_a_value_of_a_unique_property(site: Site) -> None:
    schema, ids = await permits(site, [{"number": number} for number in ("a", "b", "a", "a")])
    change: Object = {"properties": {"number": {"unique": True}}}
    found = await report(site, schema, change)
    assert (found["total"], found["failing"], found["counts"]) == (4, 2, {"unique number": 2})
    assert [one["id"] for one in found["samples"]["unique number"]] == ids[2:]
    assert ids[0] in json.dumps(found["samples"]), "the object that has the value first is named too"
    refused = await site.send("PATCH", schema, change)
    assert refused.status == 409
    assert sum(one in refused.json["message"] for one in (ids[0], *ids[2:])) == 2, "two of the three that share it"


@pytest.mark.anyio
@pytest.mark.requirement("registers:evolution:suggested")
async def test_rest_suggests_the_migration_that_the_update_then_takes(site: Site) -> None:
    schema, ids = await permits(site, [{"number": "a", "fee": 1}, {"number": "b", "fee": 2}, {"number": "c"}])
    change: Object = {"properties": {"fee": None, "amount": {"type": "integer"}}}
    found = await report(site, schema, change)
    assert found["migration"] == [{"step": "rename", "property": "fee", "to": "amount"}]
    assert found["orphaned"]["fee"]["objects"] == 2
    assert [one["id"] for one in found["orphaned"]["fee"]["samples"]] == ids[:2]
    migrated = await report(site, schema, {**change, "migration": found["migration"]})
    assert (migrated["failing"], "orphaned" in migrated, migrated["migrated"]["objects"]) == (0, False, 2)
    assert [one["after"] for one in migrated["migrated"]["samples"]] == [{"amount": 1}, {"amount": 2}]
    before = (await site.send("GET", schema)).json
    assert list(before["properties"]) == ["number", "fee"], "nothing has changed so far"
    done = await site.send("PATCH", schema, {**change, "migration": found["migration"]})
    assert (done.status, list(done.json["properties"])) == (200, ["number", "amount"])


@pytest.mark.anyio
@pytest.mark.requirement("registers:schema-change:confirm")
async def test_the_token_of_a_preflight_over_rest_confirms_the_update(site: Site) -> None:
    schema, _ = await permits(site, [{"number": "a", "fee": 1}])
    change: Object = {"properties": {"fee": None}}
    token = (await report(site, schema, change))["confirm"]
    assert (await site.send("PATCH", schema, {**change, "confirm": "0" * len(token)})).status == 409
    done = await site.send("PATCH", schema, {**change, "confirm": token})
    assert (done.status, list(done.json["properties"])) == (200, ["number"])


@pytest.mark.anyio
@pytest.mark.requirement("registers:evolution:counts")
async def test_more_than_two_hundred_failures_are_all_counted_over_rest(site: Site) -> None:
    schema, ids = await permits(site, [{"number": f"{number:04}", "fee": number} for number in range(300)])
    found = await report(site, schema, {"properties": {"fee": {"maximum": 39}, "number": {"maxLength": 3}}})
    assert (found["total"], found["failing"]) == (300, 300)
    assert found["counts"] == {"maximum fee": 260, "maxLength number": 300}
    assert {one["id"] for of_rule in found["samples"].values() for one in of_rule} <= set(ids)


@pytest.mark.anyio
@pytest.mark.requirement("registers:evolution:suggested")
async def test_the_listed_tool_explains_every_migration_step(site: Site) -> None:
    async with site.app.client() as client:
        listed = {tool["name"]: tool for tool in (await client.request("tools/list", {}))["tools"]}
    text = listed["schemas"]["inputSchema"]["properties"]["migration"]["description"]
    assert [step for step in STEPS if step not in text] == []
    assert "migration" not in tool_schemas.RARE_OF_ENTITIES, "it is listed where all rooms are open, too"


@pytest.mark.requirement("registers:schema-change:report")
def test_a_terminal_shows_what_a_preflight_finds(tmp_path: Path, database_url: str | None) -> None:
    terminal = Terminal(tmp_path, database_url)
    terminal.define("city", permit={"properties": PERMIT})
    rows = [{"data": {"number": number, "fee": 1}} for number in ("a", "a")]
    made = terminal.call("objects", action="bulk", register="city", schema="permit", operations=rows)["results"]
    change: Object = {"properties": {"number": {"unique": True}, "fee": None, "amount": {"type": "integer"}}}
    found = terminal.call("schemas", action="preflight", id="permit", data=change)
    assert found["counts"] == {"unique number": 1}
    assert [one["id"] for one in found["samples"]["unique number"]] == [made[1]["id"]]
    assert found["migration"] == [{"step": "rename", "property": "fee", "to": "amount"}]
    unique = '[{"op": "change", "property": "number", "definition": {"unique": true}}]'
    plan = terminal.run("registers", "schema", "plan", "permit", unique)
    assert "2 objects: 0 would change, 1 would not fit." in plan.stderr
    assert plan.returncode != 0
