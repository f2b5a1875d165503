"""The names of the flat rows of an Anypoint organisation, in their promised order. Tables only."""

from typing import Final, Literal, NamedTuple

ZERO: Final = "0"
"""The path of what the toolkit always gives as zero, as it reads a place that is not in its tree."""


class Named(NamedTuple):
    """A row's name, and where its value stands below the part of the tree it belongs to."""

    name: str
    path: str


class Part(NamedTuple):
    """The rows of one part of the organisation: its group, where it stands in the tree, the environment's type, and
    whether only our own rows have it, or only those that are as the toolkit's were."""

    group: str
    root: str
    rows: tuple[Named, ...]
    type: str = "NA"
    only: Literal["ours", "legacy"] | None = None


def _named(prefix: str, pairs: str) -> tuple[Named, ...]:
    """Rows written as `Name = path`, one on each line."""
    lines = (line.strip() for line in pairs.splitlines() if line.strip())
    return tuple(
        Named(prefix + name.strip(), path.strip()) for name, _, path in (line.partition(" = ") for line in lines)
    )


_CLOUDHUB: Final = "Runtime Manager - CloudHub"
_RTF: Final = "Runtime Manager - RTF"
_NETWORKING: Final = (("VPCs", "vpcs"), ("VPNs", "vpns"), ("DLBs", "dlbs"), ("Static IPs", "staticIPs"))

_VCORES: Final = _named(
    "CloudHub vCores ",
    """
    Total = vcoresTotal
    Available Total = vcoresAvailable
    """,
)

ORGANISATION: Final = (
    Part(
        "Access Management",
        "coreServicesMetrics",
        _named(
            "",
            """
            Users Total = users.total
            Active Users = users.activeMembers
            Inactive Users = users.inactiveMembers
            Active Users Last 60 days = users.activeMembersLast60Days
            Active Users Last 30 days = users.activeMembersLast30Days
            Environments Total = environments.total
            Environments Production Total = environments.production
            Environments Sandbox Total = environments.sandbox
            """,
        ),
    ),
    Part(
        "Design Center",
        "designCenterMetrics",
        _named(
            "Design Center ",
            """
            Assets Total = total
            API Specs Total = apiSpecs
            Fragments Total = fragments
            Flow Designer Apps Total = flowDesignerApps
            """,
        ),
    ),
    Part(
        "Exchange",
        "exchangeMetrics",
        _named(
            "Exchange ",
            """
            Assets Total = total
            API Specs Total = apiSpecs
            Connectors Total = mule3Connectors
            Fragments Total = fragments
            HTTP Proxies Total = proxies
            Extensions Total = extensions
            Custom Assets Total = custom
            Overall Satisfaction = overallSatisfaction
            """,
        ),
    ),
    Part(
        "Exchange",
        "exchangeMetrics",
        _named(
            "Exchange ",
            """
            SOAP APIs Total = soapApis
            Policies Total = policies
            Applications Total = applications
            Fragments Reuse Average = reuse.fragments
            Implemented APIs Reuse Average = reuse.implementedApis
            Extensions Reuse Average = reuse.extensions
            Managed Production APIs Reuse Average = reuse.managedProdApis
            Managed Sandbox APIs Reuse Average = reuse.managedSboxApis
            Applied Production Policies Reuse Average = reuse.appliedPoliciesProd
            Applied Sandbox Policies Reuse Average = reuse.appliedPoliciesSbox
            """,
        ),
        only="ours",
    ),
    Part(
        _CLOUDHUB,
        "runtimeManagerMetrics.cloudhub.networking",
        tuple(
            Named(f"CloudHub {name} {words}", f"{key}{end}")
            for name, key in _NETWORKING
            for words, end in (("Total", "Total"), ("Available Total", "Available"), ("Used Total", "Used"))
        ),
    ),
    Part("API Manager", "apiManagerMetrics", (Named("API Manager Client Applications Total", "clients"),)),
    Part(_CLOUDHUB, "runtimeManagerMetrics.cloudhub.applications.production", _VCORES, "Production"),
    Part(_CLOUDHUB, "runtimeManagerMetrics.cloudhub.applications.sandbox", _VCORES, "Sandbox"),
    Part(
        _RTF,
        "runtimeManagerMetrics.rtf.capacity",
        _named(
            "RTF ",
            """
            Fabrics Total = fabrics
            Workers Total = workers
            Controllers Total = controllers
            Cores Total = coresTotal
            Memory Total = memoryTotal
            Cores Per Fabric Average = coresPerFabric
            Memory Per Fabric Average = memoryPerFabric
            """,
        ),
    ),
)

