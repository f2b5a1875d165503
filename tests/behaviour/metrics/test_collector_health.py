"""An operator sees that a collector fails: in `/readyz`, `/metrics`, the log, the list of collectors and the alerts."""

import logging
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings
from tests.behaviour.clients import HTTP_MODERN
from tests.behaviour.connecting import connect_http, front_of
from tests.behaviour.http_wire import send
from tests.rooms.metrics.sources import Request, Response, TurnedClock, http_source

pytestmark = pytest.mark.anyio
UNPOLLED = {"host": 0, "pentad": 0, "prometheus": 0}
"""The tests poll explicitly."""
WELL = Response(json={"status": "success", "data": {"resultType": "scalar", "result": [0, "3"]}})
LOGIN_PAGE = Response(body=b"<html>Sign in</html>", headers={"content-type": "text/html"})


class Operator:
    """What an operator of this server sees."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def ready(self) -> dict[str, Any]:
        return await send(front_of(self.app), "GET", "/readyz").json()

    async def scraped(self, name: str) -> float:
        page = (await send(front_of(self.app), "GET", "/metrics").body()).decode()
        (line,) = [one for one in page.splitlines() if one.startswith(f'{name}{{collector="prometheus"')]
        return float(line.rpartition(" ")[2])

    async def called(self, tool: str) -> dict[str, Any]:
        client = await connect_http(self.app, HTTP_MODERN)
        return (await client.call(tool, {})).result["structuredContent"]


@pytest.mark.requirement("metrics:collectors:health")
async def test_a_failing_collector_is_seen_everywhere_and_so_is_its_recovery(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    answers = [WELL]

    async def prometheus(_asked: Request) -> Response:
        return answers[-1]

    clock = TurnedClock()
    async with http_source(prometheus) as source:
        settings = Settings(
            data=tmp_path,
            rooms=("metrics",),
            auth="none",
            room_tables={"metrics": {"prometheus_url": source.url, "poll": UNPOLLED}},
        )
        async with open_app(settings, clock=clock) as app:
            metrics: Metrics = app.rooms[0].service
            metrics.history.intervals = {"prometheus": 60.0}
            operator = Operator(app)
            await metrics.poll("prometheus")
            assert (await operator.ready())["status"] == "ok"
            assert await operator.scraped("pentad_collector_up") == 1
            assert (await operator.called("listAlerts"))["alerts"] == []
            assert "unwell" not in await operator.called("getAvailableCollectors")

            answers.append(LOGIN_PAGE)
            clock.turn(60)
            await metrics.poll("prometheus")
            ready = await operator.ready()
            assert (ready["status"], ready["rooms"]["metrics"]["status"]) == ("degraded", "collectors_failing")
            assert ready["rooms"]["metrics"]["failing_collectors"][0]["collector"] == "prometheus"
            assert await operator.scraped("pentad_collector_up") == 0
            assert await operator.scraped("pentad_collector_age_seconds") == 60
            assert await operator.scraped("pentad_collector_upstream_calls_total") == 4
            (alert,) = (await operator.called("listAlerts"))["alerts"]
            assert (alert["collector"], alert["key"], alert["level"]) == ("prometheus", "collector.up", "alarm")
            (unwell,) = (await operator.called("getAvailableCollectors"))["unwell"]
            assert (unwell["collector"], unwell["state"]) == ("prometheus", "failing")
            assert "sent a web page instead of data" in unwell["problem"]
            clock.turn(60)
            await metrics.poll("prometheus")
            logged = [one.message for one in caplog.records if "collector prometheus" in one.message]
            assert len(logged) == 1, "once, not at every poll"
            assert "failing" in logged[0]

            answers.append(WELL)
            clock.turn(60)
            await metrics.poll("prometheus")
            assert (await operator.ready())["status"] == "ok"
            assert await operator.scraped("pentad_collector_up") == 1
            assert await operator.scraped("pentad_collector_poll_failures_total") == 2
            assert (await operator.called("listAlerts"))["alerts"] == []
            assert "The collector prometheus has recovered." in caplog.text
            history = await metrics.history.lines("prometheus", ["collector.up"], clock.now() - 600, clock.now() + 1)
            assert [point.last for point in history.lines[0].points] == [1, 0, 0, 1]

            clock.turn(3_600)
            assert (await operator.ready())["rooms"]["metrics"]["failing_collectors"][0]["state"] == "late"


@pytest.mark.requirement("metrics:polling:source")
async def test_a_poll_asks_the_source_although_a_query_has_just_filled_the_cache(tmp_path: Path) -> None:
    answers = [WELL]

    async def prometheus(_asked: Request) -> Response:
        return answers[-1]

    clock = TurnedClock()
    async with http_source(prometheus) as source:
        tables = {"metrics": {"prometheus_url": source.url, "poll": UNPOLLED}}
        settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables=tables)
        async with open_app(settings, clock=clock) as app:
            metrics: Metrics = app.rooms[0].service
            metrics.history.intervals = {"prometheus": 5.0}
            operator = Operator(app)
            await metrics.collect("prometheus", metrics.query("prometheus"))
            clock.turn(5)
            asked = len(source.asked)
            await metrics.poll("prometheus")
            assert len(source.asked) == 2 * asked
            (line, _) = (
                await metrics.history.lines("prometheus", ["targets"], clock.now() - 60, clock.now() + 1)
            ).lines
            assert [point.last_at for point in line.points] == [clock.now()]

            await metrics.collect("prometheus", metrics.query("prometheus"))
            answers.append(LOGIN_PAGE)
            clock.turn(5)
            await metrics.poll("prometheus")
            assert await operator.scraped("pentad_collector_up") == 0
            assert (await operator.ready())["rooms"]["metrics"]["status"] == "collectors_failing"


@pytest.mark.requirement("metrics:collectors:health")
async def test_throttled_requests_are_counted(tmp_path: Path) -> None:
    answers = [WELL, Response(429, headers={"retry-after": "0"})]

    async def prometheus(_asked: Request) -> Response:
        return answers.pop() if len(answers) > 1 else answers[0]

    async with http_source(prometheus) as source:
        tables = {"metrics": {"prometheus_url": source.url, "poll": UNPOLLED}}
        settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables=tables)
        async with open_app(settings) as app:
            metrics: Metrics = app.rooms[0].service
            metrics.history.intervals = {"prometheus": 60.0}
            await metrics.poll("prometheus")
            assert await Operator(app).scraped("pentad_collector_upstream_throttled_total") == 1


@pytest.mark.requirement("metrics:collectors:health")
async def test_a_poll_with_too_many_figures_to_record_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pentad.rooms.metrics.service.MOST_SAMPLES", 1)
    monkeypatch.setattr("pentad.rooms.metrics.history.recording.MOST_SAMPLES", 1)

    async def prometheus(_asked: Request) -> Response:
        return WELL

    async with http_source(prometheus) as source:
        tables = {"metrics": {"prometheus_url": source.url, "poll": UNPOLLED}}
        settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables=tables)
        async with open_app(settings, clock=TurnedClock()) as app:
            metrics: Metrics = app.rooms[0].service
            metrics.history.intervals = {"prometheus": 60.0}
            await metrics.poll("prometheus")
            (health,) = await metrics.history.health()
            assert (health.state, health.problem) == (
                "partial",
                "2 figures are too many for one poll; the rest is not recorded. Poll its scopes one by one.",
            )
            recorded = {one.series.key: one.value for one in await metrics.history.latest("prometheus")}
            assert recorded == {"collector.up": 1}, "a figure that was cut is not there, and the poll is"
