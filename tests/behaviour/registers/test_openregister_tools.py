"""OpenRegister's three tools and its resources, as its document promises, without the defects of the original."""

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.behaviour.registers.openregister import OpenRegister
from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("openregister:tools")
async def test_exactly_three_tools_are_listed_in_order_with_the_promised_schemas(endpoint: OpenRegister) -> None:
    tools = (await endpoint.result("tools/list"))["tools"]
    assert [tool["name"] for tool in tools] == ["registers", "schemas", "objects"]
    for tool in tools:
        assert tool.keys() == {"name", "description", "inputSchema"}
        assert tool["description"]
        assert tool["inputSchema"]["type"] == "object"
        action = tool["inputSchema"]["properties"]["action"]
        assert action["type"] == "string"
        assert action["enum"] == ["list", "get", "create", "update", "delete"]
    registers, schemas, objects = (tool["inputSchema"] for tool in tools)
    kinds = {"action": "string", "id": "integer", "data": "object", "limit": "integer", "offset": "integer"}
    for schema in (registers, schemas):
        assert schema["required"] == ["action"]
        assert {name: facts["type"] for name, facts in schema["properties"].items()} == kinds
    assert objects["required"] == ["action", "register", "schema"]
    kinds |= {"id": "string", "register": "integer", "schema": "integer"}
    assert {name: facts["type"] for name, facts in objects["properties"].items()} == kinds


@pytest.mark.parametrize("params", [{}, {"arguments": {"action": "list"}}, {"name": ""}, None])
@pytest.mark.requirement("openregister:tool-name")
async def test_a_call_without_a_name_is_an_error_of_the_protocol(endpoint: OpenRegister, params: Any) -> None:
    assert await endpoint.error("tools/call", params) == {
        "code": -32602,
        "message": "Missing required parameter: name",
    }


@pytest.mark.requirement("openregister:unknown-tool")
async def test_an_unknown_tool_is_a_result_that_says_so(endpoint: OpenRegister) -> None:
    assert "Unknown tool: nonsense" in await endpoint.failure("nonsense")


ENTITIES = [("registers", {"title": "One"}), ("schemas", {"title": "One", "properties": {"a": {"type": "string"}}})]


@pytest.mark.parametrize(("tool", "data"), ENTITIES)
@pytest.mark.requirement("openregister:entities")
async def test_registers_and_schemas_are_made_read_changed_and_deleted(
    endpoint: OpenRegister, tool: str, data: dict[str, Any]
) -> None:
    made = await endpoint.call(tool, action="create", data=data)
    assert made["title"] == "One"
    assert isinstance(made["id"], int)
    assert made["version"] == "0.0.1"
    assert (await endpoint.call(tool, action="get", id=made["id"]))["uuid"] == made["uuid"]
    changed = await endpoint.call(tool, action="update", id=made["id"], data={"title": "Two"})
    assert (changed["title"], changed["version"]) == ("Two", "0.0.2")
    assert made["id"] in [row["id"] for row in await endpoint.call(tool, action="list", limit=1000)]
    assert await endpoint.call(tool, action="delete", id=made["id"]) == {"deleted": True, "id": made["id"]}
    assert "not found" in await endpoint.failure(tool, action="get", id=made["id"])


@pytest.mark.parametrize(("tool", "data"), ENTITIES)
@pytest.mark.requirement("openregister:references")
async def test_registers_and_schemas_are_named_by_id_uuid_or_slug(
    endpoint: OpenRegister, tool: str, data: dict[str, Any]
) -> None:
    made = await endpoint.call(tool, action="create", data=data)
    for ref in (made["id"], str(made["id"]), made["uuid"], made["slug"], made["slug"].upper()):
        assert (await endpoint.call(tool, action="get", id=ref))["id"] == made["id"]


