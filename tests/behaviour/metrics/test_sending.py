"""Figures go to a destination of the settings over real HTTP, and long answers tell how far they are."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.clients import MEMORY, Wire
from tests.behaviour.connecting import Connect

pytestmark = pytest.mark.anyio
TOKEN = "SECRET-MUST-NOT-LEAK"


@pytest.fixture
def wire() -> Wire:
    return MEMORY


@pytest.fixture
async def received() -> AsyncIterator[list[tuple[str, str, bytes]]]:
    """What a listener at port `received[0]` got: path, authorization, body."""
    got: list[tuple[str, str, bytes]] = []

    async def take(request: web.BaseRequest) -> web.StreamResponse:
        got.append((request.path, request.headers.get("authorization", ""), await request.read()))
        return web.json_response({"text": "Success"}, status=200 if request.path != "/full" else 507)

    runner = web.ServerRunner(web.Server(take), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    got.append((str(runner.addresses[0][1]), "", b""))
    yield got
    await runner.cleanup()


@pytest.fixture
async def sending(tmp_path: Path, received: list[tuple[str, str, bytes]]) -> AsyncIterator[App]:
    base = f"http://127.0.0.1:{received.pop()[0]}"
    loaders = {
        "splunk": {"format": "splunk", "url": f"{base}/services/collector/event", "token": TOKEN, "index": "figures"},
        "full": {"url": f"{base}/full", "token": TOKEN},
    }
    settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables={"metrics": {"loaders": loaders}})
    async with open_app(settings) as app:
        yield app


@pytest.mark.requirement("metrics:export", "metrics:loaders:searches")
async def test_figures_are_sent_where_the_operator_said(sending: App, received: list[tuple[str, str, bytes]]) -> None:
    async with sending.client() as client:
        sent = await client.call_tool("loadMetrics", {"collector": "host", "keys": "memory", "to": "splunk"})
        assert sent["structuredContent"] == {"message": "Events loaded successfully", "records": 1, "errors": []}
        ((path, authorization, body),) = received
        assert path == "/services/collector/event"
        assert authorization == f"Splunk {TOKEN}"
        event = json.loads(body)
        assert event["index"] == "figures"
        assert event["event"]["metrics"]["memory"]["total"] > 0
        refused = await client.call_tool("loadMetrics", {"collector": "host", "to": "full"})
    assert refused["isError"] is True
    assert "HTTP 507" in refused["content"][0]["text"]
    assert TOKEN not in json.dumps([sent, refused])


@pytest.mark.requirement("metrics:progress")
async def test_an_answer_on_its_way_tells_how_far_it_is(connect: Connect, org: str) -> None:
    client = await connect()
    reply = await client.call(
        "getPlatformMetricsByCollector", {"collector": "amq", "bg": org}, meta={"progressToken": "p"}
    )
    assert reply.result["isError"] is False
    told = reply.notified("notifications/progress")
    assert told
    assert told[-1]["progress"] == told[-1]["total"], "all that was planned is there"
