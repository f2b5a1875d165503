"""The Metrics Toolkit's numbers, including its mistakes (`compat: "legacy"`), for comparison with older figures.

In the toolkit a collector sees only its own facts. A failed call loses all figures of a group, and lost values become
zeros. Groups without environments are skipped. Answers by key have their own roots and omit missing values.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from msgspec import structs

from pentad.rooms.metrics.collectors.anypoint.api_manager import api_instances, api_manager, policies_of, template
from pentad.rooms.metrics.collectors.anypoint.business_groups import GroupFacts
from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Node, derive
from pentad.rooms.metrics.collectors.anypoint.figures import FIGURES
from pentad.rooms.metrics.collectors.anypoint.mq import figures_by_region, summary
from pentad.rooms.metrics.collectors.anypoint.runtime_manager import capacity, cloudhub, fabric_applications, hybrid
from pentad.rooms.metrics.metric_keys import Match, Matcher, Steps, figure_key, flatten, get_path, key_matchers
from pentad.rooms.metrics.models import Difference, Info, Labels, Sample

FACTS: Final[Mapping[str, frozenset[str]]] = {
    "core": frozenset({"members", "usage"}), "ch": frozenset({"ch.applications"}),
    "ex": frozenset({"ex.assets", "ex.dependencies"}), "dc": frozenset({"dc.projects"}),
    "arm": frozenset({"arm.servers", "arm.clusters", "arm.groups", "arm.deployments", "arm.deployment"}),
    "apm": frozenset({"apm.apis", "apm.policies"}), "apc": frozenset({"apc.clients"}),
    "amq": frozenset({"amq.regions", "amq.destinations", "amq.stats"}), "osv2": frozenset({"osv2.stats"}),
    "benefits": frozenset({"apm.apis", "ch.applications", "arm.deployments"}),
}  # fmt: skip
"""The facts each collector of the toolkit fetches."""

MOST_DESTINATIONS: Final = 20


def legacy_tree(collector: str, root: Steps, known: GroupFacts) -> dict[str, Any]:
    """The toolkit's entry of one group, without date and names."""
    if collector in ("ap", "apma"):
        return {"notImplemented": "Collector Not Implemented"}
    if collector == "rtf":
        return {"rtf": None}
    seen = _legacy_view(known, FACTS[collector])
    match collector:
        case "ch":
            return {"runtimeManagerMetrics": {"cloudhub": _plain(_cloudhub(seen))}}
        case "arm":
            return {"runtimeManagerMetrics": _plain(_runtimes(seen))}
        case "amq":
            return {"mqMetrics": _plain(_mq(seen))}
        case "apm":
            return {"apiManagerMetrics": _plain(_apis(seen))}
        case "apc":
            return {"apiManagerMetrics": {"clients": _plain(api_manager(seen)["clients"])}}
        case _:
            return {root[0]: _plain(dict(FIGURES[collector](seen)))}


def _legacy_view(known: GroupFacts, names: frozenset[str]) -> GroupFacts:
    """The group as a collector of the toolkit sees it: empty if one of its calls failed or there are no
    environments."""
    needed = names | {"environments"}
    failed = any(fact.scope[0] == known.group.id and fact.name in needed for fact in known.facts.problems())
    if failed or is_skipped(known) or any(name in known.skipped for name in names):
        return replace(
            known, only=frozenset[str](), environments=(), environments_cell=Cell(()), excluded=(), skipped={}
        )
    return replace(known, only=names, excluded=(), skipped={})


def is_skipped(known: GroupFacts) -> bool:
    """Whether the toolkit skips the group because it has only design environments."""
    return not known.environments and not known.excluded


def _cloudhub(known: GroupFacts) -> dict[str, Node]:
    """Without usage, which another collector fetches: nothing is used, everything is available."""
    found = cloudhub(known)
    network: dict[str, Any] = found["networking"]
    for name in ("vpcs", "vpns", "dlbs", "staticIPs"):
        total: Cell = network[f"{name}Total"]
        network[f"{name}Used"] = None
        network[f"{name}Available"] = total
        network[f"{name}Total"] = total.value  # null if unknown; then 0 are available
    return found


def _runtimes(known: GroupFacts) -> dict[str, Node]:
    """With the parts of other collectors as the toolkit has them: empty, with zeros and without details."""
    return {
        "cloudhub": _cloudhub(replace(known, environments=())),
        "rtf": {"capacity": capacity(known), "applications": fabric_applications(known, all_mc=True)},
        "hybrid": hybrid(known),
    }


