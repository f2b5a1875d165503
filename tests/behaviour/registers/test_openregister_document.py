"""OpenRegister's document, line by line: its examples as printed, its tables row by row, and its two endpoints."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.registers.openregister import OpenRegister
from tests.cli.processes import PATIENCE, child
from tests.rooms.registers.site import PREFIXES, Reply, Site

pytestmark = pytest.mark.anyio

PRINTED = "http://localhost:8080/index.php/apps/openregister/api/mcp"
INITIALIZE = """curl -s -u admin:admin -X POST \\
  http://localhost:8080/index.php/apps/openregister/api/mcp \\
  -H "Content-Type: application/json" \\
  -d '{
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
      "protocolVersion": "2025-03-26",
      "capabilities": {},
      "clientInfo": {"name": "test", "version": "1.0"}
    }
  }'"""
LIST_TOOLS = """curl -s -u admin:admin -X POST \\
  http://localhost:8080/index.php/apps/openregister/api/mcp \\
  -H "Content-Type: application/json" \\
  -H "Mcp-Session-Id: <session-id>" \\
  -d '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'"""
CALL_A_TOOL = """curl -s -u admin:admin -X POST \\
  http://localhost:8080/index.php/apps/openregister/api/mcp \\
  -H "Content-Type: application/json" \\
  -H "Mcp-Session-Id: <session-id>" \\
  -d '{
    "jsonrpc": "2.0",
    "id": 3,
    "method": "tools/call",
    "params": {
      "name": "registers",
      "arguments": {"action": "list"}
    }
  }'"""
NATIVE = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-03-26"}


def words_of(printed: str, session: str) -> list[str]:
    """A printed command, split as a shell does."""
    return shlex.split(printed.replace("\\\n", " ").replace("<session-id>", session))


async def curl(site: Site, printed: str, path: str, session: str = "") -> Reply:
    """The printed command, sent to our host as curl would."""
    words = words_of(printed, session)
    given = {words[at]: words[at + 1] for at in range(len(words) - 1) if words[at] in ("-u", "-X", "-d")}
    headers = dict(word.split(": ", 1) for at, word in enumerate(words) if words[at - 1] == "-H")
    assert PRINTED in words
    return await site.send(
        given["-X"], path, given["-d"].encode(), who=given["-u"], headers={"accept": "*/*", **headers}
    )


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.requirement("openregister:example:initialize", "openregister:example:list", "openregister:example:call")
async def test_the_examples_work_as_printed(site: Site, prefix: str) -> None:
    path = f"{prefix}/mcp"
    first = await curl(site, INITIALIZE, path)
    assert (first.status, first.json["id"]) == (200, 1)
    assert first.json["result"]["protocolVersion"] == "2025-03-26"
    session = first.headers["mcp-session-id"]
    second = await curl(site, LIST_TOOLS, path, session)
    assert second.json["id"] == 2
    assert [tool["name"] for tool in second.json["result"]["tools"]] == ["registers", "schemas", "objects"]
    third = await curl(site, CALL_A_TOOL, path, session)
    assert third.json["id"] == 3
    assert third.json["result"]["isError"] is False
    assert isinstance(json.loads(third.json["result"]["content"][0]["text"]), list)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.requirement("openregister:example:curl")
def test_the_examples_work_with_curl_itself_against_the_demo(tmp_path: Path) -> None:
    args = ("demo", "--port", "0", "--grpc-port", "0", "--no-open")
    with child(*args, home=tmp_path, PENTAD_ROOMS="registers", PENTAD_SEARCH_EMBEDDER="none") as server:
        port = re.search(r"http://127\.0\.0\.1:(\d+)/", server.line("Pentad demo is ready"))
        assert port is not None

        def typed(printed: str, session: str = "") -> Any:
            words = [*words_of(printed.replace("localhost:8080", f"localhost:{port[1]}"), session), "-D", "headers"]
            done = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=PATIENCE, check=True)
            return json.loads(done.stdout)

        assert typed(INITIALIZE)["result"]["serverInfo"]["name"] == "OpenRegister"
        found = re.search(r"mcp-session-id: (\w+)", (tmp_path / "headers").read_text(), re.IGNORECASE)
        assert found is not None
        assert len(typed(LIST_TOOLS, found[1])["result"]["tools"]) == 3
        listed = json.loads(typed(CALL_A_TOOL, found[1])["result"]["content"][0]["text"])
        assert len(listed) == 4, "the registers of the demo"


@pytest.mark.requirement("openregister:clients")
async def test_a_native_client_goes_through_its_whole_handshake(endpoint: OpenRegister) -> None:
    begun = await endpoint.post(
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}, **NATIVE
    )
    session = begun.headers["mcp-session-id"]
    told = await endpoint.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, session=session, **NATIVE)
    assert (told.status, told.body) == (202, b"")
    for number, method in enumerate(("tools/list", "resources/list", "resources/templates/list", "ping"), 1):
        answer = await endpoint.post({"jsonrpc": "2.0", "id": number, "method": method}, session=session, **NATIVE)
        assert answer.headers["content-type"].startswith("application/json")
        assert answer.json["id"] == number
        assert "result" in answer.json


