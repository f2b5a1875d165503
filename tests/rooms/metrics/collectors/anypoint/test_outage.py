"""While the platform is down, the last known values are used, with their age and state."""

from typing import Any

import pytest

from pentad.kernel.clock import iso
from pentad.rooms.metrics.interface.presentation import explanations, tool_result
from pentad.rooms.metrics.loaders.formats import export_snapshot
from tests.anypoint.engine import PlatformEngine, platform_engine
from tests.anypoint.faults import Fault
from tests.anypoint.server import Platform
from tests.anypoint.world import World
from tests.rooms.metrics.sources import TurnedClock

pytestmark = pytest.mark.anyio
AGE = 627.0
DOWN = Fault("*", "html")


async def structured(one: PlatformEngine) -> dict[str, Any]:
    answer = await one.ask("ch")
    found = tool_result(answer, {"metrics": answer.snapshot.tree})
    assert found.structured is not None
    return dict(found.structured)


@pytest.mark.requirement("metrics:figures")
async def test_an_outage_is_not_reported_as_live_data() -> None:
    clock = TurnedClock()
    platform = Platform(World())
    async with platform_engine(platform, clock=clock) as one:
        before = await structured(one)
        fetched = iso(clock.now())
        assert (before["source"], before["asOf"], before["ageSeconds"]) == ("live", fetched, 0)
        assert "states" not in before
        platform.faults.plan = [DOWN]
        clock.turn(AGE)
        during = await structured(one)
    assert (during["source"], during["asOf"], during["ageSeconds"]) == ("stale", fetched, AGE)
    planned = during["coverage"]["planned"]
    assert (during["coverage"]["ok"], during["coverage"]["stale"], during["coverage"]["failed"]) == (0, planned, 0)
    assert set(during["states"]) == {"stale"}
    assert len(during["problems"]) >= 1
    (group,) = during["metrics"]
    assert group["date"].startswith(fetched[:19])
    assert len(group["errors"]) >= 1
    assert set(group["states"].values()) == {"stale"}
    applications = group["runtimeManagerMetrics"]["cloudhub"]["applications"]
    assert applications["sandbox"]["applicationsTotal"] == 6, "the older value is there"
    assert {entry["state"] for entry in applications["sandbox"]["details"]} == {"stale"}


@pytest.mark.requirement("metrics:figures")
async def test_one_stale_environment_makes_only_its_own_figures_stale() -> None:
    clock, world = TurnedClock(), World()
    lost = world.environments(world.root)[2]
    platform = Platform(world)
    async with platform_engine(platform, clock=clock) as one:
        await one.ask("ch")
        platform.faults.plan = [Fault("applications", "html", where=lost["id"])]
        clock.turn(61)
        answer = await one.ask("ch")
    applications = answer.snapshot.tree[0]["runtimeManagerMetrics"]["cloudhub"]["applications"]
    assert [entry.get("state") for entry in applications["sandbox"]["details"]] == ["stale", None, None]
    states = answer.snapshot.tree[0]["states"]
    assert set(states.values()) == {"stale"}
    assert all(key.startswith("applications.sandbox.") for key in states)
    assert answer.source == "stale"


@pytest.mark.requirement("metrics:figures")
async def test_an_explanation_in_an_outage_says_which_facts_are_stale_and_why() -> None:
    clock, key = TurnedClock(), "applications.sandbox.applicationsTotal"
    platform = Platform(World())
    async with platform_engine(platform, clock=clock) as one:
        await one.ask("ch", key)
        platform.faults.plan = [DOWN]
        clock.turn(AGE)
        (told,) = explanations(await one.ask("ch", key), [key])
    assert {value["source"] for value in told["values"]} == {"stale"}
    assert {(fact["source"], fact["age_seconds"]) for fact in told["facts"]} == {("stale", AGE)}
    assert all("web page" in fact["problem"] for fact in told["facts"])
    assert sum(problem["count"] for problem in told["missing"]) == len(told["facts"])


@pytest.mark.requirement("metrics:figures")
@pytest.mark.parametrize("form", ["json", "splunk", "webhook"])
async def test_what_is_exported_in_an_outage_has_the_time_of_its_facts(form: str) -> None:
    clock = TurnedClock()
    platform = Platform(World())
    async with platform_engine(platform, clock=clock) as one:
        await one.ask("ch")
        fetched = iso(clock.now())[:19]
        platform.faults.plan = [DOWN]
        clock.turn(AGE)
        answer = await one.ask("ch")
    body = export_snapshot(form, answer.snapshot, answer.info).body
    assert fetched in body
    assert iso(clock.now())[:19] not in body


@pytest.mark.requirement("metrics:figures")
async def test_after_an_outage_everything_is_live_again() -> None:
    clock = TurnedClock()
    platform = Platform(World())
    async with platform_engine(platform, clock=clock) as one:
        await one.ask("ch")
        platform.faults.plan = [DOWN]
        clock.turn(AGE)
        await one.ask("ch")
        platform.faults.plan = []
        after = await structured(one)
    assert (after["source"], after["ageSeconds"], after["problems"]) == ("live", 0, [])
    assert "states" not in after["metrics"][0]
