"""Plans the facts of a query: first the groups, then environments, then lists, then what the lists lead to.

Leaves out facts that no wanted key needs, that the group is not entitled to, or that the platform does not have.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pentad.rooms.metrics.collectors.anypoint.api_manager import api_instances
from pentad.rooms.metrics.collectors.anypoint.business_groups import (
    SECURITY,
    Environment,
    Group,
    GroupFacts,
    Params,
    parse_environments,
    parse_groups,
    select_environments,
    select_groups,
)
from pentad.rooms.metrics.collectors.anypoint.cells import Cell, to_number
from pentad.rooms.metrics.collectors.anypoint.exchange import assets_with_dependencies
from pentad.rooms.metrics.collectors.anypoint.mq import destination, regions_of
from pentad.rooms.metrics.collectors.anypoint.preview_api import METERS
from pentad.rooms.metrics.metric_keys import get_path
from pentad.rooms.metrics.models import Fact, Facts, Problem, Query, State, state_of

T = TypeVar("T")
MOST_READ: Final = 10_000

OF_GROUPS: Final = ("members", "usage", "ex.assets", "apc.clients", "dc.projects", "rtf.fabrics", "audit.log")
OF_ENVIRONMENTS: Final = (
    "ch.applications", "apm.apis", "ap.policies", "arm.servers", "arm.clusters", "arm.groups", "arm.deployments",
    "apma.analytics", "amq.regions", "osv2.stats", "flex.gateways",
)  # fmt: skip
STRUCTURE: Final = ("hierarchy", "environments")
LEADS: Final = (*STRUCTURE, "ex.assets", "apm.apis", "arm.deployments", "amq.regions", "amq.destinations")
"""The facts that lead to other facts."""

ENTITLED: Final = {
    "arm.servers": "hybrid", "arm.clusters": "hybrid", "arm.groups": "hybrid", "rtf.fabrics": "runtimeFabric",
    "amq.regions": "mqMessages", "amq.destinations": "mqMessages", "amq.stats": "mqMessages",
    "osv2.stats": "objectStoreRequestUnits",
}  # fmt: skip
SHARED: Final = frozenset({"mqMessages", "objectStoreRequestUnits"})
"""Entitlements of the whole organisation: a group without its own may use those of the top group."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What the settings exclude, what the platform lacks, and the parameters of all facts."""

    ignored_groups: frozenset[str] = frozenset()
    ignored_environments: frozenset[str] = frozenset()
    unsupported: frozenset[str] = frozenset()
    """Names of facts."""
    params: Params = ()
    security: frozenset[str] = SECURITY


