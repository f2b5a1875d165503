"""What names a property or a schema elsewhere follows when it is renamed, in the same transaction, on both stores."""

import json
from pathlib import Path
from typing import Any

import pytest

from pentad.access.scopes import role_scopes
from pentad.kernel.errors import Conflict, InvalidInput
from pentad.kernel.principal import Principal
from pentad.rooms.registers.models import Caller, Operation, Pair
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.interface.terminal import Terminal
from tests.rooms.registers.objects.making import pair_of, reference
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER
from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio

READER = Caller(Principal("user:rea", "rea", role_scopes("reader")))
TEXT = {"type": "string"}


def rename(name: str, to: str) -> list[dict[str, Any]]:
    return [{"op": "rename", "property": name, "to": to}]


async def body(registers: Registers, schema: str) -> dict[str, Any]:
    return (await registers.catalogue.schemas.get(ADMIN, schema)).body


async def names(registers: Registers, pair: Pair, caller: Caller = ADMIN) -> set[str]:
    found = await registers.objects.find(caller, pair, Query())
    return {json.loads(row[5])["name"] for row in found.rows}


async def library(registers: Registers) -> tuple[Pair, Pair]:
    """Authors, who are shown with the books that refer to them."""
    books = {"type": "array", "items": {"$ref": "book"}, "inversedBy": "author"}
    authors = await pair_of(registers, "author", {"name": TEXT, "books": books})
    return authors, await pair_of(registers, "book", {"name": TEXT, "author": reference("author")})


@pytest.mark.requirement("registers:schema-change:rename-elsewhere")
async def test_the_other_end_of_a_relation_follows_and_comes_back_with_an_undo(registers: Registers) -> None:
    authors, books = await library(registers)
    ada = (await registers.objects.create(ADMIN, authors, {"name": "Ada"})).uuid
    book = (await registers.objects.create(ADMIN, books, {"name": "Notes", "author": ada})).uuid
    schemas = registers.catalogue.schemas
    plan = (await schemas.plan(ADMIN, "book", rename("author", "writer"))).as_json()
    assert [(one["kind"], one["title"]) for one in plan["follows"]] == [("schema", "author")]
    assert "breaks" not in plan

    for steps, name, version in ((rename("author", "writer"), "writer", 2), (None, "author", 3)):
        await (schemas.undo(ADMIN, "book") if steps is None else schemas.patch(ADMIN, "book", steps))
        assert (await body(registers, "author"))["properties"]["books"]["inversedBy"] == name
        authors = await registers.catalogue.pair(ADMIN, "library", "author")
        assert (await registers.objects.get(ADMIN, authors, ada)).data["books"] == [book]
        [newest, *_] = (await schemas.history(ADMIN, "author")).items
        assert (newest["version"], newest["action"]) == (version, "parent")


@pytest.mark.requirement("registers:schema-change:rename-elsewhere")
async def test_a_schema_that_refers_to_itself_follows(registers: Registers) -> None:
    children = {"type": "array", "items": {"$ref": "node"}, "inversedBy": "parent"}
    nodes = await pair_of(registers, "node", {"name": TEXT, "parent": reference("node"), "children": children})
    root = (await registers.objects.create(ADMIN, nodes, {"name": "root"})).uuid
    leaf = (await registers.objects.create(ADMIN, nodes, {"name": "leaf", "parent": root})).uuid
    await registers.catalogue.schemas.patch(ADMIN, "node", rename("parent", "above"))
    nodes = await registers.catalogue.pair(ADMIN, "library", "node")
    assert (await registers.objects.get(ADMIN, nodes, root)).data["children"] == [leaf]
    assert (await registers.objects.get(ADMIN, nodes, leaf)).data["above"] == root


@pytest.mark.requirement("registers:schema-change:rename-elsewhere")
async def test_a_property_of_the_same_name_that_means_another_schema_stays(registers: Registers) -> None:
    await library(registers)
    films = {"type": "array", "items": {"$ref": "film"}, "inversedBy": "author"}
    await pair_of(registers, "studio", {"films": films})
    await pair_of(registers, "film", {"author": reference("studio")})
    await registers.catalogue.schemas.patch(ADMIN, "book", rename("author", "writer"))
    assert (await body(registers, "studio"))["properties"]["films"]["inversedBy"] == "author"
    assert (await registers.catalogue.schemas.get(ADMIN, "studio")).changes == 1


