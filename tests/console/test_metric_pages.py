"""The pages of metrics: alerts and silences, links to them, exports as files, coverage."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from pentad.console.resource_pages import ResourcePages
from pentad.kernel.errors import InvalidInput
from pentad.kernel.pages import Cell, Download, Links, Note, Place, Told, Visit
from pentad.kernel.principal import LOCAL
from pentad.rooms.metrics.interface.dashboards import usual_period
from pentad.rooms.metrics.interface.pages import PAGES, exported
from pentad.rooms.metrics.loaders.formats import FORMATS
from pentad.rooms.metrics.service import Metrics
from tests.behaviour.http_wire import send
from tests.console.house import House, csrf_of, open_house
from tests.console.reading import is_inert
from tests.console.test_console import basic
from tests.http.browsing import PASSWORD

pytestmark = pytest.mark.anyio

BREAKOUT = '"><script>alert(1)</script>'
PAGE = "/console/metrics/host/memory.percent"


@pytest.fixture
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    thresholds = {"host.memory.percent": {"warn": 0.0001, "times": 1}}
    tables = {"metrics": {"thresholds": thresholds}}
    async with open_house(tmp_path_factory.mktemp("metrics"), ("metrics",), room_tables=tables) as house:
        metrics: Metrics = house.app.rooms[0].service
        await metrics.poll("host")
        yield house


@pytest.mark.requirement("console:metrics:silence")
async def test_a_writer_silences_an_alert_on_its_page_and_ends_the_silence(house: House) -> None:
    root = await house.browser("root")
    page = await root.get(PAGE)
    is_inert(page.html)
    assert f"{PAGE}/silence" in page.html.values("form", "action")
    assert "Raised and cleared in the last 90 days" in page.html.text
    (raised,) = {text for text in page.html.texts if text.startswith("ok to ")}
    assert raised in ("ok to warn", "ok to alarm")
    assert page.html.texts[page.html.texts.index(raised) + 1].endswith("%"), "with its unit"
    assert "This machine: Share of memory that is not available" not in page.html.texts, "the title says it"
    fields = {"for": "8h", "reason": BREAKOUT, "csrf": await csrf_of(root)}
    done = await root.post(f"{PAGE}/silence", fields)
    assert (done.status, done.location) == (303, PAGE)
    for path in (PAGE, "/console/metrics"):
        silenced = await root.get(path)
        is_inert(silenced.html)
        assert BREAKOUT in silenced.html.text, path
        assert "/console/metrics/silences" in silenced.html.values("form", "action"), path
        assert any(text.startswith("until ") for text in silenced.html.texts), path
    found = await root.get(PAGE)
    ending = {"silence": found.hidden("silence"), "collector": "host", "key": "memory.percent"}
    ended = await root.post("/console/metrics/silences", {**ending, "csrf": await csrf_of(root)})
    assert (ended.status, ended.location) == (303, PAGE)
    assert BREAKOUT not in (await root.get(PAGE)).html.text


@pytest.mark.requirement("console:home:calls")
async def test_alerts_have_the_names_of_the_catalogue(house: House) -> None:
    root = await house.browser("root")
    for path in ("/", "/console/metrics"):
        page = await root.get(path)
        assert "This machine: Share of memory that is not available" in page.html.texts, path
        assert "host memory.percent" not in page.html.text, path


@pytest.mark.requirement("console:metrics:silence")
async def test_a_reader_sees_alerts_and_cannot_silence_them(house: House) -> None:
    rita = await house.browser("rita")
    page = await rita.get(PAGE)
    assert "memory.percent" in page.html.text
    assert f"{PAGE}/silence" not in page.html.values("form", "action")
    answer = await rita.post(f"{PAGE}/silence", {"for": "8h", "csrf": await csrf_of(rita)})
    assert answer.status == 403


@pytest.mark.requirement("console:metrics:silence")
async def test_a_length_that_is_none_is_told_on_the_page(house: House) -> None:
    root = await house.browser("root")
    answer = await root.post(f"{PAGE}/silence", {"for": "ever", "reason": "Typed", "csrf": await csrf_of(root)})
    assert answer.status == 422
    assert "Typed" in answer.html.values("input", "value")
    assert f"{PAGE}/silence" in answer.html.values("form", "action")


@pytest.mark.requirement("console:home:latest")
@pytest.mark.requirement("console:resource-links")
async def test_uris_of_metrics_link_to_their_pages(house: House) -> None:
    root = await house.browser("root")
    await house.app.neighbours.call_tool(LOCAL, "getPlatformMetricByKey", {"collector": "host", "metricKey": "memory"})
    home = await root.get("/")
    assert "/console/metrics/host" in home.html.values("a", "href")
    find = ResourcePages({"metrics": PAGES}).find
    for uri, parts in (
        ("metrics://catalog", ()),
        ("metrics://alerts", ()),
        ("metrics://host/default", ("host",)),
        ("metrics://catalog/host/memory.percent", ("host", "memory.percent")),
        ("metrics://host/default/memory.percent", ("host", "memory.percent")),
    ):
        assert find(uri) == Place(parts, room="metrics"), uri


@pytest.mark.requirement("metrics:pages")
async def test_pages_without_figures_say_what_to_do(house: House) -> None:
    root = await house.browser("root")
    unknown = await root.get("/console/metrics/host/nothing")
    assert unknown.status == 422
    assert "Pick one of the metrics of This machine." in unknown.html.text
    early = await root.get("/console/metrics/host/changes?span=90d")
    assert "Nothing was recorded at the start of this period. Choose a shorter or later one." in early.html.text


@pytest.mark.requirement("metrics:export")
async def test_an_export_can_be_downloaded_within_the_rights_of_the_caller(house: House) -> None:
    rita = await house.browser("rita")
    page = await rita.get("/console/metrics/host/export?format=csv")
    is_inert(page.html)
    (path,) = [one for one in page.html.values("a", "href") if one.startswith("/api/metrics/export?")]
    answer = await rita.get(path)
    assert (answer.status, answer.http.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert answer.http.headers["content-disposition"] == "attachment; filename*=UTF-8''host.csv"
    assert answer.body.startswith("name,value,")
    assert "memory.percent" in answer.body
    as_rita = {"authorization": basic("rita", PASSWORD)}
    path = "/api/metrics/export?collector=host&keys=memory.percent&format="
    for form in FORMATS:
        file = send(house.front, "GET", f"{path}{form}", as_rita)
        assert await file.body(), form
        assert file.status == 200, form
    wrong = send(house.front, "GET", f"{path}xml", as_rita)
    assert b"format" in await wrong.body()
    assert wrong.status == 422
    stranger = send(house.front, "GET", f"{path}csv")
    await stranger.body()
    assert stranger.status == 401


@pytest.mark.requirement("metrics:export")
async def test_an_export_that_is_too_large_for_its_page_can_be_downloaded(house: House) -> None:
    async def refuse(name: str, arguments: Mapping[str, Any], *, progress: Told | None = None) -> Mapping[str, Any]:
        raise InvalidInput("The export has 9000 records.", hint="Raise max_tokens.")

    visit = Visit(LOCAL, path={"collector": "host"}, query={"format": "otlp"}, call=refuse)
    sheet = await exported(house.app.rooms[0].service, visit)
    (download,) = [one for block in sheet.blocks if isinstance(block, Links) for one in block.links]
    assert isinstance(download, Cell)
    assert download.link == Download("/api/metrics/export", {"collector": "host", "format": "otlp"})
    assert Note("The export has 9000 records.") in sheet.blocks
    with pytest.raises(InvalidInput):
        await exported(house.app.rooms[0].service, replace(visit, query={"format": "xml"}))


@pytest.mark.requirement("metrics:gaps")
async def test_time_before_the_first_record_is_not_covered(house: House) -> None:
    root = await house.browser("root")
    page = await root.get(PAGE)
    assert "First record" in page.html.texts
    assert "<1%" in page.html.texts
    assert "100%" not in page.html.texts
    as_json = (await root.get(f"{PAGE}.json")).body
    assert "First record" in as_json
    assert "<1%" in as_json


@pytest.mark.requirement("metrics:pages")
async def test_a_young_history_fills_its_charts(house: House) -> None:
    root, metrics = await house.browser("root"), house.app.rooms[0].service
    for path in ("/console/metrics/host", PAGE):
        assert "The last hour" in (await root.get(path)).html.text, path
        assert "The last 24 hours" in (await root.get(f"{path}?span=24h")).html.text, path
    move = "UPDATE metric_samples SET at = at - ?"
    for hours, title in ((5, "The last 6 hours"), (5, "The last 24 hours")):
        await house.app.database.write(lambda tx, hours=hours: tx.run(move, hours * 3_600.0))
        assert (await usual_period(metrics, "host")).title == title
    assert (await usual_period(metrics, "pentad")).title == "The last 24 hours", "nothing is recorded"
