"""Copies, repeated keys and the headers of tables, over MCP, REST and from a terminal."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.rooms.registers.interface.terminal import Terminal
from tests.rooms.registers.site import Object, Site

NODE: Object = {"code": {"type": "string", "unique": True}, "note": {"type": "string"}}
TWICE = "code,note\na,1\nb,2\na,3\n"
REPEATED = "Row 2 has code = 'a' too."
CSV = {"content-type": "text/csv"}


async def nodes(site: Site) -> tuple[int, int, int]:
    """Two registers with one schema of nodes that refer to each other, and the schema. The first has two nodes."""
    schema = await site.made("/schemas", {"title": "Node", "properties": NODE})
    parent = {"properties": {"parent": {"type": "string", "$ref": schema["id"]}}}
    assert (await site.send("PATCH", f"/api/schemas/{schema['id']}", parent)).status == 200
    old, new = [(await site.made("/registers", {"title": t, "schemas": [schema["id"]]}))["id"] for t in ("Old", "New")]
    root = await site.made(f"/objects/{old}/{schema['id']}", {"code": "root", "note": "=1+1"})
    await site.made(f"/objects/{old}/{schema['id']}", {"code": "child", "parent": root["id"]})
    return old, new, schema["id"]


async def by_code(site: Site, register: int, schema: int) -> dict[str, Object]:
    found = (await site.send("GET", f"/api/objects/{register}/{schema}")).json["results"]
    return {one["code"]: one for one in found}


async def are_copies(site: Site, old: int, new: int, schema: int) -> None:
    """The objects of the second register are new, and refer to each other as those of the first do."""
    first, copies = await by_code(site, old, schema), await by_code(site, new, schema)
    assert copies.keys() == first.keys() == {"root", "child"}
    assert {one["id"] for one in first.values()}.isdisjoint(one["id"] for one in copies.values())
    assert copies["child"]["parent"] == copies["root"]["id"]
    assert first["child"]["parent"] == first["root"]["id"]
    assert copies["root"]["note"] == "=1+1"


@pytest.mark.anyio
@pytest.mark.requirement("registers:transfer:copies", "registers:transfer:headers")
async def test_rest_copies_an_export_with_new_ids_and_says_so_without(site: Site) -> None:
    old, new, schema = await nodes(site)
    file = (await site.send("GET", f"/api/registers/{old}/export?format=csv")).body
    header, *rows = csv.reader(io.StringIO(file.decode("utf-8-sig")))
    assert header == ["_id", "_version", "code", "note", "parent"]
    assert rows[0][3] == "'=1+1"
    target = f"/api/registers/{new}/import"
    refused = await site.send("POST", target, file, headers=CSV)
    assert (refused.status, refused.json["failed"]) == (400, 2)
    assert "import with new ids" in refused.json["problems"][0]["problem"]
    assert await by_code(site, new, schema) == {}
    done = await site.send("POST", f"{target}?new_ids=true", file, headers=CSV)
    assert (done.status, done.json["created"]) == (200, 2), done.body
    await are_copies(site, old, new, schema)
    again = await site.send("POST", f"/api/registers/{old}/import", file, headers=CSV)
    assert (again.status, again.json["unchanged"]) == (200, 2)


@pytest.mark.anyio
@pytest.mark.requirement("registers:transfer:copies")
async def test_the_tool_copies_an_export_with_new_ids(site: Site) -> None:
    old, new, schema = await nodes(site)
    async with site.app.client() as client:

        async def transfer(**arguments: Any) -> Object:
            result = await client.call_tool("transfer", {"schema": schema, "format": "csv", **arguments})
            assert result["isError"] is False, result
            return result["structuredContent"]

        file = (await transfer(action="export", register=old))["content"]
        refused = await transfer(action="import", register=new, content=file)
        assert (refused["state"], refused["failed"]) == ("failed", 2)
        done = await transfer(action="import", register=new, content=file, new_ids=True)
        assert (done["state"], done["created"]) == ("done", 2)
    await are_copies(site, old, new, schema)


@pytest.mark.anyio
@pytest.mark.requirement("registers:transfer:repeated-rows")
async def test_rest_refuses_two_rows_with_one_key(site: Site) -> None:
    _, new, schema = await nodes(site)
    target = f"/api/registers/{new}/import?key=code"
    refused = await site.send("POST", target, TWICE.encode(), headers=CSV)
    assert (refused.status, refused.json["written"]) == (400, False)
    assert refused.json["problems"] == [{"row": 4, "column": "code", "problem": REPEATED}]
    assert await by_code(site, new, schema) == {}
    partial = await site.send("POST", f"{target}&partial=true", TWICE.encode(), headers=CSV)
    assert (partial.status, partial.json["created"], partial.json["failed"]) == (200, 2, 1)
    assert (await by_code(site, new, schema))["a"]["note"] == "1"


@pytest.mark.requirement("registers:transfer:copies", "registers:transfer:repeated-rows")
def test_a_terminal_copies_with_new_ids_and_refuses_two_rows_with_one_key(
    tmp_path: Path, database_url: str | None
) -> None:
    terminal = Terminal(tmp_path, database_url)
    terminal.define("old", node={"properties": {**NODE, "parent": {"type": "string", "$ref": "node"}}})
    terminal.call("registers", action="create", data={"title": "New", "slug": "new", "schemas": ["node"]})
    place = {"register": "old", "schema": "node"}
    root = terminal.call("objects", action="create", **place, data={"code": "root"})
    terminal.call("objects", action="create", **place, data={"code": "child", "parent": root["id"]})
    here, there = ("-r", "old", "-s", "node"), ("-r", "new", "-s", "node")
    assert terminal.run("registers", "export", *here, "--out", "nodes.csv").returncode == 0
    refused = terminal.run("registers", "import", "nodes.csv", *there)
    assert (refused.returncode != 0, "new ids" in refused.stdout + refused.stderr) == (True, True)
    assert terminal.run("registers", "import", "nodes.csv", *there, "--new-ids").returncode == 0
    copies = terminal.run("registers", "export", *there, "--format", "jsonl").stdout
    found = {one["code"]: one for one in map(json.loads, copies.splitlines())}
    assert found["child"]["parent"] == found["root"]["@self"]["id"] != root["id"]
    (tmp_path / "twice.csv").write_text(TWICE, encoding="utf-8")
    done = terminal.run("registers", "import", "twice.csv", *there, "--key", "code")
    assert done.returncode == 1
    assert done.stdout.splitlines()[1].split(maxsplit=2) == ["4", "code", REPEATED]
    assert done.stderr.endswith("Nothing was written.\n")


@pytest.mark.anyio
@pytest.mark.requirement("registers:transfer:related-fields")
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
async def test_an_export_has_fields_of_related_objects_as_far_as_they_may_be_read(site: Site, kind: str) -> None:
    secret = {"type": "string", "authorization": {"read": ["admin"]}}
    person = await site.made("/schemas", {"title": "Person", "properties": {"city": {"type": "string"}, "pin": secret}})
    properties = {"number": {"type": "string"}, "applicant": {"type": "string", "$ref": person["id"]}}
    permit = await site.made("/schemas", {"title": "Permit", "properties": properties})
    register = (await site.made("/registers", {"title": "City", "schemas": [person["id"], permit["id"]]}))["id"]
    ada = await site.made(f"/objects/{register}/{person['id']}", {"city": "Delft", "pin": "1234"})
    for number, who in (("P-1", {"applicant": ada["id"]}), ("P-2", {})):
        await site.made(f"/objects/{register}/{permit['id']}", {"number": number, **who})

    async def rows(fields: str, who: str = "admin") -> list[Any]:
        target = f"/api/registers/{register}/export?schema={permit['id']}&format={kind}&_fields={fields}&_order=number"
        reply = await site.send("GET", target, who=who)
        assert reply.status == 200, reply.body
        text = reply.body.decode("utf-8-sig")
        found = list(csv.DictReader(io.StringIO(text)) if kind == "csv" else map(json.loads, text.splitlines()))
        return [[one[name] or None for name in fields.split(",")] for one in found]

    assert await rows("applicant.city,number,applicant.pin") == [["Delft", "P-1", "1234"], [None, "P-2", None]]
    assert await rows("applicant.city,number", "reader") == [["Delft", "P-1"], [None, "P-2"]]
    hidden = f"/api/registers/{register}/export?schema={permit['id']}&_fields=applicant.pin"
    refused = await site.send("GET", hidden, who="reader")
    assert (refused.status, b"no property 'pin'" in refused.body) == (400, True)
    if kind == "csv":
        header = (await site.send("GET", f"{hidden},number")).body.decode("utf-8-sig").splitlines()[0]
        assert header == "_id,_version,applicant.pin,number", "in the order asked for"


@pytest.mark.anyio
@pytest.mark.requirement("registers:transfer:jobs")
async def test_an_import_has_no_file_to_download_and_the_document_says_so(site: Site) -> None:
    _, new, _ = await nodes(site)
    done = await site.send("POST", f"/api/registers/{new}/import", b"code\na\n", headers=CSV)
    refused = await site.send("GET", f"/api/transfers/{done.json['transfer']}/content")
    assert (refused.status, "has no file" in refused.json["detail"]) == (409, True)
