"""Older ways of calling, from the toolkit's document or its code: off by default, each with its own switch."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.app import App
from pentad.http.front import Front
from pentad.kernel.errors import Misconfigured
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings, checked
from pentad.settings.sources import load_settings
from tests.behaviour.clients import MEMORY
from tests.behaviour.connecting import AppMaker, connected_in_memory, front_of
from tests.behaviour.http_wire import HttpAnswer, send

pytestmark = pytest.mark.anyio
JSON = {"content-type": "application/json"}


async def opened(
    make_app: AppMaker, anypoint: dict[str, str] | None = None, *, http_sse: bool = False, **switches: Any
) -> App:
    return await make_app(
        rooms=("metrics",), room_tables={"metrics": switches}, environment=anypoint or {}, http_sse=http_sse
    )


def request(method: str, params: Any = None, number: int = 1) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}).encode()


async def posted(front: Front, body: bytes) -> dict[str, Any]:
    """The answer; notifications before it are skipped."""
    return [message async for message in send(front, "POST", "/mcp", JSON, body).messages()][-1]


@pytest.mark.requirement("metrics:doc:methods")
async def test_a_tool_is_a_method_where_that_is_wanted(make_app: AppMaker) -> None:
    front = front_of(await opened(make_app, plain_methods="true"))
    called = await posted(front, request("tools/call", {"name": "getAvailableCollectors"}))
    for name in ("getAvailableCollectors", "getAgentCapabilities", "getCapabilities"):
        reply = await posted(front, request(name))
        assert reply["result"]["isError"] is False
        if name == "getAvailableCollectors":
            assert reply == called
    given = {"collector": "host", "metricKey": "memory.total", "_meta": {"progressToken": "p"}}
    reply = await posted(front, request("getPlatformMetricsByKey", given))
    assert json.loads(reply["result"]["content"][0]["text"])["memory"]["total"] > 0
    refused = await posted(front, request("getPlatformMetricByKey", {"collector": "host", "metrik": "x"}))
    assert "metricKey" in refused["result"]["content"][0]["text"]
    wrong = await posted(front, b'{"jsonrpc": "2.0", "id": 1, "method": "getCapabilities", "params": [1]}')
    assert wrong["error"]["code"] in (-32600, -32602)


@pytest.mark.requirement("metrics:doc:methods")
async def test_a_tool_called_as_a_method_is_noted_as_itself(make_app: AppMaker) -> None:
    app = await opened(make_app, plain_methods=True)
    async with connected_in_memory(app, MEMORY, {}) as client:
        reply = await client.request("getAvailableCollectors", {})
        assert reply.result["isError"] is False
    await app.audit.flush()
    (entry,) = [one for one in await app.audit.recent(room="metrics") if one.tool == "getAvailableCollectors"]
    assert entry.outcome == "ok"


@pytest.mark.requirement("metrics:doc:methods", "metrics:doc:sse")
async def test_both_are_off_by_default(make_app: AppMaker) -> None:
    front = front_of(await opened(make_app))
    assert (await posted(front, request("getAvailableCollectors")))["error"]["code"] == -32601
    assert (await send(front, "GET", "/sse").head()).status == 404
    assert (await send(front, "POST", "/message?sessionId=x", JSON, b"{}").head()).status == 404


class OldClient:
    """A client of the 2024-11-05 transport."""

    def __init__(self, front: Front, **headers: str) -> None:
        self._front = front
        self._headers = headers
        self._answer: HttpAnswer = send(front, "GET", "/sse", {"accept": "text/event-stream", **headers})
        self._blocks = self._read()
        self.place = ""

    async def _read(self) -> AsyncIterator[tuple[str, str]]:
        rest = b""
        async for chunk in self._answer.chunks():
            *complete, rest = (rest + chunk).split(b"\n\n")
            for block in complete:
                fields = dict(line.split(": ", 1) for line in block.decode().splitlines() if ": " in line)
                if "event" in fields:
                    yield fields["event"], fields["data"]

    async def start(self) -> dict[str, Any]:
        kind, self.place = await anext(self._blocks)
        assert kind == "endpoint"
        given = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
        said = await self.ask("initialize", given)
        await self.post(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        return said

    async def post(self, body: bytes) -> int:
        answer = send(self._front, "POST", self.place, {**JSON, **self._headers}, body)
        return (await answer.head()).status

    async def ask(self, method: str, params: Any = None, number: int = 1) -> dict[str, Any]:
        assert await self.post(request(method, params, number)) == 202
        return await self.hear()

    async def hear(self) -> dict[str, Any]:
        async with asyncio.timeout(60):
            kind, data = await anext(self._blocks)
        assert kind == "message"
        return json.loads(data)

    async def leave(self) -> None:
        await self._answer.leave()


@pytest.mark.requirement("metrics:doc:sse")
async def test_a_client_of_the_old_transport_is_served(make_app: AppMaker, anypoint: dict[str, str]) -> None:
    front = front_of(await opened(make_app, anypoint, http_sse=True))
    client = OldClient(front)
    said = await client.start()
    assert said["result"]["protocolVersion"] == "2024-11-05"
    assert client.place.startswith("/message?sessionId=")
    tools = (await client.ask("tools/list", number=2))["result"]["tools"]
    assert tools[0]["name"] == "getCapabilities"
    given = {"name": "getPlatformMetricsByKey", "arguments": {"collector": "ch", "metricKey": "networking"}}
    reply = await client.ask("tools/call", given, 3)
    assert reply["id"] == 3
    assert json.loads(reply["result"]["content"][0]["text"])[0]["businessGroup"] == "Lumen Orchards"
    assert (await client.ask("nonsense", number=4))["error"]["code"] == -32601
    assert await client.post(b"{") == 202
    assert (await client.hear())["error"]["code"] == -32700
    await client.leave()


@pytest.mark.requirement("metrics:doc:sse")
async def test_the_old_stream_carries_progress_and_news(make_app: AppMaker) -> None:
    app = await opened(make_app, http_sse=True)
    metrics: Metrics = app.rooms[0].service
    client = OldClient(front_of(app))
    await client.start()
    arguments = {"collector": "host", "metricKey": "memory.total"}
    given = {"name": "getPlatformMetricByKey", "arguments": arguments, "_meta": {"progressToken": "p"}}
    first = await client.ask("tools/call", given, 2)
    assert first["method"] == "notifications/progress"
    while (message := await client.hear()).get("id") != 2:
        assert message["method"] == "notifications/progress"
    await client.ask("resources/subscribe", {"uri": "metrics://host/default"}, 3)
    await metrics.poll("host")
    news = await client.hear()
    assert (news["method"], news["params"]["uri"]) == ("notifications/resources/updated", "metrics://host/default")
    await client.leave()


@pytest.mark.requirement("metrics:doc:sse")
async def test_headers_of_a_message_are_its_credentials(make_app: AppMaker, anypoint: dict[str, str]) -> None:
    front = front_of(await opened(make_app, anypoint, http_sse=True))
    client = OldClient(front, **{"x-anypnt-client-id": "nobody", "x-anypnt-client-secret": "wrong"})
    await client.start()
    reply = await client.ask("tools/call", {"name": "getPlatformMetricsByCollector", "arguments": {"collector": "dc"}})
    assert "The login was refused" in reply["result"]["content"][1]["text"]
    await client.leave()


@pytest.mark.requirement("metrics:doc:sse")
async def test_a_stream_that_is_over_takes_nothing_and_is_forgotten(make_app: AppMaker) -> None:
    app = await opened(make_app, http_sse=True)
    front = front_of(app)
    client = OldClient(front)
    await client.start()
    await client.leave()
    assert await client.post(request("ping")) == 404
    assert (await send(front, "POST", "/sse", JSON, b"{}").head()).status == 405
    assert (await send(front, "GET", "/message?sessionId=x").head()).status == 405


@pytest.mark.requirement("access:key:acts-as-owner", "access:key:own-only")
async def test_a_stream_takes_messages_with_another_key_of_its_user_and_with_nobody_elses(make_app: AppMaker) -> None:
    app = await make_app(rooms=("metrics",), http_sse=True, auth="required")
    front = front_of(app)
    for name in ("ada", "bob"):
        await app.users.add(name, "correct horse battery", role="reader")

    async def key(owner: str, *, own_only: bool = False) -> str:
        made = await app.api_keys.create("key", owner=owner, scopes=["*:read"], own_only=own_only)
        return f"Bearer {made.token}"

    client = OldClient(front, authorization=await key("ada"))
    await client.start()
    for way, status in ((await key("ada"), 202), (await key("bob"), 404), (await key("ada", own_only=True), 404)):
        answer = send(front, "POST", client.place, {**JSON, "authorization": way}, request("ping"))
        assert (await answer.head()).status == status
    await client.leave()


@pytest.mark.requirement("metrics:doc:sse")
async def test_a_server_that_ends_ends_its_streams(make_app: AppMaker) -> None:
    app = await opened(make_app, http_sse=True)
    client = OldClient(front_of(app))
    await client.start()
    app.stopping.set()
    with pytest.raises(StopAsyncIteration):
        await client.hear()


@pytest.mark.requirement("mcp:http-sse:all-rooms")
async def test_the_old_transport_serves_every_room(make_app: AppMaker) -> None:
    app = await make_app(rooms=("metrics", "registers", "directory"), http_sse=True)
    client = OldClient(front_of(app))
    await client.start()
    tools = {tool["name"] for tool in (await client.ask("tools/list", number=2))["result"]["tools"]}
    assert {"getCapabilities", "registers", "agntcy_dir_push_record", "search_tools"} <= tools
    for name, arguments in (("registers", {"action": "list"}), ("agntcy_oasf_list_versions", {})):
        reply = await client.ask("tools/call", {"name": name, "arguments": arguments}, 3)
        assert reply["result"]["isError"] is False
    await client.leave()


@pytest.mark.requirement("mcp:http-sse:all-rooms")
def test_the_old_transport_needs_a_server_with_one_process() -> None:
    with pytest.raises(Misconfigured, match="one process"):
        checked(Settings(http_sse=True, workers=2))
    with pytest.raises(Misconfigured, match="http_sse"):
        load_settings(config=None, environ={"PENTAD_HTTP_SSE": "true", "PENTAD_WORKERS": "3"})


@pytest.mark.parametrize("wrong", ["maybe", 2, []])
async def test_a_switch_is_true_or_false(make_app: AppMaker, wrong: object) -> None:
    with pytest.raises(Misconfigured, match=r"rooms\.metrics\.plain_methods") as refused:
        await opened(make_app, plain_methods=wrong)
    assert refused.value.hint == "It must be true or false."
