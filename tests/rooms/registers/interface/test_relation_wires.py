"""Relations over MCP, REST and the command line: names, extend, unique names, uses and used."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest

from tests.rooms.registers.interface.terminal import Terminal
from tests.rooms.registers.site import Object, Site

TEXT: Object = {"type": "string"}


def bodies(stem: str) -> dict[str, Object]:
    person = {"name": TEXT, "city": TEXT, "secret": {**TEXT, "authorization": {"read": ["admin"]}}}
    permit = {
        "number": {**TEXT, "unique": True}, "fee": {"type": "number"},
        "applicant": {**TEXT, "$ref": f"person-{stem}", "onDelete": "RESTRICT"},
    }  # fmt: skip
    return {
        f"person-{stem}": {"title": "Person", "slug": f"person-{stem}", "properties": person},
        f"permit-{stem}": {"title": "Permit", "slug": f"permit-{stem}", "properties": permit},
    }


@dataclass
class Desk:
    """A register of its own with two people and three permits."""

    site: Site
    stem: str
    people: dict[str, str]

    def place(self, schema: str) -> str:
        return f"/api/objects/city-{self.stem}/{schema}-{self.stem}"

    async def get(self, path: str, who: str = "admin") -> Any:
        reply = await self.site.send("GET", path, who=who)
        assert reply.status == 200, reply.body
        return reply.json

    async def numbers(self, query: str, who: str = "admin") -> list[str]:
        found = await self.get(f"{self.place('permit')}?{query}", who)
        return [row["number"] for row in found["results"]]

    async def call(self, action: str, schema: str = "permit", *, fails: bool = False, **arguments: Any) -> Any:
        place = {"register": f"city-{self.stem}", "schema": f"{schema}-{self.stem}"}
        async with self.site.app.client() as client:
            result = await client.call_tool("objects", {"action": action, **place, **arguments})
        assert result["isError"] is fails, result
        return result["content"][0]["text"] if fails else result["structuredContent"]


@pytest.fixture
async def desk(site: Site) -> Desk:
    stem = uuid4().hex[:8]
    for body in bodies(stem).values():
        await site.made("/schemas", body)
    await site.made("/registers", {"title": "City", "slug": f"city-{stem}", "schemas": list(bodies(stem))})
    desk = Desk(site, stem, {})
    for name, city in (("Ada", "Delft"), ("Bob", "Leiden")):
        made = await site.made(desk.place("person").removeprefix("/api"), {"name": name, "city": city, "secret": "s"})
        desk.people[name] = made["id"]
    for number, who in (("P-1", "Ada"), ("P-2", "Ada"), ("P-3", "Bob")):
        data = {"number": number, "fee": int(number[-1]), "applicant": desk.people[who]}
        await site.made(desk.place("permit").removeprefix("/api"), data)
    return desk


@pytest.mark.anyio
@pytest.mark.requirement("registers:relations:rest")
async def test_url_parameters_pass_through_references(desk: Desk):
    permits = f"permit-{desk.stem}s"
    assert await desk.numbers("applicant.city=Delft") == ["P-1", "P-2"]
    assert await desk.numbers("applicant[city]=Delft&fee[gt]=1") == ["P-2"]
    assert await desk.numbers("applicant[city][in]=Leiden,Gouda") == ["P-3"]
    assert await desk.numbers("_order[applicant.city]=desc&_order[number]=asc") == ["P-3", "P-1", "P-2"]
    assert await desk.numbers("_order[applicant][city]=desc&_limit=1") == ["P-3"]
    assert await desk.numbers("_filter=" + quote(json.dumps({"applicant": {"name": "Bob"}}))) == ["P-3"]
    facets = (await desk.get(f"{desk.place('permit')}?_facets=applicant.city&_limit=0"))["facets"]
    assert [one["count"] for one in facets["applicant.city"]["buckets"]] == [2, 1]
    found = await desk.get(f"{desk.place('person')}?{permits}.fee=3")
    assert [row["name"] for row in found["results"]] == ["Bob"]
    found = await desk.get(f"{desk.place('person')}?{permits}[exists]=false")
    assert found["total"] == 0
    refused = await desk.site.send("GET", f"{desk.place('permit')}?applicant.cty=Delft")
    assert (refused.status, "applicant.city" in refused.json["message"]) == (400, True)
    hidden = await desk.site.send("GET", f"{desk.place('permit')}?applicant.secret=s", who="reader")
    assert (hidden.status, "no property 'secret'" in hidden.json["message"]) == (400, True)


@pytest.mark.anyio
@pytest.mark.requirement("registers:relations:mcp")
async def test_the_tool_passes_through_references(desk: Desk):
    found = await desk.call("list", filter={"applicant.city": "Delft"}, sort=["-number"])
    assert [row["number"] for row in found["results"]] == ["P-2", "P-1"]
    groups = await desk.call(
        "list", aggregate={"group_by": ["applicant.city"], "metrics": {"n": "count", "fees": {"sum": "fee"}}}
    )
    assert groups["results"] == [
        {"applicant.city": "Delft", "n": 2, "fees": 3},
        {"applicant.city": "Leiden", "n": 1, "fees": 3},
    ]
    metrics = {"n": "count", "fees": {"sum": f"permit-{desk.stem}s.fee"}}
    assert (await desk.call("list", "person", aggregate={"metrics": metrics}))["results"] == [{"n": 2, "fees": 6}]
    assert "'applicant.city'" in await desk.call("list", fails=True, filter={"applicant.cty": "Delft"})


@pytest.mark.anyio
@pytest.mark.requirement("registers:relations:extend")
async def test_the_tool_shows_related_objects_in_place(desk: Desk):
    found = await desk.call("list", extend=["applicant"], sort=["number"], limit=1)
    assert found["results"][0]["applicant"]["name"] == "Ada"
    one = await desk.call("get", id="P-3", extend=["all"], fields=["applicant"])
    assert one["applicant"]["city"] == "Leiden"
    assert "number" not in one
    text = await desk.call("list", fails=True, extend=["aplicant"])
    assert text.startswith("extend: 'aplicant' is not a relation.")
    assert (await desk.call("get", id="P-3", extend=["applicant"], max_tokens=400))["number"] == "P-3"


@pytest.mark.anyio
@pytest.mark.requirement("registers:objects:unique-names")
async def test_both_wires_take_a_unique_value_for_an_id(desk: Desk):
    one = f"{desk.place('permit')}/P-2"
    assert (await desk.get(one))["fee"] == 2
    patched = await desk.site.send("PATCH", one, {"fee": 20})
    assert (patched.status, patched.json["fee"]) == (200, 20)
    assert (await desk.get(f"{one}/history"))["total"] == 2
    assert (await desk.call("patch", id="P-2", data={"fee": 21}))["fee"] == 21
    assert (await desk.call("delete", id="P-2"))["deleted"] is True
    assert (await desk.site.send("GET", one)).status == 404
    assert (await desk.call("restore", id="P-2"))["number"] == "P-2"


@pytest.mark.anyio
@pytest.mark.requirement("registers:relations:uses-used")
async def test_uses_and_used_are_listed_on_both_wires(desk: Desk):
    ada = f"{desk.place('person')}/{desk.people['Ada']}"
    used = await desk.get(f"{ada}/used?_limit=1")
    assert ([row["number"] for row in used["results"]], used["total"], used["pages"]) == (["P-1"], 2, 2)
    assert (await desk.get(f"{ada}/uses"))["results"] == []
    uses = await desk.get(f"{desk.place('permit')}/P-1/uses", who="reader")
    assert [row["name"] for row in uses["results"]] == ["Ada"]
    assert "secret" not in uses["results"][0]
    found = await desk.call("used", "person", id=desk.people["Ada"], limit=1)
    assert ([row["number"] for row in found["results"]], found["total"]) == (["P-1"], 2)
    further = await desk.call("used", "person", id=desk.people["Ada"], limit=1, cursor=found["cursor"])
    assert [row["number"] for row in further["results"]] == ["P-2"]
    assert "cursor" not in further
    assert [row["name"] for row in (await desk.call("uses", id="P-3"))["results"]] == ["Bob"]
    blocked = await desk.site.send("DELETE", ada)
    assert blocked.status == 409
    assert (await desk.site.send("GET", f"{desk.place('person')}/{uuid4()}/used")).status == 404


@pytest.mark.requirement("registers:relations:cli")
def test_an_export_takes_names_through_references(tmp_path: Path, database_url: str | None) -> None:
    terminal = Terminal(tmp_path, database_url)
    terminal.define("city", **bodies("x"))
    people, permits = {"register": "city", "schema": "person-x"}, {"register": "city", "schema": "permit-x"}
    ada = terminal.call("objects", action="create", **people, data={"name": "Ada", "city": "Delft"})
    for number, who in (("P-1", ada["id"]), ("P-2", None)):
        data = {"number": number, **({"applicant": who} if who else {})}
        terminal.call("objects", action="create", **permits, data=data)
    export = ("registers", "export", "-r", "city", "-s", "permit-x", "--format", "jsonl", "--filter")
    done = terminal.run(*export, json.dumps({"applicant.city": "Delft"}))
    assert [json.loads(line)["number"] for line in done.stdout.splitlines()] == ["P-1"]
    done = terminal.run(*export, '{"applicant.cty": 1}')
    assert (done.returncode != 0, "applicant.city" in done.stderr) == (True, True)
    assert terminal.call("objects", action="get", **permits, id="P-1")["number"] == "P-1"


@pytest.mark.anyio
@pytest.mark.requirement("registers:relations:fields")
async def test_fields_pass_through_single_references(desk: Desk):
    fields = ["number", "applicant.name", "applicant.@self.version"]
    found = (await desk.call("list", fields=fields, sort=["number"]))["results"]
    assert [(row["number"], row["applicant.name"], row["applicant.@self.version"]) for row in found] == [
        ("P-1", "Ada", 1), ("P-2", "Ada", 1), ("P-3", "Bob", 1),
    ]  # fmt: skip
    assert all(row.keys() == {"id", *fields} for row in found)
    one = await desk.call("get", id="P-3", fields=["applicant.city"])
    assert one == {"id": found[2]["id"], "applicant.city": "Leiden"}
    assert await desk.get(f"{desk.place('permit')}/P-3?_fields=applicant.city") == one
    listed = await desk.get(f"{desk.place('permit')}?_fields=number,applicant.name&_order[number]=asc")
    assert [row["applicant.name"] for row in listed["results"]] == ["Ada", "Ada", "Bob"]
    body = {"register": f"city-{desk.stem}", "schema": f"permit-{desk.stem}", "fields": ["applicant.name"]}
    reply = await desk.site.send("POST", "/api/search", body)
    assert sorted(row["applicant.name"] for row in reply.json["results"]) == ["Ada", "Ada", "Bob"], reply.body


@pytest.mark.anyio
@pytest.mark.requirement("registers:relations:fields")
async def test_fields_through_references_are_null_without_an_object_and_refused_where_there_are_several(desk: Desk):
    made = await desk.call("create", data={"number": "P-9"})
    assert (await desk.call("get", id=made["id"], fields=["applicant.name"]))["applicant.name"] is None
    text = await desk.call("list", schema="person", fields=[f"permit-{desk.stem}s.fee"], fails=True)
    assert "leads to several objects" in text
    text = await desk.call("list", fields=["applicant.nme"], fails=True)
    assert "Did you mean 'applicant.name'" in text
    text = await desk.call("get", id="P-1", fields=["applicant.name"], as_of="2026-01-01", fails=True)
    assert "shows the present only" in text
    text = await desk.call("create", data={"number": "P-10"}, fields=["applicant.name"], fails=True)
    assert "applicant.name" in text
    assert await desk.numbers("number=P-10") == [], "nothing was written"


@pytest.mark.anyio
@pytest.mark.requirement("registers:relations:fields")
@pytest.mark.parametrize("who", ["admin", "reader"])
async def test_fields_reveal_no_hidden_property_of_a_related_object(desk: Desk, who: str):
    one = await desk.site.send("GET", f"{desk.place('permit')}/P-1?_fields=applicant.secret", who=who)
    assert (one.status, b'"s"' in one.body) == ((200, True) if who == "admin" else (400, False))
    reply = await desk.site.send("GET", f"{desk.place('permit')}?_fields=applicant.secret", who=who)
    if who == "admin":
        assert [row["applicant.secret"] for row in reply.json["results"]] == ["s", "s", "s"]
        return
    unknown = await desk.site.send("GET", f"{desk.place('permit')}?_fields=applicant.sekret", who=who)
    assert reply.status == unknown.status == 400, reply.body
    assert b"no property" in reply.body
    assert b"no property" in unknown.body


@pytest.mark.anyio
async def test_an_extended_object_has_only_id_and_name_as_metadata(desk: Desk):
    found = await desk.call("get", id="P-1", extend=["applicant"])
    assert found["applicant"]["name"] == "Ada"
    assert found["applicant"]["@self"].keys() == {"id", "name"}
    assert "created" in found["@self"]
    over_rest = await desk.get(f"{desk.place('permit')}/P-1?_extend=applicant")
    assert "created" in over_rest["applicant"]["@self"], "the shape of OpenRegister"