_APPLICATIONS: Final = """
    Applications Total = applicationsTotal
    Applications Started Total = applicationsStarted
    Applications Stopped Total = applicationsStopped
"""
_RUNTIMES: Final = """
    Runtime Versions Used = runtimesUsed
    Runtime Versions Used Total = runtimesUsedTotal
"""
_RTF_ROOT: Final = "runtimeManagerMetrics.rtf.applications"

ENVIRONMENTS: Final = (
    (
        Part(
            "API Manager",
            "apiManagerMetrics.apis",
            _named(
                "API Manager ",
                """
                API Specs Managed Total = total
                API Instances Total = apiInstances
                API Instances Active Total = active
                API Instances Inactive Total = inactive
                API Instances Versions Total = apiVersions
                API Instances With Policies Total = apisWithPolicies
                API Instances Without Policies Total = apisWithoutPolicies
                API Instances With Security Policies Total = apisWithSecurity
                API Instances Without Security Policies Total = apisWithoutSecurity
                API Instances With Contracts Total = apisWithContracts
                API Instances Without Contracts Total = apisWithoutContracts
                API Instances With More Than One Consumer Total = apisWithMoreThanOneConsumer
                API Instances With One or More Consumers Total = apisWithOneOrMoreConsumers
                API Contracts Total = contracts
                Policies Used = policiesUsed
                Policies Used Total = policiesUsedTotal
                Automated Policies Used = automatedPoliciesUsed
                Automated Policies Used Total = automatedPoliciesUsedTotal
                """,
            ),
        ),
        Part(
            "API Analytics",
            "apiManagerMetrics.apis",
            (Named("API Analytics Transactions Last 30 days Total", "transactions"),),
        ),
    ),
    (
        Part(
            _CLOUDHUB,
            "runtimeManagerMetrics.cloudhub.applications",
            _named("CloudHub ", f"vCores Used Total = vcoresUsed{_APPLICATIONS}{_RUNTIMES}"),
        ),
    ),
    (
        Part(_RTF, _RTF_ROOT, (Named("RTF Cores Used Total", ZERO),), only="legacy"),
        Part(_RTF, _RTF_ROOT, (Named("RTF Cores Reserved Total", "coresReserved"),)),
        Part(_RTF, _RTF_ROOT, (Named("RTF Memory Used Total", ZERO),), only="legacy"),
        Part(_RTF, _RTF_ROOT, (Named("RTF Memory Reserved Total", "memoryReserved"),), only="ours"),
        Part(_RTF, _RTF_ROOT, _named("RTF ", f"{_APPLICATIONS}{_RUNTIMES}")),
    ),
    (
        Part(
            "Runtime Manager - CloudHub 2.0",
            "runtimeManagerMetrics.cloudhub2.applications",
            _named("CloudHub 2.0 ", f"vCores Used Total = vcoresUsed{_APPLICATIONS}{_RUNTIMES}"),
            only="ours",
        ),
    ),
    (
        Part(
            "Runtime Manager - ARM",
            "runtimeManagerMetrics.hybrid",
            _named(
                "Standalone Mule ",
                f"""
                Servers Total = servers
                Clusters Total = clusters
                Server Groups Total = serverGroups
                {_APPLICATIONS.strip()}
                Runtime Versions = runtimesUsed
                Runtime Versions Total = runtimesUsedTotal
                """,
            ),
        ),
    ),
    (
        Part(
            "Anypoint MQ",
            "mqMetrics.stats.summary.*.queues",
            _named(
                "Anypoint MQ - ",
                """
                Total Queues = commonQueues
                Total FIFO Queues = fifoQueues
                Queues - Total Messages Sent = messagesSent
                Queues - Total Messages Received = messagesReceived
                Queues - Total Messages ACK = messagesAck
                Queues - Total Messages In Flight = messagesInFlight
                """,
            ),
        ),
    ),
    (
        Part(
            "Anypoint MQ",
            "mqMetrics.stats.summary.*.exchanges",
            _named(
                "Anypoint MQ - ",
                """
                Total Exchanges = exchangeQueues
                Exchanges - Total Messages Published = messagesPublished
                Exchanges - Total Messages Delivered = messagesDelivered
                """,
            ),
        ),
    ),
    (Part("ObjectStore V2", "osV2Metrics.stats", (Named("OSv2 - Request count", "requestCount"),)),),
)
"""Groups of rows told one environment after the other, production first; parts in one group share each environment.
A star stands for the environment's type; without one the type is the last step."""

BENEFITS: Final = _named(
    "",
    """
    Developers Productivity = developerProductivity
    Savings from API Reuse = savingFromAPIReuse
    Savings from Maintenance Productivity = savingFromMaintenanceProductivity
    Savings from Reuse in Maintenance = savingFromReuseInMaintenance
    Total Savings = totalSavings
    """,
)
