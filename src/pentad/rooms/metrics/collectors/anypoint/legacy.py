"""The numbers of the original, with its mistakes: `compat: "legacy"`, for who compares with figures kept before.

A collector saw its own facts only. One failed call lost everything it had of a group, and what was lost became zeros.
Of a group without environments nothing was collected at all.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from pentad.rooms.metrics.collectors.anypoint.api_manager import api_manager, instances, policies_of, template
from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Node, made
from pentad.rooms.metrics.collectors.anypoint.cloudhub import cloudhub
from pentad.rooms.metrics.collectors.anypoint.fabric import capacity, fabric_applications
from pentad.rooms.metrics.collectors.anypoint.hybrid import hybrid
from pentad.rooms.metrics.collectors.anypoint.known import Known
from pentad.rooms.metrics.collectors.anypoint.mq import regions_listed, summary
from pentad.rooms.metrics.collectors.anypoint.parts import Part

FACTS: Final[Mapping[str, frozenset[str]]] = {
    "core": frozenset({"members", "usage"}), "ch": frozenset({"ch.applications"}),
    "ex": frozenset({"ex.assets", "ex.dependencies"}), "dc": frozenset({"dc.projects"}),
    "arm": frozenset({"arm.servers", "arm.clusters", "arm.groups", "arm.deployments", "arm.deployment"}),
    "apm": frozenset({"apm.apis", "apm.policies"}), "apc": frozenset({"apc.clients"}),
    "amq": frozenset({"amq.regions", "amq.destinations", "amq.stats"}), "osv2": frozenset({"osv2.stats"}),
    "benefits": frozenset({"apm.apis", "ch.applications", "arm.deployments"}),
}  # fmt: skip
"""What each collector of the original fetched and used."""

MOST_DESTINATIONS: Final = 20
_NOT_THERE: Final = {"notImplemented": "Collector Not Implemented"}


def legacy(part: Part, known: Known) -> dict[str, Any]:
    """What the original's entry of one group holds besides its names."""
    if part.id in ("ap", "apma"):
        return dict(_NOT_THERE)
    if part.id == "rtf":
        return {"rtf": None}
    seen = _seen(known, FACTS[part.id])
    if part.id == "ch":
        return {"runtimeManagerMetrics": {"cloudhub": _plain(_cloudhub(seen))}}
    if part.id == "arm":
        return {"runtimeManagerMetrics": _plain(_runtimes(seen))}
    if part.id == "amq":
        return {"mqMetrics": _plain(_mq(seen))}
    if part.id == "apm":
        return {"apiManagerMetrics": _plain(_apis(seen))}
    if part.id == "apc":
        return {"apiManagerMetrics": {"clients": _plain(api_manager(seen)["clients"])}}
    return {part.root[0]: _plain(dict(part.build(seen)))}


def _seen(known: Known, names: frozenset[str]) -> Known:
    """The group as a collector of the original saw it: nothing at all as soon as one of its calls failed, or where
    there are no environments."""
    needed = names | {"environments"}
    failed = any(fact.scope[0] == known.group.id and fact.name in needed for fact in known.facts.problems())
    if failed or is_passed_over(known) or any(name in known.skipped for name in names):
        return replace(known, only=frozenset[str](), environments=(), environments_cell=Cell(()), skipped={})
    return replace(known, only=names, skipped={}, filtered=False)


def is_passed_over(known: Known) -> bool:
    """Whether the original collects nothing of the group, as it has no environments but those for designing."""
    return not known.environments and not known.filtered


def _cloudhub(known: Known) -> dict[str, Node]:
    """Usage was another collector's fact: nothing is used, and all is available."""
    found = cloudhub(known)
    network: dict[str, Any] = found["networking"]
    for name in ("vpcs", "vpns", "dlbs", "staticIPs"):
        total: Cell = network[f"{name}Total"]
        network[f"{name}Used"] = None
        network[f"{name}Available"] = total
        network[f"{name}Total"] = total.value  # null where nothing is said of it, and then 0 are available
    return found


def _runtimes(known: Known) -> dict[str, Node]:
    return {
        "cloudhub": _cloudhub(known),
        "rtf": {"capacity": capacity(known), "applications": fabric_applications(known, all_mc=True)},
        "hybrid": hybrid(known),
    }


def _mq(known: Known) -> dict[str, Node]:
    """The first page of destinations, the first environment of each type by region, and nothing ever delivered."""
    found: dict[str, Node] = {
        "stats": {
            "summary": summary(known, MOST_DESTINATIONS),
            "byRegion": {kind: regions_listed(known, places[:1], MOST_DESTINATIONS) for kind, places in known.kinds()},
        }
    }
    return cast("dict[str, Node]", _without(found, "messagesDelivered"))


def _without(node: Node, key: str) -> Node:
    if isinstance(node, dict):
        return {
            name: Cell(0) if name == key else _without(inner, key)
            for name, inner in cast("dict[str, Node]", node).items()
        }
    return [_without(entry, key) for entry in cast("list[Node]", node)] if isinstance(node, list) else node


def _apis(known: Known) -> dict[str, Node]:
    """In the details policies were counted where API instances were meant."""
    found = api_manager(known)
    for kind, environments in known.kinds():
        for environment, entry in zip(environments, found["apis"][kind]["details"], strict=True):
            running = made(instances, known.cell("apm.apis", environment.id))
            policies = [policy for cell in policies_of(known, environment, running) for policy in cell.value or ()]
            secured = sum(1 for policy in policies if template(policy)[1] in known.security)
            entry["apisWithSecurity"] = Cell(secured)
            entry["apisWithoutSecurity"] = Cell(len(running.value or ()) - secured)
    return found


def _plain(node: Node) -> Any:
    """Without states; what is not known is a zero."""
    if isinstance(node, Cell):
        return 0 if node.value is None else node.value
    if isinstance(node, dict):
        return {name: _plain(inner) for name, inner in cast("dict[str, Node]", node).items()}
    return [_plain(entry) for entry in cast("list[Node]", node)] if isinstance(node, list) else node
