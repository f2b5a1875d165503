"""The directory's protocol surface: name, capabilities, tools, and unusual handshakes."""

import asyncio
import json

import pytest

from pentad.app import App
from tests.behaviour.clients import ConnectionClient, Wire
from tests.behaviour.connecting import connect_http
from tests.behaviour.directory.connections import OWN_PATH
from tests.behaviour.directory.directory_client import DirectoryClient

pytestmark = pytest.mark.anyio

ORIGINAL = {
    "agntcy_oasf_list_versions", "agntcy_oasf_get_schema", "agntcy_oasf_get_schema_skills",
    "agntcy_oasf_get_schema_domains", "agntcy_oasf_validate_record", "agntcy_dir_push_record",
    "agntcy_dir_search_local", "agntcy_dir_pull_record", "agntcy_dir_verify_record", "agntcy_dir_verify_name",
    "agntcy_oasf_import_record", "agntcy_oasf_export_record",
}  # fmt: skip
OWN = {
    "directory_resolve", "directory_lineage", "directory_diff", "directory_migrate", "directory_import",
    "directory_sign", "directory_delete", "directory_states", "directory_set_state", "directory_import_registry",
    "directory_trust", "directory_peers",
}  # fmt: skip
DESTROYING = {"directory_delete", "directory_trust", "directory_peers"}
WRITING = {
    "agntcy_dir_push_record", "agntcy_oasf_import_record", "directory_import", "directory_sign", "directory_set_state",
    "directory_import_registry",
}  # fmt: skip


@pytest.mark.parametrize("path", ["/mcp", OWN_PATH])
@pytest.mark.requirement("dir:server:identity", "dir:server:capabilities")
async def test_the_oldest_handshake_meets_the_server_its_document_describes(site: App, path: str) -> None:
    client = await connect_http(site, Wire("session", "2024-11-05"), path=path)
    assert client.server["protocolVersion"] == "2024-11-05"
    info = client.server["serverInfo"]
    assert (info["name"], info["version"]) == ("dir-mcp-server", "v0.1.0")
    assert client.server["capabilities"].keys() >= {"tools", "prompts", "resources"}
    await client.close()


@pytest.mark.requirement("dir:server:identity")
async def test_over_stdio_too(legacy_directory: "object", directory: DirectoryClient) -> None:
    if isinstance(directory.client, ConnectionClient) and directory.client.wire == Wire("stdio", "2024-11-05"):
        info = directory.client.server["serverInfo"]
        assert (info["name"], info["version"]) == ("dir-mcp-server", "v0.1.0")
    assert (await directory.ask("agntcy_oasf_list_versions"))["count"] == 5


@pytest.mark.requirement("dir:server:bare-initialized")
async def test_the_bare_initialized_notification_is_let_pass(site: App) -> None:
    said: asyncio.Queue[bytes] = asyncio.Queue()
    connection = site.connection(said.put, transport="memory")
    hello = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    await connection.receive(_message(id=1, method="initialize", params=hello))
    assert json.loads(await asyncio.wait_for(said.get(), 60))["id"] == 1
    await connection.receive(_message(method="initialized"))
    await connection.receive(_message(id=2, method="tools/list"))
    assert json.loads(await asyncio.wait_for(said.get(), 60))["id"] == 2, "nothing was said in between"
    await connection.close(grace_seconds=0)


def _message(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


@pytest.mark.requirement("dir:server:tools")
async def test_the_twelve_tools_are_there_and_few_others(directory: DirectoryClient) -> None:
    tools = {tool["name"]: tool for tool in await directory.client.everything("tools/list", "tools")}
    assert tools.keys() == ORIGINAL | OWN
    if directory.client.wire.revision == "2024-11-05":
        return
    for name, tool in tools.items():
        hints = tool["annotations"]
        assert hints["readOnlyHint"] is (name not in WRITING | DESTROYING), name
        assert hints.get("destructiveHint", False) is (name in DESTROYING), name
        assert tool["outputSchema"]["type"] == "object"


@pytest.mark.requirement("dir:server:arguments-strict")
async def test_every_tool_but_the_search_lists_a_closed_schema(in_memory: DirectoryClient) -> None:
    for tool in await in_memory.client.everything("tools/list", "tools"):
        closed = tool["inputSchema"].get("additionalProperties") is False
        assert closed is (tool["name"] != "agntcy_dir_search_local"), tool["name"]
