"""Reduces answers to the fields the formulas read, so that no secret gets into the cache; redacts raw answers.

Answers of an unexpected shape are refused here, so that the formulas can trust what they get.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, cast

from pentad.kernel.secrets.names import is_secret_member
from pentad.kernel.secrets.text import scrub_text
from pentad.rooms.metrics.collectors.anypoint.cells import to_number
from pentad.rooms.metrics.collectors.anypoint.preview_api import METERS

DEEPEST: Final = 100
_ENTITLED: Final = (
    "vCoresProduction", "vCoresSandbox", "vpcs", "vpns", "loadBalancer", "staticIps", "hybrid", "runtimeFabric",
    "mqMessages", "mqRequests", "objectStoreRequestUnits",
)  # fmt: skip


class UnexpectedShape(Exception):
    """A member of an answer is missing, or of another kind than expected."""

    def __init__(self, what: str, *path: str) -> None:
        super().__init__(what)
        self.what = what
        self.path = path

    def __str__(self) -> str:
        return f"The answer has {'.'.join(self.path) or 'entries'} that {self.what}."


class Maybe(NamedTuple):
    """A member that may be missing or null."""

    fields: Any


class Each(NamedTuple):
    """An object whose members all have these fields; their names differ."""

    fields: Any


NAME: Final = "a text or number"
NUMBER: Final = "a number"
TRUTH: Final = "true or false"


def _name(value: Any) -> str | int | float | None:
    return value if isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != "" else None


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


_READ: Final[Mapping[str, Callable[[Any], Any]]] = {NAME: _name, NUMBER: to_number, TRUTH: _truth}
"""How to read a leaf; None if it is of another kind."""

Fields = Mapping[str, Any]
"""The members to keep, by name: the kind of a leaf, the fields of an object, a list with the fields of each entry,
`Each`, or `Maybe` one of these. Figures need what is required: without it, they would be too small."""

FIELDS: Final[Mapping[str, Fields]] = {
    "environments": {"id": NAME, "name": Maybe(NAME), "isProduction": TRUTH, "type": NAME},
    "members": {"id": Maybe(NAME), "enabled": TRUTH, "lastLogin": Maybe(NAME)},
    "usage": dict.fromkeys(
        ("staticIpsConsumed", "vpcsConsumed", "vpnsConsumed", "loadBalancersConsumed"), Maybe(NUMBER)
    ),
    "ch.applications": {
        "domain": Maybe(NAME), "status": NAME, "region": Maybe(NAME), "muleVersion": {"version": NAME},
        "workers": {"type": {"weight": NUMBER}, "amount": NUMBER},
    },
    "ex.assets": {
        "groupId": NAME, "assetId": NAME, "version": NAME, "type": NAME, "isGenerated": TRUTH, "rating": Maybe(NUMBER),
        "numberOfRates": Maybe(NUMBER),
    },
    "ex.dependencies": {"groupId": NAME, "assetId": NAME},
    "apm.apis": {
        "groupId": NAME, "assetId": NAME, "totalApis": NUMBER,
        "apis": [
            {
                "id": NAME, "productVersion": NAME, "lastActiveDate": Maybe(NAME),
                "activeContractsCount": Maybe(NUMBER),
            }
        ],
    },
    "apm.policies": {"template": {"groupId": Maybe(NAME), "assetId": NAME}},
    "ap.policies": {"assetId": NAME},
    "apc.clients": {"id": Maybe(NAME), "name": Maybe(NAME)},
    "dc.projects": {"name": Maybe(NAME), "type": NAME},
    "arm.servers": {"name": Maybe(NAME), "status": Maybe(NAME), "muleVersion": Maybe(NAME)},
    "arm.clusters": {"id": Maybe(NAME), "name": Maybe(NAME), "status": Maybe(NAME)},
    "arm.groups": {"id": Maybe(NAME), "name": Maybe(NAME), "status": Maybe(NAME)},
    "arm.deployments": {
        "id": NAME, "name": Maybe(NAME), "status": Maybe(NAME), "target": {"provider": NAME, "targetId": Maybe(NAME)},
        "application": Maybe({"status": Maybe(NAME)}),
    },
    "arm.deployment": {
        "target": {
            "provider": NAME, "targetId": Maybe(NAME), "replicas": Maybe(NUMBER),
            "deploymentSettings": Maybe(
                {
                    "resources": Maybe(dict.fromkeys(("cpu", "memory"), Maybe({"reserved": Maybe(NAME)}))),
                    "cpuReserved": Maybe(NAME), "memoryReserved": Maybe(NAME), "runtimeVersion": Maybe(NAME),
                }
            ),
        },
        "application": Maybe({"status": Maybe(NAME), "vCores": Maybe(NUMBER)}),
    },
    "rtf.fabrics": {
        "id": NAME, "name": Maybe(NAME), "region": Maybe(NAME), "status": Maybe(NAME),
        "nodes": [
            {
                "name": Maybe(NAME), "role": NAME,
                "capacity": Maybe(dict.fromkeys(("cpuMillis", "memoryMi"), Maybe(NUMBER))),
            }
        ],
    },
    "apma.analytics": {"api_id": Maybe([Each({"count": NUMBER})])},
    "amq.regions": {"regionId": NAME, "regionName": Maybe(NAME)},
    "amq.destinations": {
        "type": NAME, "queueId": Maybe(NAME), "exchangeId": Maybe(NAME), "fifo": Maybe(TRUTH)
    },
    "amq.stats": {
        name: Maybe([{"value": NUMBER}])
        for name in (
            "inflightMessages", "messagesSent", "messagesReceived", "messagesAcked", "messagesPublished",
            "messagesDelivered",
        )
    },
    "osv2.stats": {"objectStoreRequestCount": NUMBER},
    "flex.gateways": {"id": Maybe(NAME), "name": Maybe(NAME), "status": NAME},
    "audit.log": {
        "id": Maybe(NAME), "action": NAME,
        **dict.fromkeys(
            ("objectName", "objectType", "platform", "userName", "createdAt", "environmentName"), Maybe(NAME)
        ),
    },
    **{
        name: {
            "timestamp": NAME, "org_name": NAME, "env_name": Maybe(NAME), "app_name": Maybe(NAME), column: NUMBER
        }
        for name, (_, column) in METERS.items()
    },
}  # fmt: skip


def project(value: Any, fields: Fields) -> Any:
    """Keep only these fields of an object, or of each object of a list. Raises `UnexpectedShape`."""
    if isinstance(value, list):
        return [_member(entry, fields) for entry in cast("list[Any]", value)]
    return _members(value, fields)


def _members(value: Any, fields: Fields) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnexpectedShape("are not objects")
    entries = cast("dict[str, Any]", value)
    found: dict[str, Any] = {}
    for name, inner in fields.items():
        member, expected = entries.get(name), inner
        if isinstance(inner, Maybe):
            if member is None:
                if name in entries:
                    found[name] = None
                continue
            expected = inner.fields
        elif member is None:
            raise UnexpectedShape(f"lack {name}")
        try:
            found[name] = _member(member, expected)
        except UnexpectedShape as error:
            raise UnexpectedShape(error.what, name, *error.path) from None
    return found


def _member(value: Any, fields: Any) -> Any:
    if isinstance(fields, str):
        found = _READ[fields](value)
        if found is None:
            raise UnexpectedShape(f"are not {fields}")
        return found
    if isinstance(fields, list):
        if not isinstance(value, list):
            raise UnexpectedShape("are not lists")
        return project(value, cast("list[Fields]", fields)[0])
    if isinstance(fields, Each):
        if not isinstance(value, dict):
            raise UnexpectedShape("are not objects")
        return {name: _member(inner, fields.fields) for name, inner in cast("dict[str, Any]", value).items()}
    return _members(value, fields)


def project_group(group: Any, depth: int = 0) -> dict[str, Any]:
    """A hierarchy reduced to names, ids and entitlements. Raises `UnexpectedShape`."""
    entry = cast("dict[str, Any]", group if isinstance(group, dict) else {})
    below: Any = entry.get("subOrganizations") or []
    granted: Any = entry.get("entitlements") or {}
    if not isinstance(entry.get("id"), str) or not isinstance(below, list) or not isinstance(granted, dict):
        raise UnexpectedShape("are not groups")
    if depth == DEEPEST:
        raise UnexpectedShape(f"have more than {DEEPEST} levels", "groups")
    return {
        "id": entry["id"],
        "name": entry.get("name"),
        "isMaster": entry.get("isMaster"),
        "entitlements": {name: granted[name] for name in _ENTITLED if name in granted},
        "subOrganizations": [project_group(child, depth + 1) for child in cast("list[Any]", below)],
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
