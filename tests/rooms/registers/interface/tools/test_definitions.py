"""The tools as they are listed, and registers and schemas managed with them."""

import json
from typing import Any

import pytest

from pentad.rooms.registers.interface import tool_schemas
from pentad.rooms.registers.interface.attachment_tool import AttachmentsArguments
from pentad.rooms.registers.interface.object_tool import ObjectsArguments
from pentad.rooms.registers.interface.tools import RegistersArguments, SchemasArguments
from tests.rooms.registers.interface.tools.shelf import BOOK, Shelf
from tests.rooms.registers.site import Object

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("registers:tools:listing")
async def test_the_three_main_tools_cost_at_most_fifteen_hundred_tokens(shelf: Shelf) -> None:
    tools = (await shelf.client.request("tools/list"))["tools"]
    assert [tool["name"] for tool in tools] == ["registers", "schemas", "objects", "attachments", "views", "transfer"]
    tools = tools[:3]
    assert len(json.dumps(tools, separators=(",", ":"))) / 4 <= 1500
    for tool in tools:
        assert tool["annotations"] == {
            "readOnlyHint": False, "openWorldHint": False, "destructiveHint": True, "idempotentHint": False,
        }  # fmt: skip
        assert tool["outputSchema"]["type"] == "object"
    texts = json.dumps(tools)
    for told in (
        "-60d",
        "today",
        "can_delete:",
        "verify:",
        "uses/used:",
        "changes:",
        "token from the refusal",
        "exists",
        "-n",
    ):
        assert told in texts
    assert tools[2]["inputSchema"]["required"] == ["action", "register", "schema"]
    assert tools[2]["inputSchema"]["properties"]["register"]["type"] == ["integer", "string"]


@pytest.mark.parametrize(
    ("listed", "model"),
    [
        (tool_schemas.REGISTERS, RegistersArguments),
        (tool_schemas.SCHEMAS, SchemasArguments),
        (tool_schemas.OBJECTS, ObjectsArguments),
        (tool_schemas.ATTACHMENTS, AttachmentsArguments),
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


async def test_a_place_is_needed_and_may_be_named_by_slug(shelf: Shelf) -> None:
    result = await shelf.raw("objects", action="list")
    assert "register and schema IDs are required" in result["content"][0]["text"]
    register = (await shelf.raw("registers", action="get", id=shelf.register))["structuredContent"]
    schema = (await shelf.raw("schemas", action="get", id=shelf.schema))["structuredContent"]
    named = await shelf.raw("objects", action="list", register=register["slug"], schema=schema["uuid"])
    assert named["structuredContent"]["results"] == []
    missing = await shelf.raw("objects", action="list", register="libary", schema=shelf.schema)
    assert "Did you mean" in missing["content"][0]["text"]