def _mq(known: GroupFacts) -> dict[str, Node]:
    """Only the first page of destinations, by region only the first environment of each type, and nothing delivered."""
    found: dict[str, Node] = {
        "stats": {
            "summary": summary(known, MOST_DESTINATIONS),
            "byRegion": {
                kind: figures_by_region(known, places[:1], MOST_DESTINATIONS) for kind, places in known.by_type()
            },
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


def _apis(known: GroupFacts) -> dict[str, Node]:
    """The details count policies instead of API instances."""
    found = api_manager(known)
    for kind, environments in known.by_type():
        for environment, entry in zip(environments, found["apis"][kind]["details"], strict=True):
            running = derive(api_instances, known.cell("apm.apis", environment.id))
            policies = [policy for cell in policies_of(known, environment, running) for policy in cell.value or ()]
            secured = sum(1 for policy in policies if template(policy)[1] in known.security)
            entry["apisWithSecurity"] = Cell(secured)
            entry["apisWithoutSecurity"] = Cell(len(running.value or ()) - secured)
    return found


def _plain(node: Node) -> Any:
    """The values without states; missing ones become zeros."""
    if isinstance(node, Cell):
        return 0 if node.value is None else node.value
    if isinstance(node, dict):
        return {name: _plain(inner) for name, inner in cast("dict[str, Node]", node).items()}
    return [_plain(entry) for entry in cast("list[Node]", node)] if isinstance(node, list) else node


REASONS: Final = tuple(
    (re.compile(pattern), why)
    for pattern, why in (
        (r"messagesDelivered$", "The toolkit adds up a misspelt field, so the sum is always zero."),
        (r"\.byRegion\.", "The toolkit shows only the first environment of each type."),
        (r"^mqMetrics\.", "The toolkit reads only the first 20 destinations of a region."),
        (r"\.networking\.", "The toolkit does not fetch the usage for this collector, so everything looks unused."),
        (r"apisWith(out)?Security$", "The toolkit counts policies here instead of API instances."),
        (r"\.reuse\.", "The toolkit does not fetch the APIs for this collector, so no asset looks managed."),
        (r"\.cloudhub2\.|\.rtf\.applications\.", "The toolkit counts CloudHub 2.0 as Runtime Fabric."),
        (r"\.rtf\.", "The toolkit reads a path that its tree does not have, so there is no value."),
        (r"^apiManagerMetrics\.apis\.", "The toolkit does not implement this collector."),
    )
)
FAILED: Final = "A call failed: the toolkit then fills the whole group with zeros."
NO_ENVIRONMENTS: Final = "The toolkit skips groups without environments and fills them with zeros."
_NO_VALUE: Final = "The value is missing; the toolkit makes it a zero."
_PASSED_OVER: Final = frozenset({"date", "errors", "notImplemented", "rtf"})


def find_differences(
    right: Mapping[str, Any], legacy_tree: Mapping[str, Any], labels: Labels, lost: str | None = None
) -> Iterator[Difference]:
    """The differences between a group's right entry and the toolkit's; `lost` is why the toolkit has no data."""
    theirs = {(match.path, match.labels): match.value for match in _figures(legacy_tree)}
    for match in _figures(right):
        legacy_value = theirs.get((match.path, match.labels))
        if legacy_value != match.value:
            found = tuple(sorted({*labels, *match.labels}))
            yield Difference(
                key=match.path,
                labels=found,
                right=match.value,
                legacy=legacy_value,
                why=lost or (_NO_VALUE if match.value is None else _why(match.path)),
            )


def legacy_samples(right: Iterable[Sample], entry: Mapping[str, Any], root: Steps) -> Iterator[Sample]:
    """The figures of a group with the toolkit's numbers, as far as its entry has them."""
    theirs = {(figure_key(match.path, root), match.labels): match.value for match in flatten(entry)}
    for sample in right:
        value = theirs.get((sample.key, sample.labels))
        state = "unsupported" if value is None and sample.state == "ok" else sample.state
        yield structs.replace(sample, value=value, state=state)


def _figures(entry: Mapping[str, Any]) -> list[Match]:
    return flatten({name: value for name, value in entry.items() if name not in _PASSED_OVER and name != "states"})


def _why(path: str) -> str:
    return next((why for pattern, why in REASONS if pattern.search(path)), "The toolkit does not have this figure.")


ROOTS: Final[Mapping[str, Steps]] = {
    "ch": ("runtimeManagerMetrics", "cloudhub"), "apc": ("apiManagerMetrics", "clients"), "rtf": ("rtf",),
    "ap": (), "apma": (),
}  # fmt: skip
"""Where the toolkit looks, unless it is the first step of the collector's root. Its answer has only the last step."""


def legacy_by_key(tree: Sequence[Mapping[str, Any]], info: Info, keys: Sequence[str]) -> list[dict[str, Any]]:
    """The toolkit's answer by key, computed from its answer for the whole collector."""
    root = ROOTS.get(info.id, info.root[:1])
    tests = key_matchers(info, keys)
    found: list[dict[str, Any]] = []
    for entry in tree:
        view = {name: entry[name] for name in ("businessGroup", "businessGroupId")}
        if root:
            view[root[-1]] = _search(get_path(entry, *root), root, tests)
        found.append(view)
    return found


def _search(node: Any, path: Steps, tests: Sequence[Matcher]) -> Any:
    if isinstance(node, list):
        entries = [_search(entry, path, tests) for entry in cast("list[Any]", node)]
        return [entry for entry in entries if entry] or None
    if not isinstance(node, dict):
        return None
    kept: dict[str, Any] = {}
    for name, value in cast("dict[str, Any]", node).items():
        if value is None:
            continue
        here = (*path, name)
        inner = value if any(test(here) for test in tests) else _search(value, here, tests)
        if inner is not None:
            kept[name] = inner
    return kept or None