@pytest.mark.requirement("registers:schema-change:slug")
async def test_references_compositions_and_views_follow_another_slug(registers: Registers) -> None:
    authors, books = await library(registers)
    await pair_of(registers, "novel", {"genre": TEXT}, allOf=["book"])
    await pair_of(registers, "copy", {"of": {"type": "string", "$ref": "#/components/schemas/book"}})
    query = {"columns": ["name", {"name": "n", "count": "books"}], "filter": {"book_author.name": {"exists": True}}}
    await registers.catalogue.schemas.patch(
        ADMIN, "author", [{"op": "drop", "property": "books"}]
    )  # so that the name means the schema
    view = await registers.views.create(ADMIN, authors, "Prolific", query)
    ada = (await registers.objects.create(ADMIN, authors, {"name": "Ada"})).uuid
    await registers.objects.create(ADMIN, books, {"name": "Notes", "author": ada})

    await registers.catalogue.schemas.update(ADMIN, "book", {"slug": "volume"})
    assert (await body(registers, "novel"))["allOf"] == ["volume"]
    assert (await body(registers, "copy"))["properties"]["of"]["$ref"] == "#/components/schemas/volume"
    renamed = (await registers.views.get(ADMIN, view.id)).query
    assert renamed["columns"][1] == {"name": "n", "count": "volumes"}
    assert renamed["filter"] == {"volume_author.name": {"exists": True}}
    page = await registers.views.run(ADMIN, view.id)
    assert [(row["name"], row["n"]) for row in page.rows] == [("Ada", 1)]


@pytest.mark.requirement("registers:schema-change:rename-elsewhere")
async def test_a_name_that_leads_back_by_a_property_follows_it(registers: Registers) -> None:
    people = await pair_of(registers, "person", {"name": TEXT})
    await pair_of(registers, "book", {"author": reference("person"), "editor": reference("person")})
    query = {"columns": ["name", {"name": "n", "count": "book_author"}, {"name": "m", "count": "book_editor"}]}
    view = await registers.views.create(ADMIN, people, "People", query)
    await registers.catalogue.schemas.patch(ADMIN, "book", rename("author", "writer"))
    columns = (await registers.views.get(ADMIN, view.id)).query["columns"]
    assert [one["count"] for one in columns[1:]] == ["book_writer", "book_editor"]


MATCH = {"read": [{"group": "authenticated", "match": {"assignee": {"$eq": "$userId"}}}]}


@pytest.mark.requirement("registers:schema-change:rename-elsewhere")
@pytest.mark.parametrize("place", ["schema", "property", "register"])
async def test_the_conditions_of_access_rules_follow(registers: Registers, place: str) -> None:
    secret = {**TEXT, "authorization": MATCH} if place == "property" else TEXT
    rules = {"authorization": MATCH} if place == "schema" else {}
    cases = await pair_of(registers, "case", {"name": TEXT, "assignee": TEXT, "secret": secret}, **rules)
    if place == "register":
        await registers.catalogue.registers.update(ADMIN, "library", {"authorization": MATCH}, merge=True)
    for name, who in (("mine", OTHER), ("yours", WRITER)):
        data = {"name": name, "assignee": who.principal.id, "secret": name}
        await registers.objects.create(ADMIN, cases, data)

    async def seen() -> Any:
        pair = await registers.catalogue.pair(OTHER, "library", "case")
        found = await registers.objects.find(OTHER, pair, Query())
        if place != "property":
            return {json.loads(row[5])["name"] for row in found.rows}
        hidden = [registers.access.hidden(OTHER, pair, json.loads(row[5]), row[7]) for row in found.rows]
        return sorted(map(len, hidden))

    before = await seen()
    assert before == ([0, 1] if place == "property" else {"mine"})
    schemas = registers.catalogue.schemas
    await schemas.patch(ADMIN, "case", rename("assignee", "handler"))
    assert await seen() == before
    await schemas.undo(ADMIN, "case")
    assert await seen() == before
    rule = (await registers.catalogue.registers.get(ADMIN, "library")).body.get("authorization")
    assert (rule or None) == (MATCH if place == "register" else None)


