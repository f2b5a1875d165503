"""`compat: legacy` returns the toolkit's numbers and roots, mistakes included."""

import copy
from typing import Any

import pytest

from tests.anypoint.engine import platform_engine
from tests.anypoint.faults import Fault
from tests.anypoint.recorded import ANSWERS, Recorded
from tests.anypoint.server import Platform

pytestmark = pytest.mark.anyio


async def legacy(collector: str, faults: list[Fault] | None = None) -> dict[str, Any]:
    async with platform_engine(Platform(Recorded(), faults=faults)) as one:
        answer = await one.ask(collector, compat="legacy", recursive=False)
        (entry,) = answer.snapshot.tree
        return entry


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_nothing_of_the_network_is_used_and_all_is_available() -> None:
    network = (await legacy("ch"))["runtimeManagerMetrics"]["cloudhub"]["networking"]
    for name, total in (("vpcs", 3), ("vpns", 2), ("dlbs", 2), ("staticIPs", 10)):
        assert [network[f"{name}{part}"] for part in ("Total", "Used", "Available")] == [total, None, total]


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_a_network_nothing_is_said_of_is_null_and_none_is_available() -> None:
    tree = copy.deepcopy(ANSWERS["hierarchy"])
    del tree["entitlements"]["vpns"]
    async with platform_engine(Platform(Recorded(hierarchy=tree))) as one:
        (entry,) = (await one.ask("ch", compat="legacy", recursive=False)).snapshot.tree
    network = entry["runtimeManagerMetrics"]["cloudhub"]["networking"]
    assert [network[f"vpns{part}"] for part in ("Total", "Used", "Available")] == [None, None, 0]


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_policies_are_counted_where_instances_are_meant() -> None:
    apis = (await legacy("apm"))["apiManagerMetrics"]["apis"]["production"]
    assert (apis["apisWithSecurity"], apis["apisWithoutSecurity"]) == (2, 1)
    assert (apis["details"][0]["apisWithSecurity"], apis["details"][0]["apisWithoutSecurity"]) == (4, -1)


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_nothing_is_ever_delivered() -> None:
    stats = (await legacy("amq"))["mqMetrics"]["stats"]
    assert stats["summary"]["production"]["exchanges"]["messagesDelivered"] == 0
    assert stats["summary"]["production"]["exchanges"]["messagesPublished"] == 5


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_the_roots_are_those_of_the_original() -> None:
    assert (await legacy("rtf"))["rtf"] is None
    assert "notImplemented" in await legacy("ap")
    assert (await legacy("apc"))["apiManagerMetrics"] == {"clients": 1}
    runtimes = (await legacy("arm"))["runtimeManagerMetrics"]
    assert set(runtimes) == {"cloudhub", "rtf", "hybrid"}
    assert runtimes["rtf"]["capacity"]["fabrics"] == 0
    assert runtimes["cloudhub"]["applications"]["production"]["applicationsTotal"] == 0


@pytest.mark.requirement("metrics:legacy:numbers")
async def test_one_failed_environment_makes_everything_zero() -> None:
    trial = "e0000000-0000-4000-8000-000000000003"
    entry = await legacy("osv2", [Fault("store-stats", status=403, where=trial)])
    assert entry["osV2Metrics"]["stats"]["production"]["requestCount"] == 0
