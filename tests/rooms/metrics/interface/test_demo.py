"""The demo's organisation with two weeks of history, and the console's pages about it."""

from collections.abc import AsyncIterator

import pytest

from pentad.app import App, open_app
from pentad.kernel.ports import Rows
from pentad.rooms.metrics.history.collector_health import PollOutcome
from pentad.rooms.metrics.interface.demo import DAY, HISTORY_DAYS, ORG
from pentad.rooms.metrics.models import Sample, Snapshot
from pentad.rooms.metrics.room import fill
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.console.conftest import Browser
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio
USED = "applications.production.vcoresUsed"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    folder = tmp_path_factory.mktemp("demo")
    settings = Settings(data=folder, database=database, rooms=("metrics",), auth="none")
    async with open_app(settings) as app:
        await fill(app.rooms[0].service)
        yield app


@pytest.fixture
def metrics(app: App) -> Metrics:
    return app.rooms[0].service


async def samples(app: App, collector: str) -> int:
    """Everything that was recorded, as it came or rolled up: a server tidies up while it runs."""

    def work(rows: Rows) -> int:
        of = "JOIN metric_series d ON d.id = m.series WHERE d.collector = ?"
        raw = f"SELECT count(*) FROM metric_samples m {of} AND (m.value IS NOT NULL OR m.text IS NOT NULL)"
        rolled = f"SELECT coalesce(sum(m.samples), 0) FROM metric_rollups m {of}"
        return int(rows.value(raw, collector)) + int(rows.value(rolled, collector))

    return await app.database.read(work)


@pytest.mark.requirement("metrics:demo")
async def test_the_organisation_has_a_fortnight_behind_it(metrics: Metrics) -> None:
    now = metrics.now()
    found = await metrics.history.lines(
        "ch", [USED], now - 20 * DAY, now, with_forecast=True, labels={"businessGroup": "Lumen Orchards"}
    )
    line = next(line for line in found.lines if "environmentName" not in dict(line.series.labels))
    assert 2 * HISTORY_DAYS <= len(line.points) <= 2 * HISTORY_DAYS + 1
    assert line.points[-1].last > line.points[0].last, "it grows"
    assert line.forecast is not None
    assert line.forecast.limit == 2.3
    assert line.forecast.reached_at is not None
    assert line.forecast.reached_at > now


@pytest.mark.requirement("metrics:demo")
async def test_a_second_start_adds_nothing(app: App, metrics: Metrics) -> None:
    before = await samples(app, "ch")
    await fill(metrics)
    assert await samples(app, "ch") == before
    assert before > 0


@pytest.mark.requirement("metrics:demo")
async def test_its_figures_of_today_are_answered_without_any_call(app: App) -> None:
    async with app.client() as client:
        for collector in ("arm", "ch", "apma", "ex", "core", "dc", "rtf", "amq", "osv2", "apm", "apc", "ap"):
            said = (await client.call_tool("getPlatformMetricsByCollector", {"collector": collector}))[
                "structuredContent"
            ]
            assert said["calls"] == 0
            assert said["problems"] == []
            assert [group["businessGroup"] for group in said["metrics"]] == ["Lumen Orchards", "Lumen Press"]
        raw = await client.call_tool("getPlatformMetricsByCollector", {"collector": "ch", "raw": True})
        assert raw["isError"] is False
        legacy = await client.call_tool("getPlatformMetricsByCollector", {"collector": "ch", "compat": "legacy"})
        assert legacy["isError"] is False