@pytest.mark.requirement("registers:schema-change:rename-refused")
async def test_a_rule_of_a_register_that_is_about_several_schemas_prevents_the_rename(registers: Registers) -> None:
    await pair_of(registers, "case", {"name": TEXT, "assignee": TEXT})
    await pair_of(registers, "task", {"assignee": TEXT})
    await registers.catalogue.registers.update(ADMIN, "library", {"authorization": MATCH}, merge=True)
    schemas = registers.catalogue.schemas
    for change in (schemas.plan, schemas.patch):
        with pytest.raises(Conflict, match=r"access rules of register 'library' .* \('task'\)") as refused:
            await change(ADMIN, "case", rename("assignee", "handler"))
        assert refused.value.details["rule"] == "rename"
    assert "assignee" in (await body(registers, "case"))["properties"]
    await schemas.patch(ADMIN, "case", rename("name", "title"))


@pytest.mark.requirement("registers:schema-change:rename-composed")
async def test_a_schema_composed_of_the_renamed_one_follows_with_its_objects(registers: Registers) -> None:
    await pair_of(registers, "person", {"name": TEXT, "town": TEXT})
    label = {"type": "string", "computed": "concat(name, ' of ', town)"}
    clerks = await pair_of(registers, "clerk", {"desk": TEXT, "label": label}, allOf=["person"], required=["town"])
    clerk = (await registers.objects.create(ADMIN, clerks, {"name": "Ada", "town": "Delft", "desk": "2"})).uuid
    schemas = registers.catalogue.schemas
    plan = (await schemas.plan(ADMIN, "person", rename("town", "city"))).as_json()
    assert [(one["kind"], one["title"]) for one in plan["follows"]] == [("schema", "clerk")]
    assert "confirm" not in plan

    for steps, name, other in ((rename("town", "city"), "city", "town"), (None, "town", "city")):
        await (schemas.undo(ADMIN, "person") if steps is None else schemas.patch(ADMIN, "person", steps))
        clerks = await registers.catalogue.pair(ADMIN, "library", "clerk")
        found = (await registers.objects.get(ADMIN, clerks, clerk)).data
        assert (found[name], found["label"], other in found) == ("Delft", "Ada of Delft", False)
        assert (await body(registers, "clerk"))["required"] == [name]
        await registers.objects.write(ADMIN, clerks, Operation("patch", {"desk": name}, clerk))
    history = await registers.history.of(ADMIN, clerks, clerk)
    assert [change.action for change in history].count("migrate") == 2


@pytest.mark.requirement("registers:schema-change:rename-conditions")
async def test_conditions_follow_in_the_schema_and_in_those_composed_of_it_and_come_back(registers: Registers) -> None:
    def conditions(fee: str) -> dict[str, Any]:
        return {
            "dependentRequired": {fee: ["name"], "name": ["kind"]},
            "dependentSchemas": {"kind": {"properties": {fee: {"maximum": 9}}}},
            "if": {"properties": {"kind": {"const": "paid"}}, "required": ["kind"]},
            "then": {"required": [fee]},
            "else": {"not": {"required": [fee]}},
        }

    permit = {"name": TEXT, "kind": TEXT, "fee": {"type": "integer"}}
    permits = await pair_of(registers, "permit", permit, **conditions("fee"))
    events = await pair_of(registers, "event", {"place": TEXT}, allOf=["permit"], then={"required": ["fee", "place"]})
    good = {"name": "P-1", "kind": "paid", "fee": 4}
    await registers.objects.create(ADMIN, permits, good)
    await registers.objects.create(ADMIN, events, {**good, "name": "E-1", "place": "Delft"})
    schemas = registers.catalogue.schemas
    report = await schemas.plan(ADMIN, "permit", rename("fee", "amount"))
    assert (report.failing, report.losses()) == (0, "")

    for steps, name in ((rename("fee", "amount"), "amount"), (None, "fee")):
        await (schemas.undo(ADMIN, "permit") if steps is None else schemas.patch(ADMIN, "permit", steps))
        found = await body(registers, "permit")
        assert {keyword: found[keyword] for keyword in conditions("")} == conditions(name)
        assert (await body(registers, "event"))["then"] == {"required": [name, "place"]}
        permits = await registers.catalogue.pair(ADMIN, "library", "permit")
        for data in ({"name": "P-2", "kind": "paid"}, {"name": "P-2", "kind": "paid", name: 10}, {name: 1}):
            with pytest.raises(InvalidInput):
                await registers.objects.create(ADMIN, permits, data)
        await registers.objects.create(ADMIN, permits, {"name": "P-2", "kind": "paid", name: 9})


