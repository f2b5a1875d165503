"""Figures are sent to a configured destination over real HTTP, and long answers report progress."""

import csv
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families

from pentad.app import App, open_app
from pentad.jobs.leases import CHANNEL
from pentad.rooms.metrics.loaders.formats import COLUMNS
from pentad.settings.model import Settings
from tests.behaviour.clients import MEMORY, Wire
from tests.behaviour.connecting import Connect
from tests.receiving import Received, receiving
from tests.rooms.metrics.sources import TurnedClock
from tests.waiting import until

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


async def sent(anypoint: dict[str, str], tmp_path: Path, form: str, collector: str = "ch", **more: Any) -> Received:
    """What a listener got from one `loadMetrics` in a format."""
    async with receiving() as receiver:
        loaders = {"there": {"format": form, "url": receiver.url, "token": TOKEN, "index": "figures"}}
        tables = {"metrics": {"loaders": loaders}}
        settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables=tables, environment=anypoint)
        async with open_app(settings) as app, app.client() as client:
            answer = await client.call_tool("loadMetrics", {"collector": collector, "to": "there", **more})
        assert answer["isError"] is False, answer
        assert answer["structuredContent"]["message"] == "Events loaded successfully"
        (request,) = receiver.requests
        return request


@pytest.mark.requirement("metrics:loaders:files", "metrics:loaders:sent")
async def test_files_of_rows_are_sent(anypoint: dict[str, str], tmp_path: Path) -> None:
    as_csv, as_json, lines = [await sent(anypoint, tmp_path, form) for form in ("csv", "json", "ndjson")]
    rows = as_json.json
    assert list(rows[0]) == list(COLUMNS)
    assert (rows[0]["name"], rows[0]["businessGroup"]) == ("CloudHub VPCs Total", "Lumen Orchards")
    read = list(csv.DictReader(io.StringIO(as_csv.body.decode())))
    assert [row["name"] for row in read] == [row["name"] for row in rows]
    assert [json.loads(line)["name"] for line in lines.body.splitlines()] == [row["name"] for row in rows]
    kinds = [one.headers["content-type"] for one in (as_csv, as_json, lines)]
    assert kinds == ["text/csv; charset=utf-8", "application/json", "application/x-ndjson"]
    assert as_csv.headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.requirement("metrics:loaders:searches", "metrics:loaders:sent")
async def test_searches_get_a_document_for_each_group(anypoint: dict[str, str], tmp_path: Path) -> None:
    splunk, elastic = [await sent(anypoint, tmp_path, form) for form in ("splunk", "elastic")]
    event = splunk.json
    assert splunk.headers["authorization"] == f"Splunk {TOKEN}"
    assert {event[name] for name in ("source", "sourcetype", "index")} == {"pentad", "_json", "figures"}
    assert event["event"]["runtimeManagerMetrics"]["cloudhub"]["networking"]["vpcsUsed"] is not None
    action, document = map(json.loads, elastic.body.splitlines())
    assert action == {"index": {"_index": "figures"}}
    assert document["businessGroup"] == "Lumen Orchards"
    assert elastic.body.endswith(b"\n")


@pytest.mark.requirement("metrics:loaders:telemetry", "metrics:loaders:sent")
async def test_telemetry_can_be_read_by_its_own_parsers(anypoint: dict[str, str], tmp_path: Path) -> None:
    text = (await sent(anypoint, tmp_path, "prometheus")).body.decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    used = families["pentad_ch_networking_vpcs_used"]
    assert used.type == "gauge"
    assert used.samples[0].labels["business_group"] == "Lumen Orchards"
    otlp = (await sent(anypoint, tmp_path, "otlp")).json
    (scope,) = otlp["resourceMetrics"][0]["scopeMetrics"]
    by_name = {metric["name"]: metric for metric in scope["metrics"]}
    (point,) = by_name["ch.networking.vpcsUsed"]["gauge"]["dataPoints"]
    assert int(point["asInt"]) == used.samples[0].value
    assert int(point["timeUnixNano"]) > 1e18
    hook = (await sent(anypoint, tmp_path, "webhook")).json
    assert hook["metrics"][0]["businessGroup"] == "Lumen Orchards"
    assert hook["coverage"]["failed"] == 0


@pytest.mark.requirement("metrics:loaders:scheduled")
async def test_a_loader_with_an_interval_sends_by_itself_and_readiness_shows_what_fails(tmp_path: Path) -> None:
    clock = TurnedClock()
    async with receiving(lambda number: "200 OK" if number != 1 else "503 Away") as receiver:
        loader = {"format": "otlp", "url": receiver.url, "collectors": ["host"], "every": 600}
        tables = {"metrics": {"loaders": {"telemetry": loader}, "poll": {"host": 0, "pentad": 0}}}
        settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables=tables)
        async with open_app(settings, clock=clock) as app:

            async def later(seconds: float) -> dict[str, Any]:
                clock.turn(seconds)
                await app.database.write(lambda tx: tx.signal(CHANNEL))
                jobs = await until(
                    lambda: app.jobs.stored(name="metrics.load"), lambda found: found and _waits(found[0])
                )
                assert jobs[0].run_at > clock.now()
                return dict((await app.health())["metrics"])

            def _waits(job: Any) -> bool:
                return job.state == "queued" and job.run_at > clock.now()

            assert (await later(10)).get("status", "ok") == "ok"
            (first,) = receiver.requests
            names = {one["name"] for one in first.json["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]}
            assert "host.memory.total" in names
            await later(300)
            assert len(receiver.requests) == 1
            failing = await later(400)
            assert (len(receiver.requests), failing["status"]) == (2, "deliveries_failing")
            assert failing["failing_deliveries"][0]["loader"] == "telemetry"
            assert "HTTP 503" in failing["failing_deliveries"][0]["problem"]
            assert (await later(700)).get("status", "ok") == "ok"
            assert len(receiver.requests) == 3


@pytest.mark.requirement("metrics:legacy:rows")
async def test_legacy_rows_are_those_of_the_toolkit(anypoint: dict[str, str], tmp_path: Path) -> None:
    theirs = (await sent(anypoint, tmp_path, "json", "arm", compat="legacy")).json
    ours = (await sent(anypoint, tmp_path, "json", "arm")).json
    zeros = ("RTF Cores Used Total", "RTF Memory Used Total")
    assert [row["value"] for row in theirs if row["name"] in zeros] == [0, 0, 0, 0], "two environments"
    assert not [row for row in ours if row["name"] in zeros]
    mine = {row["name"] for row in ours} - {row["name"] for row in theirs}
    assert "RTF Memory Reserved Total" in mine
    assert "CloudHub 2.0 Applications Total" in mine


@pytest.mark.requirement("metrics:progress")
@pytest.mark.parametrize("tool", ["getPlatformMetricsByCollector", "queryMetrics"])
@pytest.mark.parametrize("collector", ["amq", ["amq", "ch"]], ids=["one", "several"])
async def test_an_answer_on_its_way_tells_how_far_it_is(
    connect: Connect, org: str, collector: str | list[str], tool: str
) -> None:
    client = await connect()
    keys = {"metricKey": "**"} if tool == "queryMetrics" else {}
    reply = await client.call(tool, {"collector": collector, "bg": org, **keys}, meta={"progressToken": "p"})
    assert reply.result["isError"] is False
    told = reply.notified("notifications/progress")
    assert told
    done = [one["progress"] for one in told]
    assert done == sorted(set(done)), "it only ever grows"
    assert told[-1]["progress"] == told[-1]["total"], "all that was planned is there"
