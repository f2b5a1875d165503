"""Every answer has a budget. Excess data is left out, and the answer says so and how to get it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pentad.app import App, open_app
from pentad.rooms.metrics.engine.response_budget import CHARACTERS_PER_TOKEN
from pentad.rooms.metrics.history.collector_health import PollOutcome
from pentad.rooms.metrics.interface.presentation import explanations, problem_views
from pentad.rooms.metrics.models import Sample, Snapshot
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings
from tests.anypoint.engine import platform_engine
from tests.anypoint.faults import Fault
from tests.anypoint.server import Platform
from tests.anypoint.world import Size, World
from tests.behaviour.clients import HTTP_MODERN
from tests.behaviour.connecting import connect_http

pytestmark = pytest.mark.anyio
UNPOLLED = {"metrics": {"poll": {"host": 0, "pentad": 0}}}
BUDGET = 4_000 * CHARACTERS_PER_TOKEN


async def structured(app: App, tool: str, **given: Any) -> dict[str, Any]:
    client = await connect_http(app, HTTP_MODERN)
    result = (await client.call(tool, given)).result
    assert result["isError"] is False, result
    return result["structuredContent"]


def size(value: Any) -> int:
    return len(msgspec.json.encode(value))


@pytest.mark.requirement("metrics:budget")
async def test_answers_fit_into_their_budget_and_say_what_was_cut(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables=UNPOLLED)
    async with open_app(settings) as app:
        metrics: Metrics = app.rooms[0].service
        info, now = metrics.info("host"), metrics.now()
        keys = [metric.key for metric in info.catalogue if metric.kind == "gauge"][:20]
        shots = [
            (
                info,
                Snapshot(
                    collector="host", scope="", as_of=now - 60 * n, tree={},
                    samples=[Sample(key=key, value=n * 1.2345) for key in keys],
                ),
            )
            for n in range(120, 0, -1)
        ]  # fmt: skip
        await metrics.history.record_all(shots)
        history = await structured(app, "getMetricHistory", collector="host", metricKey="**", **{"from": "now-3h"})
        assert size(history) <= BUDGET
        assert len(history["series"]) == len(keys), "all lines are there, with fewer points"
        assert any("to stay within 4000 tokens" in note for note in history["notes"])
        whole = await structured(app, "getMetricHistory", collector="host", metricKey=keys[0], max_points=200)
        assert len(whole["series"][0]["points"]) >= 60

        assert size(await structured(app, "getCapabilities")) <= BUDGET
        listed = await structured(app, "listMetricKeys", limit=1000)
        assert size(listed) <= BUDGET
        assert listed["nextOffset"] == len(listed["keys"]) < listed["total"]


@pytest.mark.requirement("metrics:budget")
async def test_the_catalogue_has_a_budget_too_and_counts_the_keys_that_do_not_fit(tmp_path: Path) -> None:
    queries = {f"requests_of_the_service_number_{number}": "up" for number in range(900)}
    table: dict[str, Any] = {"prometheus_url": "http://127.0.0.1:9", "prometheus_queries": queries, "poll": {}}
    settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables={"metrics": table})
    async with open_app(settings) as app:
        client = await connect_http(app, HTTP_MODERN)
        read = (await client.request("resources/read", {"uri": "metrics://catalog"})).result["contents"][0]["text"]
    assert len(read) <= BUDGET
    told = msgspec.json.decode(read)
    collectors = {one["id"]: one for one in told["collectors"]}
    many = collectors["prometheus"]
    assert len(many["keys"]) + many["left"] == len(queries)
    assert "listMetricKeys pages through all" in told["notes"][-1]


@pytest.mark.requirement("metrics:budget")
async def test_problems_of_one_kind_are_told_once_with_names_and_the_missing_permission() -> None:
    platform = Platform(World(Size(groups=5)), faults=[Fault("policies", status=403)])
    async with platform_engine(platform) as one:
        answer = await one.ask("apm")
    assert len(answer.snapshot.problems) > 10
    (problem,) = problem_views(answer.snapshot)
    assert problem["count"] == len(answer.snapshot.problems)
    assert (problem["kind"], problem["http"], problem["needs"]) == ("permission", 403, "View Policies")
    root = platform.world.root
    group = next(entry["businessGroup"] for entry in answer.snapshot.tree if entry["businessGroupId"] == root)
    assert any(place.startswith(f"{group}/") for place in problem["places"])
    assert not any(root in place for place in problem["places"])
    assert size(problem) < 1_500


@pytest.mark.requirement("metrics:budget")
async def test_an_explanation_is_as_short_with_a_hundred_groups() -> None:
    key = "apis.production.apisWithoutPolicies"
    platform = Platform(World(Size(groups=40)), faults=[Fault("policies", status=403)])
    async with platform_engine(platform) as one:
        (told,) = explanations(await one.ask("apm", key), [key])
    (missing,) = told["missing"]
    assert missing["count"] > 100
    assert missing["needs"] == "View Policies"
    assert (len(told["values"]) + told["more_values"], len(told["facts"]) + told["more_facts"]) > (40, 100)
    assert size(told) <= BUDGET


@pytest.mark.requirement("metrics:budget")
async def test_what_is_left_out_of_a_history_is_told(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables=UNPOLLED)
    async with open_app(settings) as app:
        metrics: Metrics = app.rooms[0].service
        metrics.history.intervals = {"host": 60.0}
        info, now, key = metrics.info("host"), metrics.now(), "memory.percent"
        for n in range(60, 0, -1):
            at = now - 60 * n
            samples = [Sample(key=key, value=None if n % 2 else 50.0, state="failed" if n % 2 else "ok")]
            shot = Snapshot(collector="host", scope="", as_of=at, tree={}, samples=samples)
            await metrics.history.record_poll(info, shot, PollOutcome(scope="", state="ok", at=at))
        given = {"collector": "host", "metricKey": key, "from": "now-2h"}
        (line,) = (await structured(app, "getMetricHistory", **given))["series"]
        assert len(line["gaps"]) + line["earlierGaps"] == 30
        short = await structured(app, "getMetricHistory", **given, step="1m", max_points=10)
        assert len(short["series"][0]["points"]) == 10
        assert any(note.startswith("Only the last 10 of 30 points") for note in short["notes"])


@pytest.mark.requirement("metrics:budget")
async def test_alerts_their_changes_and_everything_else_share_one_budget(tmp_path: Path) -> None:
    rules = {"host.disks.percent": {"alarm": 1, "times": 1}}
    tables = {"metrics": {**UNPOLLED["metrics"], "thresholds": rules}}
    settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables=tables)
    async with open_app(settings) as app:
        metrics: Metrics = app.rooms[0].service
        samples = [Sample(key="disks.percent", value=99.0, labels=(("id", f"/disk-{n}"),)) for n in range(200)]
        shot = Snapshot(collector="host", scope="", as_of=metrics.now(), tree={}, samples=samples)
        await metrics.history.record(metrics.info("host"), shot)
        told = await structured(app, "listAlerts", since="1h")
        assert size(told) <= BUDGET
        assert [note.split(";")[0].split(" of ")[1] for note in told["notes"]] == ["200 alerts", "200 changes"]
        whole = await structured(app, "listAlerts", since="1h", max_tokens=100_000)
        assert (len(whole["alerts"]), len(whole["changes"])) == (200, 200)
        assert "notes" not in whole
        client = await connect_http(app, HTTP_MODERN)
        read = (await client.request("resources/read", {"uri": "metrics://alerts"})).result
        (content,) = read["contents"]
        assert len(content["text"]) <= BUDGET
        assert "of 200 alerts" in content["text"]
