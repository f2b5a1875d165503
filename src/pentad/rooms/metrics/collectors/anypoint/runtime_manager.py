"""Runtime Manager: CloudHub 1.0, Runtime Fabric, CloudHub 2.0 and standalone servers.

Runtime Fabric and CloudHub 2.0 deployments both have the provider MC. A deployment belongs to CloudHub 2.0 if its
target is named so, or if it is measured in vCores and its target is none of the group's fabrics.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.business_groups import (
    NOT_SELECTED,
    Environment,
    GroupFacts,
    by_environment_type,
)
from pentad.rooms.metrics.collectors.anypoint.cells import (
    Cell,
    Entry,
    Node,
    as_stale,
    combined_state,
    count_of,
    derive,
    exact_sum,
    missing_state,
    number_or_missing,
    product,
    simplify,
    sum_cells,
)
from pentad.rooms.metrics.metric_keys import get_path
from pentad.rooms.metrics.models import State

CLOUDHUB_KEYS: Final = (
    "vcoresUsed", "applicationsTotal", "applicationsStarted", "applicationsStopped", "runtimesUsed", "runtimesUsedTotal"
)  # fmt: skip
NETWORK: Final = {
    "vpcs": ("vpcs", "vpcsConsumed"),
    "vpns": ("vpns", "vpnsConsumed"),
    "dlbs": ("loadBalancer", "loadBalancersConsumed"),
    "staticIPs": ("staticIps", "staticIpsConsumed"),
}
LISTS: Final = {"runtimesUsed": "runtimesUsedTotal"}


def cloudhub(known: GroupFacts) -> dict[str, Node]:
    return {"networking": networking(known), "applications": applications(known)}


def applications(known: GroupFacts) -> dict[str, Node]:
    found = by_environment_type(known, CLOUDHUB_KEYS, LISTS, lambda environment: cloudhub_figures(known, environment))
    for kind, part in found.items():
        total, used = vcores(known, kind), part["vcoresUsed"]
        left = derive(lambda all_of_it, taken: exact_sum((all_of_it, -taken)), total, used)
        if not known.is_whole(kind):  # usage in the excluded environments is unknown
            left = NOT_SELECTED
        found[kind] = {"vcoresTotal": total, "vcoresUsed": used, "vcoresAvailable": left, **part}
    return dict(found)


def cloudhub_figures(known: GroupFacts, environment: Environment) -> Entry:
    apps = derive(
        lambda found: [app for app in found if known.in_region(app.get("region"))],
        known.cell("ch.applications", environment.id),
    )
    started = derive(lambda found: sum(1 for app in found if is_started(app)), apps)
    runtimes = derive(lambda found: distinct_texts(get_path(app, "muleVersion", "version") for app in found), apps)
    return {
        "vcoresUsed": derive(vcores_of_started, apps),
        "applicationsTotal": derive(len, apps),
        "applicationsStarted": started,
        "applicationsStopped": derive(lambda found, running: len(found) - running, apps, started),
        "runtimesUsed": runtimes,
        "runtimesUsedTotal": count_of(runtimes),
    }


def distinct_texts(values: Iterable[Any]) -> list[str]:
    """The distinct texts, in order of first appearance."""
    return list(dict.fromkeys(str(value) for value in values if value is not None))


def is_started(app: Any) -> bool:
    return app.get("status") == "STARTED"


def vcores_of_started(apps: Iterable[Any]) -> int | float:
    weights = (
        Decimal(str(app["workers"]["type"]["weight"])) * Decimal(str(app["workers"]["amount"]))
        for app in apps
        if is_started(app)
    )
    return simplify(sum(weights, Decimal(0)))


def networking(known: GroupFacts) -> dict[str, Node]:
    """The network resources of the group: assigned, in use, and left."""
    usage = known.cell("usage")
    found: dict[str, Node] = {}
    for name, (entitlement, used_name) in NETWORK.items():
        total = _assigned(known, known.group.entitlements.get(entitlement))
        used = derive(lambda answer, cloudhub_2_only=used_name: answer.get(cloudhub_2_only), usage)
        if usage.value is not None and used.value is None:
            used = Cell(None, "unsupported")
        found[f"{name}Total"] = total
        found[f"{name}Used"] = used
        found[f"{name}Available"] = derive(lambda all_of_it, taken: exact_sum((all_of_it, -taken)), total, used)
    return found


def _assigned(known: GroupFacts, granted: Any) -> Cell:
    if granted is None or (isinstance(granted, dict) and get_path(granted, "assigned") is None):
        return Cell(None, "not_entitled")
    assigned = number_or_missing(get_path(granted, "assigned"))
    return as_stale(assigned) if known.entitlements_state == "stale" else assigned


def vcores(known: GroupFacts, kind: str) -> Cell:
    """The vCores the group itself may use: assigned and not passed on."""
    granted = get_path(known.group.entitlements, {"production": "vCoresProduction", "sandbox": "vCoresSandbox"}[kind])
    reassigned = get_path(granted, "reassigned")
    passed_on = Cell(0) if reassigned is None else number_or_missing(reassigned)
    return derive(lambda assigned, given: exact_sum((assigned, -given)), _assigned(known, granted), passed_on)


FABRIC_KEYS: Final = (
    "coresReservedA", "coresReservedB", "coresReserved", "memoryReservedA", "memoryReservedB", "memoryReserved",
    "applicationsTotal", "applicationsStarted", "applicationsStopped", "runtimesUsed", "runtimesUsedTotal",
)  # fmt: skip
CLOUDHUB_2_KEYS: Final = (
    "vcoresUsed", "applicationsTotal", "applicationsStarted", "applicationsStopped", "runtimesUsed", "runtimesUsedTotal"
)  # fmt: skip


def capacity(known: GroupFacts) -> dict[str, Node]:
    cell = derive(lambda found: [one for one in found if known.in_region(one.get("region"))], known.cell("rtf.fabrics"))
    nodes = derive(lambda found: [node for fabric in found for node in fabric["nodes"]], cell)
    workers = derive(lambda found: [node for node in found if node.get("role") == "worker"], nodes)
    count = derive(len, cell)

    def thousandths(name: str) -> Cell:
        if workers.value is None:
            return workers
        total = sum_cells([node_capacity(node, name) for node in workers.value])
        return as_stale(total) if workers.state == "stale" else total

    cores, memory = thousandths("cpuMillis"), thousandths("memoryMi")
    return {
        "fabrics": count,
        "workers": derive(len, workers),
        "controllers": derive(lambda found: sum(1 for node in found if node.get("role") == "controller"), nodes),
        "coresTotal": cores,
        "memoryTotal": memory,
        "coresPerFabric": derive(_share, cores, count),
        "memoryPerFabric": derive(_share, memory, count),
    }


def node_capacity(node: Any, name: str) -> Cell:
    """The cores, or the memory in GB, of a node; the answer has them in thousandths."""
    return derive(
        lambda value: simplify(Decimal(str(value)) / 1000), number_or_missing(get_path(node, "capacity", name))
    )


def _share(total: float, parts: int) -> int | float:
    return simplify(Decimal(str(total)) / parts) if parts else 0


def fabric_applications(known: GroupFacts, *, all_mc: bool = False) -> dict[str, Node]:
    """With `all_mc` every deployment of the provider MC counts as a fabric's."""
    return dict(
        by_environment_type(
            known, FABRIC_KEYS, LISTS, lambda environment: fabric_figures(known, environment, all_mc=all_mc)
        )
    )


