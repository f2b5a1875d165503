"""A read-only server: nobody changes anything, on any wire; reading works as before."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.http.grpc_port import PortCredentials
from pentad.kernel.principal import ANONYMOUS, LOCAL, Principal
from pentad.settings.model import Settings
from tests.behaviour.clients import HTTP_MODERN, MEMORY, SESSION, HttpClient, Wire, wire_name
from tests.behaviour.connecting import connect_http, connected_in_memory, front_of
from tests.behaviour.directory.directory_client import record
from tests.behaviour.http_wire import HttpAnswer, send

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}
ROOMS = ("directory", "registers", "agents", "avatars", "metrics")


@pytest.fixture(scope="module")
async def museum(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[App, dict[str, str]]]:
    """All rooms, read-only, and an administrator's credentials."""
    data = tmp_path_factory.mktemp("museum")
    async with open_app(Settings(data=data, rooms=ROOMS)) as app:
        key = await app.api_keys.create("admin", scopes=["*:*"])
        async with app.client() as client:
            for tool, arguments in (
                ("registers", {"action": "create", "data": {"title": "City", "slug": "city"}}),
                ("schemas", {"action": "create", "data": {"title": "Tree", "slug": "tree", "properties": {}}}),
                ("objects", {"action": "create", "register": 1, "schema": 1, "data": {"name": "oak"}}),
            ):
                assert not (await client.request("tools/call", {"name": tool, "arguments": arguments}))["isError"]
    async with open_app(Settings(data=data, rooms=ROOMS, read_only=True)) as app:
        yield app, {"authorization": f"Bearer {key.token}"}


async def client_of(museum: tuple[App, dict[str, str]], wire: Wire, path: str = "/mcp") -> HttpClient:
    return await connect_http(museum[0], wire, path=path, authorization=museum[1]["authorization"])


@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.parametrize("path", ["/mcp", "/mcp/core", "/mcp/full", "/rooms/registers/mcp"])
@pytest.mark.requirement("tools:read-only:server")
async def test_every_endpoint_lists_only_what_reads(museum: tuple[App, dict[str, str]], wire: Wire, path: str) -> None:
    client = await client_of(museum, wire, path)
    entries = {tool["name"]: tool for tool in await client.everything("tools/list", "tools")}
    assert entries
    assert all(tool["annotations"]["readOnlyHint"] is True for tool in entries.values())
    assert entries.keys().isdisjoint({"agntcy_dir_push_record", "agents_send_task", "directory_delete", "loadMetrics"})
    if "objects" in entries:
        assert "delete" not in entries["objects"]["inputSchema"]["properties"]["action"]["enum"]


@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("tools:read-only:server")
async def test_writing_is_refused_with_the_reason_and_reading_works(
    museum: tuple[App, dict[str, str]], wire: Wire
) -> None:
    client = await client_of(museum, wire)
    place = {"register": "city", "schema": "tree"}
    pushed = await client.call("agntcy_dir_push_record", {"record_json": json.dumps(record())})
    assert "read-only" in pushed.error["message"]
    assert "required_scope" not in json.dumps(pushed.error), "no scope would help"
    through = await client.call("call_tool", {"name": "directory_delete", "arguments": {"reference": "x"}})
    assert "read-only" in through.error["message"]
    for arguments in (
        {"action": "create", "data": {"name": "elm"}, **place},
        {"action": "delete", "id": 1, **place},
        {"action": "bulk", "operations": [{"data": {"name": "elm"}}], **place},
    ):
        assert "read-only" in (await client.call("objects", arguments)).complaint, arguments
    assert "read-only" in (await client.call("registers", {"action": "delete", "id": "city"})).complaint
    source = {"source_data": "{}", "source_format": "mcp", "push": True}
    assert "read-only" in (await client.call("agntcy_oasf_import_record", source)).complaint
    found = await client.call("objects", {"action": "list", **place})
    assert json.loads(found.text)["total"] == 1


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/registers", {"title": "New"}),
        ("POST", "/api/schemas", {"title": "New"}),
        ("DELETE", "/api/registers/1", None),
        ("POST", "/api/objects/1/1", {"name": "elm"}),
        ("POST", "/api/v1/agent-cards", {"card_data": {}}),
    ],
)
@pytest.mark.requirement("tools:read-only:server")
async def test_rest_refuses_writes(
    museum: tuple[App, dict[str, str]], method: str, path: str, body: dict[str, Any] | None
) -> None:
    app, credentials = museum
    answer, text = await _sent(app, method, path, credentials, body)
    assert answer.status == 403
    assert b"read-only" in text
    assert "insufficient_scope" not in str(answer.header_list)
    assert (await _sent(app, "GET", "/api/registers", credentials))[0].status == 200


