"""Known mistakes of the toolkit, one by one: right by default, the same under `compat: legacy`, and listed."""

import copy
from typing import Any

import pytest

from pentad.rooms.metrics.collectors.anypoint.legacy import legacy_by_key
from pentad.rooms.metrics.metric_keys import flatten
from tests.anypoint.engine import USER, platform_engine
from tests.anypoint.faults import Fault
from tests.anypoint.recorded import ANSWERS, Recorded
from tests.anypoint.server import Platform
from tests.anypoint.world import Size, World

pytestmark = pytest.mark.anyio
COLLECTORS = ("core", "dc", "ex", "apm", "apc", "ap", "apma", "ch", "rtf", "arm", "amq", "osv2")
TRIAL = "e0000000-0000-4000-8000-000000000003"


async def both(world: World, collector: str, faults: list[Fault] | None = None) -> list[dict[str, Any]]:
    """The entry of the top group as it is, and as the toolkit has it."""
    async with platform_engine(Platform(world, faults=faults), USER) as one:
        answers = [await one.ask(collector, recursive=False, compat=compat) for compat in (None, "legacy")]
    return [answer.snapshot.tree[0] for answer in answers]


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_messages_are_delivered() -> None:
    told = [
        one["mqMetrics"]["stats"]["summary"]["production"]["exchanges"]["messagesDelivered"]
        for one in await both(Recorded(), "amq")
    ]
    assert told == [13, 0]


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_a_region_has_the_messages_of_all_its_environments() -> None:
    right, legacy = [
        one["mqMetrics"]["stats"]["byRegion"]["sandbox"][0]["queues"]["messagesSent"]
        for one in await both(World(Size(environments=4)), "amq")
    ]
    assert right == 3 * legacy > 0


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_destinations_beyond_the_twentieth_count() -> None:
    sizes = [
        sum(one["mqMetrics"]["stats"]["summary"]["production"]["queues"][key] for key in ("commonQueues", "fifoQueues"))
        + one["mqMetrics"]["stats"]["summary"]["production"]["exchanges"]["exchangeQueues"]
        for one in await both(World(Size(environments=1, regions=1, destinations=45)), "amq")
    ]
    assert sizes == [45, 20]


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_a_fabric_has_a_capacity() -> None:
    right, legacy = await both(Recorded(), "rtf")
    assert right["runtimeManagerMetrics"]["rtf"]["capacity"]["coresTotal"] == 3.5
    assert legacy["rtf"] is None


@pytest.mark.requirement("metrics:legacy:numbers")
@pytest.mark.parametrize(("collector", "key"), [("ap", "automatedPoliciesUsedTotal"), ("apma", "transactions")])
async def test_automated_policies_and_analytics_are_answered(collector: str, key: str) -> None:
    right, legacy = await both(Recorded(), collector)
    assert right["apiManagerMetrics"]["apis"]["production"][key] > 0
    assert legacy["notImplemented"] == "Collector Not Implemented"


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_the_network_has_its_usage() -> None:
    right, legacy = [one["runtimeManagerMetrics"]["cloudhub"]["networking"] for one in await both(Recorded(), "ch")]
    assert [right[f"staticIPs{part}"] for part in ("Total", "Used", "Available")] == [10, 4, 6]
    assert [legacy[f"staticIPs{part}"] for part in ("Total", "Used", "Available")] == [10, None, 10]


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_secured_instances_of_an_environment_are_instances() -> None:
    told = [one["apiManagerMetrics"]["apis"]["production"]["details"][0] for one in await both(Recorded(), "apm")]
    assert [(one["apisWithSecurity"], one["apisWithoutSecurity"]) for one in told] == [(2, 1), (4, -1)]


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_cloudhub_2_is_no_fabric() -> None:
    details, items = copy.deepcopy(ANSWERS["deployment"]), copy.deepcopy(ANSWERS["deployments"])
    items[1]["target"]["targetId"] = "cloudhub-us-east-1"
    right, legacy = [
        one["runtimeManagerMetrics"] for one in await both(Recorded(deployment=details, deployments=items), "arm")
    ]
    counts = [one["rtf"]["applications"]["production"]["applicationsTotal"] for one in (right, legacy)]
    assert counts == [1, 2]
    assert right["cloudhub2"]["applications"]["production"]["applicationsTotal"] == 1
    assert "cloudhub2" not in legacy


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_what_is_forbidden_is_no_zero() -> None:
    faults = [Fault("store-stats", status=403, where=TRIAL)]
    right, legacy = [one["osV2Metrics"]["stats"] for one in await both(Recorded(), "osv2", faults)]
    assert (right["sandbox"]["requestCount"], legacy["sandbox"]["requestCount"]) == (None, 0)
    assert (right["production"]["requestCount"], legacy["production"]["requestCount"]) == (2500, 0)


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_a_group_without_environments_still_has_members_and_projects() -> None:
    world = Recorded(environments=ANSWERS["environments"][:1])
    assert [one["coreServicesMetrics"]["users"]["total"] for one in await both(world, "core")] == [2, 0]
    assert [one["designCenterMetrics"]["total"] for one in await both(world, "dc")] == [2, 0]


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_one_login_serves_many_questions() -> None:
    platform = Platform(Recorded())
    async with platform_engine(platform) as one:
        for collector in COLLECTORS:
            await one.ask(collector)
    assert platform.journal.counts["login-app"] == 1


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_client_applications_are_told_by_key() -> None:
    async with platform_engine(Platform(Recorded()), USER) as one:
        right = await one.ask("apc", "clients", recursive=False)
        legacy = await one.ask("apc", "clients", recursive=False, compat="legacy")
    assert right.snapshot.tree[0]["apiManagerMetrics"]["clients"] == 1
    assert legacy_by_key(legacy.snapshot.tree, legacy.info, ("clients",))[0]["clients"] is None


@pytest.mark.requirement("metrics:legacy:numbers")
@pytest.mark.parametrize("collector", COLLECTORS)
async def test_every_figure_that_differs_is_listed_with_its_reason_and_no_other(collector: str) -> None:
    """Compared anew here, figure by figure, on an organisation with something of everything."""
    async with platform_engine(Platform(World(Size(environments=3, destinations=25, assets=9))), USER) as one:
        right = await one.ask(collector)
        legacy = await one.ask(collector, compat="legacy")
    ours, theirs = ({(m.path, m.labels): m.value for m in flatten(one.snapshot.tree)} for one in (right, legacy))
    passed = ("date", "errors", "notImplemented", "rtf")
    expected = {place for place, value in ours.items() if place[0] not in passed and theirs.get(place) != value}
    listed = {(one.key, one.labels): one for one in legacy.snapshot.differences}
    assert listed.keys() == expected
    for place, difference in listed.items():
        assert (difference.right, difference.legacy) == (ours[place], theirs.get(place))
        assert "does not have this figure" not in difference.why, place
