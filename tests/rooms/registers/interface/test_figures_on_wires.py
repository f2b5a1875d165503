"""Figures through references over REST and from a terminal; sorting backwards is refused, and the answer says why."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.rooms.registers.interface.terminal import Terminal
from tests.rooms.registers.site import Object, Site

TEXT: Object = {"type": "string"}
PEOPLE = {"Ada": "Delft", "Bob": "Leiden"}
PERMITS = [("Ada", 5), ("Ada", 7), ("Bob", 11)]
BY_CITY: Object = {"metrics": {"n": "count", "fees": {"sum": "fee"}}, "group_by": ["applicant.city"], "sort": ["-fees"]}
CITIES = [{"applicant.city": "Delft", "n": 2, "fees": 12}, {"applicant.city": "Leiden", "n": 1, "fees": 11}]


def backwards(name: str) -> Object:
    return {"metrics": {"fees": {"sum": f"{name}.fee"}}, "group_by": ["city"], "sort": ["-fees"]}


@pytest.mark.anyio
@pytest.mark.requirement("registers:relations:figures", "registers:relations:rest")
async def test_rest_counts_through_references_in_both_directions(site: Site) -> None:
    person = await site.made("/schemas", {"title": "Person", "properties": {"name": TEXT, "city": TEXT}})
    refers = {"fee": {"type": "number"}, "applicant": {**TEXT, "$ref": person["id"]}}
    permit = await site.made("/schemas", {"title": "Permit", "properties": refers})
    register = (await site.made("/registers", {"title": "City", "schemas": [person["id"], permit["id"]]}))["id"]
    ids = {
        name: (await site.made(f"/objects/{register}/{person['id']}", {"name": name, "city": city}))["id"]
        for name, city in PEOPLE.items()
    }
    for name, fee in PERMITS:
        await site.made(f"/objects/{register}/{permit['id']}", {"applicant": ids[name], "fee": fee})

    async def figures(schema: int, aggregate: Object, **more: Any) -> list[Any]:
        body = {"register": register, "schema": schema, "aggregate": aggregate, **more}
        reply = await site.send("POST", "/api/search/aggregate", body)
        assert reply.status == 200, reply.body
        return reply.json["results"]

    assert await figures(permit["id"], BY_CITY) == CITIES
    assert await figures(permit["id"], BY_CITY, filter={"applicant.city": "Leiden"}) == CITIES[1:]
    assert await figures(person["id"], backwards(f"{permit['slug']}s")) == [
        {"city": "Delft", "fees": 12},
        {"city": "Leiden", "fees": 11},
    ]
    refused = await site.send("GET", f"/api/objects/{register}/{person['id']}?_order[{permit['slug']}s.fee]=asc")
    assert (refused.status, "several related objects" in refused.json["message"]) == (400, True)


@pytest.mark.requirement("registers:relations:figures", "registers:relations:cli")
def test_a_terminal_counts_through_references_in_both_directions(tmp_path: Path, database_url: str | None) -> None:
    terminal = Terminal(tmp_path, database_url)
    person = {"properties": {"name": {**TEXT, "unique": True}, "city": TEXT}}
    permit = {"properties": {"fee": {"type": "number"}, "applicant": {**TEXT, "$ref": "person"}}}
    terminal.define("city", person=person, permit=permit)
    people = [{"data": {"name": name, "city": city}} for name, city in PEOPLE.items()]
    terminal.call("objects", action="bulk", register="city", schema="person", operations=people)
    permits = [{"data": {"applicant": {"name": name}, "fee": fee}} for name, fee in PERMITS]
    terminal.call("objects", action="bulk", register="city", schema="permit", operations=permits)
    place = ("call", "objects", "action=list", "register=city")
    done = terminal.run(*place, "schema=permit", f"aggregate={json.dumps(BY_CITY)}")
    assert json.loads(done.stdout)["results"] == CITIES, done.stderr
    done = terminal.run(*place, "schema=person", f"aggregate={json.dumps(backwards('permits'))}")
    assert [one["fees"] for one in json.loads(done.stdout)["results"]] == [12, 11], done.stderr
    refused = terminal.run(*place, "schema=person", 'sort=["permits.fee"]')
    assert (refused.returncode != 0, "several related objects" in refused.stderr) == (True, True)