def cloudhub_2(known: GroupFacts) -> dict[str, Node]:
    return {
        "applications": dict(
            by_environment_type(known, CLOUDHUB_2_KEYS, LISTS, lambda one: _cloudhub_2_figures(known, one))
        )
    }


def deployments_with_details(known: GroupFacts, environment: Environment) -> tuple[Cell, list[tuple[Any, Cell]]]:
    """The list of deployments, and each with its details."""
    listed = known.cell("arm.deployments", environment.id)
    return listed, [
        (item, known.cell("arm.deployment", environment.id, str(item.get("id")))) for item in listed.value or ()
    ]


def is_cloudhub_2(known: GroupFacts, item: Any, detail: Any) -> bool:
    target = str(get_path(item, "target", "targetId") or get_path(detail, "target", "targetId") or "")
    if target.startswith("cloudhub-"):
        return True
    fabrics = known.cell("rtf.fabrics").value or ()
    return get_path(detail, "application", "vCores") is not None and target not in {
        str(one.get("id")) for one in fabrics
    }


def deployments_of_mc(
    known: GroupFacts, pairs: Iterable[tuple[Any, Cell]], *, cloudhub_2_only: bool | None
) -> list[tuple[Any, Cell]]:
    """Deployments of the provider MC: CloudHub 2.0's, a fabric's, or with None both."""
    return [
        (item, cell)
        for item, cell in pairs
        if get_path(item, "target", "provider") == "MC"
        and (cloudhub_2_only is None or is_cloudhub_2(known, item, cell.value) is cloudhub_2_only)
    ]


