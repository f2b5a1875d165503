"""The preview collectors: Flex Gateway, usage meters, and the audit log."""

from collections import Counter
from typing import Any

import pytest

from pentad.kernel.errors import NotFound
from pentad.rooms.metrics.collectors.contract import ListsItems
from pentad.rooms.metrics.engine.query_engine import build_query
from pentad.rooms.metrics.metric_keys import get_path
from pentad.rooms.metrics.models import Item
from tests.anypoint.engine import APP, PlatformEngine, platform_engine
from tests.anypoint.faults import Fault
from tests.anypoint.server import Platform
from tests.anypoint.world import CANARY, Size, World

pytestmark = pytest.mark.anyio
ON = {**APP, "anypoint_preview": True}


async def items(one: PlatformEngine, collector: str, key: str) -> list[Item]:
    chosen = one.engine.catalogue.find(collector)
    assert isinstance(chosen, ListsItems)
    answer = await one.ask(collector, key)
    return list(chosen.items(build_query(chosen.info(), one.engine.clock, keys=key), answer.facts))


def values(tree: Any, *path: str) -> list[Any]:
    return [get_path(entry, *path) for entry in tree]


@pytest.mark.requirement("metrics:anypoint:preview")
async def test_they_are_off_until_the_operator_turns_them_on() -> None:
    async with platform_engine(Platform(World(Size()))) as one:
        for collector in ("flex", "usage", "audit"):
            with pytest.raises(NotFound):
                await one.ask(collector)


@pytest.mark.requirement("metrics:anypoint:preview")
async def test_gateways_are_counted_page_by_page_and_named() -> None:
    world = World(Size(environments=2, gateways=130))
    stopped = sum(one["status"] != "RUNNING" for one in world.gateways(""))
    async with platform_engine(Platform(world), ON) as one:
        answer = await one.ask("flex")
        (production,) = values(answer.snapshot.tree, "flexGatewayMetrics", "gateways", "production")
        assert (production["total"], production["running"], production["notRunning"]) == (130, 130 - stopped, stopped)
        named = await items(one, "flex", "gateways.production.notRunning")
        assert len(named) == stopped
        assert {item.details["status"] for item in named} == {"APPLYING"}


@pytest.mark.requirement("metrics:anypoint:preview")
async def test_meters_are_asked_once_for_all_groups_and_told_by_group() -> None:
    world = World(Size(groups=3))
    platform = Platform(world)
    async with platform_engine(platform, ON) as one:
        answer = await one.ask("usage")
        for org, meters in zip(world.orgs, values(answer.snapshot.tree, "usageMetrics", "meters"), strict=True):
            mine = [row for row in world.meter("n") if row["org_name"] == world.hierarchy(org)["name"]]
            days = Counter[int]()
            for row in mine:
                days[row["timestamp"]] += row["n"]
            total = sum(row["n"] for row in mine)
            assert meters == {"flows": max(days.values()), "messages": total, "networkBytes": total}
        assert platform.journal.counts["meters"] == 3, "one request for each meter"
        counted = await items(one, "usage", "meters.messages")
        assert sum(item.details["counted"] for item in counted) == sum(row["n"] for row in world.meter("n"))


@pytest.mark.requirement("metrics:anypoint:preview")
async def test_the_audit_log_says_who_changed_what_and_nothing_more() -> None:
    world = World(Size(audited=250))
    entries = world.audit_log(world.root)
    async with platform_engine(Platform(world), ON) as one:
        answer = await one.ask("audit")
        (changes,) = values(answer.snapshot.tree, "auditMetrics", "changes")
        actions = Counter(entry["action"] for entry in entries)
        assert changes == {
            "total": 250, "created": actions["Create"], "updated": actions["Update"], "deleted": actions["Delete"],
            "people": 2,
        }  # fmt: skip
        named = await items(one, "audit", "changes.deleted")
        assert Counter((item.name, item.details["by"]) for item in named) == Counter(
            (entry["objectName"], entry["userName"]) for entry in entries if entry["action"] == "Delete"
        )
        assert CANARY not in repr((answer, named))


@pytest.mark.requirement("metrics:anypoint:preview")
async def test_a_missing_permission_is_told_and_is_no_zero() -> None:
    async with platform_engine(
        Platform(World(Size()), faults=[Fault("meters", status=403), Fault("audit", status=403)]), ON
    ) as one:
        for collector, needs in (("usage", "Usage Viewer, at the top group"), ("audit", "Audit Log Viewer")):
            answer = await one.ask(collector)
            assert all(sample.value is None for sample in answer.snapshot.samples)
            assert {sample.state for sample in answer.snapshot.samples} == {"no_permission"}
            assert answer.snapshot.problems[0].needs == needs
