"""Who may do what with the tool, and what nobody is shown who may not see it."""

import json
from typing import Any

import pytest

from tests.rooms.registers.interface.tools.shelf import BOOK, Shelf
from tests.rooms.registers.site import Object, Site

pytestmark = pytest.mark.anyio


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


@pytest.mark.requirement("registers:history:migrated-states")
async def test_a_state_that_comes_back_after_a_migration_keeps_hidden_properties_hidden(
    site: Site, shelf: Shelf
) -> None:
    secret = {"type": "string", "authorization": {"read": ["admin"], "update": ["admin"]}}
    body = {**BOOK, "properties": {**BOOK["properties"], "secret": secret, "pin": secret}}
    schema = (await shelf.raw("schemas", action="create", data=body))["structuredContent"]["id"]
    place = {"register": shelf.register, "schema": schema}
    data = {"title": "One", "secret": "ruby", "pin": "opal"}
    uuid = (await shelf.raw("objects", action="create", data=data, **place))["structuredContent"]["id"]
    await shelf.raw("objects", action="patch", id=uuid, data={"title": "Two", "pin": None}, **place)
    changed = await shelf.raw(
        "schemas",
        action="update",
        id=schema,
        data={"properties": {"secret": None, "hush": secret, "pin": {**secret, "type": "integer"}}},
        migration=[
            {"step": "rename", "property": "secret", "to": "hush"},
            {"step": "cast", "property": "pin", "to": "integer"},
        ],
    )
    assert changed["isError"] is False, changed
    assert (await rpc(site, "reader", "objects", action="undo", id=uuid, **place))["isError"] is True
    for action, more in (("undo", {}), ("revert", {"version": 2}), ("revert", {"version": 1})):
        answer = await rpc(site, "writer", "objects", action=action, id=uuid, **more, **place)
        assert answer["isError"] is False, answer
        assert not any(word in json.dumps(answer) for word in ("ruby", "opal", "secret", "hush", "pin")), answer
    whole = await rpc(site, "admin", "objects", action="get", id=uuid, **place)
    found = whole["structuredContent"]
    assert (found["title"], found["hush"], "secret" in found, "pin" in found) == ("One", "ruby", False, False)


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
