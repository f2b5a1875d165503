"""The demo's organisation: an orchard with a press, as a platform would answer about it at any moment.

Everything follows from the moment and from when it was first looked at, so a fortnight can be told again the same way:
applications and contracts grow over sixty days, messages and calls follow the hours and the week. The shapes are the
platform's own.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from pentad.rooms.metrics.model import Fact

ORG: Final = "a0000000-0000-4000-8000-00000000d001"
PRESS: Final = "a0000000-0000-4000-8000-00000000d002"
DAY: Final = 86_400
PERIOD: Final = 60
SATURDAY: Final = 5

Item = dict[str, Any]

_ENVIRONMENTS: Final[Mapping[str, Sequence[tuple[str, str, str]]]] = {
    ORG: (("e-live", "Live", "production"), ("e-trial", "Trial", "sandbox"), ("e-design", "Design", "design")),
    PRESS: (("e-press", "Press", "production"), ("e-press-test", "Press Test", "sandbox")),
}
_APPLICATIONS: Final[Mapping[str, Sequence[tuple[str, float, int]]]] = {
    "e-live": (
        ("stock", 0.2, 2), ("orders", 0.2, 2), ("ledger", 0.1, 1), ("weather", 0.1, 1), ("labels", 0.1, 1),
        ("harvest", 0.2, 1), ("couriers", 0.1, 2), ("pricing", 0.2, 1), ("tasting", 0.1, 1), ("newsletter", 0.1, 1),
        ("frost-watch", 0.1, 1), ("bees", 0.1, 1), ("archive", 0.2, 1),
        ("cider", 0.5, 1), ("grading", 0.5, 1),
    ),
    "e-trial": (("stock", 0.1, 1), ("orders", 0.1, 1), ("pricing", 0.1, 1), ("robots", 0.1, 1)),
    "e-press": (("bottling", 0.1, 1), ("cellar", 0.1, 1)),
    "e-press-test": (("bottling", 0.1, 1),),
}  # fmt: skip
_ASSETS: Final = (
    ("stock-api", "rest-api", 4.5), ("orders-api", "rest-api", 4.0), ("ledger-api", "rest-api", 0.0),
    ("shared-types", "raml-fragment", 0.0), ("address-types", "raml-fragment", 0.0), ("stock-app", "app", 0.0),
    ("orders-app", "app", 0.0), ("frost-policy", "policy", 5.0), ("scales-connector", "extension", 3.5),
)  # fmt: skip
_DEPENDENCIES: Final = {
    "stock-api": ("shared-types",), "orders-api": ("shared-types", "address-types"),
    "stock-app": ("stock-api", "scales-connector"), "orders-app": ("orders-api",),
}  # fmt: skip
_POLICIES: Final = {1: ("client-id-enforcement", "rate-limiting"), 2: ("jwt-validation",), 3: (), 4: ("rate-limiting",)}
_QUEUES: Final = (("orders", False, 900), ("orders-seq", True, 300), ("labels", False, 140))


class Moment(NamedTuple):
    """When something is asked, and since when the organisation is watched."""

    at: float
    began: float

    def grown(self, low: float, high: float) -> float:
        """A quantity that grows evenly over sixty days, and is a third of the way when it is first looked at."""
        share = 1 / 3 + (self.at - self.began) / (PERIOD * DAY) * 2 / 3
        return low + (high - low) * min(max(share, 0.0), 1.0)

    def busy(self, least: float, most: float) -> float:
        """A quantity that follows the hours of the day and rests at weekends."""
        hour = math.sin((self.at % DAY / DAY - 0.25) * 2 * math.pi) / 2 + 0.5
        week = 0.4 if datetime.fromtimestamp(self.at, UTC).weekday() >= SATURDAY else 1.0
        return least + (most - least) * hour * week


def answer(fact: Fact, now: Moment) -> Any:
    """What the platform says to one question, as it is before anything is cut out of it."""
    return _ANSWERS[fact.name](fact.scope, now)


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _hierarchy(scope: Sequence[str], now: Moment) -> Item:
    def pair(assigned: float, reassigned: float = 0) -> Item:
        return {"assigned": assigned, "reassigned": reassigned}

    units: Item = {"mqMessages": {"base": 1_000_000}, "objectStoreRequestUnits": {"base": 500_000}}
    press: Item = {
        "id": PRESS, "name": "Lumen Press", "isMaster": False, "subOrganizations": [],
        "entitlements": {
            "vCoresProduction": pair(1), "vCoresSandbox": pair(1), "vpcs": pair(0), "vpns": pair(0),
            "loadBalancer": pair(0), "staticIps": pair(2), "hybrid": {"enabled": False},
            "runtimeFabric": False, **units,
        },
    }  # fmt: skip
    root: Item = {
        "id": ORG, "name": "Lumen Orchards", "isMaster": True, "subOrganizations": [press],
        "entitlements": {
            "vCoresProduction": pair(3.3, 1), "vCoresSandbox": pair(3), "vpcs": pair(3), "vpns": pair(2),
            "loadBalancer": pair(2), "staticIps": pair(10), "hybrid": {"enabled": True}, "runtimeFabric": True, **units,
        },
    }  # fmt: skip
    return press if scope[0] == PRESS else root


def _environments(scope: Sequence[str], now: Moment) -> list[Item]:
    return [
        {"id": key, "name": name, "organizationId": scope[0], "isProduction": kind == "production", "type": kind}
        for key, name, kind in _ENVIRONMENTS.get(scope[0], ())
    ]


def _members(scope: Sequence[str], now: Moment) -> list[Item]:
    count = int(now.grown(22, 31)) if scope[0] == ORG else 5
    return [
        {
            "id": f"u-{number}",
            "enabled": number % 9 != 0,
            "lastLogin": _iso(now.at - (number % 7) * 13 * DAY) if number % 5 else None,
        }
        for number in range(count)
    ]


def _usage(scope: Sequence[str], now: Moment) -> Item:
    if scope[0] != ORG:
        return {"staticIpsConsumed": 1, "vpcsConsumed": 0, "vpnsConsumed": 0, "loadBalancersConsumed": 0}
    return {
        "staticIpsConsumed": int(now.grown(4, 10)), "vpcsConsumed": 2, "vpnsConsumed": 1, "loadBalancersConsumed": 1
    }  # fmt: skip


def _applications(scope: Sequence[str], now: Moment) -> list[Item]:
    every = _APPLICATIONS.get(scope[1], ())
    started = min(len(every), math.ceil(now.grown(0.2, 1.4) * len(every)))
    return [
        {
            "domain": name, "status": "STARTED" if number < started else "UNDEPLOYED", "region": "eu-central-1",
            "workers": {"type": {"weight": weight}, "amount": amount},
            "muleVersion": {"version": "4.6.1" if number % 3 else "4.4.0"},
        }
        for number, (name, weight, amount) in enumerate(every)
    ]  # fmt: skip


def _assets(scope: Sequence[str], now: Moment) -> list[Item]:
    if scope[0] != ORG:
        return []
    return [
        {"groupId": ORG, "assetId": name, "version": "1.0.0", "type": kind, "isGenerated": False, "rating": rating,
         "numberOfRates": 3 if rating else 0}
        for name, kind, rating in _ASSETS
    ]  # fmt: skip


def _dependencies(scope: Sequence[str], now: Moment) -> list[Item]:
    return [
        {"groupId": ORG, "assetId": name, "version": "1.0.0", "type": "any"} for name in _DEPENDENCIES.get(scope[2], ())
    ]


def _apis(scope: Sequence[str], now: Moment) -> list[Item]:
    if scope[1] not in ("e-live", "e-trial"):
        return []
    contracts = int(now.grown(3, 11))
    instances = [
        {"id": 1, "productVersion": "v1", "lastActiveDate": _iso(now.at - 600), "activeContractsCount": contracts},
        {"id": 2, "productVersion": "v2", "lastActiveDate": _iso(now.at - 3_000), "activeContractsCount": 2},
    ]
    others = [{"id": 3, "productVersion": "v1", "lastActiveDate": None, "activeContractsCount": 0}]
    newest = [{"id": 4, "productVersion": "v1", "lastActiveDate": _iso(now.at - 5 * DAY), "activeContractsCount": 1}]
    return [
        {"groupId": ORG, "assetId": name, "totalApis": len(apis), "apis": apis}
        for name, apis in (("stock-api", instances), ("ledger-api", others), ("orders-api", newest))
    ]


def _policies(scope: Sequence[str], now: Moment) -> list[Item]:
    return [{"template": {"groupId": ORG, "assetId": name}} for name in _POLICIES.get(int(scope[2]), ())]


def _automated(scope: Sequence[str], now: Moment) -> list[Item]:
    return [{"assetId": "rate-limiting"}] if scope[1] == "e-live" else []


def _clients(scope: Sequence[str], now: Moment) -> list[Item]:
    return [{"id": number} for number in range(int(now.grown(9, 16)) if scope[0] == ORG else 1)]


def _projects(scope: Sequence[str], now: Moment) -> list[Item]:
    kinds = ("raml", "raml", "raml-fragment", "Mule_Application", "raml") if scope[0] == ORG else ("raml",)
    return [{"id": f"p-{number}", "type": kind} for number, kind in enumerate(kinds)]


def _servers(scope: Sequence[str], now: Moment) -> list[Item]:
    versions = ("4.5.0", "4.4.0") if scope[1] == "e-live" else ("4.5.0",)
    return [{"id": 41 + number, "muleVersion": version} for number, version in enumerate(versions)]


def _clusters(scope: Sequence[str], now: Moment) -> list[Item]:
    return [{"id": 51}] if scope[1] == "e-live" else []


def _groups(scope: Sequence[str], now: Moment) -> list[Item]:
    return []


def _deployments(scope: Sequence[str], now: Moment) -> list[Item]:
    if scope[1] != "e-live":
        return []
    return [
        {"id": "61001", "status": "STARTED", "target": {"provider": "RR", "targetId": "51"}},
        *(
            {"id": f"d-{number}", "status": "APPLIED", "target": {"provider": "MC", "targetId": "f-barn"},
             "application": {"status": "RUNNING"}}
            for number in range(int(now.grown(3, 7)))
        ),
    ]  # fmt: skip


def _deployment(scope: Sequence[str], now: Moment) -> Item:
    if not scope[2].startswith("d-"):
        return {"target": {"provider": "RR", "targetId": "51"}, "application": {"status": "RUNNING"}}
    resources = {"cpu": {"reserved": "500m"}, "memory": {"reserved": "1000Mi"}}
    settings = {"resources": resources, "runtimeVersion": "4.6.1:v1.0.7"}
    return {
        "target": {"provider": "MC", "targetId": "f-barn", "replicas": 1, "deploymentSettings": settings},
        "application": {"status": "RUNNING"},
    }


def _fabrics(scope: Sequence[str], now: Moment) -> list[Item]:
    def node(role: str, cores: int, memory: int) -> Item:
        return {"role": role, "capacity": {"cpuMillis": cores, "memoryMi": memory}}

    nodes = [node("controller", 2_000, 8_000), node("worker", 4_000, 16_000), node("worker", 4_000, 16_000)]
    return [{"id": "f-barn", "name": "barn", "region": "eu-central-1", "nodes": nodes}] if scope[0] == ORG else []


def _analytics(scope: Sequence[str], now: Moment) -> list[Item]:
    if scope[1] != "e-live":
        return [{"api_id": []}]
    counts = {"1": int(now.grown(400_000, 900_000)), "2": int(now.busy(90_000, 120_000))}
    return [{"api_id": [{key: {"count": count}} for key, count in counts.items()]}]


def _regions(scope: Sequence[str], now: Moment) -> list[Item]:
    return [{"regionId": "eu-central-1", "regionName": "EU (Frankfurt)"}]


def _destinations(scope: Sequence[str], now: Moment) -> list[Item]:
    if scope[1] not in ("e-live", "e-press"):
        return []
    queues = [{"type": "queue", "queueId": name, "fifo": fifo} for name, fifo, _ in _QUEUES]
    return [*queues, {"type": "exchange", "exchangeId": "harvest-news"}]


def _stats(scope: Sequence[str], now: Moment) -> Item:
    def points(value: float) -> list[Item]:
        return [{"date": _iso(now.at), "value": int(value)}]

    sizes: dict[str, int] = {name: size for name, _, size in _QUEUES}
    sent = now.busy(sizes.get(scope[-1], 50) * 4, sizes.get(scope[-1], 50) * 40)
    if scope[3].startswith("exchange"):
        return {"messagesPublished": points(sent), "messagesDelivered": points(sent * 3)}
    return {
        "inflightMessages": points(sent / 200), "messagesSent": points(sent), "messagesReceived": points(sent * 0.99),
        "messagesAcked": points(sent * 0.98),
    }  # fmt: skip


def _store(scope: Sequence[str], now: Moment) -> list[Item]:
    busy = {"e-live": 42_000, "e-press": 6_000}.get(scope[1], 300)
    return [{"timeStamp": _iso(now.at), "objectStoreRequestCount": int(now.busy(busy / 4, busy))}]


_ANSWERS: Final[Mapping[str, Callable[[Sequence[str], Moment], Any]]] = {
    "hierarchy": _hierarchy, "environments": _environments, "members": _members, "usage": _usage,
    "ch.applications": _applications, "ex.assets": _assets, "ex.dependencies": _dependencies, "apm.apis": _apis,
    "apm.policies": _policies, "ap.policies": _automated, "apc.clients": _clients, "dc.projects": _projects,
    "arm.servers": _servers, "arm.clusters": _clusters, "arm.groups": _groups, "arm.deployments": _deployments,
    "arm.deployment": _deployment, "rtf.fabrics": _fabrics, "apma.analytics": _analytics, "amq.regions": _regions,
    "amq.destinations": _destinations, "amq.stats": _stats, "osv2.stats": _store,
}  # fmt: skip
