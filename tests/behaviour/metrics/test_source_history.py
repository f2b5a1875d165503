"""What Prometheus has stored is part of a metric's history in a tool's answer, on its page and in a terminal; where it
has a hole there is a gap."""

import asyncio
import json
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs

import pytest

from pentad.app import open_app
from pentad.kernel.clock import iso
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.cli.processes import run
from tests.rooms.metrics.sources import Request, Response, TurnedClock, http_source

pytestmark = pytest.mark.anyio
HOLE = (0.4, 0.6)
"""The part of every period without points in Prometheus."""


async def prometheus(asked: Request) -> Response:
    given = {name: values[-1] for name, values in parse_qs(asked.query).items()}
    if asked.path == "/api/v1/query":
        return Response(json={"status": "success", "data": {"resultType": "scalar", "result": [0, "3"]}})
    begin, end, step = (float(given[name]) for name in ("start", "end", "step"))
    times = [begin + place * step for place in range(int((end - begin) / step) + 1)]
    values = [[at, "3"] for at in times if not HOLE[0] < (at - begin) / (end - begin) < HOLE[1]]
    return Response(json={"data": {"resultType": "matrix", "result": [{"metric": {}, "values": values}]}})


@pytest.mark.requirement("metrics:prometheus:source")
async def test_tool_and_page_have_what_prometheus_remembers_and_its_hole_is_a_gap(tmp_path: Path) -> None:
    clock = TurnedClock()
    async with http_source(prometheus) as source:
        tables = {"prometheus_url": source.url, "poll": {"host": 0, "pentad": 0, "prometheus": 0}}
        settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables={"metrics": tables})
        async with open_app(settings, clock=clock) as app:
            metrics: Metrics = app.rooms[0].service
            await metrics.poll("prometheus")
            clock.turn(1)
            async with app.client() as client:
                given = {"collector": "prometheus", "metricKey": "targets.up", "from": "now-10h", "forecast": True}
                (line,) = (await client.call_tool("getMetricHistory", given))["structuredContent"]["series"]
            assert line["points"][0]["at"] < iso(clock.now() - 9 * 3_600), "long before the first poll"
            assert line["forecast"]["points"] > 50, "and a forecast rests on it"
            (gap,) = line["gaps"]
            assert gap["from"] < iso(clock.now() - 5 * 3_600) < gap["to"]
            page = (await send(front_of(app), "GET", "/console/metrics/prometheus/targets.up?span=24h").body()).decode()
            assert "Gaps" in page
            assert "First record" not in page, "Prometheus has the time before the first poll"
            assert "Forecast" in page


@pytest.mark.requirement("metrics:prometheus:warnings")
async def test_what_prometheus_warns_of_is_beside_the_history(tmp_path: Path) -> None:
    async def warning(asked: Request) -> Response:
        answer = await prometheus(asked)
        assert isinstance(answer.json, dict)
        return Response(json={**cast("dict[str, Any]", answer.json), "warnings": ["no store matched"]})

    async with http_source(warning) as source:
        tables = {"prometheus_url": source.url, "poll": {"host": 0, "pentad": 0, "prometheus": 0}}
        settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables={"metrics": tables})
        async with open_app(settings) as app:
            async with app.client() as client:
                given = {"collector": "prometheus", "metricKey": "targets.up", "from": "now-10h"}
                told = (await client.call_tool("getMetricHistory", given))["structuredContent"]
            path = "/console/metrics/prometheus/targets.up.json?span=24h"
            page = json.loads(await send(front_of(app), "GET", path).body())
            shown = (await send(front_of(app), "GET", path.replace(".json", "")).body()).decode()
    assert told["notes"] == ["Prometheus warns: no store matched"]
    (chart,) = (one for one in page["blocks"] if one["kind"] == "chart")
    assert chart["notes"] == ["Prometheus warns: no store matched"]
    assert "Prometheus warns: no store matched" in shown


@pytest.mark.requirement("metrics:prometheus:source")
async def test_a_terminal_shows_what_prometheus_remembers(tmp_path: Path) -> None:
    async with http_source(prometheus) as source:
        environ = {"PENTAD_SEARCH_EMBEDDER": "none", "PENTAD_METRICS_PROMETHEUS_URL": source.url}
        asked = ("metrics", "history", "prometheus", "targets.up", "--from", "now-10h", "--json", "--data", "data")
        done: Any = await asyncio.to_thread(run, *asked, home=tmp_path, environ=environ)
    assert done.returncode == 0, done.stderr
    (line,) = json.loads(done.stdout)
    assert len(line["points"]) > 100
    assert len(line["gaps"]) == 1


@pytest.mark.requirement("metrics:prometheus:source")
async def test_a_page_is_shown_while_prometheus_is_away(tmp_path: Path) -> None:
    async def away(_asked: Request) -> Response:
        return Response(raw=b"")

    async with http_source(away) as source:
        tables = {"prometheus_url": source.url, "poll": {"host": 0, "pentad": 0, "prometheus": 0}}
        settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables={"metrics": tables})
        async with open_app(settings) as app:
            page = (await send(front_of(app), "GET", "/console/metrics/prometheus/targets.up").body()).decode()
    assert "Nothing is recorded yet" in page
    assert "Prometheus did not return the history" in page
