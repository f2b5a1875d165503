"""How many calls a query makes, how many at once, and whether pages are merged correctly."""

import asyncio

import pytest

from tests.anypoint.engine import USER, platform_engine
from tests.anypoint.faults import Fault
from tests.anypoint.routes import PAGES
from tests.anypoint.server import Behaviour, Platform
from tests.anypoint.world import Size, World

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("metrics:anypoint:accounting")
async def test_the_network_of_one_group_takes_three_calls_and_none_the_second_time() -> None:
    platform = Platform(World())
    async with platform_engine(platform) as one:
        first = await one.ask("ch", "networking")
        assert [route for route, _ in platform.journal.order] == ["login-app", "hierarchy", "usage"]
        assert first.snapshot.tree[0]["runtimeManagerMetrics"]["cloudhub"]["networking"]["vpcsUsed"] is not None
        assert list(first.snapshot.tree[0]["runtimeManagerMetrics"]["cloudhub"]) == ["networking"]
        second = await one.ask("ch", "networking")
        assert (platform.journal.total, second.calls, second.source) == (3, 0, "cache")


@pytest.mark.requirement("metrics:anypoint:accounting")
async def test_a_tree_of_groups_takes_one_call_more_for_each() -> None:
    platform = Platform(World(Size(groups=9)))
    async with platform_engine(platform) as one:
        answer = await one.ask("ch", "networking")
        assert platform.journal.total == 2 + 9
        assert len(answer.snapshot.tree) == 9


@pytest.mark.requirement("metrics:anypoint:accounting")
async def test_a_whole_collector_takes_no_more_than_its_facts() -> None:
    platform = Platform(World(Size(groups=2)))
    async with platform_engine(platform, USER) as one:
        await one.ask("ch")
        assert platform.journal.total == 2 + 2 * (1 + 4 + 1)
        assert platform.journal.counts["login-user"] == 1


@pytest.mark.requirement("metrics:anypoint:accounting")
async def test_twenty_identical_questions_at_once_are_one_fan_out() -> None:
    platform = Platform(World(), behaviour=Behaviour(latency=0.02))
    async with platform_engine(platform) as one:
        answers = await asyncio.gather(*(one.ask("ch") for _ in range(20)))
        assert platform.journal.total == 2 + 1 + 4 + 1
        assert all(answer.snapshot.tree[0].keys() == answers[0].snapshot.tree[0].keys() for answer in answers)


@pytest.mark.requirement("metrics:anypoint:accounting")
async def test_what_one_collector_fetched_the_others_need_not() -> None:
    platform = Platform(World())
    async with platform_engine(platform) as one:
        await one.ask("arm")
        before = platform.journal.total
        await one.ask("rtf")
        assert platform.journal.total == before


@pytest.mark.requirement("metrics:anypoint:accounting")
async def test_no_more_is_under_way_than_the_limit() -> None:
    platform = Platform(World(Size(groups=3)), behaviour=Behaviour(latency=0.005))
    async with platform_engine(platform, limit=7) as one:
        await one.ask("amq")
        assert platform.journal.peak == 7


@pytest.mark.requirement("metrics:anypoint:accounting")
async def test_what_is_known_already_leads_on_while_something_else_is_slow() -> None:
    platform = Platform(World(), faults=[Fault("usage", "slow", seconds=30)])
    async with platform_engine(platform) as one:
        await one.ask("core", "environments.total")
        await one.ask("ch", seconds=1)
        assert platform.journal.counts["applications"] == 4, "environments that were known are asked at once"


@pytest.mark.requirement("metrics:anypoint:accounting")
async def test_a_dry_run_fetches_only_what_the_plan_needs() -> None:
    platform = Platform(World())
    async with platform_engine(platform) as one:
        from pentad.rooms.metrics.engine.query_engine import build_query

        info = one.engine.catalogue.find("ch").info()
        plan = await one.engine.dry_run("ch", build_query(info, one.engine.clock))
        assert (plan.calls_made, plan.facts["ch.applications"], plan.facts["usage"]) == (3, 4, 1)
        assert not platform.journal.counts["applications"]


@pytest.mark.requirement("metrics:anypoint:accounting")
@pytest.mark.parametrize(
    ("faults", "name"),
    [
        ([], "plain"),
        ([Fault("*", "duplicates")], "overlapping"),
        ([Fault("*", "total-changes", seconds=40)], "a total that falls"),
        ([Fault("*", "total-changes", seconds=-30)], "a total that grows"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_pages_come_together_right(faults: list[Fault], name: str) -> None:
    size = Size(
        environments=1, members=2_300, clients=620, api_assets=250, instances=1, destinations=45, regions=1, assets=620,
        deployments=130,
    )  # fmt: skip
    async with platform_engine(Platform(World(size), faults=faults), USER) as one:
        members = (await one.ask("core", "users.total")).snapshot.tree[0]
        clients = (await one.ask("apc")).snapshot.tree[0]
        apis = (await one.ask("apm", "apis.production.total")).snapshot.tree[0]
        queues = (await one.ask("amq", "stats.summary.production.queues.commonQueues")).snapshot.samples
        assets = (await one.ask("ex", "exchangeMetrics.total")).snapshot.tree[0]
        deployed = (await one.ask("arm", "hybrid.production.applicationsTotal")).snapshot.samples
    assert members["coreServicesMetrics"]["users"]["total"] == 2_300
    assert clients["apiManagerMetrics"]["clients"] == 620
    assert apis["apiManagerMetrics"]["apis"]["production"]["total"] == 250
    assert queues[0].value == 15
    assert deployed[0].value == 130 // 3
    assert assets["exchangeMetrics"]["total"] == 620 - 620 // 9


@pytest.mark.requirement("metrics:anypoint:accounting")
async def test_once_the_total_is_known_the_other_pages_are_asked_for_at_once() -> None:
    platform = Platform(World(Size(members=2_300)), behaviour=Behaviour(latency=0.05))
    async with platform_engine(platform, USER) as one:
        answer = await one.ask("core", "users.total")
    assert answer.snapshot.tree[0]["coreServicesMetrics"]["users"]["total"] == 2_300
    assert (platform.journal.counts["members"], platform.journal.peak) == (5, 4)


@pytest.mark.requirement("metrics:lists:complete")
async def test_pages_that_the_platform_makes_shorter_than_asked_for_are_not_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for route in ("assets", "destinations", "members", "clients", "apis"):
        monkeypatch.setitem(PAGES, route, (20, 25))
    platform = Platform(World(Size(environments=1, members=90, clients=60, destinations=45, regions=1, assets=70)))
    async with platform_engine(platform, USER) as one:
        answers = {name: (await one.ask(name)).snapshot.tree[0] for name in ("ex", "core", "apc", "amq")}
    assert answers["ex"]["exchangeMetrics"]["total"] == 70 - 70 // 9
    assert answers["core"]["coreServicesMetrics"]["users"]["total"] == 90
    assert answers["apc"]["apiManagerMetrics"]["clients"] == 60
    summary = answers["amq"]["mqMetrics"]["stats"]["summary"]["production"]
    counted = (
        summary["queues"]["commonQueues"],
        summary["queues"]["fifoQueues"],
        summary["exchanges"]["exchangeQueues"],
    )
    assert sum(counted) == 45
