"""Turns figures with states into the tree that callers see and into samples; also the tree of raw answers.

A missing value is null in the tree; `states` next to the figures says why (`state` in an entry of one environment).
Figures that the query does not include are left out.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, cast

from pentad.rooms.metrics.collectors.anypoint.business_groups import Environment, Group, GroupFacts
from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Node, entry_state
from pentad.rooms.metrics.collectors.anypoint.mq import destination, regions_of
from pentad.rooms.metrics.metric_keys import LABELS, put_path
from pentad.rooms.metrics.models import Labels, Metric, Problem, Sample

Steps = tuple[str, ...]


class TreeBuilder:
    """Builds the tree and the samples of one group, with the wanted metrics only."""

    def __init__(self, metrics: Mapping[str, Metric], group: Group) -> None:
        self._metrics = metrics
        self._group: Labels = (("businessGroup", group.name), ("businessGroupId", group.id))
        self.samples: list[Sample] = []
        self.states: dict[str, str] = {}

    def build(self, node: Node) -> Any:
        """The tree of the wanted figures; None without any."""
        return self._node(node, (), self._group, in_list=False)

    def _node(self, node: Node, path: Steps, labels: Labels, *, in_list: bool) -> Any:
        if isinstance(node, Cell):
            return self._cell(node, ".".join(path), labels, in_list=in_list)
        if isinstance(node, list):
            entries = [self._entry(entry, path, labels) for entry in cast("list[Node]", node)]
            return [entry for entry in entries if entry is not None]
        found: dict[str, Any] = {}
        has_figures = False
        for name, inner in cast("dict[str, Node]", node).items():
            if isinstance(inner, str):
                found[name] = inner
                continue
            if isinstance(inner, Cell) and ".".join((*path, name)) not in self._metrics:
                continue
            value = self._node(inner, path if name == "details" else (*path, name), labels, in_list=in_list)
            is_empty_list = isinstance(inner, list) and (has_figures or self._has_below((*path, name)))
            if isinstance(inner, Cell) or value or is_empty_list:
                found[name] = value
                has_figures = True
        return found if has_figures else None

    def _has_below(self, path: Steps) -> bool:
        start = ".".join(path) + "."
        return any(key.startswith(start) for key in self._metrics)

    def _entry(self, entry: Node, path: Steps, labels: Labels) -> Any:
        """An entry of a list; its names become labels of its figures."""
        members = cast("dict[str, Node]", entry)
        named = {name: value for name, value in members.items() if name in LABELS and isinstance(value, str)}
        value = self._node(entry, path, tuple(sorted({**dict(labels), **named}.items())), in_list=True)
        if value is None:
            return None
        incomplete = [cell for cell in _cells(entry, path, self._metrics) if cell.state != "ok"]
        return {**value, "state": entry_state(incomplete)} if incomplete else value

    def _cell(self, cell: Cell, key: str, labels: Labels, *, in_list: bool) -> Any:
        metric = self._metrics.get(key)
        if metric is not None:
            sample = Sample(key=key, labels=labels, value=cell.value, unit=metric.unit, state=cell.state)
            self.samples.append(sample)
            if cell.state != "ok" and not in_list:
                self.states[key] = cell.state
        return cell.value


def _cells(node: Node, path: Steps, metrics: Mapping[str, Metric]) -> list[Cell]:
    if isinstance(node, Cell):
        return [node] if ".".join(path) in metrics else []
    if not isinstance(node, dict):
        return []
    return [
        cell for name, inner in cast("dict[str, Node]", node).items() for cell in _cells(inner, (*path, name), metrics)
    ]


def entry_head(group: Group, as_of: float) -> dict[str, Any]:
    """The first members of every group's entry; its date is that of the oldest fact."""
    moment = datetime.fromtimestamp(as_of, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"date": moment, "businessGroup": group.name, "businessGroupId": group.id}


def nest(root: Steps, value: Any) -> dict[str, Any]:
    """A value at its place in the tree."""
    for name in reversed(root):
        value = {name: value}
    return value


def error_texts(group: Group, problems: list[Problem]) -> list[str]:
    """The problems of a group as texts, each once."""
    mine = [problem for problem in problems if problem.scope.split("/", 1)[0] == group.id]
    return list(dict.fromkeys(f"{problem.scope}: {problem.call}: {problem.message}" for problem in mine))


PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "members": ("coreServicesData", "users"), "usage": ("coreServicesData", "usage"),
    "environments": ("coreServicesData", "environments"), "dc.projects": ("designCenterData",),
    "ex.assets": ("exchangeData",), "apc.clients": ("apiManagerData", "clients"),
    "rtf.fabrics": ("runtimeManagerData", "rtf"),
}  # fmt: skip
BY_ENVIRONMENT: Final[Mapping[str, tuple[str, ...]]] = {
    "apm.apis": ("apiManagerData", "apis"), "ap.policies": ("apiManagerData", "apiAutomatedPolicies"),
    "apma.analytics": ("apiManagerData", "analytics"), "ch.applications": ("runtimeManagerData", "cloudHubApps"),
    "arm.deployments": ("runtimeManagerData", "armDeployments"), "arm.servers": ("runtimeManagerData", "armServers"),
    "arm.clusters": ("runtimeManagerData", "armClusters"), "arm.groups": ("runtimeManagerData", "armServerGroups"),
    "amq.regions": ("mqMetrics",), "osv2.stats": ("osV2Metrics",),
}  # fmt: skip


def raw_tree(known: GroupFacts, names: frozenset[str]) -> dict[str, Any]:
    """The raw answers of one group under the toolkit's names; null if one is missing."""
    found: dict[str, Any] = {}
    for name, place in PLACES.items():
        if name in names:
            put_path(found, place, known.cell(name).value)
    if "members" in names:
        put_path(found, ("coreServicesData", "entitlements"), known.group.entitlements)
    for name, place in BY_ENVIRONMENT.items():
        if name in names:
            put_path(found, place, [_of(known, environment, name) for environment in known.environments])
    return found


def _of(known: GroupFacts, environment: Environment, name: str) -> dict[str, Any]:
    data: Any = known.cell(name, environment.id).value
    if name == "arm.deployments" and data is not None:
        data = [known.cell("arm.deployment", environment.id, str(item.get("id"))).value or item for item in data]
    elif name == "apm.apis" and data is not None:
        data = [_with_policies(known, environment, asset) for asset in data]
    elif name == "amq.regions":
        data = [_region(known, environment, region) for region in regions_of(known, environment).value or ()]
    return {"environmentName": environment.name, "environmentType": environment.type, "data": data}


def _with_policies(known: GroupFacts, environment: Environment, asset: dict[str, Any]) -> dict[str, Any]:
    instances = [
        {**one, "policies": known.cell("apm.policies", environment.id, str(one.get("id"))).value}
        for one in asset.get("apis") or ()
    ]
    return {**asset, "apis": instances}


def _region(known: GroupFacts, environment: Environment, region: str) -> dict[str, Any]:
    listed: Any = known.cell("amq.destinations", environment.id, region).value or ()
    stats = [
        {**one, "stats": known.cell("amq.stats", environment.id, region, *destination(one)).value} for one in listed
    ]
    return {"id": region, "destinations": stats}
