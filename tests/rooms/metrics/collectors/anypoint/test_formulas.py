"""Every formula on stored answers, compared with figures computed by hand."""

import copy
from typing import Any

import pytest

from tests.anypoint.engine import platform_engine
from tests.anypoint.recorded import ANSWERS, Recorded
from tests.anypoint.server import Platform

pytestmark = pytest.mark.anyio

USERS = {
    "total": 2,
    "activeMembers": 1,
    "inactiveMembers": 1,
    "activeMembersLast60Days": 0,
    "activeMembersLast30Days": 0,
}
NETWORK = {
    "vpcsTotal": 3, "vpcsUsed": 1, "vpcsAvailable": 2, "vpnsTotal": 2, "vpnsUsed": 1, "vpnsAvailable": 1,
    "dlbsTotal": 2, "dlbsUsed": 2, "dlbsAvailable": 0, "staticIPsTotal": 10, "staticIPsUsed": 4,
    "staticIPsAvailable": 6,
}  # fmt: skip
APIS = {
    "total": 2, "active": 0, "inactive": 2, "apiInstances": 3, "apiVersions": 2, "apisWithPolicies": 2,
    "apisWithoutPolicies": 1, "apisWithSecurity": 2, "apisWithoutSecurity": 1, "apisWithContracts": 2,
    "apisWithoutContracts": 1, "apisWithMoreThanOneConsumer": 1, "apisWithOneOrMoreConsumers": 2, "contracts": 4,
    "policiesUsed": ["client-id-enforcement", "ip-allowlist"], "policiesUsedTotal": 2,
}  # fmt: skip
FABRIC = {
    "coresReservedA": 0.5, "coresReservedB": 0.3, "coresReserved": 0.8, "memoryReservedA": 1, "memoryReservedB": 1.4,
    "memoryReserved": 2.4, "applicationsTotal": 2, "applicationsStarted": 2, "applicationsStopped": 0,
    "runtimesUsed": ["4.6.1:v1.0.7", "4.4.0:v1.0.2"], "runtimesUsedTotal": 2,
}  # fmt: skip
HYBRID = {
    "servers": 2, "clusters": 1, "serverGroups": 0, "applicationsTotal": 1, "applicationsStarted": 1,
    "applicationsStopped": 0, "runtimesUsed": ["4.5.0", "4.4.0"], "runtimesUsedTotal": 2,
}  # fmt: skip
QUEUES = {
    "commonQueues": 1, "fifoQueues": 1, "messagesInFlight": 6, "messagesSent": 34, "messagesReceived": 18,
    "messagesAck": 16,
}  # fmt: skip
EXCHANGES = {"exchangeQueues": 1, "messagesPublished": 5, "messagesDelivered": 13}


async def tree(collector: str, keys: str = "", **changes: Any) -> dict[str, Any]:
    """The entry of the top group alone; every figure in it is fully known."""
    async with platform_engine(Platform(Recorded(**changes))) as one:
        answer = await one.ask(collector, keys, recursive=False)
        assert not answer.snapshot.problems
        assert {sample.state for sample in answer.snapshot.samples} == {"ok"}
        (entry,) = answer.snapshot.tree
        assert entry["businessGroup"] == "Lumen Orchards"
        assert entry["errors"] == []
        return entry


