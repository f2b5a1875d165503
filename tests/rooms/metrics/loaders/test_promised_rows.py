"""All rows of an organisation, by the toolkit's names and in its order, compared with a list written by hand."""

from typing import Any, cast

import pytest

from pentad.rooms.metrics.loaders.rows import Row, snapshot_rows
from pentad.rooms.metrics.models import Snapshot
from tests.anypoint.engine import USER, platform_engine
from tests.anypoint.recorded import Recorded
from tests.anypoint.server import Platform

pytestmark = pytest.mark.anyio

COLLECTORS = ("core", "dc", "ex", "apm", "apc", "ap", "apma", "ch", "rtf", "arm", "amq", "osv2")
ORGANISATION = {
    "Access Management": "Users Total|Active Users|Inactive Users|Active Users Last 60 days|Active Users Last 30 days"
    "|Environments Total|Environments Production Total|Environments Sandbox Total",
    "Design Center": "Design Center Assets Total|Design Center API Specs Total|Design Center Fragments Total"
    "|Design Center Flow Designer Apps Total",
    "Exchange": "Exchange Assets Total|Exchange API Specs Total|Exchange Connectors Total|Exchange Fragments Total"
    "|Exchange HTTP Proxies Total|Exchange Extensions Total|Exchange Custom Assets Total|Exchange Overall Satisfaction",
    "Runtime Manager - CloudHub": "|".join(
        f"CloudHub {what} {end}"
        for what in ("VPCs", "VPNs", "DLBs", "Static IPs")
        for end in ("Total", "Available Total", "Used Total")
    ),
    "API Manager": "API Manager Client Applications Total",
    "Runtime Manager - CloudHub 2": "CloudHub vCores Total|CloudHub vCores Available Total|CloudHub vCores Total"
    "|CloudHub vCores Available Total",
    "Runtime Manager - RTF": "RTF Fabrics Total|RTF Workers Total|RTF Controllers Total|RTF Cores Total"
    "|RTF Memory Total|RTF Cores Per Fabric Average|RTF Memory Per Fabric Average",
}
APPLICATIONS = ("Applications Total", "Applications Started Total", "Applications Stopped Total")
APIS = (
    "Specs Managed Total", "Instances Total", "Instances Active Total", "Instances Inactive Total",
    "Instances Versions Total", "Instances With Policies Total", "Instances Without Policies Total",
    "Instances With Security Policies Total", "Instances Without Security Policies Total",
    "Instances With Contracts Total", "Instances Without Contracts Total",
    "Instances With More Than One Consumer Total", "Instances With One or More Consumers Total", "Contracts Total",
)  # fmt: skip
POLICIES = ("Policies Used", "Policies Used Total", "Automated Policies Used", "Automated Policies Used Total")
RUNTIMES = ("Runtime Versions Used", "Runtime Versions Used Total")
ENVIRONMENT = (
    (
        *(f"API Manager API {name}" for name in APIS), *(f"API Manager {name}" for name in POLICIES),
        "API Analytics Transactions Last 30 days Total",
    ),
    tuple(f"CloudHub {name}" for name in ("vCores Used Total", *APPLICATIONS, *RUNTIMES)),
    tuple(
        f"RTF {name}"
        for name in ("Cores Used Total", "Cores Reserved Total", "Memory Used Total", *APPLICATIONS, *RUNTIMES)
    ),
    tuple(
        f"Standalone Mule {name}"
        for name in (
            "Servers Total", "Clusters Total", "Server Groups Total", *APPLICATIONS, "Runtime Versions",
            "Runtime Versions Total",
        )
    ),
    tuple(
        f"Anypoint MQ - {name}"
        for name in (
            "Total Queues", "Total FIFO Queues", "Queues - Total Messages Sent", "Queues - Total Messages Received",
            "Queues - Total Messages ACK", "Queues - Total Messages In Flight",
        )
    ),
    tuple(
        f"Anypoint MQ - {name}"
        for name in ("Total Exchanges", "Exchanges - Total Messages Published", "Exchanges - Total Messages Delivered")
    ),
    ("OSv2 - Request count",),
)  # fmt: skip


def merged(ours: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Both trees in one; entries of the same environment become one."""
    for name, value in more.items():
        there = ours.get(name)
        if isinstance(value, dict) and isinstance(there, dict):
            merged(there, value)
        elif isinstance(value, list) and isinstance(there, list) and value and isinstance(value[0], dict):
            for entry, other in zip(there, value, strict=True):
                merged(cast("dict[str, Any]", entry), cast("dict[str, Any]", other))
        else:
            ours[name] = value
    return ours


@pytest.fixture
async def organisation() -> Snapshot:
    """Everything there is of one group."""
    tree: dict[str, Any] = {}
    async with platform_engine(Platform(Recorded()), USER) as one:
        for collector in COLLECTORS:
            merged(tree, (await one.ask(collector, recursive=False)).snapshot.tree[0])
    return Snapshot(collector="all", scope="", as_of=0.0, tree=[tree])


@pytest.mark.requirement("metrics:loaders:rows", "metrics:legacy:rows")
async def test_legacy_rows_are_all_that_the_toolkit_has_in_its_order(organisation: Snapshot) -> None:
    expected = [name for names in ORGANISATION.values() for name in names.split("|")]
    for names in ENVIRONMENT:
        expected += [*names, *names]
    rows = snapshot_rows(organisation, "", legacy=True)
    assert [row.name for row in rows] == expected
    of_groups = len([name for names in ORGANISATION.values() for name in names.split("|")])
    assert {row.environment_name for row in rows[:of_groups]} == {"NA"}
    assert [row.environment_type for row in rows if "vCores Total" in row.name] == ["Production", "Sandbox"]
    assert {(row.environment_type, row.environment_name) for row in rows[of_groups:]} == {
        ("Production", "Live"), ("Sandbox", "Trial")
    }  # fmt: skip
    assert [row.environment_type for row in rows if row.name == "OSv2 - Request count"] == ["Production", "Sandbox"]


@pytest.mark.requirement("metrics:loaders:rows")
async def test_rows_have_the_figures_and_lists_are_told_with_blanks(organisation: Snapshot) -> None:
    found: dict[str, Row] = {}
    for row in snapshot_rows(organisation, ""):
        found.setdefault(row.name, row)
    expected = {
        "Users Total": 2, "Exchange Overall Satisfaction": 4, "CloudHub Static IPs Used Total": 4,
        "CloudHub vCores Available Total": 3.7, "RTF Cores Total": 3.5, "API Manager API Contracts Total": 4,
        "API Manager Policies Used": "client-id-enforcement ip-allowlist", "RTF Cores Reserved Total": 0.8,
        "API Analytics Transactions Last 30 days Total": 150, "CloudHub Runtime Versions Used": "4.6.1 4.4.0",
        "Standalone Mule Runtime Versions": "4.5.0 4.4.0", "OSv2 - Request count": 2500,
        "Anypoint MQ - Exchanges - Total Messages Delivered": 13, "Exchange Fragments Reuse Average": 1,
        "RTF Memory Reserved Total": 2.4,
    }  # fmt: skip
    assert {name: found[name].value for name in expected} == expected
    assert found["Users Total"].business_group == "Lumen Orchards"
    assert "RTF Cores Used Total" not in found
