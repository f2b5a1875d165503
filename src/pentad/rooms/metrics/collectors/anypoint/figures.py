"""The figures of each collector for one business group, and the formulas too small for a module of their own."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.api_manager import api_manager
from pentad.rooms.metrics.collectors.anypoint.benefits import drivers
from pentad.rooms.metrics.collectors.anypoint.business_groups import Environment
from pentad.rooms.metrics.collectors.anypoint.cells import (
    DAY,
    Cell,
    Entry,
    Node,
    derive,
    exact_sum,
    timestamp,
    to_number,
)
from pentad.rooms.metrics.collectors.anypoint.exchange import exchange
from pentad.rooms.metrics.collectors.anypoint.group_facts import GroupFacts, by_environment_type
from pentad.rooms.metrics.collectors.anypoint.mq import mq
from pentad.rooms.metrics.collectors.anypoint.runtime_manager import (
    capacity,
    cloudhub,
    cloudhub_2,
    fabric_applications,
    hybrid,
)

PROJECTS: Final = {"apiSpecs": "raml", "fragments": "raml-fragment", "flowDesignerApps": "Mule_Application"}


def access_management(known: GroupFacts) -> dict[str, Node]:
    """Members and environments."""
    return {"users": _users(known.cell("members"), known.now), "environments": _environments(known)}


def _users(members: Cell, now: float) -> dict[str, Node]:
    def count(test: Callable[[Any], bool]) -> Cell:
        return derive(lambda found: sum(1 for member in found if test(member)), members)

    return {
        "total": count(lambda _: True),
        "activeMembers": count(lambda member: member.get("enabled") is True),
        "inactiveMembers": count(lambda member: member.get("enabled") is False),
        "activeMembersLast60Days": count(lambda member: timestamp(member.get("lastLogin")) >= now - 60 * DAY),
        "activeMembersLast30Days": count(lambda member: timestamp(member.get("lastLogin")) >= now - 30 * DAY),
    }


def _environments(known: GroupFacts) -> dict[str, Node]:
    if known.environments_cell.value is None:
        return dict.fromkeys(("total", "production", "sandbox"), known.environments_cell)
    production = len(known.of_kind(production=True))
    total = len(known.environments)
    return {"total": Cell(total), "production": Cell(production), "sandbox": Cell(total - production)}


def design_center(known: GroupFacts) -> dict[str, Node]:
    """Projects by type."""
    projects = known.cell("dc.projects")
    return {
        "total": derive(len, projects),
        **{
            key: derive(lambda found, kind=kind: sum(1 for project in found if project.get("type") == kind), projects)
            for key, kind in PROJECTS.items()
        },
    }


def object_store(known: GroupFacts) -> dict[str, Node]:
    """Requests to Object Store v2 on the last whole day."""

    def figures(environment: Environment) -> Entry:
        counts = known.cell("osv2.stats", environment.id)
        total = derive(lambda found: exact_sum(to_number(one.get("objectStoreRequestCount")) for one in found), counts)
        return {"requestCount": total}

    return {"stats": dict(by_environment_type(known, ("requestCount",), {}, figures))}


def _fabric(known: GroupFacts) -> dict[str, Node]:
    return {"capacity": capacity(known), "applications": fabric_applications(known)}


def _runtimes(known: GroupFacts) -> dict[str, Node]:
    return {
        "hybrid": hybrid(known),
        "rtf": {"applications": fabric_applications(known)},
        "cloudhub2": cloudhub_2(known),
    }


FIGURES: Final[Mapping[str, Callable[[GroupFacts], Mapping[str, Node]]]] = {
    "core": access_management, "dc": design_center, "ex": exchange, "apm": api_manager, "apc": api_manager,
    "ap": api_manager, "apma": api_manager, "ch": cloudhub, "rtf": _fabric, "arm": _runtimes, "amq": mq,
    "osv2": object_store, "benefits": drivers,
}  # fmt: skip
"""By collector id, the figures of one group below the collector's root; they may include some its catalogue lacks."""
