"""A real Prometheus scrapes Pentad while its clock advances, and answers the queries of dashboards and agents."""

import asyncio
import json
import subprocess
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from pentad.app import App, open_app
from pentad.rooms.metrics.loaders.grafana import queries
from pentad.rooms.metrics.loaders.prometheus_text import metric_names
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings
from tests.anypoint.engine import APP
from tests.anypoint.faults import Fault
from tests.anypoint.server import Platform, serving
from tests.anypoint.world import Size, World
from tests.behaviour.connecting import front_of
from tests.conformance.server import REPOSITORY
from tests.interop.prometheus_server import PROMETHEUS, PROMTOOL, PrometheusServer, scraping
from tests.rooms.metrics.sources import TurnedClock
from tests.waiting import until, until_true

pytestmark = [
    pytest.mark.interop, pytest.mark.anyio, pytest.mark.timeout(300),
    pytest.mark.skipif(not (PROMETHEUS and PROMTOOL), reason="Prometheus is not installed (Debian: prometheus)"),
]  # fmt: skip
MINUTES = 10
SANDBOXES = 3
"""Of each group, by default."""
POLLED = ("ch", "core", "arm", "amq")
DASHBOARDS = REPOSITORY / "docs" / "grafana"


class Growing(World):
    """An organisation that gets another application in every environment each minute."""

    minute = 0

    def applications(self, env: str) -> list[dict[str, Any]]:
        first = super().applications(env)[0]
        return [{**first, "domain": f"app-{number}"} for number in range(1 + self.minute)]


class Scene:
    """A Pentad in front of a fake platform, with a clock that the test moves, and a Prometheus that scrapes it."""

    def __init__(
        self, app: App, platform: Platform, world: Growing, clock: TurnedClock, prometheus: PrometheusServer
    ) -> None:
        self.app = app
        self.world = world
        self.metrics: Metrics = app.rooms[0].service
        self.metrics.history.intervals = {name: 60.0 for name in POLLED}  # noqa: C420  plain text as keys
        self.platform = platform
        self.clock = clock
        self.prometheus = prometheus

    async def minute(self) -> None:
        """A minute of Pentad's clock: every collector is polled, and Prometheus scrapes the results."""
        self.clock.turn(60)
        self.world.minute += 1
        for name in POLLED:
            await self.metrics.poll(name)
        polled = time.time()

        async def scraped() -> bool:
            query = "min(timestamp(pentad_ch_collector_up))"
            found = await asyncio.to_thread(self.prometheus.values, query)
            return any(at > polled for at in found.values())

        await until(scraped)

    async def values(self, query: str) -> dict[Any, float]:
        return await asyncio.to_thread(self.prometheus.values, query)


@asynccontextmanager
async def served(app: App) -> AsyncGenerator[int]:
    """The app over real HTTP, in this process."""
    server = uvicorn.Server(uvicorn.Config(front_of(app), port=0, log_level="error", lifespan="off"))
    running = asyncio.create_task(server.serve())
    await until_true(lambda: server.started)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await running


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    clock = TurnedClock()
    world = Growing(Size(groups=3))
    async with serving(Platform(world)) as platform:
        tables = {
            "anypoint_url": platform.url, "anypoint_org": platform.world.root, **APP,
            "poll": {"host": 0, "pentad": 0},
        }  # fmt: skip
        settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables={"metrics": tables})
        async with open_app(settings, clock=clock) as app, served(app) as port:
            with scraping(port, tmp_path / "prometheus") as prometheus:
                yield Scene(app, platform, world, clock, prometheus)


@pytest.mark.requirement("metrics:scrape", "metrics:scrape:sums")
async def test_for_ten_minutes_the_environments_add_up_to_their_group_and_an_outage_is_a_hole(scene: Scene) -> None:
    checked = 0
    for minute in range(MINUTES):
        before = checked
        scene.platform.faults.plan = [Fault("*", "html")] if minute == MINUTES // 2 else []
        await scene.minute()
        if scene.platform.faults.plan:
            assert set((await scene.values("pentad_ch_collector_up")).values()) == {0.0}
            query = "pentad_ch_applications_sandbox_applications"
            assert await scene.values(query) == {}, "no old figure as a current one"
            continue
        assert set((await scene.values("pentad_ch_collector_up")).values()) == {1.0}
        for name in POLLED:
            info = scene.metrics.info(name)
            names = metric_names(name, {metric.key: metric for metric in info.catalogue})
            lists = {metric.key for metric in info.catalogue if metric.kind == "list"}
            for metric in info.catalogue:
                if "environmentName" not in metric.labels or metric.key not in names:
                    continue
                if metric.key.removesuffix("Total") in lists:  # different things that environments share
                    continue
                prom = names[metric.key]
                groups = await scene.values(f'sum by (business_group) ({prom}{{level="group"}})')
                environments = await scene.values(f'sum by (business_group) ({prom}{{level="environment"}})')
                if groups and environments:
                    assert environments == pytest.approx(groups), prom
                    checked += 1
            if minute:
                break  # first all of them once, then CloudHub every minute
        assert checked > before + 3
        sandboxes = await scene.values('sum(pentad_ch_applications_sandbox_applications{level="environment"})')
        assert list(sandboxes.values()) == [3 * SANDBOXES * (1 + scene.world.minute)], (
            "of this minute, not of an older one"
        )
    assert checked > 40


