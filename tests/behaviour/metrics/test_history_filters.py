"""A filter that matches nothing is told apart from a metric that was never recorded."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.rooms.metrics.models import Sample, Snapshot
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings
from tests.behaviour.clients import HTTP_MODERN
from tests.behaviour.connecting import connect_http

pytestmark = pytest.mark.anyio
KEY = "applications.production.applicationsTotal"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """A history of one figure, for two environments of one group, from an hour ago and from now."""
    tables = {"metrics": {"poll": {"host": 0, "pentad": 0}}}
    settings = Settings(data=tmp_path, rooms=("metrics",), auth="none", room_tables=tables)
    async with open_app(settings) as opened:
        metrics: Metrics = opened.rooms[0].service
        group = (("businessGroup", "Sales"), ("businessGroupId", "g1"))
        for value, at in ((4, metrics.now() - 3600), (5, metrics.now() - 1)):
            samples = [
                Sample(key=KEY, value=value, labels=(*group, ("environmentName", name))) for name in ("Live", "Shop")
            ]
            shot = Snapshot(collector="ch", scope="g0", as_of=at, tree={}, samples=samples)
            await metrics.history.record(metrics.info("ch"), shot)
        yield opened


async def called(app: App, tool: str, **given: Any) -> dict[str, Any]:
    client = await connect_http(app, HTTP_MODERN)
    return (await client.call(tool, given)).result


async def notes(app: App, **given: Any) -> str:
    result = await called(app, "getMetricHistory", collector="ch", **given)
    assert result["structuredContent"]["series"] == []
    return " ".join(result["structuredContent"]["notes"])


@pytest.mark.requirement("metrics:history:filters")
async def test_an_environment_that_is_not_in_the_history_is_named_with_those_that_are(app: App) -> None:
    told = await notes(app, metricKey=KEY, environment="Lvie")
    assert told == (
        "These metrics are recorded, but nothing matches environmentName 'Lvie'. The history has: Live, Shop."
    )
    found = await called(app, "getMetricHistory", collector="ch", metricKey=KEY, environment="live")
    assert [one["labels"]["environmentName"] for one in found["structuredContent"]["series"]] == ["Live"]


@pytest.mark.requirement("metrics:history:filters")
async def test_a_group_that_is_not_in_the_history_is_named_with_those_that_are(app: App) -> None:
    told = await notes(app, metricKey=KEY, bg="Salse")
    assert told == "These metrics are recorded, but nothing matches bg 'Salse'. The history has: Sales."


@pytest.mark.requirement("metrics:history:filters")
async def test_a_metric_that_was_never_recorded_says_so(app: App) -> None:
    assert "Nothing has been recorded yet" in await notes(app, metricKey="networking.vpcsUsed", environment="Live")


@pytest.mark.requirement("metrics:history:filters")
async def test_nothing_changed_is_not_said_of_a_group_without_a_record(app: App) -> None:
    result = await called(app, "whatChanged", since="30m", bg="Salse")
    assert result["isError"] is True
    assert "There is no record of the business group 'Salse'. The history has: Sales." in result["content"][0]["text"]
    changed = (await called(app, "whatChanged", since="30m", bg="Sales"))["structuredContent"]
    assert (changed["total"], "notRecorded" in changed) == (2, False)


@pytest.mark.requirement("metrics:history:filters")
async def test_metrics_without_a_record_are_not_among_those_that_did_not_change(app: App) -> None:
    found = (await called(app, "whatChanged", since="30m", collector="ch", metricKey="networking.vpcsUsed"))[
        "structuredContent"
    ]
    assert (found["total"], found["notRecorded"]) == (0, ["ch"])