@pytest.mark.requirement("metrics:demo")
async def test_an_organisation_of_the_operators_own_is_not_replaced(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = Settings(
        data=tmp_path_factory.mktemp("own"),
        rooms=("metrics",),
        auth="none",
        environment={"PENTAD_ANYPOINT_CLIENT_ID": "mine", "PENTAD_ANYPOINT_CLIENT_SECRET": "x"},
    )
    async with open_app(settings) as app:
        await fill(app.rooms[0].service)
        assert await samples(app, "ch") == 0
        assert await samples(app, "host") > 0


@pytest.mark.requirement("metrics:pages")
async def test_the_console_shows_collectors_figures_and_lines(app: App) -> None:
    browser = Browser(app, front_of(app))
    first = await browser.get("/console/metrics")
    assert first.status == 200
    assert "This machine" in first.page.text
    links = first.page.values("a", "href")
    assert "/console/metrics/ch" in links
    host = await browser.get("/console/metrics/host")
    assert "Share of memory that is not available" in host.page.texts
    assert "/console/metrics/host/memory.percent" in host.page.values("a", "href")
    assert " GB" in host.page.text
    assert "GBy" not in host.page.text
    found = await browser.get("/console/metrics/host?q=swap")
    assert "/console/metrics/host/swap.total" in found.page.values("a", "href")
    assert "/console/metrics/host/memory.percent" not in found.page.values("a", "href")
    by_key = await browser.get("/console/metrics/host?q=memory.perc")
    assert "Share of memory that is not available" in by_key.page.texts
    cloudhub = await browser.get("/console/metrics/ch")
    assert "Lumen Orchards" in cloudhub.page.text
    line = await browser.get(f"/console/metrics/ch/{USED}?span=14d")
    assert line.page.count("svg") == 1
    assert "is reached on" in line.page.text
    words = await browser.get("/console/metrics/ch/applications.production.runtimesUsed?span=90d")
    assert "4.6.1" in words.page.text
    assert (await browser.get("/console/metrics/prometheus")).page.text.count("Not set up") >= 1
    assert (await browser.get("/console/metrics/nothing")).status == 404
    nonsense = await browser.get(f"/console/metrics/ch/{USED}?span=nonsense")
    assert "CloudHub. The last 24 hours." in nonsense.page.text
    assert "'now-nonsense' is not a time. Write now, now-6h, 2d" in nonsense.page.text


@pytest.mark.requirement("metrics:pages")
async def test_the_console_compares_explains_and_exports(app: App) -> None:
    browser = Browser(app, front_of(app))
    alone = await browser.get(f"/console/metrics/ch/{USED}?span=7d")
    assert "The last 7 days" in alone.page.text
    assert "Coverage" in alone.page.text
    assert ", previous" not in alone.page.text
    both = await browser.get(f"/console/metrics/ch/{USED}?span=7d&compare=yes")
    assert ", previous" in both.page.text
    dashboard = await browser.get("/console/metrics/ch?span=14d")
    assert "The last 14 days" in dashboard.page.texts
    assert "The last 24 hours" not in dashboard.page.texts
    explained = await browser.get("/console/metrics/host/memory.percent/explain")
    assert "Facts" in explained.page.texts
    counting = "/console/metrics/ch/applications.production.applicationsTotal"
    assert f"{counting}/items" in (await browser.get(counting)).page.values("a", "href")
    assert "/console/metrics/host/memory.percent/items" not in explained.page.values("a", "href")
    things = await browser.get(f"{counting}/items")
    assert "Business group" in things.page.texts
    assert "orders" in things.page.texts
    exported = await browser.get("/console/metrics/host/export?format=csv")
    assert "memory.percent" in exported.page.text
    assert (await browser.get("/console/metrics/host/export?format=nonsense")).status == 422
    changes = await browser.get("/console/metrics/ch/changes?span=7d")
    assert f"/console/metrics/ch/{USED}" in changes.page.values("a", "href")
    dated = await browser.get(f"/console/metrics/ch/{USED}?from=2020-01-01&to=2020-01-02")
    assert dated.status == 200
    assert dated.page.count("svg") == 0


async def test_the_organisations_group_is_the_scope_of_its_history(metrics: Metrics) -> None:
    assert await metrics.history.scopes("ch") == [ORG]


@pytest.mark.requirement("metrics:history")
@pytest.mark.parametrize("bg", ["Lumen Press", "lumen press", "a0000000-0000-4000-8000-00000000d002"])
async def test_a_history_is_asked_by_the_name_or_id_of_a_group(metrics: Metrics, bg: str) -> None:
    now = metrics.now()
    found = await metrics.history.lines("ch", [USED], now - 15 * DAY, now, scope=bg)
    assert {dict(line.series.labels)["businessGroup"] for line in found.lines} == {"Lumen Press"}
    changes = await metrics.history.changes(["ch"], now - 13 * DAY, now, scope="Lumen Orchards")
    assert {dict(change.labels)["businessGroup"] for change in changes.changes} == {"Lumen Orchards"}
    assert (await metrics.history.lines("ch", [USED], now - 15 * DAY, now, scope="nobody")).lines == []


@pytest.mark.requirement("console:needs")
async def test_the_home_page_names_the_collectors_that_fail_and_why(app: App, metrics: Metrics) -> None:
    info, now = metrics.info("host"), metrics.now()
    done = PollOutcome(scope="", state="failing", at=now, seconds=0.1, problem="The source did not answer.")
    await metrics.history.record_failure(info, done)
    home = await Browser(app, front_of(app)).get("/")
    assert f"{info.title}polls fail since" in home.page.text
    assert "The source did not answer." in home.page.text
    assert "/console/metrics/host" in home.page.values("a", "href")


@pytest.mark.requirement("console:needs")
async def test_the_home_page_names_raised_alerts_the_worst_first(app: App, metrics: Metrics) -> None:
    info, now = metrics.info("host"), metrics.now()
    for seconds in (0, 60, 120):
        samples = [Sample(key="swap.percent", value=70), Sample(key="cpu.percent", value=99)]
        await metrics.history.record(
            info, Snapshot(collector="host", scope="test", as_of=now + seconds, tree={}, samples=samples)
        )
    home = await Browser(app, front_of(app)).get("/")
    assert "alarm since" in home.page.text
    links = [one for one in home.page.values("a", "href") if one.startswith("/console/metrics/host/")]
    assert links.index("/console/metrics/host/cpu.percent") < links.index("/console/metrics/host/swap.percent")
