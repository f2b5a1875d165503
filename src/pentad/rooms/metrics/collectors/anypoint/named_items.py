"""The items that figures count, by name: applications, APIs, assets, queues and so on. They come from the facts of the
figures, and have the state of these facts.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from pentad.rooms.metrics.collectors.anypoint.api_manager import (
    template,
)
from pentad.rooms.metrics.collectors.anypoint.business_groups import Environment, GroupFacts
from pentad.rooms.metrics.collectors.anypoint.cells import DAY, Cell, derive, exact_sum, sum_cells, timestamp
from pentad.rooms.metrics.collectors.anypoint.exchange import (
    dependents,
    occurrences,
    own_assets,
)
from pentad.rooms.metrics.collectors.anypoint.mq import destination, regions_of
from pentad.rooms.metrics.collectors.anypoint.preview import action_of, group_rows, is_gateway_running
from pentad.rooms.metrics.collectors.anypoint.preview_api import METERS
from pentad.rooms.metrics.collectors.anypoint.runtime_manager import (
    deployments_of_mc,
    deployments_with_details,
    in_regions,
    is_running,
    is_started,
    node_capacity,
    reserved,
    vcores_of_started,
    vcores_used,
)
from pentad.rooms.metrics.metric_keys import get_path
from pentad.rooms.metrics.models import State


class NamedItem(NamedTuple):
    """An item by name, with its details."""

    name: str
    details: Mapping[str, Any]
    state: State = "ok"


def _state(*cells: Cell) -> State:
    """The state of an item with details from these cells."""
    if any(cell.state == "stale" for cell in cells):
        return "stale"
    return "partial" if any(cell.state != "ok" for cell in cells) else "ok"


def cloudhub_applications(known: GroupFacts, environment: Environment) -> Iterator[NamedItem]:
    cell = known.cell("ch.applications", environment.id)
    for app in cell.value or ():
        if known.in_region(app.get("region")):
            details = {
                "status": app.get("status"), "runtime": get_path(app, "muleVersion", "version"),
                "region": app.get("region"), "vcores": vcores_of_started([app]), "started": is_started(app),
            }  # fmt: skip
            yield NamedItem(str(app.get("domain")), details, _state(cell))


def api_instances(known: GroupFacts, environment: Environment) -> Iterator[NamedItem]:
    assets = known.cell("apm.apis", environment.id)
    for asset in assets.value or ():
        for one in asset["apis"]:
            policies = known.cell("apm.policies", environment.id, str(one.get("id")))
            was_asked = known.has("apm.policies", environment.id, str(one.get("id")))
            names = derive(lambda found: [str(template(policy)[1]) for policy in found], policies)
            secured = derive(lambda found: any(name in known.security for name in found), names)
            details: dict[str, Any] = {
                "apiId": str(one.get("id")), "asset": asset.get("assetId"), "version": one.get("productVersion"),
                "contracts": one.get("activeContractsCount"), "policies": names.value, "secured": secured.value,
                "lastActive": one.get("lastActiveDate"),
            }  # fmt: skip
            if "lastActiveDate" in one:
                details["active"] = timestamp(one["lastActiveDate"]) >= known.now - DAY
            state = _state(assets, policies) if was_asked else _state(assets)
            yield NamedItem(f"{asset.get('assetId')} {one.get('productVersion')}", details, state)


def api_assets(known: GroupFacts, environment: Environment) -> Iterator[NamedItem]:
    cell = known.cell("apm.apis", environment.id)
    for asset in cell.value or ():
        yield NamedItem(str(asset.get("assetId")), {"instances": asset.get("totalApis")}, _state(cell))


def api_traffic(known: GroupFacts, environment: Environment) -> Iterator[NamedItem]:
    """APIs with requests; those that API Manager does not name keep their id."""
    cell = known.cell("apma.analytics", environment.id)
    names = {one.details["apiId"]: one.name for one in api_instances(known, environment)}
    for entry in cell.value or ():
        for row in entry.get("api_id") or ():
            for api, counts in row.items():
                details: dict[str, Any] = {"apiId": api, "requests": counts["count"]}
                yield NamedItem(names.get(str(api), str(api)), details, _state(cell))


def hybrid_items(fact: str) -> Callable[[GroupFacts, Environment], Iterator[NamedItem]]:
    def items(known: GroupFacts, environment: Environment) -> Iterator[NamedItem]:
        cell = known.cell(fact, environment.id)
        for one in cell.value or ():
            yield NamedItem(
                str(one.get("name")), {"status": one.get("status"), "runtime": one.get("muleVersion")}, _state(cell)
            )

    return items


def standalone_applications(known: GroupFacts, environment: Environment) -> Iterator[NamedItem]:
    cell = known.cell("arm.deployments", environment.id)
    for item in cell.value or ():
        if get_path(item, "target", "provider") == "RR":
            details = {"status": item.get("status"), "started": item.get("status") == "STARTED"}
            yield NamedItem(str(item.get("name")), details, _state(cell))


def container_applications(*, cloudhub_2: bool) -> Callable[[GroupFacts, Environment], Iterator[NamedItem]]:
    def items(known: GroupFacts, environment: Environment) -> Iterator[NamedItem]:
        listed, pairs = deployments_with_details(known, environment)
        mine = deployments_of_mc(known, pairs, cloudhub_2_only=cloudhub_2)
        if known.regions and not cloudhub_2:
            mine = in_regions(known, mine, known.cell("rtf.fabrics").value or ())
        for item, cell in mine:
            details: dict[str, Any] = {
                "status": get_path(item, "application", "status"), "started": is_running(item),
                "runtime": get_path(cell.value, "target", "deploymentSettings", "runtimeVersion"),
            }  # fmt: skip
            if cell.value is not None and cloudhub_2:
                details["vcores"] = vcores_used(cell).value
            elif cell.value is not None and is_running(cell.value):
                details["cores"] = sum_cells(reserved(listed, [cell], "cpu")).value
                details["memory"] = sum_cells(reserved(listed, [cell], "memory")).value
            yield NamedItem(str(item.get("name")), details, _state(listed, cell))

    return items


def fabrics(known: GroupFacts) -> Iterator[NamedItem]:
    cell = known.cell("rtf.fabrics")
    for fabric in cell.value or ():
        if known.in_region(fabric.get("region")):
            roles = [node.get("role") for node in fabric["nodes"]]
            details = {
                "status": fabric.get("status"), "region": fabric.get("region"), "workers": roles.count("worker"),
                "controllers": roles.count("controller"),
            }  # fmt: skip
            yield NamedItem(str(fabric.get("name")), details, _state(cell))


def fabric_nodes(known: GroupFacts) -> Iterator[NamedItem]:
    cell = known.cell("rtf.fabrics")
    for fabric in cell.value or ():
        if known.in_region(fabric.get("region")):
            for node in fabric["nodes"]:
                details = {
                    "role": node.get("role"), "fabric": fabric.get("name"),
                    "cores": node_capacity(node, "cpuMillis").value,
                    "memory": node_capacity(node, "memoryMi").value,
                }  # fmt: skip
                yield NamedItem(str(node.get("name") or fabric.get("name")), details, _state(cell))


def mq_destinations(kind: str, names: Mapping[str, str]) -> Callable[[GroupFacts, Environment], Iterator[NamedItem]]:
    def items(known: GroupFacts, environment: Environment) -> Iterator[NamedItem]:
        for region in regions_of(known, environment).value or ():
            listed = known.cell("amq.destinations", environment.id, region)
            for item in listed.value or ():
                if item.get("type") != kind:
                    continue
                place = (environment.id, region, *destination(item))
                stats = known.cell("amq.stats", *place)
                details: dict[str, Any] = {"region": region}
                details |= {"fifo": bool(item.get("fifo"))} if kind == "queue" else {}
                if stats.value is not None:
                    details |= {
                        key: exact_sum(point["value"] for point in stats.value.get(name) or ())
                        for key, name in names.items()
                    }
                state = _state(listed, stats) if known.has("amq.stats", *place) else _state(listed)
                yield NamedItem(destination(item)[1], details, state)

    return items


def exchange_assets(known: GroupFacts) -> Iterator[NamedItem]:
    cell = known.cell("ex.assets")
    for asset in own_assets(cell.value or ()):
        details = {
            "type": asset.get("type"), "version": asset.get("version"), "rating": asset.get("rating"),
            "ratings": asset.get("numberOfRates"),
        }  # fmt: skip
        yield NamedItem(str(asset.get("assetId")), details, _state(cell))


def asset_dependents(parent: str, child: str) -> Callable[[GroupFacts], Iterator[NamedItem]]:
    return lambda known: _uses(dependents(known, derive(own_assets, known.cell("ex.assets")), parent, child))


def asset_occurrences(kind: str, names: Callable[[GroupFacts, Environment], Cell], *, production: bool) -> Any:
    def items(known: GroupFacts) -> Iterator[NamedItem]:
        assets, places = derive(own_assets, known.cell("ex.assets")), known.of_kind(production=production)
        return _uses(occurrences(known, assets, kind, places, names))

    return items


def _uses(found: Cell) -> Iterator[NamedItem]:
    for asset, count in found.value or ():
        yield NamedItem(str(asset.get("assetId")), {"version": asset.get("version"), "uses": count}, _state(found))


def design_projects(known: GroupFacts) -> Iterator[NamedItem]:
    cell = known.cell("dc.projects")
    return (NamedItem(str(one.get("name")), {"type": one.get("type")}, _state(cell)) for one in cell.value or ())


def client_applications(known: GroupFacts) -> Iterator[NamedItem]:
    cell = known.cell("apc.clients")
    return (NamedItem(str(one.get("name")), {}, _state(cell)) for one in cell.value or ())


def flex_gateways(known: GroupFacts, environment: Environment) -> Iterator[NamedItem]:
    cell = known.cell("flex.gateways", environment.id)
    for one in cell.value or ():
        yield NamedItem(
            str(one.get("name")), {"status": one.get("status"), "running": is_gateway_running(one)}, _state(cell)
        )


def audit_entries(known: GroupFacts) -> Iterator[NamedItem]:
    """Entries of the audit log, the only items that name people: that is their purpose."""
    cell = known.cell("audit.log")
    for one in cell.value or ():
        details = {
            "action": action_of(one), "type": one.get("objectType"), "by": one.get("userName"),
            "at": one.get("createdAt"), "platform": one.get("platform"), "environment": one.get("environmentName"),
        }  # fmt: skip
        yield NamedItem(str(one.get("objectName")), details, _state(cell))


def metered_applications(fact: str) -> Callable[[GroupFacts], Iterator[NamedItem]]:
    """Applications with what a meter counted of them over all days."""

    def items(known: GroupFacts) -> Iterator[NamedItem]:
        cell, column = group_rows(known, fact), METERS[fact][1]
        counted: dict[tuple[Any, Any], list[Any]] = {}
        for row in cell.value or ():
            counted.setdefault((row.get("app_name"), row.get("env_name")), []).append(row[column])
        for (app, environment), counts in counted.items():
            details: dict[str, Any] = {"environment": environment, "counted": exact_sum(counts)}
            yield NamedItem(str(app), details, _state(cell))

    return items


def group_environments(known: GroupFacts) -> Iterator[NamedItem]:
    return (NamedItem(one.name, {"type": one.type}, known.environments_cell.state) for one in known.environments)