@pytest.mark.requirement("openregister:methods")
async def test_every_method_of_the_document_is_answered(endpoint: OpenRegister) -> None:
    register, schema = await endpoint.pair()
    for method, params in (
        ("ping", {}),
        ("tools/list", {}),
        ("tools/call", {"name": "registers", "arguments": {"action": "get", "id": register}}),
        ("resources/list", {}),
        ("resources/read", {"uri": f"openregister://objects/{register}/{schema}"}),
        ("resources/templates/list", {}),
    ):
        answer = await endpoint.request(method, params)
        assert answer.keys() == {"jsonrpc", "id", "result"}, method


@pytest.mark.requirement("openregister:standard-or-discovery")
async def test_the_standard_is_posted_to_and_discovery_is_read(site: Site) -> None:
    for prefix in PREFIXES:
        assert (await site.send("GET", f"{prefix}/mcp")).status == 405
        assert (await site.send("POST", f"{prefix}/mcp/v1/discover", {})).status == 405
        first = await site.send("GET", f"{prefix}/mcp/v1/discover", who="")
        assert first.status == 200
        assert not {"jsonrpc", "tools", "resources"} & first.json.keys(), "REST of its own, no tools, no resources"
        assert (await site.send("GET", f"{prefix}/mcp/v1/discover/objects", who="")).status == 401
        assert (await site.send("GET", f"{prefix}/mcp/v1/discover/objects", who="admin:admin")).status == 200
        assert (await site.send("POST", f"{prefix}/mcp", {}, who="")).status == 401


async def rows(endpoint: OpenRegister, tool: str, data: dict[str, Any]) -> None:
    """The five rows of a table of actions, with only the required parameters."""
    made = await endpoint.call(tool, action="create", data=data)
    assert made["title"] == data["title"]
    assert made["id"] in [row["id"] for row in await endpoint.call(tool, action="list", limit=1000, offset=0)]
    assert (await endpoint.call(tool, action="get", id=made["id"]))["id"] == made["id"]
    changed = await endpoint.call(tool, action="update", id=made["id"], data={"title": "Other"})
    assert (changed["id"], changed["title"]) == (made["id"], "Other")
    assert (await endpoint.call(tool, action="delete", id=made["id"]))["deleted"] is True
    assert made["id"] not in [row["id"] for row in await endpoint.call(tool, action="list", limit=1000)]


@pytest.mark.requirement(
    "openregister:registers:list", "openregister:registers:get", "openregister:registers:create",
    "openregister:registers:update", "openregister:registers:delete",
)  # fmt: skip
async def test_the_table_of_registers_holds_row_by_row(endpoint: OpenRegister) -> None:
    await rows(endpoint, "registers", {"title": "One"})


@pytest.mark.requirement(
    "openregister:schemas:list", "openregister:schemas:get", "openregister:schemas:create",
    "openregister:schemas:update", "openregister:schemas:delete",
)  # fmt: skip
async def test_the_table_of_schemas_holds_row_by_row(endpoint: OpenRegister) -> None:
    await rows(endpoint, "schemas", {"title": "One", "properties": {"a": {"type": "string"}}})


@pytest.mark.requirement(
    "openregister:objects:list", "openregister:objects:get", "openregister:objects:create",
    "openregister:objects:update", "openregister:objects:delete",
)  # fmt: skip
async def test_the_table_of_objects_holds_row_by_row(endpoint: OpenRegister) -> None:
    register, schema = await endpoint.pair()
    place = {"register": register, "schema": schema}
    made = await endpoint.call("objects", action="create", **place, data={"title": "One"})
    assert [row["id"] for row in await endpoint.call("objects", action="list", **place, limit=5, offset=0)] == [
        made["id"]
    ]
    assert (await endpoint.call("objects", action="get", **place, id=made["id"]))["title"] == "One"
    changed = await endpoint.call("objects", action="update", **place, id=made["id"], data={"title": "Two"})
    assert changed["title"] == "Two"
    assert (await endpoint.call("objects", action="delete", **place, id=made["id"])) == {
        "deleted": True,
        "id": made["id"],
    }
    assert await endpoint.call("objects", action="list", **place) == []


@pytest.mark.requirement("openregister:descriptions")
async def test_the_tools_say_what_the_document_says_they_are_for(endpoint: OpenRegister) -> None:
    said = {tool["name"]: tool["description"].lower() for tool in (await endpoint.result("tools/list"))["tools"]}
    assert all(word in said["registers"] for word in ("registers", "schemas", "objects"))
    assert all(word in said["schemas"] for word in ("schemas", "structure"))
    assert all(word in said["objects"] for word in ("objects", "records", "register", "schema"))
