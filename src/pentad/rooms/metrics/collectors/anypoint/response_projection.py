"""Reduces answers to the fields the formulas read, so that no secret gets into the cache; redacts raw answers.

Answers of an unexpected shape are refused here, so that the formulas can trust what they get.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from pentad.kernel.secrets.names import is_secret_member
from pentad.kernel.secrets.text import scrub_text
from pentad.rooms.metrics.collectors.anypoint.preview_api import METERS

_ENTITLED: Final = (
    "vCoresProduction", "vCoresSandbox", "vpcs", "vpns", "loadBalancer", "staticIps", "hybrid", "runtimeFabric",
    "mqMessages", "mqRequests", "objectStoreRequestUnits",
)  # fmt: skip

ANYTHING: Final = "anything"
Fields = Mapping[str, Any]
"""The members to keep, by name: True for a text or number, the fields of an object, a list with the fields of each
entry, or ANYTHING."""

FIELDS: Final[Mapping[str, Fields]] = {
    "environments": {"id": True, "name": True, "isProduction": True, "type": True},
    "members": {"id": True, "enabled": True, "lastLogin": True},
    "usage": {"staticIpsConsumed": True, "vpcsConsumed": True, "vpnsConsumed": True, "loadBalancersConsumed": True},
    "ch.applications": {
        "domain": True, "status": True, "region": True, "muleVersion": {"version": True},
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
    "apc.clients": {"id": True, "name": True},
    "dc.projects": {"name": True, "type": True},
    "arm.servers": {"name": True, "status": True, "muleVersion": True},
    "arm.clusters": {"id": True, "name": True, "status": True},
    "arm.groups": {"id": True, "name": True, "status": True},
    "arm.deployments": {
        "id": True, "name": True, "status": True, "target": {"provider": True, "targetId": True},
        "application": {"status": True},
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
        "id": True, "name": True, "region": True, "status": True,
        "nodes": [{"name": True, "role": True, "capacity": {"cpuMillis": True, "memoryMi": True}}],
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
    "flex.gateways": {"id": True, "name": True, "status": True},
    "audit.log": {
        "id": True, "action": True, "objectName": True, "objectType": True, "platform": True, "userName": True,
        "createdAt": True, "environmentName": True,
    },
    **{
        name: {"timestamp": True, "org_name": True, "env_name": True, "app_name": True, column: True}
        for name, (_, column) in METERS.items()
    },
}  # fmt: skip


def project(value: Any, fields: Fields) -> Any:
    """Keep only these fields of an object, or of each object of a list. Raises TypeError for another shape."""
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
        return project(value, cast("list[Fields]", fields)[0])
    if fields is not True:
        return _members(value, fields)
    if isinstance(value, (dict, list)):
        raise TypeError("a text or a number was expected")
    return value


def project_group(group: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """A hierarchy reduced to names, ids and entitlements."""
    granted = group.get("entitlements")
    below = cast("list[Any]", group.get("subOrganizations") or []) if depth < 100 else []
    return {
        "id": group.get("id"),
        "name": group.get("name"),
        "isMaster": group.get("isMaster"),
        "entitlements": project(granted if isinstance(granted, dict) else {}, dict.fromkeys(_ENTITLED, ANYTHING)),
        "subOrganizations": [
            project_group(cast("dict[str, Any]", entry), depth + 1) for entry in below if isinstance(entry, dict)
        ],
    }


TTLS: Final = {
    "hierarchy": 600.0, "environments": 600.0, "members": 600.0, "usage": 120.0, "ch.applications": 30.0,
    "ex.assets": 900.0, "ex.dependencies": 900.0, "apm.apis": 120.0, "apm.policies": 120.0, "ap.policies": 120.0,
    "apc.clients": 300.0, "dc.projects": 300.0, "rtf.fabrics": 120.0, "amq.regions": 86_400.0,
    "amq.destinations": 300.0, "osv2.stats": 600.0, "flex.gateways": 120.0, "audit.log": 300.0,
    **dict.fromkeys(METERS, 3_600.0),
}  # fmt: skip
"""How many seconds a fact stays fresh; others stay fresh for a minute."""


REDACTED: Final = "[redacted]"
_BLANKED: Final = frozenset({"properties", "configuration", "owners"})
_PERSONAL: Final = frozenset(
    {
        "clientid", "ownerid", "ownername", "owner", "idprovider_id", "email", "firstname", "lastname", "username",
        "phonenumber", "createdby", "coreservicesid",
    }
)  # fmt: skip


def redact(value: Any) -> Any:
    """A raw answer without personal data and secrets. Names stay, so that the shape remains readable."""
    if isinstance(value, dict):
        return {name: _redacted_member(name, inner) for name, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [redact(entry) for entry in cast("list[Any]", value)]
    return scrub_text(value) if isinstance(value, str) else value


def _redacted_member(name: str, value: Any) -> Any:
    if name.casefold() in _BLANKED:
        return _blank(value)
    if name.casefold() in _PERSONAL or is_secret_member(name, value):
        return value if value is None or isinstance(value, bool) else REDACTED
    return redact(value)


def _blank(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _blank(inner) for name, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_blank(entry) for entry in cast("list[Any]", value)]
    return value if value is None else REDACTED