class ParsedAnswers:
    """Caches what was parsed from answers, because a plan is made many times while facts arrive."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Any, Any]] = {}

    def once(self, answer: Any, read: Callable[[Any], T]) -> T:
        """`read(answer)`, computed once. An answer has to be read in one way only."""
        known = self._found.get(id(answer))
        if known is None or known[0] is not answer:
            if len(self._found) >= MOST_READ:
                self._found.clear()
            # Keeps the answer alive, so that no other object gets its id.
            known = self._found[id(answer)] = (answer, read(answer))
        return known[1]


def groups_in_scope(
    scope: Scope, query: Query, facts: Facts, top: str, bg: str | None, read: ParsedAnswers
) -> list[GroupFacts]:
    """The groups of the query with their facts; empty as long as the hierarchy is missing."""
    hierarchy = Fact("hierarchy", (top,), scope.params)
    answer = facts.value(hierarchy)
    if answer is None:
        return []
    found = read.once(answer, parse_groups)
    chosen = select_groups(found, bg, recursive=query.recursive, ignored=scope.ignored_groups)
    is_stale = facts.is_stale(hierarchy)
    return [_group_facts(scope, query, facts, group, found[0], read, is_stale=is_stale) for group in chosen]


def _group_facts(
    scope: Scope, query: Query, facts: Facts, group: Group, top: Group, read: ParsedAnswers, *, is_stale: bool
) -> GroupFacts:
    fact = Fact("environments", (group.id,), scope.params)
    answer = facts.get(fact)
    environments: list[Environment] = []
    every: list[Environment] = []
    if answer is None:
        cell = Cell(None, "failed")
    elif isinstance(answer, Problem):
        cell = Cell(None, state_of((answer,)))
    else:
        every = read.once(answer, lambda found_answer: parse_environments(found_answer, scope.ignored_environments))
        environments = select_environments(every, query.environments)
        cell = Cell((), "stale" if facts.is_stale(fact) else "ok")
    return GroupFacts(
        group=group,
        facts=facts,
        now=query.now,
        environments=tuple(environments),
        environments_cell=cell,
        excluded=tuple(one for one in every if one not in environments) if query.environments else (),
        entitlements_state="stale" if is_stale else "ok",
        skipped=read.once(group, lambda group: _skipped_facts(scope, group, top)),
        regions=tuple(region.casefold() for region in query.regions),
        params=scope.params,
        security=scope.security,
    )


def _skipped_facts(scope: Scope, group: Group, top: Group) -> dict[str, State]:
    """The names of facts that are not fetched for a group, with the state of figures that need them."""
    skipped: dict[str, State] = dict.fromkeys(scope.unsupported, "unsupported")
    for name, entitlement in ENTITLED.items():
        shared = entitlement in SHARED
        if _is_denied(group, entitlement) and (not shared or (top.is_top and _is_denied(top, entitlement))):
            skipped[name] = "not_entitled"
    return skipped


def _is_denied(group: Group, entitlement: str) -> bool:
    """Whether the group's entitlements rule it out; what they do not mention is allowed."""
    granted: Any = group.entitlements.get(entitlement)
    if granted is False or get_path(granted, "enabled") is False:
        return True
    return isinstance(granted, dict) and "base" in granted and not (
        (to_number(get_path(granted, "base")) or 0) + (to_number(get_path(granted, "addOn")) or 0)
    )  # fmt: skip


def facts_needed(known: GroupFacts, names: frozenset[str], *, environments: bool) -> Iterator[Fact]:
    """All facts of a group that can be named so far, whether known or not."""
    for name in OF_GROUPS:
        if name in names and name not in known.skipped:
            yield _fact(known, name)
    for name in METERS:
        if name in names:  # one answer for all groups
            yield Fact(name, (known.group.chain[0],), known.params)
    if environments:
        yield _fact(known, "environments")
    if "ex.dependencies" in names:
        for asset in assets_with_dependencies(known.cell("ex.assets").value or ()):
            yield _fact(known, "ex.dependencies", *(str(asset.get(part)) for part in ("groupId", "assetId", "version")))
    for environment in known.environments:
        for name in OF_ENVIRONMENTS:
            if name in names and name not in known.skipped:
                yield _fact(known, name, environment.id)
        yield from _facts_named_by_lists(known, names, environment)


def _facts_named_by_lists(known: GroupFacts, names: frozenset[str], environment: Environment) -> Iterator[Fact]:
    """The facts that lists of an environment lead to."""
    if "apm.policies" in names:
        for instance in api_instances(known.cell("apm.apis", environment.id).value or ()):
            yield _fact(known, "apm.policies", environment.id, str(instance.get("id")))
    if "arm.deployment" in names:
        for item in known.cell("arm.deployments", environment.id).value or ():
            yield _fact(known, "arm.deployment", environment.id, str(item.get("id")))
    if "amq.destinations" in names and "amq.destinations" not in known.skipped:
        for region in regions_of(known, environment).value or ():
            yield _fact(known, "amq.destinations", environment.id, region)
            if "amq.stats" in names:
                for item in known.cell("amq.destinations", environment.id, region).value or ():
                    yield _fact(known, "amq.stats", environment.id, region, *destination(item))


def facts_skipped(known: GroupFacts, names: Iterable[str]) -> Iterator[tuple[Fact, str]]:
    """The facts that are not fetched for a group, and why."""
    for name in names:
        if name in known.skipped and name in (*OF_GROUPS, *OF_ENVIRONMENTS):
            yield _fact(known, name), known.skipped[name]


def _fact(known: GroupFacts, name: str, *scope: str) -> Fact:
    return Fact(name, (known.group.id, *scope), known.params)
