"""Describe and attachments as a client uses them, over every transport."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import open_app
from pentad.settings.model import Settings
from tests.behaviour.clients import (
    HTTP_MODERN,
    MEMORY,
    MEMORY_MODERN,
    SESSION,
    STATELESS,
    STDIO,
    STDIO_MODERN,
    Client,
    Wire,
    wire_name,
)
from tests.behaviour.connecting import connect_http, connected_in_memory, connected_over_stdio, stdio_child
from tests.waiting import until

pytestmark = pytest.mark.anyio

WIRES = (MEMORY, MEMORY_MODERN, STDIO, STDIO_MODERN, SESSION, STATELESS, HTTP_MODERN)


@pytest.fixture(params=WIRES, ids=wire_name)
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Client]:
    wire: Wire = request.param
    async with contextlib.AsyncExitStack() as stack:
        if wire.transport == "stdio":
            child = stack.enter_context(stdio_child(tmp_path, "registers"))
            yield await stack.enter_async_context(connected_over_stdio(child, wire, {}))
            return
        app = await stack.enter_async_context(open_app(Settings(data=tmp_path, rooms=("registers",), auth="none")))
        if wire.transport == "memory":
            yield await stack.enter_async_context(connected_in_memory(app, wire, {}))
            return
        made = await connect_http(app, wire)
        yield made
        await made.close()


@pytest.mark.requirement("registers:attachments:tool", "registers:describe:content")
async def test_a_client_describes_attaches_finds_and_reads(client: Client) -> None:
    async def call(tool: str, **arguments: Any) -> Any:
        answer = (await client.call(tool, arguments)).result
        assert not answer.get("isError"), answer
        return answer["structuredContent"]

    await call(
        "schemas", action="create", data={"title": "Tree", "slug": "tree", "properties": {"n": {"type": "string"}}}
    )
    await call("registers", action="create", data={"title": "City", "slug": "city", "schemas": ["tree"]})
    place = {"register": "city", "schema": "tree"}
    tree = (await call("objects", action="create", data={"n": "T-1"}, **place))["id"]
    described = await call("registers", action="describe", id="city")
    assert described["schemas"][0]["objects"] == 1
    made = await call("attachments", action="write", id=tree, name="survey.md", text="Honey *fungus*.", **place)

    async def found() -> Any:
        return (await call("objects", action="list", search="fungus", **place))["results"]

    [hit] = await until(found)
    assert hit["@why"]["fields"] == {"attachment:survey.md": ["fungus"]}
    read = await call("attachments", action="read", id=tree, name="survey.md", **place)
    assert read["content"] == "Honey fungus."
    resource = (await client.request("resources/read", {"uri": f"{made['uri']}/text"})).result
    assert resource["contents"][0]["text"] == "Honey fungus."
