"""The figures of each collector for one business group, and the formulas too small for a module of their own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.api_manager import api_figures, api_manager
from pentad.rooms.metrics.collectors.anypoint.business_groups import Environment, GroupFacts, by_environment_type
from pentad.rooms.metrics.collectors.anypoint.cells import (
    DAY,
    Cell,
    Entry,
    Node,
    derive,
    exact_sum,
    sum_cells,
    timestamp,
)
from pentad.rooms.metrics.collectors.anypoint.exchange import exchange
from pentad.rooms.metrics.collectors.anypoint.mq import mq
from pentad.rooms.metrics.collectors.anypoint.preview import audit_log, flex_gateways, usage_meters
from pentad.rooms.metrics.collectors.anypoint.runtime_manager import (
    capacity,
    cloudhub,
    cloudhub_2,
    cloudhub_figures,
    fabric_applications,
    fabric_figures,
    hybrid,
    hybrid_figures,
)

OUTPUTS: Final = (
    "developerProductivity", "savingFromAPIReuse", "savingFromMaintenanceProductivity", "savingFromReuseInMaintenance",
    "totalSavings",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Inputs:
    """The caller's numbers: times in days, and the cost of a developer day."""

    develop_before: float
    develop_now: float
    maintain_before: float
    maintain_now: float
    day_rate: float


def drivers(known: GroupFacts) -> dict[str, Node]:
    """The two figures of a group that the platform provides."""
    apis = [api_figures(known, one) for one in known.of_kind(production=True)]
    running: list[Cell] = []
    for environment in known.of_kind(production=True):
        running += [
            cloudhub_figures(known, environment)["applicationsStarted"],
            fabric_figures(known, environment, all_mc=True)["applicationsStarted"],
            hybrid_figures(known, environment)["applicationsStarted"],
        ]
    if (missing := known.missing("production")) is not None:
        return {"reusedApis": missing, "applicationsStarted": missing}
    return {
        "reusedApis": sum_cells([entry["apisWithMoreThanOneConsumer"] for entry in apis]),
        "applicationsStarted": sum_cells(running),
    }


def benefits(given: Inputs, reused: float | None, running: float | None) -> tuple[dict[str, Any], list[str]]:
    """The five values; null, with a reason, if one cannot be computed."""
    errors: list[str] = []
    if not given.develop_now:
        errors.append("developerProductivity has no value: developAPICurrentTime is 0.")
    if reused is None:
        errors.append("Savings from reuse have no value: the production APIs could not be counted.")
    if running is None:
        errors.append("Savings from maintenance have no value: the production applications could not be counted.")
    reuse = None if reused is None else exact_sum([reused * given.develop_before * given.day_rate])
    saved_days = given.maintain_before - given.maintain_now
    maintained = None if running is None else exact_sum([saved_days * running * given.day_rate])
    reused_maintenance = None if reused is None else exact_sum([reused * given.maintain_before * given.day_rate])
    parts = [part for part in (reuse, maintained, reused_maintenance) if part is not None]
    values = (
        exact_sum([given.develop_before / given.develop_now * 100]) if given.develop_now else None,
        reuse,
        maintained,
        reused_maintenance,
        exact_sum(parts) if len(parts) == 3 else None,
    )
    return dict(zip(OUTPUTS, values, strict=True)), errors


def with_benefits(entry: Mapping[str, Any], given: Inputs) -> dict[str, Any]:
    """The benefits of a group, from its entry in the answer of the collector `benefits`."""
    found: Mapping[str, Any] = entry.get("platformBenefits") or {}
    values, reasons = benefits(given, found.get("reusedApis"), found.get("applicationsStarted"))
    names = {name: entry[name] for name in ("date", "businessGroup", "businessGroupId")}
    return {**names, **values, "errors": [*entry.get("errors", ()), *reasons]}


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
    found = known.environments_cell
    return {
        "total": derive(lambda _: len(known.environments), found),
        **{
            kind: known.missing(kind) or derive(lambda _, some=environments: len(some), found)
            for kind, environments in known.by_type()
        },
    }


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
        total = derive(lambda found: exact_sum(one["objectStoreRequestCount"] for one in found), counts)
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
    "osv2": object_store, "benefits": drivers, "flex": flex_gateways, "usage": usage_meters, "audit": audit_log,
}  # fmt: skip
"""By collector id, the figures of one group below the collector's root; they may include some its catalogue lacks."""