@pytest.mark.parametrize(("tool", "_data"), ENTITIES)
@pytest.mark.requirement("openregister:limit-offset")
async def test_a_list_is_a_bare_array_with_limit_and_offset(
    endpoint: OpenRegister, tool: str, _data: dict[str, Any]
) -> None:
    for number in range(3):
        await endpoint.call(tool, action="create", data={"title": f"Row {number}"})
    rows = await endpoint.call(tool, action="list", limit=1000)
    assert isinstance(rows, list)
    assert await endpoint.call(tool, action="list", limit=2, offset=1) == rows[1:3]
    assert await endpoint.call(tool, action="list", limit=5, offset=100_000) == []
    assert await endpoint.call(tool, action="list", limit=0) == []


@pytest.mark.parametrize("tool", ["registers", "schemas"])
@pytest.mark.requirement("openregister:entity-parameters")
async def test_what_is_missing_is_named(endpoint: OpenRegister, tool: str) -> None:
    for arguments, name in (
        ({"action": "get"}, "id"),
        ({"action": "create"}, "data"),
        ({"action": "update", "data": {"title": "x"}}, "id"),
        ({"action": "update", "id": 1}, "data"),
        ({"action": "delete"}, "id"),
    ):
        assert await endpoint.failure(tool, **arguments) == f"Missing required parameter: {name}"
    assert "Unknown action: fly" in await endpoint.failure(tool, action="fly")
    assert "Unknown action" in await endpoint.failure(tool)


async def test_an_empty_store_lists_nothing(fresh_site: Site) -> None:
    endpoint = OpenRegister(fresh_site, "/api/mcp")
    for tool in ("registers", "schemas"):
        assert await endpoint.call(tool, action="list") == []
    assert len((await endpoint.result("resources/list"))["resources"]) == 2


@pytest.mark.requirement("openregister:objects")
async def test_objects_are_made_read_listed_changed_and_deleted(endpoint: OpenRegister) -> None:
    register, schema = await endpoint.pair()
    place = {"register": register, "schema": schema}
    assert await endpoint.call("objects", action="list", **place) == []
    made = await endpoint.call("objects", action="create", data={"title": "Milk", "stars": 3}, **place)
    assert (made["title"], made["stars"]) == ("Milk", 3)
    assert made["@self"]["id"] == made["id"]
    assert (made["@self"]["register"], made["@self"]["schema"]) == (register, schema)
    assert made["@self"]["version"] == "1"
    assert await endpoint.call("objects", action="get", id=made["id"], **place) == made
    assert await endpoint.call("objects", action="list", **place) == [made], "list returns what was created"
    changed = await endpoint.call("objects", action="update", id=made["id"], data={"title": "Oat"}, **place)
    assert changed["title"] == "Oat"
    assert "stars" not in changed, "an update replaces"
    assert changed["@self"]["version"] == "2"
    gone = await endpoint.call("objects", action="delete", id=made["id"], **place)
    assert gone == {"deleted": True, "id": made["id"]}
    assert await endpoint.call("objects", action="list", **place) == []
    assert "not found" in await endpoint.failure("objects", action="get", id=made["id"], **place)
    assert "not found" in await endpoint.failure("objects", action="delete", id=made["id"], **place)


@pytest.mark.requirement("openregister:limit-offset")
async def test_objects_list_takes_a_limit_an_offset_or_both(endpoint: OpenRegister) -> None:
    register, schema = await endpoint.pair()
    place = {"register": register, "schema": schema}
    for number in range(5):
        await endpoint.call("objects", action="create", data={"title": f"T{number}"}, **place)
    rows = await endpoint.call("objects", action="list", **place)
    assert len(rows) == 5
    assert await endpoint.call("objects", action="list", limit=2, **place) == rows[:2]
    assert await endpoint.call("objects", action="list", offset=3, **place) == rows[3:]
    assert await endpoint.call("objects", action="list", limit=2, offset=2, **place) == rows[2:4]