def without_details(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != "details"}


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_members_and_environments_are_counted() -> None:
    entry = await tree("core")
    assert entry["coreServicesMetrics"] == {
        "users": USERS,
        "environments": {"total": 2, "production": 1, "sandbox": 1},
    }


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_design_projects_are_counted_by_type() -> None:
    entry = await tree("dc")
    assert entry["designCenterMetrics"] == {"total": 2, "apiSpecs": 1, "fragments": 1, "flowDesignerApps": 0}


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_what_is_no_list_of_projects_counts_as_none_only_in_legacy_mode() -> None:
    async with platform_engine(Platform(Recorded(projects={"message": "no"}))) as one:
        right = await one.ask("dc", recursive=False)
        legacy = await one.ask("dc", recursive=False, compat="legacy")
    (problem,) = right.snapshot.problems
    assert (problem.call, problem.message) == ("dc.projects", "A list was expected.")
    totals = [one.snapshot.tree[0]["designCenterMetrics"]["total"] for one in (right, legacy)]
    assert totals == [None, 0]


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_assets_their_rating_and_their_reuse() -> None:
    found = (await tree("ex"))["exchangeMetrics"]
    assert found["reuse"] == {
        "fragments": 1, "implementedApis": 0, "extensions": 0, "managedSboxApis": 1, "managedProdApis": 1,
        "appliedPoliciesSbox": 0, "appliedPoliciesProd": 0,
    }  # fmt: skip
    counts = {key: found[key] for key in ("total", "apiSpecs", "fragments", "extensions", "overallSatisfaction")}
    assert counts == {"total": 2, "apiSpecs": 1, "fragments": 1, "extensions": 0, "overallSatisfaction": 4}


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_policy_assets_are_matched_with_the_policies_that_are_applied() -> None:
    group = "b0000000-0000-4000-8000-000000000009"
    assets = [
        {"groupId": group, "assetId": name, "version": "1", "type": "policy", "isGenerated": False, "rating": rating,
         "numberOfRates": rates}
        for name, rating, rates in (("client-id-enforcement", 5, 1), ("unused", 2, 3), ("unrated", 1, 0))
    ]  # fmt: skip
    found = (await tree("ex", assets=assets))["exchangeMetrics"]
    assert found["overallSatisfaction"] == 3.5
    assert found["reuse"]["appliedPoliciesProd"] == pytest.approx(2 / 3)
    assert found["policies"] == 3


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_client_applications_are_counted() -> None:
    assert (await tree("apc"))["apiManagerMetrics"] == {"clients": 1}


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_apis_their_policies_and_contracts() -> None:
    apis = (await tree("apm"))["apiManagerMetrics"]["apis"]
    for kind, name in (("production", "Live"), ("sandbox", "Trial")):
        assert without_details(apis[kind]) == APIS
        assert apis[kind]["details"] == [{"environmentName": name, "environmentType": kind.title(), **APIS}]


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_automated_policies_and_transactions() -> None:
    automated = (await tree("ap"))["apiManagerMetrics"]["apis"]["production"]
    assert without_details(automated) == {"automatedPoliciesUsed": ["rate-limiting"], "automatedPoliciesUsedTotal": 1}
    analytics = (await tree("apma"))["apiManagerMetrics"]["apis"]["sandbox"]
    assert analytics["transactions"] == analytics["details"][0]["transactions"] == 150


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_the_network_has_its_used_values_and_vcores_are_exact() -> None:
    found = (await tree("ch"))["runtimeManagerMetrics"]["cloudhub"]
    assert found["networking"] == NETWORK
    used = {"applicationsTotal": 2, "applicationsStarted": 1, "applicationsStopped": 1}
    runtimes = {"runtimesUsed": ["4.6.1", "4.4.0"], "runtimesUsedTotal": 2}
    for kind, total, left in (("production", 4, 3.7), ("sandbox", 8, 7.7)):
        vcores = {"vcoresTotal": total, "vcoresUsed": 0.3, "vcoresAvailable": left}
        assert without_details(found["applications"][kind]) == {**vcores, **used, **runtimes}
        assert "vcoresTotal" not in found["applications"][kind]["details"][0]


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_fabrics_have_capacity_and_reservations() -> None:
    found = (await tree("rtf"))["runtimeManagerMetrics"]["rtf"]
    assert found["capacity"] == {
        "fabrics": 1, "workers": 1, "controllers": 1, "coresTotal": 3.5, "memoryTotal": 15, "coresPerFabric": 3.5,
        "memoryPerFabric": 15,
    }  # fmt: skip
    assert without_details(found["applications"]["production"]) == FABRIC


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_no_fabrics_are_no_division_by_zero() -> None:
    capacity = (await tree("rtf", "capacity", fabrics=[]))["runtimeManagerMetrics"]["rtf"]["capacity"]
    assert set(capacity.values()) == {0}


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_standalone_runtimes_are_told_from_fabrics() -> None:
    found = (await tree("arm"))["runtimeManagerMetrics"]
    assert without_details(found["hybrid"]["production"]) == HYBRID
    assert without_details(found["rtf"]["applications"]["sandbox"]) == FABRIC
    assert found["cloudhub2"]["applications"]["production"]["applicationsTotal"] == 0


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_applications_of_cloudhub_2_are_not_a_fabrics() -> None:
    details = copy.deepcopy(ANSWERS["deployment"])
    moved = details["d0000000-0000-4000-8000-000000000001"]
    moved["target"]["targetId"] = "space-1"
    moved["application"]["vCores"] = 0.1
    items = copy.deepcopy(ANSWERS["deployments"])
    items[1]["target"]["targetId"] = "space-1"
    found = (await tree("arm", deployment=details, deployments=items))["runtimeManagerMetrics"]
    two = found["cloudhub2"]["applications"]["production"]
    assert (two["applicationsTotal"], two["vcoresUsed"]) == (1, 0.2)
    assert found["rtf"]["applications"]["production"]["applicationsTotal"] == 1
    assert found["rtf"]["applications"]["production"]["coresReserved"] == 0.5


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_messages_are_added_up_and_delivered_ones_are_not_lost() -> None:
    stats = (await tree("amq"))["mqMetrics"]["stats"]
    assert without_details(stats["summary"]["production"]["queues"]) == QUEUES
    assert without_details(stats["summary"]["production"]["exchanges"]) == EXCHANGES
    assert stats["byRegion"]["sandbox"] == [{"id": "eu-west-1", "queues": QUEUES, "exchanges": EXCHANGES}]


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_requests_to_the_object_store() -> None:
    stats = (await tree("osv2"))["osV2Metrics"]["stats"]
    assert stats["production"]["requestCount"] == stats["sandbox"]["details"][0]["requestCount"] == 2500


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_messages_bought_for_the_whole_organisation_are_every_groups() -> None:
    tree = copy.deepcopy(ANSWERS["hierarchy"])
    below = tree["subOrganizations"][0]
    below["entitlements"]["mqMessages"] = {"base": 0, "addOn": 0}
    for top, asked_for in ((1_000_000, True), (0, False)):
        tree["entitlements"]["mqMessages"] = {"base": top, "addOn": 0}
        platform = Platform(Recorded(hierarchy=tree))
        async with platform_engine(platform) as one:
            await one.ask("amq", "commonQueues")
            assert any(below["id"] in path for route, path in platform.journal.order if route == "regions") is asked_for
        async with platform_engine(platform) as one:
            alone = await one.ask("amq", "commonQueues", bg=below["id"])
            assert alone.snapshot.tree[0]["mqMetrics"]["stats"]["summary"]["production"]["queues"]["commonQueues"] == 1


@pytest.mark.requirement("metrics:anypoint:formulas")
async def test_what_a_group_is_not_entitled_to_is_not_asked_for_and_not_zero() -> None:
    platform = Platform(Recorded())
    async with platform_engine(platform) as one:
        answer = await one.ask("rtf", "capacity", bg="Lumen Press")
        (entry,) = answer.snapshot.tree
        assert entry["runtimeManagerMetrics"]["rtf"]["capacity"]["fabrics"] is None
        assert entry["states"]["capacity.fabrics"] == "not_entitled"
        assert answer.snapshot.coverage.skipped == 1
        assert not platform.journal.counts["fabrics"]
