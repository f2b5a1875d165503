"""`/metrics/collectors`: figures of the last polls, for Prometheus. It queries no source and shows nothing old."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain_text

from pentad.app import App, open_app
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.rooms.metrics.sources import HttpSource, Request, Response, TurnedClock, http_source

pytestmark = pytest.mark.anyio
WELL = Response(json={"status": "success", "data": {"resultType": "scalar", "result": [0, "3"]}})
LOGIN_PAGE = Response(body=b"<html>Sign in</html>", headers={"content-type": "text/html"})
POLLED = {"prometheus": 60.0, "host": 60.0}


class Scraped:
    """A server whose collectors the test polls itself, in front of a Prometheus with scripted answers."""

    def __init__(self, app: App, source: HttpSource, clock: TurnedClock, answers: list[Response]) -> None:
        self.app = app
        self.metrics: Metrics = app.rooms[0].service
        self.metrics.history.intervals = POLLED
        self.source = source
        self.clock = clock
        self.answers = answers

    async def page(self, path: str = "/metrics/collectors", accept: str = "") -> tuple[str, str]:
        answer = send(front_of(self.app), "GET", path, headers={"accept": accept} if accept else {})
        text = (await answer.body()).decode()
        return answer.headers["content-type"], text

    async def values(self, path: str = "/metrics/collectors") -> dict[str, float]:
        _, text = await self.page(path)
        return {sample.name: sample.value for family in openmetrics(text) for sample in family.samples}


@pytest.fixture
async def scraped(tmp_path: Path) -> AsyncIterator[Scraped]:
    answers, clock = [WELL], TurnedClock()

    async def prometheus(_asked: Request) -> Response:
        return answers[-1]

    async with http_source(prometheus) as source:
        tables = {"metrics": {"prometheus_url": source.url, "poll": {"host": 0, "pentad": 0, "prometheus": 0}}}
        settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables=tables)
        async with open_app(settings, clock=clock) as app:
            yield Scraped(app, source, clock, answers)


@pytest.mark.requirement("metrics:scrape")
async def test_a_scrape_gives_what_the_last_poll_recorded_and_asks_no_source(scraped: Scraped) -> None:
    assert await scraped.values() == {}
    await scraped.metrics.poll("prometheus")
    calls = scraped.source.calls.total()
    found = await scraped.values()
    assert found == {
        "pentad_prometheus_targets_up": 3,
        "pentad_prometheus_targets": 3,
        "pentad_prometheus_collector_up": 1,
    }
    kind, text = await scraped.page(accept="text/plain;version=0.0.4")
    assert kind.startswith("text/plain; version=0.0.4")
    assert {one.name for one in plain_text(text)} == set(found)
    assert (await scraped.page())[0] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert scraped.source.calls.total() == calls


@pytest.mark.requirement("metrics:scrape")
async def test_while_a_source_fails_its_figures_are_not_scraped(scraped: Scraped) -> None:
    await scraped.metrics.poll("prometheus")
    scraped.answers.append(LOGIN_PAGE)
    scraped.clock.turn(60)
    await scraped.metrics.poll("prometheus")
    assert await scraped.values() == {"pentad_prometheus_collector_up": 0}
    scraped.answers.append(WELL)
    scraped.clock.turn(60)
    await scraped.metrics.poll("prometheus")
    assert (await scraped.values())["pentad_prometheus_targets_up"] == 3


@pytest.mark.requirement("metrics:scrape")
async def test_when_polls_are_missing_the_old_figures_are_not_scraped(scraped: Scraped) -> None:
    await scraped.metrics.poll("prometheus")
    scraped.clock.turn(3_600)
    assert await scraped.values() == {"pentad_prometheus_collector_up": 0}


@pytest.mark.requirement("metrics:scrape")
async def test_one_poll_without_a_schedule_is_not_scraped_for_ever(scraped: Scraped) -> None:
    scraped.metrics.history.intervals = {}
    await scraped.metrics.poll("prometheus")
    assert await scraped.values() == {}


@pytest.mark.requirement("metrics:scrape")
async def test_a_scrape_can_be_narrowed_and_refuses_unknown_collectors(scraped: Scraped) -> None:
    await scraped.metrics.poll("prometheus")
    await scraped.metrics.poll("host")
    both = await scraped.values()
    assert any(name.startswith("pentad_host_memory") for name in both)
    only = await scraped.values("/metrics/collectors?collector=host")
    assert only.keys() == {name for name in both if name.startswith("pentad_host")}
    repeated = await scraped.values("/metrics/collectors?collector=host&collector=prometheus,host")
    assert repeated.keys() == both.keys(), "as Prometheus writes a parameter with two values"
    answer = send(front_of(scraped.app), "GET", "/metrics/collectors?collector=hsot")
    assert "Did you mean 'host'?" in (await answer.body()).decode()
    assert answer.status in (400, 404)


@pytest.mark.requirement("metrics:scrape")
async def test_a_scrape_of_one_group_tells_of_an_outage_too(scraped: Scraped) -> None:
    await scraped.metrics.poll("prometheus")
    scraped.answers.append(LOGIN_PAGE)
    scraped.clock.turn(60)
    await scraped.metrics.poll("prometheus")
    assert await scraped.values("/metrics/collectors?bg=Sales") == {"pentad_prometheus_collector_up": 0}