def fabric_figures(known: GroupFacts, environment: Environment, *, all_mc: bool) -> Entry:
    listed, pairs = deployments_with_details(known, environment)
    fabrics = known.cell("rtf.fabrics")
    if listed.value is None:
        return dict.fromkeys(FABRIC_KEYS, listed)
    mine = deployments_of_mc(known, pairs, cloudhub_2_only=None if all_mc else False)
    if known.regions:
        if fabrics.value is None:
            return dict.fromkeys(FABRIC_KEYS, fabrics)
        mine = in_regions(known, mine, fabrics.value)
    running = [cell for _, cell in mine if cell.value is None or is_running(cell.value)]
    new, old = reserved(listed, running, "cpu"), reserved(listed, running, "memory")
    return {
        "coresReservedA": new[0],
        "coresReservedB": new[1],
        "coresReserved": sum_cells(new),
        "memoryReservedA": old[0],
        "memoryReservedB": old[1],
        "memoryReserved": sum_cells(old),
        **application_counts((item for item, _ in mine), listed.state),
        **runtime_versions(listed, [cell for _, cell in (pairs if all_mc else mine)]),
    }


def in_regions(known: GroupFacts, pairs: Iterable[tuple[Any, Cell]], fabrics: Iterable[Any]) -> list[tuple[Any, Cell]]:
    """The deployments on a fabric in the query's regions."""
    fabric_ids = {str(one.get("id")) for one in fabrics if known.in_region(one.get("region"))}
    return [(item, cell) for item, cell in pairs if str(get_path(item, "target", "targetId")) in fabric_ids]


def _cloudhub_2_figures(known: GroupFacts, environment: Environment) -> Entry:
    listed, pairs = deployments_with_details(known, environment)
    if listed.value is None:
        return dict.fromkeys(CLOUDHUB_2_KEYS, listed)
    mine = deployments_of_mc(known, pairs, cloudhub_2_only=True)
    used = [vcores_used(cell) for _, cell in mine]
    return {
        "vcoresUsed": _total(listed, used),
        **application_counts((item for item, _ in mine), listed.state),
        **runtime_versions(listed, [c for _, c in mine]),
    }


def vcores_used(detail: Cell) -> Cell:
    """The vCores of a CloudHub 2.0 deployment; none unless it runs."""
    if detail.value is None:
        return detail
    if not is_running(detail.value):
        return Cell(0, detail.state)
    vcores, replicas = get_path(detail.value, "application", "vCores"), get_path(detail.value, "target", "replicas")
    used = product(number_or_missing(vcores), number_or_missing(replicas))
    return as_stale(used) if detail.state == "stale" else used


