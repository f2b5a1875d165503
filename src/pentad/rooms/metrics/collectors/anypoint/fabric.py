"""Runtime Fabric: capacity of the fabrics, and what the applications on them reserve. CloudHub 2.0 beside it.

Both kinds of deployment have the provider MC. One is CloudHub 2.0's if its target is called so, or if it is measured in
vCores and its target is none of the group's fabrics.
"""

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.cells import (
    Cell,
    Entry,
    Node,
    added,
    at,
    counted,
    made,
    number,
    plain,
    state_of,
    summed,
    worst,
)
from pentad.rooms.metrics.collectors.anypoint.cloudhub import different
from pentad.rooms.metrics.collectors.anypoint.environments import by_kind
from pentad.rooms.metrics.collectors.anypoint.known import Known
from pentad.rooms.metrics.collectors.anypoint.tree import Environment

KEYS: Final = (
    "coresReservedA", "coresReservedB", "coresReserved", "memoryReservedA", "memoryReservedB", "memoryReserved",
    "applicationsTotal", "applicationsStarted", "applicationsStopped", "runtimesUsed", "runtimesUsedTotal",
)  # fmt: skip
CLOUDHUB_2: Final = (
    "vcoresUsed", "applicationsTotal", "applicationsStarted", "applicationsStopped", "runtimesUsed", "runtimesUsedTotal"
)  # fmt: skip
LISTS: Final = {"runtimesUsed": "runtimesUsedTotal"}
CAPACITY: Final = (
    "fabrics", "workers", "controllers", "coresTotal", "memoryTotal", "coresPerFabric", "memoryPerFabric"
)  # fmt: skip


def capacity(known: Known) -> dict[str, Node]:
    cell = made(lambda found: [one for one in found if known.in_region(one.get("region"))], known.cell("rtf.fabrics"))
    nodes = made(lambda found: [node for fabric in found for node in fabric.get("nodes") or ()], cell)
    workers = made(lambda found: [node for node in found if node.get("role") == "worker"], nodes)
    count = made(len, cell)

    def thousandths(name: str) -> Cell:
        return made(lambda found: _thousandth(added(number(at(node, "capacity", name)) for node in found)), workers)

    cores, memory = thousandths("cpuMillis"), thousandths("memoryMi")
    return {
        "fabrics": count,
        "workers": made(len, workers),
        "controllers": made(lambda found: sum(1 for node in found if node.get("role") == "controller"), nodes),
        "coresTotal": cores,
        "memoryTotal": memory,
        "coresPerFabric": made(_share, cores, count),
        "memoryPerFabric": made(_share, memory, count),
    }


def _thousandth(value: float) -> int | float:
    return plain(Decimal(str(value)) / 1000)


def _share(total: float, parts: int) -> int | float:
    return plain(Decimal(str(total)) / parts) if parts else 0


def fabric_applications(known: Known, *, all_mc: bool = False) -> dict[str, Node]:
    """With `all_mc` everything of the provider MC counts as a fabric's, whatever it is."""
    return dict(by_kind(known, KEYS, LISTS, lambda environment: figures(known, environment, all_mc=all_mc)))


def cloudhub_2(known: Known) -> dict[str, Node]:
    return {"applications": dict(by_kind(known, CLOUDHUB_2, LISTS, lambda one: _cloudhub_2(known, one)))}


def details(known: Known, environment: Environment) -> tuple[Cell, list[tuple[Any, Cell]]]:
    """The list of deployments, and each with its own answer."""
    listed = known.cell("arm.deployments", environment.id)
    return listed, [
        (item, known.cell("arm.deployment", environment.id, str(item.get("id")))) for item in listed.value or ()
    ]


def is_cloudhub_2(known: Known, item: Any, detail: Any) -> bool:
    target = str(at(item, "target", "targetId") or at(detail, "target", "targetId") or "")
    if target.startswith("cloudhub-"):
        return True
    fabrics = known.cell("rtf.fabrics").value or ()
    return at(detail, "application", "vCores") is not None and target not in {str(one.get("id")) for one in fabrics}


def _mine(known: Known, pairs: Iterable[tuple[Any, Cell]], *, wanted: bool | None) -> list[tuple[Any, Cell]]:
    """Deployments of the provider MC: CloudHub 2.0's, a fabric's, or with None both."""
    return [
        (item, cell)
        for item, cell in pairs
        if at(item, "target", "provider") == "MC"
        and (wanted is None or is_cloudhub_2(known, item, cell.value) is wanted)
    ]


