"""Which facts a question needs: the groups first, then their environments, then lists, then what the lists name.

Nothing is asked for that no wanted key needs, nor what the group is not entitled to or the platform does not have.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pentad.rooms.metrics.collectors.anypoint import tree
from pentad.rooms.metrics.collectors.anypoint.api_manager import instances, is_measured
from pentad.rooms.metrics.collectors.anypoint.cells import Cell, at, number
from pentad.rooms.metrics.collectors.anypoint.exchange import parents
from pentad.rooms.metrics.collectors.anypoint.known import SECURITY, Known, Params
from pentad.rooms.metrics.collectors.anypoint.mq import destination, regions_of
from pentad.rooms.metrics.collectors.anypoint.selecting import selected
from pentad.rooms.metrics.collectors.anypoint.tree import Environment, Group
from pentad.rooms.metrics.model import Fact, Facts, Problem, State, Wanted, state_of

T = TypeVar("T")
MOST_READ: Final = 10_000

OF_GROUPS: Final = ("members", "usage", "ex.assets", "apc.clients", "dc.projects", "rtf.fabrics")
OF_ENVIRONMENTS: Final = (
    "ch.applications", "apm.apis", "ap.policies", "arm.servers", "arm.clusters", "arm.groups", "arm.deployments",
    "apma.analytics", "amq.regions", "osv2.stats",
)  # fmt: skip
STRUCTURE: Final = ("hierarchy", "environments")
LEADS: Final = (*STRUCTURE, "ex.assets", "apm.apis", "arm.deployments", "amq.regions", "amq.destinations")
"""The facts that name others."""

ENTITLED: Final = {
    "arm.servers": "hybrid", "arm.clusters": "hybrid", "arm.groups": "hybrid", "rtf.fabrics": "runtimeFabric",
    "amq.regions": "mqMessages", "amq.destinations": "mqMessages", "amq.stats": "mqMessages",
    "osv2.stats": "objectStoreRequestUnits",
}  # fmt: skip
SHARED: Final = frozenset({"mqMessages", "objectStoreRequestUnits"})
"""Bought for the whole organisation: a group without its own share may use that of the top, if there may be one."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What the operator's settings leave out, what the platform does not have, and how facts are marked."""

    ignored_groups: frozenset[str] = frozenset()
    ignored_environments: frozenset[str] = frozenset()
    unsupported: frozenset[str] = frozenset()
    """Names of facts."""
    params: Params = ()
    security: frozenset[str] = SECURITY


class Read:
    """What was read out of answers, which never change: a plan is made many times while facts arrive."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Any, Any]] = {}

    def once(self, answer: Any, read: Callable[[Any], T]) -> T:
        """The same as `read(answer)`; an answer is read in one way only."""
        known = self._found.get(id(answer))
        if known is None or known[0] is not answer:
            if len(self._found) >= MOST_READ:
                self._found.clear()
            # The answer is kept beside what it gave, so that its id is nobody else's.
            known = self._found[id(answer)] = (answer, read(answer))
        return known[1]


def known_groups(scope: Scope, wanted: Wanted, facts: Facts, top: str, bg: str | None, read: Read) -> list[Known]:
    """The groups of the question with what is known of each; empty while, or if, their hierarchy is not known."""
    hierarchy = facts.value(Fact("hierarchy", (top,), scope.params))
    if hierarchy is None:
        return []
    found = read.once(hierarchy, tree.groups)
    chosen = tree.chosen(found, bg, recursive=wanted.recursive, ignored=scope.ignored_groups)
    return [_known(scope, wanted, facts, group, found[0], read) for group in chosen]


def _known(scope: Scope, wanted: Wanted, facts: Facts, group: Group, top: Group, read: Read) -> Known:
    answer = facts.get(Fact("environments", (group.id,), scope.params))
    chosen: list[Environment] = []
    if answer is None:
        cell = Cell(None, "partial")
    elif isinstance(answer, Problem):
        cell = Cell(None, state_of((answer,)))
    else:
        chosen = selected(
            read.once(answer, lambda said: tree.environments(said, scope.ignored_environments)), wanted.environments
        )
        cell = Cell(())
    return Known(
        group=group,
        facts=facts,
        now=wanted.now,
        environments=tuple(chosen),
        environments_cell=cell,
        skipped=read.once(group, lambda group: _skipped(scope, group, top)),
        regions=tuple(region.casefold() for region in wanted.regions),
        params=scope.params,
        filtered=bool(wanted.environments or wanted.regions),
        security=scope.security,
    )


def _skipped(scope: Scope, group: Group, top: Group) -> dict[str, State]:
    """The names of facts that are not asked for in a group, and what that makes of figures."""
    skipped: dict[str, State] = dict.fromkeys(scope.unsupported, "unsupported")
    for name, entitlement in ENTITLED.items():
        shared = entitlement in SHARED
        if _is_denied(group, entitlement) and (not shared or (top.is_top and _is_denied(top, entitlement))):
            skipped[name] = "not-entitled"
    return skipped


def _is_denied(group: Group, entitlement: str) -> bool:
    """Whether the group's entitlements say no; what they do not mention may still be allowed."""
    granted: Any = group.entitlements.get(entitlement)
    if granted is False or at(granted, "enabled") is False:
        return True
    return isinstance(granted, dict) and "base" in granted and not (
        number(at(granted, "base")) + number(at(granted, "addOn"))
    )  # fmt: skip


def needed(known: Known, names: frozenset[str], *, environments: bool) -> Iterator[Fact]:
    """Everything that can be asked for in a group by now, known already or not."""
    for name in OF_GROUPS:
        if name in names and name not in known.skipped:
            yield _fact(known, name)
    if environments:
        yield _fact(known, "environments")
    if "ex.dependencies" in names:
        for asset in parents(known.cell("ex.assets").value or ()):
            yield _fact(known, "ex.dependencies", *(str(asset.get(part)) for part in ("groupId", "assetId", "version")))
    for environment in known.environments:
        for name in OF_ENVIRONMENTS:
            if name in names and name not in known.skipped and (name != "apma.analytics" or is_measured(environment)):
                yield _fact(known, name, environment.id)
        yield from _below(known, names, environment)


def _below(known: Known, names: frozenset[str], environment: Environment) -> Iterator[Fact]:
    """What lists of an environment name."""
    if "apm.policies" in names:
        for instance in instances(known.cell("apm.apis", environment.id).value or ()):
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


def left_out(known: Known, names: Iterable[str]) -> Iterator[tuple[Fact, str]]:
    """What is not asked for in a group, and why."""
    for name in names:
        if name in known.skipped and name in (*OF_GROUPS, *OF_ENVIRONMENTS):
            yield _fact(known, name), known.skipped[name]


def _fact(known: Known, name: str, *scope: str) -> Fact:
    return Fact(name, (known.group.id, *scope), known.params)
