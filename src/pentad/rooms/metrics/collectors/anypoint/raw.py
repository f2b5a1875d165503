"""The answers themselves, under the names the original gives them, without what is sensitive (it is cut out when they
are fetched)."""

from collections.abc import Mapping
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.known import Known
from pentad.rooms.metrics.collectors.anypoint.mq import destination, regions_of
from pentad.rooms.metrics.collectors.anypoint.tree import Environment

PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "members": ("coreServicesData", "users"), "usage": ("coreServicesData", "usage"),
    "environments": ("coreServicesData", "environments"), "dc.projects": ("designCenterData",),
    "ex.assets": ("exchangeData",), "apc.clients": ("apiManagerData", "clients"),
    "rtf.fabrics": ("runtimeManagerData", "rtf"),
}  # fmt: skip
BY_ENVIRONMENT: Final[Mapping[str, tuple[str, ...]]] = {
    "apm.apis": ("apiManagerData", "apis"), "ap.policies": ("apiManagerData", "apiAutomatedPolicies"),
    "apma.analytics": ("apiManagerData", "analytics"), "ch.applications": ("runtimeManagerData", "cloudHubApps"),
    "arm.deployments": ("runtimeManagerData", "armDeployments"), "arm.servers": ("runtimeManagerData", "armServers"),
    "arm.clusters": ("runtimeManagerData", "armClusters"), "arm.groups": ("runtimeManagerData", "armServerGroups"),
    "amq.regions": ("mqMetrics",), "osv2.stats": ("osV2Metrics",),
}  # fmt: skip


def raw(known: Known, names: frozenset[str]) -> dict[str, Any]:
    """What was fetched of one group; null where it could not be had."""
    found: dict[str, Any] = {}
    for name, place in PLACES.items():
        if name in names:
            _put(found, place, known.cell(name).value)
    if "members" in names:
        _put(found, ("coreServicesData", "entitlements"), known.group.entitlements)
    for name, place in BY_ENVIRONMENT.items():
        if name in names:
            _put(found, place, [_of(known, environment, name) for environment in known.environments])
    return found


def _put(found: dict[str, Any], place: tuple[str, ...], value: Any) -> None:
    *outer, last = place
    for name in outer:
        found = found.setdefault(name, {})
    found[last] = value


def _of(known: Known, environment: Environment, name: str) -> dict[str, Any]:
    data: Any = known.cell(name, environment.id).value
    if name == "arm.deployments" and data is not None:
        data = [known.cell("arm.deployment", environment.id, str(item.get("id"))).value or item for item in data]
    elif name == "apm.apis" and data is not None:
        data = [_with_policies(known, environment, asset) for asset in data]
    elif name == "amq.regions":
        data = [_region(known, environment, region) for region in regions_of(known, environment).value or ()]
    return {"environmentName": environment.name, "environmentType": environment.type, "data": data}


def _with_policies(known: Known, environment: Environment, asset: dict[str, Any]) -> dict[str, Any]:
    instances = [
        {**one, "policies": known.cell("apm.policies", environment.id, str(one.get("id"))).value}
        for one in asset.get("apis") or ()
    ]
    return {**asset, "apis": instances}


def _region(known: Known, environment: Environment, region: str) -> dict[str, Any]:
    listed: Any = known.cell("amq.destinations", environment.id, region).value or ()
    stats = [
        {**one, "stats": known.cell("amq.stats", environment.id, region, *destination(one)).value} for one in listed
    ]
    return {"id": region, "destinations": stats}