async def _sent(
    app: App, method: str, path: str, credentials: dict[str, str], body: Any = None
) -> tuple[HttpAnswer, bytes]:
    raw = b"" if body is None else json.dumps(body).encode()
    answer = send(front_of(app), method, path, {**JSON, **credentials} if raw else credentials, raw)
    return answer, await answer.body()


@pytest.mark.requirement("tools:read-only:server")
async def test_the_originals_own_endpoint_and_the_grpc_port_are_read_only_too(
    museum: tuple[App, dict[str, str]],
) -> None:
    app, credentials = museum
    principal = await PortCredentials(app).principal(credentials["authorization"], None)
    assert principal.may("directory", "read")
    assert not principal.may("directory", "write")
    answer = send(front_of(app), "POST", "/api/mcp", {**JSON, **credentials}, json.dumps({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }).encode())  # fmt: skip
    session = {"mcp-session-id": (await answer.head()).headers["mcp-session-id"]}
    called = {"name": "registers", "arguments": {"action": "create", "data": {"title": "Sneaky"}}}
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": called}
    reply = send(front_of(app), "POST", "/api/mcp", {**JSON, **credentials, **session}, json.dumps(body).encode())
    assert b"Sneaky" not in await reply.body()
    async with connected_in_memory(app, MEMORY, {}) as client:
        found = json.loads((await client.call("registers", {"action": "list"})).text)
    assert [one["title"] for one in found["results"]] == ["City"]


@pytest.mark.requirement("tools:read-only:owner")
async def test_the_owner_of_the_store_still_writes_with_the_command_line(tmp_path: Path) -> None:
    async with open_app(Settings(data=tmp_path, rooms=("registers",), read_only=True)) as app, app.client() as client:
        given = {"action": "create", "data": {"title": "Mine"}}
        result = await client.request("tools/call", {"name": "registers", "arguments": given})
        assert result["isError"] is False
    settings = Settings(data=tmp_path, rooms=("registers",), read_only=True)
    async with open_app(settings) as app, connected_in_memory(app, MEMORY, {}) as stdio:
        assert (await stdio.call("registers", given)).result["isError"] is True


@pytest.mark.requirement("tools:read-only:principal")
def test_a_principal_that_only_reads_keeps_its_read_scopes_and_nothing_else() -> None:
    ada = Principal("user:ada", "ada", frozenset({"lab:*", "metrics:read", "agents:write", "avatars:admin"}))
    reading = ada.reading_only()
    assert reading.scopes == {"lab:read", "metrics:read"}
    assert (reading.id, reading.name, reading.read_only) == (ada.id, ada.name, True)
    assert ada.may("lab", "write")
    assert not reading.may("lab", "write")
    assert reading.reading_only() is reading
    assert LOCAL.reading_only().scopes == {"*:read"}
    assert ANONYMOUS.reading_only() is ANONYMOUS
    only_writes = Principal("user:eve", "eve", frozenset({"agents:write"})).reading_only()
    assert only_writes.scopes == frozenset()
    assert not only_writes.may("", "read"), "who may do nothing may not even search"