@pytest.mark.requirement("metrics:dashboards")
async def test_prometheus_answers_every_query_of_the_dashboards(scene: Scene, tmp_path: Path) -> None:
    await scene.minute()
    rules: list[dict[str, str]] = []
    empty: list[str] = []
    for path in sorted(DASHBOARDS.glob("*.json")):
        for number, query in enumerate(queries(json.loads(path.read_text(encoding="utf-8")))):
            expr = query.replace("$__rate_interval", "5m").replace("$level", "group").replace("$group", ".*")
            rules.append({"record": f"panel:{path.stem}_{number}:value", "expr": expr})
            if not await scene.values(expr) and path.stem == "ch":
                empty.append(expr)
    assert empty == []
    file = tmp_path / "rules.json"  # JSON is YAML
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}), encoding="utf-8")
    done = subprocess.run(
        [PROMTOOL or "", "check", "rules", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.requirement("metrics:scrape")
async def test_promtool_has_nothing_to_say_about_the_page(scene: Scene) -> None:
    for name in POLLED:
        await scene.metrics.poll(name)
    page = await scene.metrics.scrape(openmetrics=False)
    assert page.count("\n") > 500
    done = subprocess.run(
        [PROMTOOL or "", "check", "metrics"], input=page, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.requirement("metrics:promql")
async def test_agents_query_a_real_prometheus_within_limits(scene: Scene, tmp_path: Path) -> None:
    await scene.minute()
    tables = {"prometheus_url": scene.prometheus.url, "poll": {"host": 0, "pentad": 0, "prometheus": 0}}
    settings = Settings(data=tmp_path / "asking", rooms=("metrics",), auth="none", room_tables={"metrics": tables})
    async with open_app(settings) as app, app.client() as client:

        async def call(tool: str, **given: Any) -> dict[str, Any]:
            result = await client.call_tool(tool, given)
            return result["structuredContent"] if not result.get("isError") else result

        found = await call("listPrometheusMetrics", query="networking vpcs used")
        assert [one["name"] for one in found["metrics"]] == ["pentad_ch_networking_vpcs_used"]
        assert found["metrics"][0]["type"] == "gauge"
        labels = await call("listPrometheusMetrics", metric="pentad_ch_networking_vpcs_used")
        assert labels["labels"]["level"]["values"] == ["group"]
        groups = (await call("listPrometheusMetrics", label="business_group"))["values"]
        assert len(groups) == 3
        asked = await call("queryPrometheus", query='sum(pentad_ch_networking_vpcs_used{level="group"})')
        (series,) = asked["series"]
        assert series["value"] == sum((await scene.values("pentad_ch_networking_vpcs_used")).values())
        ranged = await call(
            "queryPrometheus", query="up", step="1s", max_points=10, **{"from": "now-10m", "to": "now"}
        )  # fmt: skip
        assert ranged["step"] >= 60
        assert "instead of 1 s" in ranged["notes"][0]
        many = await call("queryPrometheus", query='{__name__=~"pentad_ch_.*"}', max_series=5)
        assert (len(many["series"]), many["total"] > 5) == (5, True)
        wrong = await call("queryPrometheus", query="sum(")
        assert wrong["isError"] is True
        assert "parse error" in wrong["content"][0]["text"]


@pytest.mark.requirement("metrics:scrape", "metrics:page")
def test_prometheus_reads_the_configuration_of_the_page(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "metrics.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("```yaml\n")
    key, config = tmp_path / "key", tmp_path / "prometheus.yml"
    key.write_text("secret", encoding="utf-8")
    config.write_text(rest.partition("```")[0].replace("/etc/prometheus/pentad.key", str(key)), encoding="utf-8")
    done = subprocess.run(
        [PROMTOOL or "", "check", "config", str(config)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
