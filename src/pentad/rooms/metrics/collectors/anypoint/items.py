"""The things behind the figures of the platform, by name: applications, APIs, assets, queues and so on.

A table says for each figure which things it is about and which of them it counts. Names come from the facts of the
figure itself. Figures about people have no items.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pentad.rooms.metrics.collectors.anypoint.api_manager import (
    applied_templates,
    is_measured,
    template,
)
from pentad.rooms.metrics.collectors.anypoint.business_groups import Environment, GroupFacts
from pentad.rooms.metrics.collectors.anypoint.cells import DAY, Cell, derive, exact_sum, sum_cells, timestamp, to_number
from pentad.rooms.metrics.collectors.anypoint.exchange import (
    TYPES,
    dependents,
    managed_assets,
    occurrences,
    own_assets,
)
from pentad.rooms.metrics.collectors.anypoint.figures import PROJECTS
from pentad.rooms.metrics.collectors.anypoint.mq import EXCHANGES, QUEUES, destination, regions_of
from pentad.rooms.metrics.collectors.anypoint.preview import ACTIONS, action_of, group_rows, is_gateway_running
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
from pentad.rooms.metrics.models import Item, Labels, State


class Thing(NamedTuple):
    """A thing before it is known which figure counts it."""

    name: str
    details: Mapping[str, Any]
    state: State = "ok"


Pick = Callable[[Mapping[str, Any]], bool]
"""Whether a figure counts a thing with these details."""


class Listing(NamedTuple):
    """Things of one kind below a path of keys, and which of them each figure counts. `{}` in the path stands for
    production and sandbox; without it the things are those of a group."""

    path: str
    kind: str
    things: Callable[..., Iterable[Thing]]
    picks: Mapping[str, Pick]


def _all(_: Mapping[str, Any]) -> bool:
    return True


def _is(name: str, value: Any) -> Pick:
    return lambda details: details.get(name) == value


def _has(name: str) -> Pick:
    return lambda details: details.get(name) is not None


def _more(name: str, least: float) -> Pick:
    return lambda details: (details.get(name) or 0) > least


def _more_entries(name: str) -> Pick:
    return lambda details: bool(details.get(name))


def _worth(*cells: Cell) -> State:
    """The state of a thing with details from these cells."""
    if any(cell.state == "stale" for cell in cells):
        return "stale"
    return "partial" if any(cell.state != "ok" for cell in cells) else "ok"


def _cloudhub_applications(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
    cell = known.cell("ch.applications", environment.id)
    for app in cell.value or ():
        if known.in_region(app.get("region")):
            details = {
                "status": app.get("status"), "runtime": get_path(app, "muleVersion", "version"),
                "region": app.get("region"), "vcores": vcores_of_started([app]), "started": is_started(app),
            }  # fmt: skip
            yield Thing(str(app.get("domain")), details, _worth(cell))


def _api_instances(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
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


def _api_assets(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
    cell = known.cell("apm.apis", environment.id)
    for asset in cell.value or ():
        yield Thing(str(asset.get("assetId")), {"instances": asset.get("totalApis")}, _worth(cell))


def _api_traffic(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
    """APIs with requests; those that API Manager does not name keep their id."""
    if not is_measured(environment):
        return
    cell = known.cell("apma.analytics", environment.id)
    names = {one.details["apiId"]: one.name for one in _api_instances(known, environment)}
    for entry in cell.value or ():
        for row in entry.get("api_id") or ():
            for api, counts in row.items():
                details: dict[str, Any] = {"apiId": api, "requests": to_number(get_path(counts, "count"))}
                yield Thing(names.get(str(api), str(api)), details, _worth(cell))


def _hybrid_things(fact: str) -> Callable[[GroupFacts, Environment], Iterator[Thing]]:
    def things(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
        cell = known.cell(fact, environment.id)
        for one in cell.value or ():
            yield Thing(
                str(one.get("name")), {"status": one.get("status"), "runtime": one.get("muleVersion")}, _worth(cell)
            )

    return things


def _standalone_applications(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
    cell = known.cell("arm.deployments", environment.id)
    for item in cell.value or ():
        if get_path(item, "target", "provider") == "RR":
            details = {"status": item.get("status"), "started": item.get("status") == "STARTED"}
            yield Thing(str(item.get("name")), details, _worth(cell))


def _container_applications(*, cloudhub_2: bool) -> Callable[[GroupFacts, Environment], Iterator[Thing]]:
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


def _fabrics(known: GroupFacts) -> Iterator[Thing]:
    cell = known.cell("rtf.fabrics")
    for fabric in cell.value or ():
        if known.in_region(fabric.get("region")):
            roles = [node.get("role") for node in fabric.get("nodes") or ()]
            details = {
                "status": fabric.get("status"), "region": fabric.get("region"), "workers": roles.count("worker"),
                "controllers": roles.count("controller"),
            }  # fmt: skip
            yield Thing(str(fabric.get("name")), details, _worth(cell))


def _nodes(known: GroupFacts) -> Iterator[Thing]:
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


def _destinations(kind: str, names: Mapping[str, str]) -> Callable[[GroupFacts, Environment], Iterator[Thing]]:
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


def _assets(known: GroupFacts) -> Iterator[Thing]:
    cell = known.cell("ex.assets")
    for asset in own_assets(cell.value or ()):
        details = {
            "type": asset.get("type"), "version": asset.get("version"), "rating": asset.get("rating"),
            "ratings": asset.get("numberOfRates"),
        }  # fmt: skip
        yield Thing(str(asset.get("assetId")), details, _worth(cell))


def _dependents(parent: str, child: str) -> Callable[[GroupFacts], Iterator[Thing]]:
    return lambda known: _uses(dependents(known, derive(own_assets, known.cell("ex.assets")), parent, child))


def _occurrences(kind: str, names: Callable[[GroupFacts, Environment], Cell], *, production: bool) -> Any:
    def things(known: GroupFacts) -> Iterator[Thing]:
        assets, places = derive(own_assets, known.cell("ex.assets")), known.of_kind(production=production)
        return _uses(occurrences(known, assets, kind, places, names))

    return things


def _uses(found: Cell) -> Iterator[Thing]:
    for asset, count in found.value or ():
        yield Thing(str(asset.get("assetId")), {"version": asset.get("version"), "uses": count}, _worth(found))


def _projects(known: GroupFacts) -> Iterator[Thing]:
    cell = known.cell("dc.projects")
    return (Thing(str(one.get("name")), {"type": one.get("type")}, _worth(cell)) for one in cell.value or ())


def _clients(known: GroupFacts) -> Iterator[Thing]:
    cell = known.cell("apc.clients")
    return (Thing(str(one.get("name")), {}, _worth(cell)) for one in cell.value or ())


def _gateways(known: GroupFacts, environment: Environment) -> Iterator[Thing]:
    cell = known.cell("flex.gateways", environment.id)
    for one in cell.value or ():
        yield Thing(
            str(one.get("name")), {"status": one.get("status"), "running": is_gateway_running(one)}, _worth(cell)
        )


def _changes(known: GroupFacts) -> Iterator[Thing]:
    """Entries of the audit log. They name who did it: that is what they are for."""
    cell = known.cell("audit.log")
    for one in cell.value or ():
        details = {
            "action": action_of(one), "type": one.get("objectType"), "by": one.get("userName"),
            "at": one.get("createdAt"), "platform": one.get("platform"), "environment": one.get("environmentName"),
        }  # fmt: skip
        yield Thing(str(one.get("objectName")), details, _worth(cell))


def _metered(fact: str) -> Callable[[GroupFacts], Iterator[Thing]]:
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


def _environments(known: GroupFacts) -> Iterator[Thing]:
    return (Thing(one.name, {"type": one.type}, known.environments_cell.state) for one in known.environments)


def _reused(
    kind: str, names: Callable[[GroupFacts, Environment], Cell], figure: str, *, production: bool
) -> Listing:  # fmt: skip
    return Listing("reuse", "asset", _occurrences(kind, names, production=production), {figure: _all})


_STARTED: Final[Mapping[str, Pick]] = {
    "applicationsTotal": _all, "applicationsStarted": _is("started", True), "applicationsStopped": _is("started", False)
}  # fmt: skip
_RUNTIMES: Final[Mapping[str, Pick]] = {"runtimesUsed": _has("runtime"), "runtimesUsedTotal": _has("runtime")}
_ON_FABRICS: Final = Listing(
    "", "application", _container_applications(cloudhub_2=False),
    {**_STARTED, **_RUNTIMES, "coresReserved": _has("cores"), "memoryReserved": _has("memory")},
)  # fmt: skip

LISTINGS: Final[Mapping[str, Sequence[Listing]]] = {
    "core": (
        Listing(
            "environments", "environment", _environments,
            {"total": _all, "production": _is("type", "Production"), "sandbox": _is("type", "Sandbox")},
        ),
    ),
    "ch": (
        Listing(
            "applications.{}", "application", _cloudhub_applications,
            {**_STARTED, **_RUNTIMES, "vcoresUsed": _is("started", True)},
        ),
    ),
    "apm": (
        Listing("apis.{}", "API", _api_assets, {"total": _all}),
        Listing(
            "apis.{}", "API instance", _api_instances,
            {
                "active": _is("active", True), "inactive": _is("active", False), "apiInstances": _all,
                "apiVersions": _all, "apisWithPolicies": _more_entries("policies"),
                "apisWithoutPolicies": _is("policies", []),
                "apisWithSecurity": _is("secured", True), "apisWithoutSecurity": _is("secured", False),
                "apisWithContracts": _more("contracts", 0), "apisWithoutContracts": _is("contracts", 0),
                "apisWithMoreThanOneConsumer": _more("contracts", 1),
                "apisWithOneOrMoreConsumers": _more("contracts", 0),
                "contracts": _more("contracts", 0), "policiesUsed": _more_entries("policies"),
                "policiesUsedTotal": _more_entries("policies"),
            },
        ),
    ),
    "apma": (Listing("apis.{}", "API instance", _api_traffic, {"transactions": _all}),),
    "apc": (Listing("", "client application", _clients, {"clients": _all}),),
    "dc": (
        Listing(
            "", "project", _projects, {"total": _all, **{key: _is("type", kind) for key, kind in PROJECTS.items()}}
        ),
    ),
    "ex": (
        Listing(
            "", "asset", _assets,
            {
                "total": _all, **{key: _is("type", kind) for key, kind in TYPES.items()},
                "overallSatisfaction": _more("ratings", 0),
            },
        ),
        Listing("reuse", "asset", _dependents("rest-api", "raml-fragment"), {"fragments": _all}),
        Listing("reuse", "asset", _dependents("app", "rest-api"), {"implementedApis": _all}),
        Listing("reuse", "asset", _dependents("app", "extension"), {"extensions": _all}),
        _reused("rest-api", managed_assets, "managedSboxApis", production=False),
        _reused("rest-api", managed_assets, "managedProdApis", production=True),
        _reused("policy", applied_templates, "appliedPoliciesSbox", production=False),
        _reused("policy", applied_templates, "appliedPoliciesProd", production=True),
    ),
    "arm": (
        Listing("hybrid.{}", "server", _hybrid_things("arm.servers"), {"servers": _all, **_RUNTIMES}),
        Listing("hybrid.{}", "cluster", _hybrid_things("arm.clusters"), {"clusters": _all}),
        Listing("hybrid.{}", "server group", _hybrid_things("arm.groups"), {"serverGroups": _all}),
        Listing("hybrid.{}", "application", _standalone_applications, _STARTED),
        _ON_FABRICS._replace(path="rtf.applications.{}"),
        Listing(
            "cloudhub2.applications.{}", "application", _container_applications(cloudhub_2=True),
            {**_STARTED, **_RUNTIMES, "vcoresUsed": _is("started", True)},
        ),
    ),
    "rtf": (
        Listing("capacity", "fabric", _fabrics, {"fabrics": _all}),
        Listing(
            "capacity", "node", _nodes,
            {
                "workers": _is("role", "worker"), "controllers": _is("role", "controller"),
                "coresTotal": _is("role", "worker"), "memoryTotal": _is("role", "worker"),
            },
        ),
        _ON_FABRICS._replace(path="applications.{}"),
    ),
    "flex": (
        Listing(
            "gateways.{}", "gateway", _gateways,
            {"total": _all, "running": _is("running", True), "notRunning": _is("running", False)},
        ),
    ),
    "audit": (
        Listing(
            "changes", "change", _changes,
            {"total": _all, "people": _has("by"), **{key: _is("action", action) for key, action in ACTIONS.items()}},
        ),
    ),
    "usage": (
        Listing("meters", "application", _metered("meters.messages"), {"messages": _all}),
        Listing("meters", "application", _metered("meters.networkBytes"), {"networkBytes": _all}),
    ),
    "amq": (
        Listing(
            "stats.summary.{}.queues", "queue", _destinations("queue", QUEUES),
            {"commonQueues": _is("fifo", False), "fifoQueues": _is("fifo", True), **dict.fromkeys(QUEUES, _all)},
        ),
        Listing(
            "stats.summary.{}.exchanges", "exchange", _destinations("exchange", EXCHANGES),
            {"exchangeQueues": _all, **dict.fromkeys(EXCHANGES, _all)},
        ),
    ),
}  # fmt: skip
"""By collector, what its figures count."""

EXTRA_FACTS: Final[Mapping[str, frozenset[str]]] = {"apma": frozenset({"apm.apis"})}
"""By collector, the facts that only names need."""
_KINDS: Final = ("production", "sandbox")


def item_keys(collector: str) -> list[str]:
    """The keys of the figures whose things can be named."""
    return [
        _key(listing.path, kind, figure)
        for listing in LISTINGS.get(collector, ())
        for kind in (_KINDS if "{}" in listing.path else ("",))
        for figure in listing.picks
    ]


def _key(path: str, kind: str, figure: str) -> str:
    return ".".join(step for step in (path.format(kind), figure) if step)


def group_items(collector: str, known: GroupFacts, keys: frozenset[str]) -> Iterator[Item]:
    """The things of a business group behind these keys."""
    group: Labels = (("businessGroup", known.group.name), ("businessGroupId", known.group.id))
    for listing in LISTINGS.get(collector, ()):
        if "{}" not in listing.path:
            yield from _picked(listing, "", keys, group, listing.things, known)
            continue
        for kind, environments in known.by_type():
            for one in environments:
                labels = (*group, ("environmentName", one.name), ("environmentType", one.type))
                yield from _picked(listing, kind, keys, labels, listing.things, known, one)


def _picked(
    listing: Listing,
    kind: str,
    keys: frozenset[str],
    labels: Labels,
    things: Callable[..., Iterable[Thing]],
    *place: Any,
) -> Iterator[Item]:
    wanted = {_key(listing.path, kind, figure): pick for figure, pick in listing.picks.items()}
    wanted = {key: pick for key, pick in wanted.items() if key in keys}
    for thing in things(*place) if wanted else ():
        for key, pick in wanted.items():
            if pick(thing.details):
                yield Item(
                    key=key, kind=listing.kind, name=thing.name, labels=labels, details=thing.details, state=thing.state
                )
