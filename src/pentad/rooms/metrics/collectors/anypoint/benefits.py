"""What the platform is worth: savings by using APIs again and by keeping them with less work.

Two figures come from the platform, of production alone: how many API instances have more than one consumer, and how
many applications run, wherever they do. The rest is what the asker says of times and rates.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.collectors.anypoint import api_manager, cloudhub, fabric, hybrid
from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Node, added, summed
from pentad.rooms.metrics.collectors.anypoint.known import Known

INPUTS: Final = (
    "developAPIHistoricTime", "developAPICurrentTime", "maintainAPIHistoricTime", "maintainAPICurrentTime",
    "developerDayRate",
)  # fmt: skip
OUTPUTS: Final = (
    "developerProductivity", "savingFromAPIReuse", "savingFromMaintenanceProductivity", "savingFromReuseInMaintenance",
    "totalSavings",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Inputs:
    """Times in days, and what a developer's day costs."""

    develop_before: float
    develop_now: float
    maintain_before: float
    maintain_now: float
    day_rate: float


def inputs(given: Mapping[str, Any]) -> Inputs:
    """The five inputs by their names in the original; each has to be a number that is not negative."""
    read: list[float] = []
    for name in INPUTS:
        value = given.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
            raise InvalidInput(f"{name} is not a number of 0 or more.", hint=f"Give {', '.join(INPUTS)}.")
        read.append(value)
    return Inputs(*read)


def drivers(known: Known) -> dict[str, Node]:
    """The two figures of a group."""
    apis = [api_manager.figures(known, one) for one in known.of_kind(production=True)]
    started: list[Cell] = []
    for environment in known.of_kind(production=True):
        started += [
            cloudhub.figures(known, environment)["applicationsStarted"],
            fabric.figures(known, environment, all_mc=True)["applicationsStarted"],
            hybrid.figures(known, environment)["applicationsStarted"],
        ]
    lack = known.environments_cell
    if lack.value is None:
        return {"reusedApis": lack, "applicationsStarted": lack}
    return {
        "reusedApis": summed([entry["apisWithMoreThanOneConsumer"] for entry in apis]),
        "applicationsStarted": summed(started),
    }


def benefits(given: Inputs, reused: float | None, started: float | None) -> tuple[dict[str, Any], list[str]]:
    """The five values; those that cannot be had are null, and the reasons are said."""
    errors: list[str] = []
    if not given.develop_now:
        errors.append("developerProductivity has no value: developAPICurrentTime is 0.")
    if reused is None:
        errors.append("Savings from reuse have no value: the APIs of production could not be counted.")
    if started is None:
        errors.append("Savings from maintenance have no value: the applications of production could not be counted.")
    reuse = None if reused is None else added([reused * given.develop_before * given.day_rate])
    saved_days = given.maintain_before - given.maintain_now
    kept = None if started is None else added([saved_days * started * given.day_rate])
    again = None if reused is None else added([reused * given.maintain_before * given.day_rate])
    parts = [part for part in (reuse, kept, again) if part is not None]
    values = (
        added([given.develop_before / given.develop_now * 100]) if given.develop_now else None,
        reuse,
        kept,
        again,
        added(parts) if len(parts) == 3 else None,
    )
    return dict(zip(OUTPUTS, values, strict=True)), errors


def with_benefits(entry: Mapping[str, Any], given: Inputs) -> dict[str, Any]:
    """A group's answer, from the entry the collector `benefits` gives of it."""
    found: Mapping[str, Any] = entry.get("platformBenefits") or {}
    values, reasons = benefits(given, found.get("reusedApis"), found.get("applicationsStarted"))
    names = {name: entry[name] for name in ("date", "businessGroup", "businessGroupId")}
    return {**names, **values, "errors": [*entry.get("errors", ()), *reasons]}
