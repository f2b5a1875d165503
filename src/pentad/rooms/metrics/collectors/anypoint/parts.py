"""The twelve collectors: what each is called, where its figures stand in the tree, and the formulas that make them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pentad.rooms.metrics.collectors.anypoint.api_manager import api_manager
from pentad.rooms.metrics.collectors.anypoint.benefits import drivers
from pentad.rooms.metrics.collectors.anypoint.cells import Node
from pentad.rooms.metrics.collectors.anypoint.cloudhub import cloudhub
from pentad.rooms.metrics.collectors.anypoint.core import core
from pentad.rooms.metrics.collectors.anypoint.design_center import design_center
from pentad.rooms.metrics.collectors.anypoint.exchange import exchange
from pentad.rooms.metrics.collectors.anypoint.fabric import capacity, cloudhub_2, fabric_applications
from pentad.rooms.metrics.collectors.anypoint.hybrid import hybrid
from pentad.rooms.metrics.collectors.anypoint.known import Known
from pentad.rooms.metrics.collectors.anypoint.mq import mq
from pentad.rooms.metrics.collectors.anypoint.object_store import object_store


@dataclass(frozen=True, slots=True)
class Part:
    """One collector."""

    id: str
    title: str
    description: str
    aliases: tuple[str, ...]
    root: tuple[str, ...]
    build: Callable[[Known], Mapping[str, Node]]
    """Its figures for one group, from `root` on; may hold more than its catalogue names."""
    has_environments: bool = True
    has_regions: bool = False


def takes(part: Part) -> frozenset[str]:
    """What a question to it may be narrowed by: its figures are by environment and by region, or they are not."""
    by = [("environment", part.has_environments), ("region", part.has_regions)]
    return frozenset({"bg", "raw", "compat", *(name for name, has in by if has)})


def _fabric(known: Known) -> dict[str, Node]:
    return {"capacity": capacity(known), "applications": fabric_applications(known)}


def _runtimes(known: Known) -> dict[str, Node]:
    return {
        "hybrid": hybrid(known),
        "rtf": {"applications": fabric_applications(known)},
        "cloudhub2": cloudhub_2(known),
    }


PARTS: Final = {
    part.id: part
    for part in (
        Part(
            "core", "Access Management", "Members and environments.", ("access-management", "anypoint-core"),
            ("coreServicesMetrics",), core,
        ),
        Part(
            "dc", "Design Center", "Design projects.", ("designcenter",),
            ("designCenterMetrics",), design_center, has_environments=False,
        ),
        Part(
            "ex", "Exchange", "Assets, their rating and their reuse.", ("anypoint-exchange",),
            ("exchangeMetrics",), exchange, has_environments=False,
        ),
        Part(
            "apm", "API Manager", "APIs, policies and contracts.", ("apimanager", "apis"),
            ("apiManagerMetrics",), api_manager,
        ),
        Part(
            "apc", "API client applications", "Client applications.", ("clients", "client-applications"),
            ("apiManagerMetrics",), api_manager, has_environments=False,
        ),
        Part(
            "ap", "Automated policies", "Automated policies.", ("policies",),
            ("apiManagerMetrics",), api_manager,
        ),
        Part(
            "apma", "API analytics", "Transactions of the last 30 days.", ("analytics", "api-manager-analytics"),
            ("apiManagerMetrics",), api_manager,
        ),
        Part(
            "ch", "CloudHub", "Network, vCores and applications of CloudHub.", ("cloudhub-1",),
            ("runtimeManagerMetrics", "cloudhub"), cloudhub, has_regions=True,
        ),
        Part(
            "rtf", "Runtime Fabric", "Capacity of fabrics and what is reserved on them.", ("runtimefabric", "fabric"),
            ("runtimeManagerMetrics", "rtf"), _fabric, has_regions=True,
        ),
        Part(
            "arm", "Standalone runtimes", "Servers, and all deployments that are not CloudHub 1.0.",
            ("hybrid", "runtime-manager", "standalone"), ("runtimeManagerMetrics",), _runtimes,
        ),
        Part(
            "amq", "Anypoint MQ", "Queues, exchanges and their messages.", ("mq",),
            ("mqMetrics",), mq, has_regions=True,
        ),
        Part(
            "osv2", "Object Store v2", "Requests to the object store.", ("object-store", "objectstore"),
            ("osV2Metrics",), object_store,
        ),
        Part(
            "benefits", "Platform benefits", "What savings are computed from: APIs used again, applications that run.",
            ("platform-benefits", "business-metrics"), ("platformBenefits",), drivers, has_environments=False,
        ),
    )
}  # fmt: skip
