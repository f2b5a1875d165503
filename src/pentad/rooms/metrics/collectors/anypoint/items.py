"""The items behind the figures of the platform: a table says which items (`named_items.py`) are behind each figure, and
which of them it counts. Figures about people have no items.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pentad.rooms.metrics.collectors.anypoint.api_manager import (
    applied_templates,
)
from pentad.rooms.metrics.collectors.anypoint.business_groups import Environment, GroupFacts
from pentad.rooms.metrics.collectors.anypoint.cells import Cell
from pentad.rooms.metrics.collectors.anypoint.exchange import (
    TYPES,
    managed_assets,
)
from pentad.rooms.metrics.collectors.anypoint.figures import PROJECTS
from pentad.rooms.metrics.collectors.anypoint.mq import EXCHANGES, QUEUES
from pentad.rooms.metrics.collectors.anypoint.named_items import (
    NamedItem,
    api_assets,
    api_instances,
    api_traffic,
    asset_dependents,
    asset_occurrences,
    audit_entries,
    client_applications,
    cloudhub_applications,
    container_applications,
    design_projects,
    exchange_assets,
    fabric_nodes,
    fabrics,
    flex_gateways,
    group_environments,
    hybrid_items,
    metered_applications,
    mq_destinations,
    standalone_applications,
)
from pentad.rooms.metrics.collectors.anypoint.preview import ACTIONS
from pentad.rooms.metrics.models import Item, Labels

Pick = Callable[[Mapping[str, Any]], bool]
"""Whether a figure counts an item with these details."""


class Listing(NamedTuple):
    """Items of one kind below a path of keys, and which of them each figure counts. `{}` in the path means production
    and sandbox; without it the items are those of a group."""

    path: str
    kind: str
    items: Callable[..., Iterable[NamedItem]]
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


def _reused(
    kind: str, names: Callable[[GroupFacts, Environment], Cell], figure: str, *, production: bool
) -> Listing:  # fmt: skip
    return Listing("reuse", "asset", asset_occurrences(kind, names, production=production), {figure: _all})


_STARTED: Final[Mapping[str, Pick]] = {
    "applicationsTotal": _all, "applicationsStarted": _is("started", True), "applicationsStopped": _is("started", False)
}  # fmt: skip
_RUNTIMES: Final[Mapping[str, Pick]] = {"runtimesUsed": _has("runtime"), "runtimesUsedTotal": _has("runtime")}
_ON_FABRICS: Final = Listing(
    "", "application", container_applications(cloudhub_2=False),
    {**_STARTED, **_RUNTIMES, "coresReserved": _has("cores"), "memoryReserved": _has("memory")},
)  # fmt: skip

LISTINGS: Final[Mapping[str, Sequence[Listing]]] = {
    "core": (
        Listing(
            "environments", "environment", group_environments,
            {"total": _all, "production": _is("type", "Production"), "sandbox": _is("type", "Sandbox")},
        ),
    ),
    "ch": (
        Listing(
            "applications.{}", "application", cloudhub_applications,
            {**_STARTED, **_RUNTIMES, "vcoresUsed": _is("started", True)},
        ),
    ),
    "apm": (
        Listing("apis.{}", "API", api_assets, {"total": _all}),
        Listing(
            "apis.{}", "API instance", api_instances,
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
    "apma": (Listing("apis.{}", "API instance", api_traffic, {"transactions": _all}),),
    "apc": (Listing("", "client application", client_applications, {"clients": _all}),),
    "dc": (
        Listing(
            "", "project", design_projects,
            {"total": _all, **{key: _is("type", kind) for key, kind in PROJECTS.items()}},
        ),
    ),
    "ex": (
        Listing(
            "", "asset", exchange_assets,
            {
                "total": _all, **{key: _is("type", kind) for key, kind in TYPES.items()},
                "overallSatisfaction": _more("ratings", 0),
            },
        ),
        Listing("reuse", "asset", asset_dependents("rest-api", "raml-fragment"), {"fragments": _all}),
        Listing("reuse", "asset", asset_dependents("app", "rest-api"), {"implementedApis": _all}),
        Listing("reuse", "asset", asset_dependents("app", "extension"), {"extensions": _all}),
        _reused("rest-api", managed_assets, "managedSboxApis", production=False),
        _reused("rest-api", managed_assets, "managedProdApis", production=True),
        _reused("policy", applied_templates, "appliedPoliciesSbox", production=False),
        _reused("policy", applied_templates, "appliedPoliciesProd", production=True),
    ),
    "arm": (
        Listing("hybrid.{}", "server", hybrid_items("arm.servers"), {"servers": _all, **_RUNTIMES}),
        Listing("hybrid.{}", "cluster", hybrid_items("arm.clusters"), {"clusters": _all}),
        Listing("hybrid.{}", "server group", hybrid_items("arm.groups"), {"serverGroups": _all}),
        Listing("hybrid.{}", "application", standalone_applications, _STARTED),
        _ON_FABRICS._replace(path="rtf.applications.{}"),
        Listing(
            "cloudhub2.applications.{}", "application", container_applications(cloudhub_2=True),
            {**_STARTED, **_RUNTIMES, "vcoresUsed": _is("started", True)},
        ),
    ),
    "rtf": (
        Listing("capacity", "fabric", fabrics, {"fabrics": _all}),
        Listing(
            "capacity", "node", fabric_nodes,
            {
                "workers": _is("role", "worker"), "controllers": _is("role", "controller"),
                "coresTotal": _is("role", "worker"), "memoryTotal": _is("role", "worker"),
            },
        ),
        _ON_FABRICS._replace(path="applications.{}"),
    ),
    "flex": (
        Listing(
            "gateways.{}", "gateway", flex_gateways,
            {"total": _all, "running": _is("running", True), "notRunning": _is("running", False)},
        ),
    ),
    "audit": (
        Listing(
            "changes", "change", audit_entries,
            {"total": _all, "people": _has("by"), **{key: _is("action", action) for key, action in ACTIONS.items()}},
        ),
    ),
    "usage": (
        Listing("meters", "application", metered_applications("meters.messages"), {"messages": _all}),
        Listing("meters", "application", metered_applications("meters.networkBytes"), {"networkBytes": _all}),
    ),
    "amq": (
        Listing(
            "stats.summary.{}.queues", "queue", mq_destinations("queue", QUEUES),
            {"commonQueues": _is("fifo", False), "fifoQueues": _is("fifo", True), **dict.fromkeys(QUEUES, _all)},
        ),
        Listing(
            "stats.summary.{}.exchanges", "exchange", mq_destinations("exchange", EXCHANGES),
            {"exchangeQueues": _all, **dict.fromkeys(EXCHANGES, _all)},
        ),
    ),
}  # fmt: skip
"""By collector, what its figures count."""

EXTRA_FACTS: Final[Mapping[str, frozenset[str]]] = {"apma": frozenset({"apm.apis"})}
"""By collector, the facts that only items need."""
_KINDS: Final = ("production", "sandbox")


def item_keys(collector: str) -> list[str]:
    """The keys of the figures whose items can be listed."""
    return [
        _key(listing.path, kind, figure)
        for listing in LISTINGS.get(collector, ())
        for kind in (_KINDS if "{}" in listing.path else ("",))
        for figure in listing.picks
    ]


def _key(path: str, kind: str, figure: str) -> str:
    return ".".join(step for step in (path.format(kind), figure) if step)


def group_items(collector: str, known: GroupFacts, keys: frozenset[str]) -> Iterator[Item]:
    """The items of a business group behind these keys."""
    group: Labels = (("businessGroup", known.group.name), ("businessGroupId", known.group.id))
    for listing in LISTINGS.get(collector, ()):
        if "{}" not in listing.path:
            yield from _picked(listing, "", keys, group, listing.items, known)
            continue
        for kind, environments in known.by_type():
            for one in environments:
                labels = (*group, ("environmentName", one.name), ("environmentType", one.type))
                yield from _picked(listing, kind, keys, labels, listing.items, known, one)


def _picked(
    listing: Listing,
    kind: str,
    keys: frozenset[str],
    labels: Labels,
    items: Callable[..., Iterable[NamedItem]],
    *place: Any,
) -> Iterator[Item]:
    wanted = {_key(listing.path, kind, figure): pick for figure, pick in listing.picks.items()}
    wanted = {key: pick for key, pick in wanted.items() if key in keys}
    for item in items(*place) if wanted else ():
        for key, pick in wanted.items():
            if pick(item.details):
                yield Item(
                    key=key, kind=listing.kind, name=item.name, labels=labels, details=item.details, state=item.state
                )