@pytest.mark.requirement("openregister:list-limit")
async def test_a_list_that_does_not_show_all_says_so_beside_the_array(endpoint: OpenRegister) -> None:
    register, schema = await endpoint.pair()
    for number in range(101):
        data = {"title": f"T{number}"}
        await endpoint.call("objects", action="create", register=register, schema=schema, data=data)
    arguments = {"action": "list", "register": register, "schema": schema}
    result = await endpoint.result("tools/call", {"name": "objects", "arguments": arguments})
    assert len(json.loads(result["content"][0]["text"])) == 100
    assert result["_meta"] == {"pentad/truncated": True, "pentad/total": 101, "pentad/next_offset": 100}
    rest = {**arguments, "offset": 100}
    result = await endpoint.result("tools/call", {"name": "objects", "arguments": rest})
    assert len(json.loads(result["content"][0]["text"])) == 1
    assert "_meta" not in result


@pytest.mark.parametrize("place", [{}, {"register": 1}, {"schema": 1}])
@pytest.mark.parametrize("action", ["list", "get", "create", "update", "delete"])
@pytest.mark.requirement("openregister:objects-place")
async def test_objects_need_a_register_and_a_schema(endpoint: OpenRegister, action: str, place: dict[str, int]) -> None:
    said = await endpoint.failure("objects", action=action, id="x", data={}, **place)
    assert "register and schema IDs are required" in said


async def test_objects_name_what_is_missing(endpoint: OpenRegister) -> None:
    register, schema = await endpoint.pair()
    place = {"register": register, "schema": schema}
    for arguments, name in (
        ({"action": "get"}, "id"),
        ({"action": "create"}, "data"),
        ({"action": "update", "data": {"title": "x"}}, "id"),
        ({"action": "delete"}, "id"),
    ):
        assert await endpoint.failure("objects", **arguments, **place) == f"Missing required parameter: {name}"
    made = await endpoint.call("objects", action="create", data={"title": "x"}, **place)
    said = await endpoint.failure("objects", action="update", id=made["id"], **place)
    assert said == "Missing required parameter: data"
    assert "Unknown action: fly" in await endpoint.failure("objects", action="fly", **place)


async def test_failures_of_the_room_are_results_that_say_why(endpoint: OpenRegister) -> None:
    register, schema = await endpoint.pair()
    place = {"register": register, "schema": schema}
    assert "title" in await endpoint.failure("objects", action="create", data={"stars": 1}, **place)
    unknown = str(uuid4())
    assert unknown in await endpoint.failure("objects", action="get", id=unknown, **place)
    assert "Register 999999 not found" in await endpoint.failure(
        "objects", action="list", register=999_999, schema=schema
    )
    await endpoint.call("objects", action="create", data={"title": "x"}, **place)
    assert "still has 1 object" in await endpoint.failure("registers", action="delete", id=register)


@pytest.mark.requirement("openregister:unknown-arguments")
async def test_unknown_arguments_are_ignored(endpoint: OpenRegister) -> None:
    register, schema = await endpoint.pair()
    place = {"register": register, "schema": schema}
    assert await endpoint.call("objects", action="list", filter={"nonsense": 1}, colour="red", **place) == []


@pytest.mark.requirement("openregister:ignored-arguments")
async def test_ignored_arguments_are_named_for_models_and_programs(endpoint: OpenRegister) -> None:
    register, schema = await endpoint.pair()
    arguments = {"action": "list", "register": register, "schema": schema, "filter": {"title": "x"}, "colour": "red"}
    result = await endpoint.result("tools/call", {"name": "objects", "arguments": arguments})
    bare, note = result["content"]
    assert bare["text"] == "[]"
    assert note["text"].startswith("Ignored: filter, colour.")
    assert "objects at /mcp can filter" in note["text"]
    assert result["_meta"]["pentad/ignored"] == ["filter", "colour"]


async def test_a_caller_without_rights_is_refused_in_a_result(site: Site) -> None:
    reader = OpenRegister(site, "/api/mcp", who="reader")
    assert isinstance(await reader.call("registers", action="list"), list)
    assert "may not" in await reader.failure("registers", action="create", data={"title": "No"})


