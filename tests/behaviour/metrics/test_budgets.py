"""Every answer has a budget. What does not fit is left out, and the answer says so and how to get it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pentad.app import App, open_app
from pentad.rooms.metrics.engine.response_budget import CHARACTERS_PER_TOKEN
from pentad.rooms.metrics.interface.presentation import problem_views
from pentad.rooms.metrics.models import Sample, Snapshot
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings
from tests.anypoint.asking import asking
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
async def test_problems_of_one_kind_are_told_once_with_names_and_the_missing_permission() -> None:
    platform = Platform(World(Size(groups=5)), faults=[Fault("policies", status=403)])
    async with asking(platform) as one:
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