def application_counts(items: Iterable[Any], state: State) -> Entry:
    """The counts of listed deployments; `state` is that of the list."""
    found = list(items)
    started = sum(1 for item in found if is_running(item))
    return {
        "applicationsTotal": Cell(len(found), state),
        "applicationsStarted": Cell(started, state),
        "applicationsStopped": Cell(len(found) - started, state),
    }


def runtime_versions(listed: Cell, cells: list[Cell]) -> Entry:
    details_known = [cell.value for cell in cells if cell.value is not None]
    if cells and not details_known:
        missing = Cell(None, missing_state(cells))
        return {"runtimesUsed": missing, "runtimesUsedTotal": missing}
    versions = [get_path(detail, "target", "deploymentSettings", "runtimeVersion") for detail in details_known]
    state = "partial" if None in versions else combined_state([listed, *cells])
    runtimes = Cell(distinct_texts(versions), state)
    return {"runtimesUsed": runtimes, "runtimesUsedTotal": count_of(runtimes)}


def is_running(item: Any) -> bool:
    return get_path(item, "application", "status") == "RUNNING"


def reserved(listed: Cell, running: list[Cell], what: str) -> tuple[Cell, Cell]:
    """Reserved amounts: from the new fields, or from the old ones where a deployment lacks the new."""
    new: list[Cell] = []
    old: list[Cell] = []
    for cell in running:
        settings = get_path(cell.value, "target", "deploymentSettings")
        in_new, in_old = get_path(settings, "resources", what, "reserved"), get_path(settings, f"{what}Reserved")
        if in_new is not None:
            new.append(_reserved_by(cell, in_new))
        elif in_old is not None:
            old.append(_reserved_by(cell, in_old))
        else:
            missing = Cell(None, cell.state if cell.value is None else "failed")
            new.append(missing)
            old.append(missing)
    return _total(listed, new), _total(listed, old)


def _total(listed: Cell, amounts: list[Cell]) -> Cell:
    total = sum_cells(amounts)
    return as_stale(total) if listed.state == "stale" else total


def _reserved_by(detail: Cell, amount: Any) -> Cell:
    """The cores or GB of all replicas; the amount is in thousandths of a core or in Mi, with or without that unit."""
    number = number_or_missing(str(amount).strip().removesuffix("Mi").removesuffix("m"))
    found = product(number, number_or_missing(get_path(detail.value, "target", "replicas")))
    found = derive(lambda thousandths: simplify(Decimal(str(thousandths)) / 1000), found)
    return as_stale(found) if detail.state == "stale" else found


HYBRID_KEYS: Final = (
    "servers", "clusters", "serverGroups", "applicationsTotal", "applicationsStarted", "applicationsStopped",
    "runtimesUsed", "runtimesUsedTotal",
)  # fmt: skip


def hybrid(known: GroupFacts) -> dict[str, Node]:
    return dict(by_environment_type(known, HYBRID_KEYS, LISTS, lambda environment: hybrid_figures(known, environment)))


def hybrid_figures(known: GroupFacts, environment: Environment) -> Entry:
    servers = known.cell("arm.servers", environment.id)
    mine = derive(
        lambda items: [item for item in items if get_path(item, "target", "provider") == "RR"],
        known.cell("arm.deployments", environment.id),
    )
    started = derive(_started_count, mine)
    runtimes = derive(lambda found: distinct_texts(server.get("muleVersion") for server in found), servers)
    return {
        "servers": derive(len, servers),
        "clusters": derive(len, known.cell("arm.clusters", environment.id)),
        "serverGroups": derive(len, known.cell("arm.groups", environment.id)),
        "applicationsTotal": derive(len, mine),
        "applicationsStarted": started,
        "applicationsStopped": derive(lambda found, running: len(found) - running, mine, started),
        "runtimesUsed": runtimes,
        "runtimesUsedTotal": count_of(runtimes),
    }


def _started_count(items: Any) -> int:
    return sum(1 for item in items if item.get("status") == "STARTED")