@pytest.mark.requirement("openregister:no-leaks")
async def test_an_unforeseen_failure_tells_nothing_of_the_inside(fresh_site: Site) -> None:
    endpoint = OpenRegister(fresh_site, "/api/mcp")
    await endpoint.session()
    await fresh_site.app.database.write(lambda tx: tx.run("ALTER TABLE registers RENAME COLUMN body TO soul"))
    said = await endpoint.failure("registers", action="list")
    assert "body" not in said
    error = await endpoint.error("resources/read", {"uri": "openregister://registers"})
    assert error["code"] == -32603
    assert "body" not in error["message"]


# resources


@pytest.mark.requirement("openregister:resources")
async def test_resources_are_the_two_lists_and_every_pair(endpoint: OpenRegister) -> None:
    register, schema = await endpoint.pair()
    listed = {entry["uri"]: entry for entry in (await endpoint.result("resources/list"))["resources"]}
    assert listed["openregister://registers"]["name"] == "All Registers"
    assert listed["openregister://schemas"]["name"] == "All Schemas"
    pair = listed[f"openregister://objects/{register}/{schema}"]
    assert pair["name"] == "Notes — Note"
    assert {entry["mimeType"] for entry in listed.values()} == {"application/json"}


@pytest.mark.requirement("openregister:templates")
async def test_there_are_exactly_three_templates(endpoint: OpenRegister) -> None:
    templates = (await endpoint.result("resources/templates/list"))["resourceTemplates"]
    assert [entry["uriTemplate"] for entry in templates] == [
        "openregister://registers/{id}",
        "openregister://schemas/{id}",
        "openregister://objects/{register}/{schema}/{id}",
    ]


@pytest.mark.requirement("openregister:read")
async def test_resources_are_read(endpoint: OpenRegister) -> None:
    register, schema = await endpoint.pair()
    made = await endpoint.call("objects", action="create", register=register, schema=schema, data={"title": "x"})
    for uri, check in (
        ("openregister://registers", lambda read: any(row["id"] == register for row in read)),
        ("openregister://schemas", lambda read: any(row["id"] == schema for row in read)),
        (f"openregister://registers/{register}", lambda read: read["id"] == register),
        (f"openregister://schemas/{schema}", lambda read: read["id"] == schema),
        (f"openregister://objects/{register}/{schema}", lambda read: read == [made]),
        (f"openregister://objects/{register}/{schema}/{made['id']}", lambda read: read == made),
    ):
        (contents,) = (await endpoint.result("resources/read", {"uri": uri}))["contents"]
        assert contents.keys() == {"uri", "mimeType", "text"}
        assert (contents["uri"], contents["mimeType"]) == (uri, "application/json")
        assert check(json.loads(contents["text"])), uri


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "Missing required parameter: uri"),
        (None, "Missing required parameter: uri"),
        ({"uri": ""}, "Missing required parameter: uri"),
        ({"uri": "http://example.org/registers"}, "Invalid URI scheme, expected openregister://"),
        ({"uri": "openregister://things"}, "Unknown resource type: things"),
        ({"uri": "openregister://objects"}, "register and schema"),
        ({"uri": "openregister://objects/1"}, "register and schema"),
    ],
)
@pytest.mark.requirement("openregister:read-errors")
async def test_a_bad_address_is_an_error_of_the_protocol(endpoint: OpenRegister, params: Any, said: str) -> None:
    error = await endpoint.error("resources/read", params)
    assert error["code"] == -32602
    assert said in error["message"]


@pytest.mark.parametrize(
    "uri",
    [
        "openregister://registers/999999",
        "openregister://registers/abc",
        "openregister://registers/",
        "openregister://schemas/999999",
        "openregister://objects/999999/1",
    ],
)
@pytest.mark.requirement("openregister:read-errors")
async def test_a_missing_thing_is_an_internal_error_as_in_the_original(endpoint: OpenRegister, uri: str) -> None:
    assert (await endpoint.error("resources/read", {"uri": uri}))["code"] == -32603


