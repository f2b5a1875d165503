"""Standalone runtimes: servers, clusters, groups, and the applications deployed to them."""

from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.cells import Entry, Node, at, counted, made
from pentad.rooms.metrics.collectors.anypoint.cloudhub import different
from pentad.rooms.metrics.collectors.anypoint.environments import by_kind
from pentad.rooms.metrics.collectors.anypoint.known import Known
from pentad.rooms.metrics.collectors.anypoint.tree import Environment

KEYS: Final = (
    "servers", "clusters", "serverGroups", "applicationsTotal", "applicationsStarted", "applicationsStopped",
    "runtimesUsed", "runtimesUsedTotal",
)  # fmt: skip
LISTS: Final = {"runtimesUsed": "runtimesUsedTotal"}


def hybrid(known: Known) -> dict[str, Node]:
    return dict(by_kind(known, KEYS, LISTS, lambda environment: figures(known, environment)))


def figures(known: Known, environment: Environment) -> Entry:
    servers = known.cell("arm.servers", environment.id)
    mine = made(
        lambda items: [item for item in items if at(item, "target", "provider") == "RR"],
        known.cell("arm.deployments", environment.id),
    )
    started = made(_started, mine)
    runtimes = made(lambda found: different(server.get("muleVersion") for server in found), servers)
    return {
        "servers": made(len, servers),
        "clusters": made(len, known.cell("arm.clusters", environment.id)),
        "serverGroups": made(len, known.cell("arm.groups", environment.id)),
        "applicationsTotal": made(len, mine),
        "applicationsStarted": started,
        "applicationsStopped": made(lambda found, running: len(found) - running, mine, started),
        "runtimesUsed": runtimes,
        "runtimesUsedTotal": counted(runtimes),
    }


def _started(items: Any) -> int:
    return sum(1 for item in items if item.get("status") == "STARTED")
