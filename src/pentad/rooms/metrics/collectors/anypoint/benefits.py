"""What the platform is worth: savings from API reuse and from easier maintenance.

The platform provides two figures, for production only: the API instances with more than one consumer, and the running
applications on all runtimes. The caller provides times and rates.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.api_manager import api_figures
from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Node, exact_sum, sum_cells
from pentad.rooms.metrics.collectors.anypoint.group_facts import GroupFacts
from pentad.rooms.metrics.collectors.anypoint.runtime_manager import cloudhub_figures, fabric_figures, hybrid_figures

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
    started: list[Cell] = []
    for environment in known.of_kind(production=True):
        started += [
            cloudhub_figures(known, environment)["applicationsStarted"],
            fabric_figures(known, environment, all_mc=True)["applicationsStarted"],
            hybrid_figures(known, environment)["applicationsStarted"],
        ]
    missing = known.environments_cell
    if missing.value is None:
        return {"reusedApis": missing, "applicationsStarted": missing}
    return {
        "reusedApis": sum_cells([entry["apisWithMoreThanOneConsumer"] for entry in apis]),
        "applicationsStarted": sum_cells(started),
    }


def benefits(given: Inputs, reused: float | None, started: float | None) -> tuple[dict[str, Any], list[str]]:
    """The five values; null, with a reason, if one cannot be computed."""
    errors: list[str] = []
    if not given.develop_now:
        errors.append("developerProductivity has no value: developAPICurrentTime is 0.")
    if reused is None:
        errors.append("Savings from reuse have no value: the production APIs could not be counted.")
    if started is None:
        errors.append("Savings from maintenance have no value: the production applications could not be counted.")
    reuse = None if reused is None else exact_sum([reused * given.develop_before * given.day_rate])
    saved_days = given.maintain_before - given.maintain_now
    kept = None if started is None else exact_sum([saved_days * started * given.day_rate])
    again = None if reused is None else exact_sum([reused * given.maintain_before * given.day_rate])
    parts = [part for part in (reuse, kept, again) if part is not None]
    values = (
        exact_sum([given.develop_before / given.develop_now * 100]) if given.develop_now else None,
        reuse,
        kept,
        again,
        exact_sum(parts) if len(parts) == 3 else None,
    )
    return dict(zip(OUTPUTS, values, strict=True)), errors


def with_benefits(entry: Mapping[str, Any], given: Inputs) -> dict[str, Any]:
    """The benefits of a group, from its entry in the answer of the collector `benefits`."""
    found: Mapping[str, Any] = entry.get("platformBenefits") or {}
    values, reasons = benefits(given, found.get("reusedApis"), found.get("applicationsStarted"))
    names = {name: entry[name] for name in ("date", "businessGroup", "businessGroupId")}
    return {**names, **values, "errors": [*entry.get("errors", ()), *reasons]}
