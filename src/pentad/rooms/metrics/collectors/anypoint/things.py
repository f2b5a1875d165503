"""The things that figures count, by name, from the facts of the figures: applications, APIs, assets, queues and so on.

A thing has the state of the facts it comes from.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from pentad.rooms.metrics.collectors.anypoint.api_manager import (
    is_measured,
    template,
)
from pentad.rooms.metrics.collectors.anypoint.business_groups import Environment, GroupFacts
from pentad.rooms.metrics.collectors.anypoint.cells import DAY, Cell, derive, exact_sum, sum_cells, timestamp, to_number
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
    reserved,
    vcores_of_started,
    vcores_used,
)
from pentad.rooms.metrics.metric_keys import get_path
from pentad.rooms.metrics.models import State


class Thing(NamedTuple):
    """A thing by name, with what is known of it."""

    name: str
    details: Mapping[str, Any]
    state: State = "ok"


def _worth(*cells: Cell) -> State:
    """The state of a thing with details from these cells."""
    if any(cell.state == "stale" for cell in cells):
        return "stale"
    return "partial" if any(cell.state != "ok" for cell in cells) else "ok"


def cloudhub_applications(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
    cell = known.cell("ch.applications", environment.id)
    for app in cell.value or ():
        if known.in_region(app.get("region")):
            details = {
                "status": app.get("status"), "runtime": get_path(app, "muleVersion", "version"),
                "region": app.get("region"), "vcores": vcores_of_started([app]), "started": is_started(app),
            }  # fmt: skip
            yield Thing(str(app.get("domain")), details, _worth(cell))


def api_instances(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
    assets = known.cell("apm.apis", environment.id)
    for asset in assets.value or ():
        for one in asset.get("apis") or ():
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
            state = _worth(assets, policies) if was_asked else _worth(assets)
            yield Thing(f"{asset.get('assetId')} {one.get('productVersion')}", details, state)


def api_assets(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
    cell = known.cell("apm.apis", environment.id)
    for asset in cell.value or ():
        yield Thing(str(asset.get("assetId")), {"instances": asset.get("totalApis")}, _worth(cell))


def api_traffic(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
    """APIs with requests; those that API Manager does not name keep their id."""
    if not is_measured(environment):
        return
    cell = known.cell("apma.analytics", environment.id)
    names = {one.details["apiId"]: one.name for one in api_instances(known, environment)}
    for entry in cell.value or ():
        for row in entry.get("api_id") or ():
            for api, counts in row.items():
                details: dict[str, Any] = {"apiId": api, "requests": to_number(get_path(counts, "count"))}
                yield Thing(names.get(str(api), str(api)), details, _worth(cell))


def hybrid_things(fact: str) -> Callable[[GroupFacts, Environment], Iterator[Thing]]:
    def things(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
        cell = known.cell(fact, environment.id)
        for one in cell.value or ():
            yield Thing(
                str(one.get("name")), {"status": one.get("status"), "runtime": one.get("muleVersion")}, _worth(cell)
            )

    return things


def standalone_applications(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
    cell = known.cell("arm.deployments", environment.id)
    for item in cell.value or ():
        if get_path(item, "target", "provider") == "RR":
            details = {"status": item.get("status"), "started": item.get("status") == "STARTED"}
            yield Thing(str(item.get("name")), details, _worth(cell))


def container_applications(*, cloudhub_2: bool) -> Callable[[GroupFacts, Environment], Iterator[Thing]]:
    def things(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
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
                details["vcores"] = vcores_used(cell.value)
            elif cell.value is not None and is_running(cell.value):
                details["cores"] = sum_cells(reserved(listed, [cell], "cpu")).value
                details["memory"] = sum_cells(reserved(listed, [cell], "memory")).value
            yield Thing(str(item.get("name")), details, _worth(listed, cell))

    return things


def fabrics(known: GroupFacts) -> Iterator[Thing]:
    cell = known.cell("rtf.fabrics")
    for fabric in cell.value or ():
        if known.in_region(fabric.get("region")):
            roles = [node.get("role") for node in fabric.get("nodes") or ()]
            details = {
                "status": fabric.get("status"), "region": fabric.get("region"), "workers": roles.count("worker"),
                "controllers": roles.count("controller"),
            }  # fmt: skip
            yield Thing(str(fabric.get("name")), details, _worth(cell))


def fabric_nodes(known: GroupFacts) -> Iterator[Thing]:
    cell = known.cell("rtf.fabrics")
    for fabric in cell.value or ():
        if known.in_region(fabric.get("region")):
            for node in fabric.get("nodes") or ():
                details = {
                    "role": node.get("role"), "fabric": fabric.get("name"),
                    "cores": to_number(get_path(node, "capacity", "cpuMillis")) / 1000,
                    "memory": to_number(get_path(node, "capacity", "memoryMi")) / 1000,
                }  # fmt: skip
                yield Thing(str(node.get("name") or fabric.get("name")), details, _worth(cell))


def mq_destinations(kind: str, names: Mapping[str, str]) -> Callable[[GroupFacts, Environment], Iterator[Thing]]:
    def things(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
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
                        key: exact_sum(to_number(point.get("value")) for point in stats.value.get(name) or ())
                        for key, name in names.items()
                    }
                state = _worth(listed, stats) if known.has("amq.stats", *place) else _worth(listed)
                yield Thing(destination(item)[1], details, state)

    return things


def exchange_assets(known: GroupFacts) -> Iterator[Thing]:
    cell = known.cell("ex.assets")
    for asset in own_assets(cell.value or ()):
        details = {
            "type": asset.get("type"), "version": asset.get("version"), "rating": asset.get("rating"),
            "ratings": asset.get("numberOfRates"),
        }  # fmt: skip
        yield Thing(str(asset.get("assetId")), details, _worth(cell))


def asset_dependents(parent: str, child: str) -> Callable[[GroupFacts], Iterator[Thing]]:
    return lambda known: _uses(dependents(known, derive(own_assets, known.cell("ex.assets")), parent, child))


def asset_occurrences(kind: str, names: Callable[[GroupFacts, Environment], Cell], *, production: bool) -> Any:
    def things(known: GroupFacts) -> Iterator[Thing]:
        assets, places = derive(own_assets, known.cell("ex.assets")), known.of_kind(production=production)
        return _uses(occurrences(known, assets, kind, places, names))

    return things


def _uses(found: Cell) -> Iterator[Thing]:
    for asset, count in found.value or ():
        yield Thing(str(asset.get("assetId")), {"version": asset.get("version"), "uses": count}, _worth(found))


def design_projects(known: GroupFacts) -> Iterator[Thing]:
    cell = known.cell("dc.projects")
    return (Thing(str(one.get("name")), {"type": one.get("type")}, _worth(cell)) for one in cell.value or ())


def client_applications(known: GroupFacts) -> Iterator[Thing]:
    cell = known.cell("apc.clients")
    return (Thing(str(one.get("name")), {}, _worth(cell)) for one in cell.value or ())


def flex_gateways(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
    cell = known.cell("flex.gateways", environment.id)
    for one in cell.value or ():
        yield Thing(
            str(one.get("name")), {"status": one.get("status"), "running": is_gateway_running(one)}, _worth(cell)
        )


def audit_entries(known: GroupFacts) -> Iterator[Thing]:
    """Entries of the audit log, the only items that name people: that is their purpose."""
    cell = known.cell("audit.log")
    for one in cell.value or ():
        details = {
            "action": action_of(one), "type": one.get("objectType"), "by": one.get("userName"),
            "at": one.get("createdAt"), "platform": one.get("platform"), "environment": one.get("environmentName"),
        }  # fmt: skip
        yield Thing(str(one.get("objectName")), details, _worth(cell))


def metered_applications(fact: str) -> Callable[[GroupFacts], Iterator[Thing]]:
    """Applications with what a meter counted of them over all days."""

    def things(known: GroupFacts) -> Iterator[Thing]:
        cell, column = group_rows(known, fact), METERS[fact][1]
        counted: dict[tuple[Any, Any], list[Any]] = {}
        for row in cell.value or ():
            counted.setdefault((row.get("app_name"), row.get("env_name")), []).append(to_number(row.get(column)))
        for (app, environment), counts in counted.items():
            details: dict[str, Any] = {"environment": environment, "counted": exact_sum(counts)}
            yield Thing(str(app), details, _worth(cell))

    return things


def group_environments(known: GroupFacts) -> Iterator[Thing]:
    return (Thing(one.name, {"type": one.type}, known.environments_cell.state) for one in known.environments)