@pytest.mark.requirement("registers:schema-change:confirm")
async def test_an_update_replaces_as_in_the_original_but_asks_before_it_loses_values(endpoint: OpenRegister) -> None:
    properties = {"title": {"type": "string"}, "fee": {"type": "integer"}}
    schema = await endpoint.call("schemas", action="create", data={"title": "Permit", "properties": properties})
    register = await endpoint.call("registers", action="create", data={"title": "R", "schemas": [schema["id"]]})
    place = {"register": register["id"], "schema": schema["id"]}
    await endpoint.call("objects", action="create", data={"title": "One", "fee": 5}, **place)
    change: dict[str, Any] = {"action": "update", "id": schema["id"], "data": {"properties": {"title": {}}}}
    said = await endpoint.failure("schemas", **change)
    assert "the values of 'fee' in 1 object" in said
    token = said.split('"')[1]
    assert (await endpoint.call("schemas", action="get", id=schema["id"]))["properties"] == properties
    changed = await endpoint.call("schemas", **change, confirm=token)
    assert (changed["properties"], "warnings" in changed) == ({"title": {}}, False)


@pytest.mark.requirement("registers:deleted:containers")
async def test_a_register_with_deleted_objects_is_deleted_once_the_caller_confirms(endpoint: OpenRegister) -> None:
    schema = await endpoint.call("schemas", action="create", data={"title": "Permit"})
    register = await endpoint.call("registers", action="create", data={"title": "R", "schemas": [schema["id"]]})
    place = {"register": register["id"], "schema": schema["id"]}
    made = await endpoint.call("objects", action="create", data={"title": "One"}, **place)
    await endpoint.call("objects", action="delete", id=made["id"], **place)
    given: dict[str, Any] = {"action": "delete", "id": register["id"]}
    given["confirm"] = (await endpoint.failure("registers", **given)).split('"')[1]
    done = await endpoint.result("tools/call", {"name": "registers", "arguments": given})
    assert (done["isError"], len(done["content"])) == (False, 1), "no note that confirm was ignored"
    assert "not found" in await endpoint.failure("registers", action="get", id=register["id"])


@pytest.mark.requirement("openregister:warnings")
async def test_misspelt_properties_and_keywords_are_warned_of_beside_the_bare_result(endpoint: OpenRegister) -> None:
    schema = await endpoint.result(
        "tools/call",
        {
            "name": "schemas",
            "arguments": {
                "action": "create",
                "data": {"title": "Tree", "properties": {"species": {"type": "string", "minLenght": 2}}},
            },
        },
    )
    kind = json.loads(schema["content"][0]["text"])
    assert "warnings" not in kind
    assert "/properties/species/minLenght" in schema["content"][1]["text"]
    assert "Did you mean 'minLength'?" in schema["content"][1]["text"]
    register = await endpoint.call("registers", action="create", data={"title": "City", "schemas": [kind["id"]]})
    place = {"register": register["id"], "schema": kind["id"]}

    async def write(**arguments: Any) -> dict[str, Any]:
        return await endpoint.result("tools/call", {"name": "objects", "arguments": {**arguments, **place}})

    made = await write(action="create", data={"speceis": "oak"})
    tree = json.loads(made["content"][0]["text"])
    assert (tree["speceis"], "warnings" in tree["@self"]) == ("oak", False)
    said = "Warning: /speceis is not a property of the schema; it was stored, but cannot be filtered or sorted by."
    assert made["content"][1]["text"] == f"{said} Did you mean 'species'?"
    assert [one["path"] for one in made["_meta"]["pentad/warnings"]] == ["/speceis"]
    changed = await write(action="update", id=tree["id"], data={"speceis": "elm"}, colour="green")
    assert changed["content"][1]["text"].startswith(said)
    assert "Ignored: colour." in changed["content"][1]["text"]
    for clean in (
        await write(action="update", id=tree["id"], data={"species": "elm"}),
        await write(action="get", id=tree["id"]),
    ):
        assert (len(clean["content"]), "_meta" in clean) == (1, False)
