"""The platform dies, throttles and lies, and recovers: at every moment each shape, chart, export, alert and `/readyz`
tells the truth."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from pentad.app import App, open_app
from pentad.kernel.clock import SystemClock, iso
from pentad.rooms.metrics.engine import upstream
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings
from tests.anypoint.engine import APP
from tests.anypoint.faults import Fault
from tests.anypoint.server import Platform, serving
from tests.anypoint.world import World
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send

pytestmark = [pytest.mark.anyio, pytest.mark.faults, pytest.mark.timeout(300)]
KEY = "applications.sandbox.applicationsTotal"
TRUTH = 6
"""The platform's data, while it answers."""
OUTAGES = {
    "dies": Fault("*", "reset"),
    "is broken": Fault("*", "status", status=503),
    "throttles": Fault("*", "status", status=429, seconds=0.05),
    "lies with a page": Fault("*", "html"),
    "lies with wrong types": Fault("*", "wrong-types"),
    "stops in the middle": Fault("*", "truncated"),
}


class MovedClock(SystemClock):
    """The real clock plus the time that tests skipped, so pauses end by themselves."""

    __slots__ = ("ahead",)

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


class Drill:
    """A server in front of a platform, and all its reports."""

    def __init__(self, app: App, platform: Platform, clock: MovedClock) -> None:
        self.app = app
        self.metrics: Metrics = app.rooms[0].service
        self.metrics.history.intervals = {"ch": 600.0}
        self.platform = platform
        self.clock = clock

    async def polled(self) -> None:
        self.clock.ahead += 600
        await self.metrics.poll("ch")

    async def call(self, tool: str, **given: Any) -> dict[str, Any]:
        async with self.app.client() as client:
            result = await client.call_tool(tool, given)
        assert result.get("isError") is not True, result
        return result

    async def shape(self, shape: str) -> dict[str, Any]:
        given = {"collector": "ch", "metricKey": KEY, "shape": shape, "max_tokens": 50_000}
        return (await self.call("getPlatformMetricByKey", **given))["structuredContent"]

    async def scraped(self) -> dict[str, float]:
        text = (await send(front_of(self.app), "GET", "/metrics/collectors").body()).decode()
        families = text_string_to_metric_families(text)
        return {
            sample.name: sample.value
            for family in families
            for sample in family.samples
            if sample.labels.get("level", "group") == "group"
        }

    async def ready(self) -> dict[str, Any]:
        return await send(front_of(self.app), "GET", "/readyz").json()

    async def alert_keys(self) -> set[str]:
        return {one["key"] for one in (await self.call("listAlerts"))["structuredContent"]["alerts"]}

    async def check_well(self) -> None:
        for shape in ("tree", "flat", "value"):
            answer = await self.shape(shape)
            assert answer["source"] in ("live", "cache"), shape
            assert "states" not in answer
            assert answer["problems"] == []
        assert (await self.shape("value"))["value"] == TRUTH
        scraped = await self.scraped()
        assert scraped["pentad_ch_collector_up"] == 1
        assert scraped["pentad_ch_applications_sandbox_applications"] == TRUTH
        assert await self.alert_keys() == {KEY}
        assert (await self.ready())["status"] == "ok"

    async def check_outage(self, fetched: float, began: float) -> None:
        """Nothing presents an old figure as current, and everything says that the source fails."""
        now = self.clock.now()
        for shape in ("tree", "flat", "value"):
            answer = await self.shape(shape)
            assert answer["source"] == "stale", shape
            assert set(answer["states"]) == {"stale"}
            assert answer["coverage"]["ok"] == 0
            assert answer["problems"], shape
            assert answer["ageSeconds"] == pytest.approx(now - fetched, abs=60)
        value = await self.shape("value")
        assert (value["value"], value["asOf"][:15]) == (TRUTH, iso(fetched)[:15])

        asked = await self.call("queryMetrics", collector="ch", metricKey=KEY, chart="ascii")
        assert (asked["structuredContent"]["source"], asked["structuredContent"]["coverage"]["ok"]) == ("stale", 0)
        assert [row["state"] for row in asked["structuredContent"]["rows"]] == ["stale"]
        assert "stale: the source is failing" in asked["content"][1]["text"]

        scraped = await self.scraped()
        assert scraped == {"pentad_ch_collector_up": 0}
        text = (await self.call("exportMetrics", collector="ch", keys=KEY, format="prometheus"))["structuredContent"]
        lines = [line for line in text["body"].splitlines() if not line.startswith("#")]
        assert lines
        assert all(abs(int(line.rpartition(" ")[2]) / 1000 - fetched) < 60 for line in lines), "the time of the facts"
        rows = (await self.call("exportMetrics", collector="ch", keys=KEY, format="csv"))["structuredContent"]["body"]
        assert iso(fetched)[:15] in rows
        assert iso(now)[:15] not in rows

        for chart, words in (("ascii", "no data: "), ("svg", "No data: ")):
            given = {"collector": "ch", "metricKey": KEY, "from": "now-6h", "chart": chart, "max_tokens": 50_000}
            history = await self.call("getMetricHistory", **given)
            (line,) = [one for one in history["structuredContent"]["series"] if "environmentName" not in one["labels"]]
            (gap,) = [one for one in line["gaps"] if "to" not in one]
            assert gap["reason"] in ("failed", "stale"), gap
            assert gap["from"] >= iso(began)
            assert all(point["at"] < iso(began) for point in line["points"])
            block = history["content"][1]
            assert words in (block.get("text") or _svg(block))

        assert await self.alert_keys() == {KEY, "collector.up"}, "what fired still does, and the outage fires"
        ready = await self.ready()
        assert (ready["status"], ready["rooms"]["metrics"]["status"]) == ("degraded", "collectors_failing")


