"""The three tools on modern MCP: structured answers, every action, budgets, and errors a model can act on."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from pentad.mcp.memory import MemoryClient
from pentad.rooms.registers import tool_schemas
from pentad.rooms.registers.object_arguments import ObjectsArguments
from pentad.rooms.registers.tools import RegistersArguments, SchemasArguments
from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio

BOOK: Object = {
    "title": "Book",
    "properties": {
        "title": {"type": "string"},
        "author": {"type": "string", "facetable": True},
        "pages": {"type": "integer", "minimum": 1},
        "isbn": {"type": "string"},
        "printed": {"type": "string", "format": "date"},
    },
    "required": ["title"],
}


@dataclass
class Shelf:
    """A client with a fresh register of books."""

    client: MemoryClient
    register: int
    schema: int

    async def raw(self, tool: str, **arguments: Any) -> Object:
        return await self.client.call_tool(tool, arguments)

    async def objects(self, action: str, **arguments: Any) -> Any:
        result = await self.raw("objects", action=action, register=self.register, schema=self.schema, **arguments)
        assert result["isError"] is False, result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]

    async def refusal(self, action: str, **arguments: Any) -> tuple[str, Object]:
        result = await self.raw("objects", action=action, register=self.register, schema=self.schema, **arguments)
        assert result["isError"] is True, result
        return result["content"][0]["text"], result["_meta"]["pentad/error"]

    async def book(self, title: str, **data: Any) -> Object:
        return await self.objects("create", data={"title": title, **data})


@pytest.fixture
async def shelf(site: Site) -> AsyncIterator[Shelf]:
    async with site.app.client() as client:
        schema = (await client.call_tool("schemas", {"action": "create", "data": BOOK}))["structuredContent"]
        data = {"title": "Library", "schemas": [schema["id"]]}
        register = (await client.call_tool("registers", {"action": "create", "data": data}))["structuredContent"]
        yield Shelf(client, register["id"], schema["id"])


@pytest.mark.requirement("registers:tools:listing")
async def test_the_list_of_tools_costs_at_most_fifteen_hundred_tokens(shelf: Shelf) -> None:
    tools = (await shelf.client.request("tools/list"))["tools"]
    assert [tool["name"] for tool in tools] == ["registers", "schemas", "objects"]
    assert len(json.dumps(tools, separators=(",", ":"))) / 4 <= 1500
    for tool in tools:
        assert tool["annotations"] == {
            "readOnlyHint": False, "openWorldHint": False, "destructiveHint": True, "idempotentHint": False,
        }  # fmt: skip
        assert tool["outputSchema"]["type"] == "object"
    assert tools[2]["inputSchema"]["required"] == ["action", "register", "schema"]
    assert tools[2]["inputSchema"]["properties"]["register"]["type"] == ["integer", "string"]


@pytest.mark.parametrize(
    ("listed", "model"),
    [
        (tool_schemas.REGISTERS, RegistersArguments),
        (tool_schemas.SCHEMAS, SchemasArguments),
        (tool_schemas.OBJECTS, ObjectsArguments),
    ],
)
async def test_what_is_listed_is_what_is_checked(listed: Object, model: Any) -> None:
    fields = {field.alias or name for name, field in model.model_fields.items()}
    assert set(listed["properties"]) == fields
    schema = model.model_json_schema()
    assert listed["properties"]["action"]["enum"] == schema["properties"]["action"]["enum"]


@pytest.mark.parametrize("tool", ["registers", "schemas"])
async def test_registers_and_schemas_are_managed(shelf: Shelf, tool: str) -> None:
    async def call(**arguments: Any) -> Any:
        result = await shelf.raw(tool, **arguments)
        assert result["isError"] is False, result
        return result["structuredContent"]

    made = await call(action="create", data={"title": "Thing"})
    assert None not in made.values(), "empty fields are left out"
    for ref in (made["id"], made["uuid"], made["slug"]):
        assert (await call(action="get", id=ref))["uuid"] == made["uuid"]
    changed = await call(action="update", id=made["id"], data={"description": "More"}, if_version=made["version"])
    assert (changed["title"], changed["description"]) == ("Thing", "More")
    late = await shelf.raw(tool, action="update", id=made["id"], data={"title": "x"}, if_version=made["version"])
    assert late["isError"] is True
    listed = await call(action="list", limit=1, fields=["title"])
    assert len(listed["results"]) == 1
    assert listed["results"][0].keys() == {"id", "title"}
    assert listed["next_offset"] == 1
    assert listed["total"] > 1
    small = await call(action="list", limit=1000, max_tokens=100)
    assert small["cut"]["max_tokens"] == 100
    assert await call(action="delete", id=made["slug"]) == {"deleted": True, "id": made["slug"]}
    missing = await shelf.raw(tool, action="get", id=made["id"])
    assert "not found" in missing["content"][0]["text"]
    assert "action=list" in missing["content"][0]["text"]
    assert "Missing required parameter: id" in (await shelf.raw(tool, action="get"))["content"][0]["text"]


async def test_a_schema_change_is_checked_first_and_then_migrated(shelf: Shelf) -> None:
    await shelf.book("One", pages=10)
    stricter = {"properties": {**BOOK["properties"], "pages": {"type": "string"}}}
    report = (await shelf.raw("schemas", action="preflight", id=shelf.schema, data=stricter))["structuredContent"]
    assert (report["total"], report["failing"]) == (1, 1)
    refused = await shelf.raw("schemas", action="update", id=shelf.schema, data=stricter)
    assert refused["isError"] is True
    done = await shelf.raw("schemas", action="update", id=shelf.schema, data=stricter, migration=report["migration"])
    assert done["isError"] is False, done
    assert (await shelf.objects("list"))["results"][0]["pages"] == "10"


async def test_an_object_is_made_read_replaced_patched_and_deleted(shelf: Shelf) -> None:
    made = await shelf.book("One", pages=10)
    assert made["@self"]["version"] == "1"
    assert await shelf.objects("get", id=made["id"]) == made
    replaced = await shelf.objects("update", id=made["id"], data={"title": "Two"}, if_version=1)
    assert "pages" not in replaced
    patched = await shelf.objects("patch", id=made["id"], data={"pages": 3})
    assert (patched["title"], patched["pages"]) == ("Two", 3)
    stepped = await shelf.objects("patch", id=made["id"], json_patch=[{"op": "remove", "path": "/pages"}])
    assert "pages" not in stepped
    text, error = await shelf.refusal("update", id=made["id"], data={"title": "Lost"}, if_version=1)
    assert error["code"] == "version_mismatch"
    assert "version" in text
    assert await shelf.objects("delete", id=made["id"]) == {"deleted": True, "id": made["id"]}
    back = await shelf.objects("restore", id=made["id"])
    assert back["title"] == "Two"
    await shelf.objects("delete", id=made["id"])
    assert (await shelf.objects("purge", id=made["id"]))["purged"] is True
    assert (await shelf.refusal("restore", id=made["id"]))[1]["code"] == "not_found"


@pytest.mark.requirement("registers:tools:errors")
async def test_a_validation_error_says_where_what_and_how_to_mend_it(shelf: Shelf) -> None:
    text, error = await shelf.refusal("create", data={"title": "One", "pages": "12"})
    assert "/pages" in text
    (problem,) = error["details"]["problems"]
    assert (problem["path"], problem["rule"], problem["received"]) == ("/pages", "type", "12")
    assert problem["patch"] == [{"op": "replace", "path": "/pages", "value": 12}]


@pytest.mark.requirement("registers:query:one-call")
async def test_one_call_filters_searches_sorts_projects_counts_and_goes_on(shelf: Shelf) -> None:
    for number in range(9):
        await shelf.book(f"Book {number}", author="ab"[number % 2], pages=number + 1)
    page = await shelf.objects(
        "list", filter={"pages": {"gte": 3}}, sort=["-pages"], fields=["title"], limit=2, facets=["author"]
    )
    assert [row["title"] for row in page["results"]] == ["Book 8", "Book 7"]
    assert all(row.keys() == {"id", "title"} for row in page["results"])
    assert page["total"] == 7
    assert {bucket["key"]: bucket["count"] for bucket in page["facets"]["author"]["buckets"]} == {"a": 4, "b": 3}
    following = await shelf.objects(
        "list", filter={"pages": {"gte": 3}}, sort=["-pages"], fields=["title"], limit=2, cursor=page["cursor"]
    )
    assert [row["title"] for row in following["results"]] == ["Book 6", "Book 5"]
    found = await shelf.objects("list", search="book 4")
    assert [row["title"] for row in found["results"]] == ["Book 4"]
    assert "total" not in await shelf.objects("list", count=False)
    assert len((await shelf.objects("list", limit=4, page=3))["results"]) == 1


@pytest.mark.requirement("registers:query:figures")
async def test_figures_come_from_the_same_call(shelf: Shelf) -> None:
    for number in range(4):
        await shelf.book(f"B{number}", author="ab"[number % 2], pages=10 * number + 1)
    wanted = {"metrics": {"n": "count", "pages": {"sum": "pages"}}, "group_by": ["author"], "sort": ["author"]}
    groups = (await shelf.objects("list", aggregate=wanted, filter={"pages": {"gt": 1}}))["results"]
    assert groups == [{"author": "a", "n": 1, "pages": 21}, {"author": "b", "n": 2, "pages": 42}]


@pytest.mark.requirement("registers:tools:budget")
async def test_an_answer_stays_within_its_budget_and_says_what_is_missing(shelf: Shelf) -> None:
    for number in range(12):
        await shelf.book(f"{number:02} " + "word " * 30)
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(20):
        more = {"cursor": cursor} if cursor else {}
        page = await shelf.objects("list", limit=10, max_tokens=400, sort=["title"], **more)
        assert len(json.dumps(page["results"], separators=(",", ":"))) <= 1600
        seen += [row["title"][:2] for row in page["results"]]
        cursor = page.get("cursor")
        if "cut" in page:
            assert page["cut"]["rows_left_out"] > 0
            assert cursor
        if cursor is None:
            break
    assert seen == [f"{number:02}" for number in range(12)], "every row once, in order"


async def test_one_large_object_loses_its_largest_properties_by_name(shelf: Shelf) -> None:
    made = await shelf.book("One", isbn="x" * 5000)
    small = await shelf.objects("get", id=made["id"], max_tokens=100)
    assert "isbn" not in small
    assert "isbn" in small["cut"]["properties_left_out"]
    assert small["title"] == "One"


@pytest.mark.requirement("registers:budget:default-limit")
async def test_a_list_has_a_limit_nobody_asked_for(shelf: Shelf) -> None:
    rows = [{"action": "create", "data": {"title": f"T{number}"}} for number in range(30)]
    await shelf.objects("bulk", operations=rows)
    page = await shelf.objects("list")
    assert (len(page["results"]), page["total"]) == (20, 30)
    assert page["cursor"]
    assert len(json.dumps((await shelf.objects("list", fields=["title", "author"]))["results"])) / 4 <= 1000


@pytest.mark.requirement("registers:query:misspelt")
async def test_a_misspelt_filter_is_refused_with_the_nearest_name(shelf: Shelf) -> None:
    text, error = await shelf.refusal("list", filter={"athor": "a"})
    assert "'author'" in text
    assert error["code"] == "invalid_input"
    text, _ = await shelf.refusal("list", filters={"author": "a"})
    assert "Did you mean 'filter'?" in text


async def test_bulk_writes_upsert_and_report_each_row(shelf: Shelf) -> None:
    first = await shelf.book("One", isbn="111")
    rows = [
        {"action": "upsert", "key": ["isbn"], "data": {"title": "One again", "isbn": "111"}},
        {"action": "upsert", "key": ["isbn"], "data": {"title": "Two", "isbn": "222"}},
        {"action": "create", "data": {"pages": 5}},
        {"action": "patch", "id": first["id"], "data": {"pages": 9}},
    ]
    partly = await shelf.objects("bulk", operations=rows, atomic=False)
    assert [row["status"] for row in partly["results"]] == ["updated", "created", "failed", "updated"]
    assert partly["results"][2]["error"]["code"] == "invalid_input"
    before = (await shelf.objects("list"))["total"]
    text, _ = await shelf.refusal("bulk", operations=rows)
    assert "title" in text
    assert (await shelf.objects("list"))["total"] == before, "all or nothing"


async def test_a_key_makes_a_call_happen_once(shelf: Shelf) -> None:
    key = f"key-{shelf.register}"
    first = await shelf.objects("create", data={"title": "One"}, idempotency_key=key)
    again = await shelf.objects("create", data={"title": "One"}, idempotency_key=key)
    assert first["id"] == again["id"]
    assert (await shelf.objects("list"))["total"] == 1


async def test_a_plan_is_previewed_committed_and_undone(shelf: Shelf) -> None:
    made = await shelf.book("One")
    plan = await shelf.objects("plan", operations=[{"action": "delete", "id": made["id"]}])
    assert plan["valid"] is True
    assert (await shelf.objects("list"))["total"] == 1
    await shelf.objects("commit", plan=plan["id"])
    assert (await shelf.objects("list"))["total"] == 0
    await shelf.objects("undo", plan=plan["id"])
    assert (await shelf.objects("list"))["results"][0]["title"] == "One"
    assert "Missing required parameter: plan" in (await shelf.refusal("commit"))[0]


@pytest.mark.requirement("registers:tools:provenance")
async def test_history_says_who_did_what_with_which_program_and_why(shelf: Shelf) -> None:
    made = await shelf.objects("create", data={"title": "One"}, reason="first of its kind")
    await shelf.objects("update", id=made["id"], data={"title": "Two"})
    history = (await shelf.objects("history", id=made["id"]))["results"]
    assert [row["action"] for row in history] == ["update", "create"]
    first = history[1]
    assert (first["principal"], first["agent"], first["reason"]) == ("local", "pentad", "first of its kind")
    assert first["call"]
    limited = await shelf.objects("history", id=made["id"], limit=1)
    rest = await shelf.objects("history", id=made["id"], limit=1, cursor=limited["cursor"])
    assert [row["action"] for row in rest["results"]] == ["create"]
    assert (await shelf.objects("verify", id=made["id"]))["valid"] is True


async def test_the_past_is_read_compared_and_brought_back(shelf: Shelf) -> None:
    made = await shelf.book("One")
    await shelf.objects("update", id=made["id"], data={"title": "Two", "pages": 5})
    then = made["@self"]["updated"]
    assert (await shelf.objects("get", id=made["id"], as_of=then))["title"] == "One"
    assert (await shelf.objects("list", as_of=then))["results"][0]["title"] == "One"
    counted = await shelf.objects("list", as_of=then, aggregate={"metrics": {"pages": {"sum": "pages"}}})
    assert counted["results"] == [{"pages": None}]
    compared = await shelf.objects("diff", id=made["id"], version=1)
    assert {step["path"] for step in compared["patch"]} == {"/title", "/pages"}
    back = await shelf.objects("revert", id=made["id"], version=1)
    assert (back["title"], back["@self"]["version"]) == ("One", "3")
    assert "pages" not in back
    assert "Say where" in (await shelf.refusal("revert", id=made["id"]))[0]


async def test_the_feed_of_changes_is_gone_on_with(shelf: Shelf) -> None:
    await shelf.book("One")
    first = await shelf.objects("changes")
    assert [row["action"] for row in first["results"]] == ["create"]
    assert (await shelf.objects("changes", cursor=first["cursor"]))["results"] == []
    await shelf.book("Two")
    assert len((await shelf.objects("changes", cursor=first["cursor"]))["results"]) == 1


async def test_an_object_is_locked_and_unlocked(shelf: Shelf, site: Site) -> None:
    made = await shelf.book("One")
    locked = await shelf.objects("lock", id=made["id"], seconds=60, reason="import")
    assert locked["@self"]["locked"]["user"] == "local"
    path = f"/api/objects/{shelf.register}/{shelf.schema}/{made['id']}"
    assert (await site.send("PUT", path, {"title": "x"}, who="writer")).status == 423
    unlocked = await shelf.objects("unlock", id=made["id"])
    assert "locked" not in unlocked["@self"]
    report = await shelf.objects("can_delete", id=made["id"])
    assert report["deletable"] is True


async def test_a_place_is_needed_and_may_be_named_by_slug(shelf: Shelf) -> None:
    result = await shelf.raw("objects", action="list")
    assert "register and schema IDs are required" in result["content"][0]["text"]
    register = (await shelf.raw("registers", action="get", id=shelf.register))["structuredContent"]
    schema = (await shelf.raw("schemas", action="get", id=shelf.schema))["structuredContent"]
    named = await shelf.raw("objects", action="list", register=register["slug"], schema=schema["uuid"])
    assert named["structuredContent"]["results"] == []
    missing = await shelf.raw("objects", action="list", register="libary", schema=shelf.schema)
    assert "Did you mean" in missing["content"][0]["text"]


async def rpc(site: Site, who: str, tool: str, **arguments: Any) -> Object:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
    return (await site.send("POST", "/mcp", message, who=who, headers=headers)).json["result"]


async def test_a_reader_may_look_and_a_writer_may_write(site: Site, shelf: Shelf) -> None:
    place = {"register": shelf.register, "schema": shelf.schema}
    assert (await rpc(site, "reader", "objects", action="list", **place))["isError"] is False
    refused = await rpc(site, "reader", "objects", action="create", data={"title": "No"}, **place)
    assert refused["isError"] is True
    assert "may not create" in refused["content"][0]["text"]
    assert (await rpc(site, "writer", "objects", action="create", data={"title": "Yes"}, **place))["isError"] is False


@pytest.mark.requirement("registers:tools:hidden")
async def test_hidden_properties_stay_hidden_on_every_action(site: Site, shelf: Shelf) -> None:
    secret = {"type": "string", "authorization": {"read": ["admin"], "update": ["admin"]}}
    body = {**BOOK, "properties": {**BOOK["properties"], "secret": secret}}
    schema = (await shelf.raw("schemas", action="create", data=body))["structuredContent"]["id"]
    place = {"register": shelf.register, "schema": schema}
    made = await shelf.raw("objects", action="create", data={"title": "One", "secret": "ruby"}, **place)
    uuid = made["structuredContent"]["id"]

    async def writer(**arguments: Any) -> Object:
        return await rpc(site, "writer", "objects", **arguments, **place)

    assert (await rpc(site, "admin", "objects", action="get", id=uuid, **place))["structuredContent"][
        "secret"
    ] == "ruby"
    for arguments in (
        {"action": "get", "id": uuid},
        {"action": "list"},
        {"action": "patch", "id": uuid, "data": {"pages": 3}},
        {"action": "update", "id": uuid, "data": {"title": "Two"}},
        {"action": "diff", "id": uuid, "version": 1},
        {"action": "history", "id": uuid},
        {"action": "plan", "operations": [{"action": "patch", "id": uuid, "data": {"pages": 4}}]},
    ):
        answer = await writer(**arguments)
        assert answer["isError"] is False, answer
        assert "ruby" not in json.dumps(answer), arguments
    for arguments in (
        {"action": "list", "filter": {"secret": "ruby"}},
        {"action": "list", "sort": ["secret"]},
        {"action": "list", "facets": ["secret"]},
        {"action": "list", "fields": ["secret"]},
        {"action": "list", "aggregate": {"group_by": ["secret"]}},
        {"action": "patch", "id": uuid, "data": {"secret": "glass"}},
    ):
        assert (await writer(**arguments))["isError"] is True, arguments
    assert (await writer(action="list", search="ruby"))["structuredContent"]["total"] == 0
    assert (await writer(action="list", search="two"))["structuredContent"]["total"] == 1
    kept = await rpc(site, "admin", "objects", action="get", id=uuid, **place)
    assert kept["structuredContent"]["secret"] == "ruby", "what a writer cannot see it cannot lose"


async def test_a_patch_is_one_kind_of_patch(shelf: Shelf):
    made = await shelf.book("One")
    text, _ = await shelf.refusal(
        "patch", id=made["id"], data={"pages": 1}, json_patch=[{"op": "add", "path": "/pages", "value": 2}]
    )
    assert text == "A patch is given as data or as json_patch, not as both. Leave one of them out."


async def test_a_revert_of_a_version_that_moved_on_is_refused(shelf: Shelf):
    made = await shelf.book("One", pages=1)
    await shelf.objects("patch", id=made["id"], data={"pages": 2})
    text, error = await shelf.refusal("revert", id=made["id"], version=1, if_version=1)
    assert (error["code"], text.partition(" is at ")[2]) == (
        "version_mismatch", "version 2, not 1. Read it again and repeat the change on what you find.",
    )  # fmt: skip
    assert (await shelf.objects("revert", id=made["id"], version=1, if_version=2))["pages"] == 1


async def test_what_is_not_deleted_is_not_purged_and_the_error_says_so(shelf: Shelf):
    made = await shelf.book("One")
    text, error = await shelf.refusal("purge", id=made["id"])
    assert error["code"] == "conflict"
    assert text == f"Object {made['id']} is not deleted. Delete it first; purging cannot be undone."


async def test_an_object_may_come_back_with_its_id_and_without_its_metadata(shelf: Shelf):
    made = await shelf.book("One", pages=1)
    seen = await shelf.objects("get", id=made["id"], fields=["title", "pages"])
    assert set(seen) == {"id", "title", "pages"}
    for action in ("update", "patch"):
        same = await shelf.objects(action, id=made["id"], data=seen)
        assert same["@self"]["version"] == "1"
    row = {"action": "update", "id": made["id"], "data": seen}
    assert (await shelf.objects("bulk", operations=[row]))["unchanged"] == 1
    other = await shelf.objects("patch", id=made["id"], data={"id": "a number of its own"})
    assert other["id"] == "a number of its own"


async def test_groups_are_as_many_as_asked_for_and_what_a_budget_cuts_is_said(shelf: Shelf):
    for number in range(30):
        await shelf.book(f"Book {number}", author=f"An author with a long name {number:02}")
    groups = {"group_by": ["author"]}
    few = await shelf.objects("list", aggregate=groups, limit=2)
    assert (len(few["results"]), few["more"]) == (2, True)
    assert len((await shelf.objects("list", aggregate={**groups, "limit": 3}, limit=2))["results"]) == 3
    cut = await shelf.objects("list", aggregate=groups, max_tokens=200)
    assert cut["more"] is True
    assert cut["cut"] == {"max_tokens": 200, "rows_left_out": 30 - len(cut["results"])}


async def test_a_long_bulk_answer_fits_its_budget_and_begins_with_what_failed(shelf: Shelf):
    rows = [{"data": {"title": f"Book {number}"}} for number in range(50)] + [{"data": {"pages": 5}}]
    answer = await shelf.objects("bulk", operations=rows, atomic=False, max_tokens=300)
    assert (answer["created"], answer["failed"]) == (50, 1)
    assert answer["results"][0]["index"] == 50
    assert answer["cut"] == {"max_tokens": 300, "rows_left_out": 51 - len(answer["results"])}
    assert len(json.dumps(answer)) < 300 * 4 + 200


async def test_a_cut_history_says_so(shelf: Shelf):
    made = await shelf.book("One")
    for pages in range(1, 10):
        await shelf.objects("patch", id=made["id"], data={"pages": pages})
    for action in ("history", "changes"):
        cut = await shelf.objects(action, id=made["id"], max_tokens=300)
        assert cut["cut"]["rows_left_out"] == 10 - len(cut["results"])
        rest = await shelf.objects(action, id=made["id"], cursor=cut["cursor"])
        assert len(rest["results"]) == cut["cut"]["rows_left_out"]
        assert "cut" not in rest


async def test_a_field_nobody_knows_is_refused_before_anything_is_written(shelf: Shelf):
    text, _ = await shelf.refusal("create", data={"title": "One"}, fields=["titel"])
    assert text.startswith("The schema has no property 'titel'. Did you mean 'title'?")
    assert (await shelf.objects("list"))["total"] == 0


async def test_metadata_nobody_knows_is_refused_as_a_field(shelf: Shelf):
    await shelf.book("One")
    text, _ = await shelf.refusal("list", fields=["title", "@self.versoin"])
    assert text.startswith("There is no metadata '@self.versoin'. Did you mean '@self.version'? There is @self.id,")
    text, _ = await shelf.refusal("list", fields=["@selfish"])
    assert text.startswith("The schema has no property '@selfish'.")
    whole = await shelf.objects("list", fields=["@self", "@self.locked"])
    assert whole["results"][0]["@self"]["version"] == "1"


@pytest.mark.parametrize("name", ["id", "uuid", "created", "owner"])
async def test_metadata_named_like_a_property_is_found_under_self(shelf: Shelf, name: str):
    text, _ = await shelf.refusal("list", filter={name: "x"})
    assert text.startswith(f"The schema has no property '{name}'. Did you mean '@self.{name}'")


async def test_facets_count_towards_the_budget_and_those_left_out_are_named(shelf: Shelf):
    for number in range(12):
        await shelf.book(f"Book {number:02}", author=f"An author called {number:02}", pages=number + 1)
    asked: dict[str, Any] = {"facets": ["pages", "author"], "fields": ["title"]}
    whole = await shelf.objects("list", **asked)
    assert list(whole["facets"]) == ["pages", "author"]
    cut = await shelf.objects("list", **asked, max_tokens=240)
    assert list(cut["facets"]) == ["pages"]
    assert cut["cut"]["facets_left_out"] == ["author"]
    assert len(cut["results"]) + cut["cut"]["rows_left_out"] == 12
    assert len(json.dumps(cut, separators=(",", ":"))) <= 240 * 4


@pytest.mark.requirement("registers:budget:whole")
async def test_every_answer_keeps_its_budget(shelf: Shelf) -> None:
    made = [await shelf.book(f"A long title {number}", author="a" * 300, isbn="9" * 300) for number in range(6)]
    ref = made[0]["id"]
    await shelf.objects("patch", id=ref, data={"author": "b" * 500, "pages": 5, "isbn": None})
    rows: list[Object] = [{"data": {"title": f"Planned {number}", "author": "c" * 200}} for number in range(20)]
    for tokens in (60, 150, 400):
        for action, more in (
            ("list", {"sort": ["pages", "title"], "facets": ["author"]}),
            ("get", {"id": ref}),
            ("history", {"id": ref}),
            ("changes", {}),
            ("diff", {"id": ref, "version": 1}),
            ("plan", {"operations": rows}),
            ("can_delete", {"id": ref}),
        ):
            answer = await shelf.objects(action, max_tokens=tokens, **more)
            assert len(json.dumps(answer, separators=(",", ":"))) <= tokens * 4, (action, tokens, answer)


async def test_a_budget_too_small_is_refused_before_anything_is_written(shelf: Shelf) -> None:
    text, _ = await shelf.refusal("create", data={"title": "Never"}, max_tokens=10)
    assert "the least is 60" in text
    assert (await shelf.objects("list", count=True))["total"] == 0