@pytest.mark.requirement("registers:schema-change:rename-composed")
async def test_a_composed_schema_keeps_a_property_that_it_declares_itself(registers: Registers) -> None:
    await pair_of(registers, "person", {"name": TEXT, "town": TEXT})
    clerks = await pair_of(registers, "clerk", {"town": {"type": "string", "maxLength": 20}}, allOf=["person"])
    clerk = (await registers.objects.create(ADMIN, clerks, {"town": "Delft"})).uuid
    await registers.catalogue.schemas.patch(ADMIN, "person", rename("town", "city"))
    clerks = await registers.catalogue.pair(ADMIN, "library", "clerk")
    assert (await registers.objects.get(ADMIN, clerks, clerk)).data["town"] == "Delft"
    assert {"town", "city"} <= clerks.definition.properties.keys()


@pytest.mark.requirement("registers:schema-change:rename-elsewhere", "registers:schema-change:rename-refused")
async def test_what_follows_and_what_prevents_a_rename_is_told_over_mcp_and_rest(site: Site) -> None:
    tag = (await site.made("/schemas", {"title": "Tag"}))["id"]
    authors = await site.made("/schemas", {"title": "Author", "properties": {"name": TEXT}})
    book = await site.made("/schemas", {"title": "Book", "properties": {"by": {"$ref": authors["slug"], **TEXT}}})
    books = {"type": "array", "items": {"$ref": book["slug"]}, "inversedBy": "by"}
    await site.send("PATCH", f"/api/schemas/{authors['id']}", {"properties": {"books": books}})
    planned = await site.send("POST", f"/api/schemas/{book['id']}/plan", {"operations": rename("by", "author")})
    assert [(one["kind"], one["id"]) for one in planned.json["follows"]] == [("schema", authors["id"])]
    done = await site.send("POST", f"/api/schemas/{book['id']}/patch", {"operations": rename("by", "author")})
    assert done.status == 200, done.body
    now = (await site.send("GET", f"/api/schemas/{authors['id']}")).json
    assert now["properties"]["books"]["inversedBy"] == "author"

    rules = {"read": [{"group": "authenticated", "match": {"name": "x"}}]}
    await site.send("PATCH", f"/api/schemas/{tag}", {"properties": {"name": TEXT}})
    register = {"title": "Shared", "schemas": [authors["id"], tag], "authorization": rules}
    made = await site.made("/registers", register)
    steps = rename("name", "called")
    refused = await site.send("POST", f"/api/schemas/{authors['id']}/patch", {"operations": steps})
    said = f"The access rules of register '{made['slug']}'"
    assert (refused.status, refused.json["error"]["message"].startswith(said)) == (409, True), refused.body
    async with site.app.client() as client:
        for action in ("plan", "patch"):
            arguments = {"action": action, "id": authors["id"], "operations": steps}
            told = await client.call_tool("schemas", arguments)
            assert (told["isError"], told["content"][0]["text"].startswith(said)) == (True, True)
    await site.send("PATCH", f"/api/registers/{made['id']}", {"authorization": {"read": ["public"]}})


@pytest.mark.requirement("registers:schema-change:rename-elsewhere")
def test_the_command_says_what_follows(tmp_path: Path, database_url: str | None) -> None:
    terminal = Terminal(tmp_path, database_url)
    books = {"type": "array", "items": {"$ref": "book"}, "inversedBy": "by"}
    for data in (
        {"title": "Author", "slug": "author", "properties": {"name": TEXT, "books": books}},
        {"title": "Book", "slug": "book", "properties": {"by": {"$ref": "author", **TEXT}}},
    ):
        terminal.call("schemas", action="create", data=data)
    steps = json.dumps(rename("by", "writer"))
    planned = terminal.run("registers", "schema", "plan", "book", steps)
    assert "schema Author would follow the new names." in planned.stderr
    assert terminal.run("registers", "schema", "patch", "book", steps).returncode == 0
    assert terminal.call("schemas", action="get", id="author")["properties"]["books"]["inversedBy"] == "writer"