def _svg(block: dict[str, Any]) -> str:
    import base64

    return base64.b64decode(block["data"]).decode()


@pytest.fixture
async def drill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Drill]:
    monkeypatch.setattr(upstream, "FIRST_PAUSE", 0.005)  # there are many queries, and each retries
    monkeypatch.setattr(upstream, "MOST_WAITS", 2)
    clock = MovedClock()
    async with serving(Platform(World())) as platform:
        tables = {
            "anypoint_url": platform.url, "anypoint_org": platform.world.root, **APP,
            "poll": {"host": 0, "pentad": 0}, "thresholds": {f"ch.{KEY}": {"warn": 5, "times": 1}},
        }  # fmt: skip
        settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables={"metrics": tables})
        async with open_app(settings, clock=clock) as app:
            yield Drill(app, platform, clock)


@pytest.mark.requirement("metrics:outages")
@pytest.mark.parametrize("outage", OUTAGES)
async def test_in_every_outage_and_after_it_everything_tells_the_truth(drill: Drill, outage: str) -> None:
    await drill.polled()
    await drill.check_well()
    fetched = drill.clock.now()
    drill.platform.faults.plan = [OUTAGES[outage]]
    await drill.polled()
    began = drill.clock.now() - 300
    await drill.check_outage(fetched, began)
    await drill.polled()
    await drill.check_outage(fetched, began)
    drill.platform.faults.plan = []
    await drill.polled()
    await drill.check_well()
    history = await drill.call("getMetricHistory", collector="ch", metricKey=KEY, **{"from": "now-6h"})
    (line,) = [one for one in history["structuredContent"]["series"] if "environmentName" not in one["labels"]]
    (gap,) = line["gaps"]
    assert gap["to"] > gap["from"], "the gap stays, with its end"
    assert [point["value"] for point in line["points"]] == [TRUTH, TRUTH]


@pytest.mark.requirement("metrics:outages:partial")
async def test_when_one_environment_fails_no_total_falls(drill: Drill) -> None:
    """The totals of its group are partial: nothing shows them as a fall, and no alert is resolved by it."""
    await drill.polled()
    await drill.check_well()
    world = drill.platform.world
    failing = next(one["id"] for one in world.environments(world.root) if one["name"].startswith("Trial"))
    drill.platform.faults.plan = [Fault("applications", "status", status=403, where=failing)]
    began = drill.clock.now()
    await drill.polled()
    await drill.polled()

    value = await drill.shape("value")
    assert (value["value"], value["state"]) == (TRUTH - 2, "partial")
    scraped = await drill.scraped()
    assert "pentad_ch_applications_sandbox_applications" not in scraped
    assert scraped["pentad_ch_applications_production_applications"] == 2
    assert await drill.alert_keys() == {KEY}, "less is known, but nothing got better"
    assert (await drill.call("listAlerts", since="1d"))["structuredContent"]["changes"][0]["after"] == "warn"

    history = await drill.call(
        "getMetricHistory", collector="ch", metricKey=KEY, chart="ascii", **{"from": "now-6h"}, max_tokens=50_000
    )
    (line,) = [one for one in history["structuredContent"]["series"] if "environmentName" not in one["labels"]]
    assert [point["value"] for point in line["points"]] == [TRUTH]
    assert [(gap["reason"], gap["from"] >= iso(began), "to" in gap) for gap in line["gaps"]] == [
        ("partial", True, False)
    ]
    assert "partial" in history["content"][1]["text"]
    changed = (await drill.call("whatChanged", since="15m", collector="ch"))["structuredContent"]["changes"]
    assert not [one for one in changed if one["key"] == KEY]

    bodies = {
        form: (await drill.call("exportMetrics", collector="ch", keys=KEY, format=form))["structuredContent"]["body"]
        for form in ("prometheus", "otlp", "csv")
    }
    (total,) = [one for one in bodies["prometheus"].splitlines() if 'level="group"' in one]
    assert 'state="partial"' in total
    assert '"partial"' in bodies["otlp"]
    assert [row.rpartition(",")[2] for row in bodies["csv"].splitlines()[1:]] == ["Trial 2", "Trial 3"]

    drill.platform.faults.plan = []
    await drill.polled()
    await drill.check_well()
