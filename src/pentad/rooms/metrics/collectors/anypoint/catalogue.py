"""What each of the collectors measures: every key with its meaning, unit, formula and the facts it needs."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pentad.rooms.metrics.model import Metric

GROUP: Final = ("hierarchy",)
ENVIRONMENTS: Final = ("hierarchy", "environments")
GROUP_LABELS: Final = ("businessGroup", "businessGroupId")
LABELS: Final = (*GROUP_LABELS, "environmentName", "environmentType")
KINDS: Final = {"production": "in production", "sandbox": "in sandboxes"}

Line = tuple[str, str, Mapping[str, Any]]
"""A key, what it means, and what else there is to say."""


def line(key: str, description: str, **more: Any) -> Line:
    return key, description, more


def _group(lines: Iterable[Line], facts: tuple[str, ...], prefix: str = "") -> list[Metric]:
    found: list[Metric] = []
    for key, description, more in lines:
        said: dict[str, Any] = {"facts": facts, "labels": GROUP_LABELS, **more}
        found.append(Metric(key=f"{prefix}{key}", description=description, **said))
    return found


def _kinds(lines: Iterable[Line], facts: tuple[str, ...], prefix: str, suffix: str = "") -> list[Metric]:
    """The same keys for production and sandbox. A limit among them is of the same kind of environment."""
    found: list[Metric] = []
    for kind, where in KINDS.items():
        for key, description, more in lines:
            said: dict[str, Any] = {"facts": facts, "labels": LABELS, **more}
            if "limit" in said:
                said["limit"] = f"{prefix}.{kind}{suffix}.{said['limit']}"
            text = f"{description[:-1]}, {where}."
            found.append(Metric(key=f"{prefix}.{kind}{suffix}.{key}", description=text, **said))
    return found


def _applications(started: str) -> list[Line]:
    return [
        line("applicationsTotal", "Applications."),
        line("applicationsStarted", "Applications that run.", formula=started),
        line("applicationsStopped", "Applications that do not run.", formula="applicationsTotal - applicationsStarted"),
    ]


_RUNTIMES: Final = [
    line("runtimesUsed", "Versions of the runtime in use.", kind="list"),
    line("runtimesUsedTotal", "Number of versions of the runtime in use."),
]

_CORE: Final = (
    *_group(
        [
            line("total", "Members of the group."),
            line("activeMembers", "Members that are enabled.", formula="enabled is true"),
            line("inactiveMembers", "Members that are disabled.", formula="enabled is false"),
            line("activeMembersLast60Days", "Members seen in the last 60 days.", formula="lastLogin >= now - 60 d"),
            line("activeMembersLast30Days", "Members seen in the last 30 days.", formula="lastLogin >= now - 30 d"),
        ],
        (*GROUP, "members"),
        "users.",
    ),
    *_group(
        [
            line("total", "Environments, without those for designing."),
            line("production", "Environments for production.", formula="isProduction"),
            line("sandbox", "Environments that are sandboxes.", formula="not isProduction"),
        ],
        ENVIRONMENTS,
        "environments.",
    ),
)  # fmt: skip

_DC: Final = (
    *_group(
        [
            line("total", "Projects."),
            line("apiSpecs", "API specifications.", formula="type is raml"),
            line("fragments", "Fragments of API specifications.", formula="type is raml-fragment"),
            line("flowDesignerApps", "Applications of the flow designer.", formula="type is Mule_Application"),
        ],
        (*GROUP, "dc.projects"),
    ),
)

_ASSETS: Final = (*GROUP, "ex.assets")
_DEPENDENCIES: Final = (*_ASSETS, "ex.dependencies")
_MANAGED: Final = (*ENVIRONMENTS, "ex.assets", "apm.apis")
_EX: Final = (
    *_group(
        [
            line("total", "Assets people made.", formula="isGenerated is false"),
            line("apiSpecs", "API specifications.", formula="type is rest-api"),
            line("fragments", "Fragments.", formula="type is raml-fragment"),
            line("proxies", "HTTP proxies.", formula="type is http-api"),
            line("soapApis", "SOAP APIs.", formula="type is soap-api"),
            line("policies", "Policies.", formula="type is policy"),
            line("mule3Connectors", "Connectors for Mule 3.", formula="type is connector"),
            line("extensions", "Extensions.", formula="type is extension"),
            line("applications", "Applications.", formula="type is app"),
            line("custom", "Assets of own types.", formula="type is custom"),
            line("overallSatisfaction", "How rated assets are rated.", formula="mean rating where numberOfRates > 0",
                 better="higher"),
        ],
        _ASSETS,
    ),
    *_group(
        [
            line("fragments", "API specifications that use a fragment, on average."),
            line("implementedApis", "Applications that implement an API specification, on average."),
            line("extensions", "Applications that use an extension, on average."),
        ],
        _DEPENDENCIES,
        "reuse.",
    ),
    *_group(
        [
            line("managedSboxApis", "Managed APIs of an API specification in sandboxes, on average.", facts=_MANAGED),
            line("managedProdApis", "Managed APIs of an API specification in production, on average.", facts=_MANAGED),
            line("appliedPoliciesSbox", "Times a policy asset is applied in sandboxes, on average."),
            line("appliedPoliciesProd", "Times a policy asset is applied in production, on average."),
        ],
        (*_MANAGED, "apm.policies"),
        "reuse.",
    ),
)  # fmt: skip

_APIS: Final = (*ENVIRONMENTS, "apm.apis")
_POLICIES: Final = (*_APIS, "apm.policies")
_APM: Final = (
    *_kinds(
        [
            line("total", "Assets in API Manager."),
            line("active", "API instances called within a day.", formula="lastActiveDate >= now - 1 d"),
            line("inactive", "API instances not called for a day.", formula="lastActiveDate < now - 1 d, or null"),
            line("apiInstances", "API instances.", formula="sum of totalApis"),
            line("apiVersions", "Different versions of products.", formula="distinct productVersion"),
            line("apisWithPolicies", "API instances with policies.", facts=_POLICIES),
            line("apisWithoutPolicies", "API instances without any policy.", facts=_POLICIES, better="lower"),
            line("apisWithSecurity", "API instances with a policy for security.", facts=_POLICIES, better="higher"),
            line("apisWithoutSecurity", "API instances without one.", facts=_POLICIES, better="lower"),
            line("apisWithContracts", "API instances with contracts.", formula="activeContractsCount > 0"),
            line("apisWithoutContracts", "API instances without contracts.", formula="activeContractsCount = 0"),
            line("apisWithMoreThanOneConsumer", "API instances used again.", formula="activeContractsCount > 1"),
            line("apisWithOneOrMoreConsumers", "API instances that are used.", formula="activeContractsCount > 0"),
            line("contracts", "Active contracts.", formula="sum of activeContractsCount"),
            line("policiesUsed", "Policies that are applied.", kind="list", facts=_POLICIES),
            line("policiesUsedTotal", "Number of different policies that are applied.", facts=_POLICIES),
        ],
        _APIS,
        "apis",
    ),
)  # fmt: skip

_APC: Final = tuple(_group([line("clients", "Client applications.")], (*GROUP, "apc.clients")))

_AP: Final = tuple(
    _kinds(
        [
            line("automatedPoliciesUsed", "Automated policies.", kind="list"),
            line("automatedPoliciesUsedTotal", "Number of different automated policies."),
        ],
        (*ENVIRONMENTS, "ap.policies"),
        "apis",
    )
)

_APMA: Final = tuple(
    _kinds(
        [line("transactions", "Requests to APIs in the last 30 days.", formula="sum of the counts by api_id")],
        (*ENVIRONMENTS, "apma.analytics"),
        "apis",
    )
)


def _network() -> list[Metric]:
    found: list[Metric] = []
    names = {"vpcs": "VPCs", "vpns": "VPNs", "dlbs": "Dedicated load balancers", "staticIPs": "Static addresses"}
    for name, called in names.items():
        key = f"networking.{name}"
        used: dict[str, Any] = {"facts": (*GROUP, "usage"), "labels": GROUP_LABELS}
        found += [
            Metric(key=f"{key}Total", description=f"{called} assigned.", facts=GROUP, labels=GROUP_LABELS),
            Metric(key=f"{key}Used", description=f"{called} in use.", limit=f"{key}Total", better="lower", **used),
            Metric(
                key=f"{key}Available", description=f"{called} left.", formula=f"{name}Total - {name}Used",
                better="higher", **used,
            ),
        ]  # fmt: skip
    return found


_CH_FACTS: Final = (*ENVIRONMENTS, "ch.applications")
_CH: Final = (
    *_network(),
    *_kinds(
        [
            line("vcoresTotal", "vCores for the group.", unit="vCores", facts=GROUP, formula="assigned - reassigned"),
            line("vcoresUsed", "vCores of started applications.", unit="vCores", better="lower", limit="vcoresTotal",
                 formula="sum of weight x amount over STARTED"),
            line("vcoresAvailable", "vCores left.", unit="vCores", formula="vcoresTotal - vcoresUsed", better="higher"),
            *_applications("status is STARTED"),
            *_RUNTIMES,
        ],
        _CH_FACTS,
        "applications",
    ),
)  # fmt: skip

_CAPACITY: Final = (
    *_group(
        [
            line("fabrics", "Fabrics."),
            line("workers", "Nodes that work.", formula="role is worker"),
            line("controllers", "Nodes that control.", formula="role is controller"),
            line("coresTotal", "Cores of the workers.", unit="cores", formula="sum of cpuMillis / 1000"),
            line("memoryTotal", "Memory of the workers.", unit="GB", formula="sum of memoryMi / 1000"),
            line("coresPerFabric", "Cores of a fabric.", unit="cores", formula="coresTotal / fabrics"),
            line("memoryPerFabric", "Memory of a fabric.", unit="GB", formula="memoryTotal / fabrics"),
        ],
        (*GROUP, "rtf.fabrics"),
        "capacity.",
    ),
)
_LISTED: Final = (*ENVIRONMENTS, "arm.deployments")
_DEPLOYED: Final = (*_LISTED, "arm.deployment", "rtf.fabrics")
_RESERVED: Final = [
    line("coresReservedA", "Cores reserved, by the new fields.", unit="cores",
         formula="resources.cpu.reserved x replicas / 1000"),
    line("coresReservedB", "Cores reserved, by the old fields.", unit="cores",
         formula="cpuReserved x replicas / 1000"),
    line("coresReserved", "Cores reserved.", unit="cores", formula="coresReservedA + coresReservedB"),
    line("memoryReservedA", "Memory reserved, by the new fields.", unit="GB",
         formula="resources.memory.reserved x replicas / 1000"),
    line("memoryReservedB", "Memory reserved, by the old fields.", unit="GB",
         formula="memoryReserved x replicas / 1000"),
    line("memoryReserved", "Memory reserved.", unit="GB", formula="memoryReservedA + memoryReservedB"),
]  # fmt: skip


def _fabric(prefix: str) -> list[Metric]:
    return _kinds([*_RESERVED, *_applications("application.status is RUNNING"), *_RUNTIMES], _DEPLOYED, prefix)


_SERVERS: Final = (*ENVIRONMENTS, "arm.servers")
_ARM: Final = (
    *_kinds(
        [
            line("servers", "Servers.", facts=_SERVERS),
            line("clusters", "Clusters.", facts=(*ENVIRONMENTS, "arm.clusters")),
            line("serverGroups", "Groups of servers.", facts=(*ENVIRONMENTS, "arm.groups")),
            *_applications("provider is RR and status is STARTED"),
            line("runtimesUsed", "Versions of the runtime in use.", kind="list", facts=_SERVERS),
            line("runtimesUsedTotal", "Number of versions of the runtime in use.", facts=_SERVERS),
        ],
        _LISTED,
        "hybrid",
    ),
    *_fabric("rtf.applications"),
    *_kinds(
        [
            line("vcoresUsed", "vCores of running applications on CloudHub 2.0.", unit="vCores",
                 formula="sum of vCores x replicas"),
            *_applications("application.status is RUNNING"),
            *_RUNTIMES,
        ],
        _DEPLOYED,
        "cloudhub2.applications",
    ),
)  # fmt: skip

_STATS: Final = (*ENVIRONMENTS, "amq.regions", "amq.destinations", "amq.stats")
_INVENTORY: Final = _STATS[:-1]
_QUEUES: Final = [
    line("commonQueues", "Queues.", facts=_INVENTORY),
    line("fifoQueues", "Queues that keep the order.", facts=_INVENTORY),
    line("messagesInFlight", "Messages in flight, over all points of the last day.", formula="sum of inflightMessages"),
    line("messagesSent", "Messages sent in the last day.", formula="sum of messagesSent"),
    line("messagesReceived", "Messages received in the last day.", formula="sum of messagesReceived"),
    line("messagesAck", "Messages acknowledged in the last day.", formula="sum of messagesAcked"),
]
_EXCHANGES: Final = [
    line("exchangeQueues", "Message exchanges.", facts=_INVENTORY),
    line("messagesPublished", "Messages published in the last day.", formula="sum of messagesPublished"),
    line("messagesDelivered", "Messages delivered in the last day.", formula="sum of messagesDelivered"),
]
_AMQ: Final = tuple(
    metric
    for part in ("stats.summary", "stats.byRegion")
    for lines, suffix in ((_QUEUES, ".queues"), (_EXCHANGES, ".exchanges"))
    for metric in _kinds(lines, _STATS, part, suffix)
)

_OSV2: Final = tuple(
    _kinds(
        [line("requestCount", "Requests to the object store on the last whole day.")],
        (*ENVIRONMENTS, "osv2.stats"),
        "stats",
    )
)

_BENEFITS: Final = tuple(
    _group(
        [
            line(
                "reusedApis", "API instances of production with more than one consumer.", facts=_APIS, better="higher"
            ),
            line("applicationsStarted", "Applications that run in production: CloudHub, fabrics and standalone."),
        ],
        (*_CH_FACTS, "arm.deployments"),
    )
)

CATALOGUES: Final[Mapping[str, tuple[Metric, ...]]] = {
    "core": _CORE, "dc": _DC, "ex": _EX, "apm": _APM, "apc": _APC, "ap": _AP, "apma": _APMA, "ch": _CH,
    "rtf": (*_CAPACITY, *_fabric("applications")), "arm": _ARM, "amq": _AMQ, "osv2": _OSV2, "benefits": _BENEFITS,
}  # fmt: skip