def figures(known: Known, environment: Environment, *, all_mc: bool) -> Entry:
    listed, pairs = details(known, environment)
    fabrics = known.cell("rtf.fabrics")
    if listed.value is None:
        return dict.fromkeys(KEYS, listed)
    mine = _mine(known, pairs, wanted=None if all_mc else False)
    if known.regions:
        if fabrics.value is None:
            return dict.fromkeys(KEYS, fabrics)
        mine = _in_regions(known, mine, fabrics.value)
    running = [cell for _, cell in mine if cell.value is None or _is_running(cell.value)]
    new, old = _reserved(running, "cpu"), _reserved(running, "memory")
    return {
        "coresReservedA": new[0],
        "coresReservedB": new[1],
        "coresReserved": summed(new),
        "memoryReservedA": old[0],
        "memoryReservedB": old[1],
        "memoryReserved": summed(old),
        **applications_of(item for item, _ in mine),
        **runtimes_of([cell for _, cell in (pairs if all_mc else mine)]),
    }


def _in_regions(known: Known, pairs: Iterable[tuple[Any, Cell]], fabrics: Iterable[Any]) -> list[tuple[Any, Cell]]:
    """Those on a fabric of the regions that are asked for."""
    there = {str(one.get("id")) for one in fabrics if known.in_region(one.get("region"))}
    return [(item, cell) for item, cell in pairs if str(at(item, "target", "targetId")) in there]


def _cloudhub_2(known: Known, environment: Environment) -> Entry:
    listed, pairs = details(known, environment)
    if listed.value is None:
        return dict.fromkeys(CLOUDHUB_2, listed)
    mine = _mine(known, pairs, wanted=True)
    used = [made(_vcores, cell) for _, cell in mine]
    return {
        "vcoresUsed": summed(used),
        **applications_of(item for item, _ in mine),
        **runtimes_of([c for _, c in mine]),
    }


def _vcores(detail: Any) -> int | float:
    if not _is_running(detail):
        return 0
    replicas = number(at(detail, "target", "replicas"))
    return plain(Decimal(str(number(at(detail, "application", "vCores")))) * Decimal(str(replicas)))


def applications_of(items: Iterable[Any]) -> Entry:
    found = list(items)
    started = sum(1 for item in found if _is_running(item))
    return {
        "applicationsTotal": Cell(len(found)),
        "applicationsStarted": Cell(started),
        "applicationsStopped": Cell(len(found) - started),
    }


def runtimes_of(cells: list[Cell]) -> Entry:
    told = [cell.value for cell in cells if cell.value is not None]
    if cells and not told:
        lack = Cell(None, worst(cells))
        return {"runtimesUsed": lack, "runtimesUsedTotal": lack}
    used = different(at(detail, "target", "deploymentSettings", "runtimeVersion") for detail in told)
    runtimes = Cell(used, state_of(cells))
    return {"runtimesUsed": runtimes, "runtimesUsedTotal": counted(runtimes)}


def _is_running(item: Any) -> bool:
    return at(item, "application", "status") == "RUNNING"


def _reserved(running: list[Cell], what: str) -> tuple[Cell, Cell]:
    """What is reserved as the new fields say it, and as the old ones do where the new ones are missing."""
    if running and all(cell.value is None for cell in running):
        lack = Cell(None, worst(running))
        return lack, lack
    new: list[Decimal] = []
    old: list[Decimal] = []
    for cell in running:
        settings = at(cell.value, "target", "deploymentSettings")
        replicas = Decimal(str(number(at(cell.value, "target", "replicas"))))
        if at(settings, "resources") is not None:
            new.append(_amount(at(settings, "resources", what, "reserved")) * replicas / 1000)
        elif settings is not None:
            old.append(_amount(at(settings, f"{what}Reserved")) * replicas / 1000)
    state = state_of(running)
    return Cell(plain(sum(new, Decimal(0))), state), Cell(plain(sum(old, Decimal(0))), state)


def _amount(value: Any) -> Decimal:
    """Thousandths of a core, or Mi; as a number or as a text with its unit."""
    if value is None:
        return Decimal(0)
    text = str(value).strip()
    text = text.removesuffix("Mi").removesuffix("m")
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal(0)
