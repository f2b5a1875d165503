"""What is kept of each answer: what the formulas read and nothing else, so no secret of an answer is in the cache.

An answer of another shape than the formulas read is refused here, so that they need not doubt what they are given.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

_ENTITLED: Final = (
    "vCoresProduction", "vCoresSandbox", "vpcs", "vpns", "loadBalancer", "staticIps", "hybrid", "runtimeFabric",
    "mqMessages", "mqRequests", "objectStoreRequestUnits",
)  # fmt: skip

ANYTHING: Final = "anything"
Fields = Mapping[str, Any]
"""Which members of an answer are kept: under a name True for a text or number, the fields of an object that stands
there, the same in a list for a list of such objects, or ANYTHING."""

KEPT: Final[Mapping[str, Fields]] = {
    "environments": {"id": True, "name": True, "isProduction": True, "type": True},
    "members": {"id": True, "enabled": True, "lastLogin": True},
    "usage": {"staticIpsConsumed": True, "vpcsConsumed": True, "vpnsConsumed": True, "loadBalancersConsumed": True},
    "ch.applications": {
        "status": True, "region": True, "muleVersion": {"version": True},
        "workers": {"type": {"weight": True}, "amount": True},
    },
    "ex.assets": {
        "groupId": True, "assetId": True, "version": True, "type": True, "isGenerated": True, "rating": True,
        "numberOfRates": True,
    },
    "ex.dependencies": {"groupId": True, "assetId": True},
    "apm.apis": {
        "groupId": True, "assetId": True, "totalApis": True,
        "apis": [{"id": True, "productVersion": True, "lastActiveDate": True, "activeContractsCount": True}],
    },
    "apm.policies": {"template": {"groupId": True, "assetId": True}},
    "ap.policies": {"assetId": True},
    "apc.clients": {"id": True},
    "dc.projects": {"type": True},
    "arm.servers": {"muleVersion": True},
    "arm.clusters": {"id": True},
    "arm.groups": {"id": True},
    "arm.deployments": {
        "id": True, "status": True, "target": {"provider": True, "targetId": True}, "application": {"status": True}
    },
    "arm.deployment": {
        "target": {
            "provider": True, "targetId": True, "replicas": True,
            "deploymentSettings": {
                "resources": {"cpu": {"reserved": True}, "memory": {"reserved": True}}, "cpuReserved": True,
                "memoryReserved": True, "runtimeVersion": True,
            },
        },
        "application": {"status": True, "vCores": True},
    },
    "rtf.fabrics": {
        "id": True, "region": True, "nodes": [{"role": True, "capacity": {"cpuMillis": True, "memoryMi": True}}]
    },
    "apma.analytics": {"api_id": ANYTHING},
    "amq.regions": {"regionId": True, "regionName": True},
    "amq.destinations": {"type": True, "queueId": True, "exchangeId": True, "fifo": True},
    "amq.stats": {
        name: [{"value": True}]
        for name in (
            "inflightMessages", "messagesSent", "messagesReceived", "messagesAcked", "messagesPublished",
            "messagesDelivered",
        )
    },
    "osv2.stats": {"objectStoreRequestCount": True},
}  # fmt: skip


def kept(value: Any, fields: Fields) -> Any:
    """Only the members that are named, of an object or of each of a list. Raises TypeError where something else
    stands."""
    if isinstance(value, list):
        return [_members(entry, fields) for entry in cast("list[Any]", value)]
    return _members(value, fields)


def _members(value: Any, fields: Fields) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("an object was expected")
    entries = cast("dict[str, Any]", value)
    return {name: _member(entries[name], inner) for name, inner in fields.items() if name in entries}


def _member(value: Any, fields: Any) -> Any:
    if value is None or fields is ANYTHING:
        return value
    if isinstance(fields, list):
        if not isinstance(value, list):
            raise TypeError("a list was expected")
        return kept(value, cast("list[Fields]", fields)[0])
    if fields is not True:
        return _members(value, fields)
    if isinstance(value, (dict, list)):
        raise TypeError("a text or a number was expected")
    return value


def slim_group(group: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """A hierarchy with nothing but names, ids and entitlements."""
    granted = group.get("entitlements")
    below = cast("list[Any]", group.get("subOrganizations") or []) if depth < 100 else []
    return {
        "id": group.get("id"),
        "name": group.get("name"),
        "isMaster": group.get("isMaster"),
        "entitlements": kept(granted if isinstance(granted, dict) else {}, dict.fromkeys(_ENTITLED, ANYTHING)),
        "subOrganizations": [
            slim_group(cast("dict[str, Any]", entry), depth + 1) for entry in below if isinstance(entry, dict)
        ],
    }


TTLS: Final = {
    "hierarchy": 600.0, "environments": 600.0, "members": 600.0, "usage": 120.0, "ch.applications": 30.0,
    "ex.assets": 900.0, "ex.dependencies": 900.0, "apm.apis": 120.0, "apm.policies": 120.0, "ap.policies": 120.0,
    "apc.clients": 300.0, "dc.projects": 300.0, "rtf.fabrics": 120.0, "amq.regions": 86_400.0,
    "amq.destinations": 300.0, "osv2.stats": 600.0,
}  # fmt: skip
"""For how many seconds a fact stays good; a minute where nothing is said."""
