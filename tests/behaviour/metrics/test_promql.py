"""PromQL reaches the configured Prometheus, over MCP and REST alike, and its answers are limited and explained."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.rooms.metrics.sources import HttpSource, Request, Response, http_source

pytestmark = pytest.mark.anyio
SERIES = 40


def series(count: int, points: int | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number in range(count):
        metric = {"__name__": "up", "instance": f"host-{number}"}
        if points is None:
            found.append({"metric": metric, "value": [1_700_000_000, str(number)]})
        else:
            values = [[1_700_000_000 + 60 * place, "NaN" if place == 0 else str(place)] for place in range(points)]
            found.append({"metric": metric, "values": values})
    return found


async def prometheus(asked: Request) -> Response:
    given = {name: values[-1] for name, values in parse_qs(asked.query).items()}
    data: Any
    if asked.path == "/api/v1/query" and given["query"] == "sum(":
        return Response(status=400, json={"status": "error", "errorType": "bad_data", "error": "1:5: parse error: no"})
    if asked.path == "/api/v1/query":
        data = {"resultType": "vector", "result": series(SERIES)}
    elif asked.path == "/api/v1/query_range":
        points = int((float(given["end"]) - float(given["start"])) / float(given["step"])) + 1
        data = {"resultType": "matrix", "result": series(2, points)}
    elif asked.path == "/api/v1/label/__name__/values":
        data = ["go_threads", "http_requests_total", "up"]
    elif asked.path == "/api/v1/metadata":
        data = {"http_requests_total": [{"type": "counter", "help": "Requests answered.", "unit": ""}]}
    elif asked.path == "/api/v1/label/job/values":
        data = ["api", "web"]
    else:
        data = [{"__name__": "up", "job": "api"}, {"__name__": "up", "job": "web"}]
    return Response(json={"status": "success", "data": data})


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[tuple[App, HttpSource]]:
    async with http_source(prometheus) as source:
        tables = {
            "prometheus_url": source.url,
            "prometheus_token": "t",
            "poll": {"host": 0, "pentad": 0, "prometheus": 0},
        }
        settings = Settings(data=folder, rooms=("metrics",), auth="none", room_tables={"metrics": tables})
        async with open_app(settings) as app:
            yield app, source


async def call(app: App, tool: str, **given: Any) -> dict[str, Any]:
    async with app.client() as client:
        result = await client.call_tool(tool, given)
    return result if result.get("isError") else result["structuredContent"]


@pytest.mark.requirement("metrics:promql")
async def test_of_many_series_the_greatest_are_shown_and_the_rest_is_counted(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, source):
        found = await call(app, "queryPrometheus", query="up", max_series=3)
        assert [one["value"] for one in found["series"]] == [39, 38, 37]
        assert found["total"] == SERIES
        assert "3 of 40 series" in found["notes"][0]
        assert source.asked[-1].headers["authorization"] == "Bearer t"
        over_rest = await send(front_of(app), "GET", "/api/metrics/promql?query=up&max_series=3").json()
        assert over_rest == found
        wrong = send(front_of(app), "GET", "/api/metrics/promql?query=up&max_series=0")
        assert "max_series" in (await wrong.body()).decode()
        assert wrong.status == 422


@pytest.mark.requirement("metrics:promql")
async def test_a_step_that_is_too_fine_is_widened_and_the_answer_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, _):
        period = {"from": "2023-11-14T22:00:00Z", "to": "2023-11-15T22:00:00Z"}
        found = await call(app, "queryPrometheus", query="up", step="1s", max_points=25, **period)
        assert found["step"] == 3600
        assert all(len(one["points"]) == 25 for one in found["series"])
        assert "3600 s instead of 1 s" in found["notes"][0]
        first = found["series"][0]["points"][0]
        assert (first["value"], first["text"]) == (None, "NaN")
        tight = await call(app, "queryPrometheus", query="up", max_points=1_441, max_tokens=1_000, **period)
        assert any("to stay within 1000 tokens" in note for note in tight["notes"])
        assert tight["series"][0]["points"][-1]["value"] == 1440, "the last point stays"


@pytest.mark.requirement("metrics:promql")
async def test_metrics_labels_and_values_are_found(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, _):
        found = await call(app, "listPrometheusMetrics", query="requests answered")
        assert found["metrics"] == [{"name": "http_requests_total", "type": "counter", "help": "Requests answered."}]
        labels = await call(app, "listPrometheusMetrics", metric="up")
        assert labels == {"labels": {"job": {"values": ["api", "web"], "total": 2}}, "total": 2}
        assert (await call(app, "listPrometheusMetrics", label="job"))["values"] == ["api", "web"]
        refused = await call(app, "listPrometheusMetrics", label="../../admin")
        assert refused["isError"] is True
        path = f"/api/metrics/promql/metrics?metric={quote('up')}"
        assert await send(front_of(app), "GET", path).json() == labels


@pytest.mark.requirement("metrics:promql")
async def test_a_wrong_query_is_explained_in_the_words_of_prometheus(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, _):
        wrong = await call(app, "queryPrometheus", query="sum(")
        assert "parse error" in wrong["content"][0]["text"]
        answer = send(front_of(app), "GET", "/api/metrics/promql?query=sum(")
        assert "parse error" in (await answer.body()).decode()
        assert answer.status == 422
