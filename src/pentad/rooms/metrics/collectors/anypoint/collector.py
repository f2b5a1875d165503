"""The collectors of the Anypoint platform. They are one family, so they share fetched facts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.collectors.anypoint.business_groups import (
    SECURITY,
    GroupFacts,
    parse_environments,
    refuse_unknown_environments,
    refuse_unknown_regions,
)
from pentad.rooms.metrics.collectors.anypoint.figures import FIGURES
from pentad.rooms.metrics.collectors.anypoint.items import EXTRA_FACTS, group_items, item_keys
from pentad.rooms.metrics.collectors.anypoint.legacy import (
    FAILED,
    NO_ENVIRONMENTS,
    find_differences,
    is_skipped,
    legacy_samples,
    legacy_tree,
)
from pentad.rooms.metrics.collectors.anypoint.login import HINT, NEEDED, Logins, from_settings
from pentad.rooms.metrics.collectors.anypoint.platform_api import (
    FETCHERS,
    RAW,
    PlatformApi,
    PlatformUrls,
    fetch_fact,
    platform_urls,
)
from pentad.rooms.metrics.collectors.anypoint.preview_api import METERS
from pentad.rooms.metrics.collectors.anypoint.request_plan import (
    LEADS,
    STRUCTURE,
    ParsedAnswers,
    Scope,
    facts_needed,
    facts_skipped,
    groups_in_scope,
)
from pentad.rooms.metrics.collectors.anypoint.response_projection import TTLS
from pentad.rooms.metrics.collectors.anypoint.response_tree import TreeBuilder, entry_head, error_texts, nest, raw_tree
from pentad.rooms.metrics.collectors.contract import CollectorContext, Upstream
from pentad.rooms.metrics.models import Difference, Fact, Facts, Info, Item, Metric, Plan, Query, Sample, Snapshot


class CollectorSpec(msgspec.Struct, frozen=True):
    """One collector. `root` is the path of its figures in the tree; `takes` are the filters it supports."""

    title: str
    description: str
    aliases: tuple[str, ...]
    root: tuple[str, ...]
    takes: frozenset[str]
    metrics: tuple[Metric, ...]
    preview: bool = False
    """Whether the operator has to turn it on."""


@cache
def collector_specs() -> Mapping[str, CollectorSpec]:
    """All specifications by collector id."""
    from importlib.resources import files  # slow to import

    text = files("pentad.rooms.metrics.collectors.anypoint").joinpath("catalogue.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, CollectorSpec])


FAMILY: Final = "anypoint"
AGELESS: Final = frozenset({"hierarchy", "environments", "amq.regions"})
_USER: Final = "a login with user name and password; connected apps are refused"
PERMISSIONS: Final[Mapping[str, str]] = {
    "hierarchy": "View Organization", "environments": "View Environment", "members": "View Organization",
    "usage": _USER, "apc.clients": _USER, "osv2.stats": _USER, "dc.projects": "Design Center Developer",
    "ex.assets": "Exchange Viewer", "ex.dependencies": "Exchange Viewer", "ch.applications": "Read Applications",
    "arm.servers": "Read Servers", "arm.clusters": "Read Servers", "arm.groups": "Read Servers",
    "arm.deployments": "Read Applications", "arm.deployment": "Read Applications",
    "rtf.fabrics": "Manage Runtime Fabrics", "apm.apis": "View APIs Configuration", "apm.policies": "View Policies",
    "ap.policies": "View Policies", "flex.gateways": "Read Servers", "audit.log": "Audit Log Viewer",
    **dict.fromkeys(METERS, "Usage Viewer, at the top group"),
}  # fmt: skip
"""By fact name: the scope a connected app needs, where the platform documents it."""
_ID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Anypoint:
    """One of the platform's collectors."""

    def __init__(self, collector: str, spec: CollectorSpec, logins: Logins, urls: PlatformUrls, scope: Scope) -> None:
        self.id = collector
        self.title = spec.title
        self.aliases = spec.aliases
        self._spec = spec
        self._logins = logins
        self._urls = urls
        self._scope = scope
        self._parsed = ParsedAnswers()
        self._metrics = {metric.key: metric for metric in spec.metrics}

    def info(self) -> Info:
        spec = self._spec
        return Info(
            id=self.id, title=spec.title, description=spec.description, catalogue=spec.metrics, root=spec.root,
            takes=spec.takes, family=FAMILY, ttl=60.0, ttls=TTLS,
            structure=STRUCTURE, leads=LEADS, marks_stale=True,
            ageless=AGELESS, permissions=PERMISSIONS, ready=self._logins.own.complete, missing=f"{NEEDED} {HINT}",
        )  # fmt: skip

    def plan(self, query: Query, known: Facts) -> Plan:
        scope, (top, bg) = self._scoped(query), self._start(query)
        hierarchy = Fact("hierarchy", (top,), scope.params)
        if hierarchy not in known:
            return Plan((hierarchy,))
        names = self._names(query)
        facts: list[Fact] = []
        skipped: list[tuple[Fact, str]] = []
        total = 1
        for group in groups_in_scope(scope, query, known, top, bg, self._parsed):
            for fact in facts_needed(group, names, environments="environments" in names or query.compat == "legacy"):
                total += 1
                if fact not in known:
                    facts.append(fact)
            skipped += facts_skipped(group, names)
        return Plan(tuple(facts), calls=total, skipped=tuple(skipped))

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        login = self._logins.login(upstream.credentials)
        return await fetch_fact(PlatformApi(fact, upstream, login, self._urls))

    def reduce(self, query: Query, facts: Facts) -> Snapshot:
        groups = self.groups(query, facts)
        self._refuse_unknown(query, groups, facts)
        problems = list(facts.troubles().values())
        as_of = facts.oldest(AGELESS)
        samples: list[Sample] = []
        found: list[dict[str, Any]] = []
        differing: list[Difference] = []
        for group in groups:
            entry = entry_head(group.group, as_of)
            errors = error_texts(group.group, problems)
            if query.raw:
                found.append({**entry, **raw_tree(group, self._names(query)), "errors": errors})
            elif query.compat == "legacy":
                theirs = legacy_tree(self.id, self._spec.root, group)
                found.append({**entry, **theirs})
                correct: list[Sample] = []
                right = self._figures(query, group, correct)
                samples += legacy_samples(correct, {**entry, **theirs}, self._spec.root)
                labels = (("businessGroup", group.group.name), ("businessGroupId", group.group.id))
                lost = FAILED if errors else NO_ENVIRONMENTS if is_skipped(group) else None
                differing += find_differences(right, theirs, labels, lost)
            else:
                found.append({**entry, **self._figures(query, group, samples), "errors": errors})
        scope = query.bg or (groups[0].group.id if groups else self._start(query)[0])
        return Snapshot(
            collector=self.id,
            scope=scope,
            as_of=query.now,
            tree=found,
            samples=samples,
            differences=differing,
            names=_names(groups),
        )

    def item_keys(self) -> list[str]:
        return item_keys(self.id)

    def items(self, query: Query, facts: Facts) -> list[Item]:
        keys = frozenset(self._wanted_metrics(query))
        return [item for group in self.groups(query, facts) for item in group_items(self.id, group, keys)]

    def groups(self, query: Query, facts: Facts) -> list[GroupFacts]:
        """The groups the query is about, with their facts."""
        top, bg = self._start(query)
        return groups_in_scope(self._scoped(query), query, facts, top, bg, self._parsed)

    def _figures(self, query: Query, group: GroupFacts, samples: list[Sample]) -> dict[str, Any]:
        builder = TreeBuilder(self._wanted_metrics(query), group.group)
        tree = nest(self._spec.root, builder.build(dict(FIGURES[self.id](group))))
        samples += builder.samples
        return {**tree, "states": builder.states} if builder.states else tree

    def _wanted_metrics(self, query: Query) -> dict[str, Metric]:
        return {key: metric for key, metric in self._metrics.items() if query.wants(key)}

    def _names(self, query: Query) -> frozenset[str]:
        """The names of all facts the query needs."""
        metrics = self._spec.metrics if query.raw else self._wanted_metrics(query).values()
        names = frozenset(name for metric in metrics for name in metric.facts)
        return names | EXTRA_FACTS.get(self.id, frozenset()) if query.items else names

    def _scoped(self, query: Query) -> Scope:
        return replace(self._scope, params=RAW) if query.raw else self._scope

    def _start(self, query: Query) -> tuple[str, str | None]:
        """The group whose hierarchy to fetch, and the group inside it, if the query names one."""
        own = self._logins.credentials(query.credentials).org
        if query.bg is None:
            if not own:
                raise InvalidInput(
                    "No business group is named.", hint="Give `bg`, or set PENTAD_ANYPOINT_ORG to the id of one."
                )
            return own, None
        if not own or query.bg == own or _ID.fullmatch(query.bg):
            return query.bg, None
        return own, query.bg

    def _refuse_unknown(self, query: Query, groups: Sequence[GroupFacts], facts: Facts) -> None:
        if query.environments and all(group.environments_cell.value is not None for group in groups):
            params = self._scoped(query).params
            answers = [facts.value(Fact("environments", (group.group.id,), params), ()) for group in groups]
            refuse_unknown_environments(
                [one for answer in answers for one in parse_environments(answer)], query.environments
            )
        if query.regions:
            refuse_unknown_regions(_regions(groups), query.regions)


def _names(groups: Sequence[GroupFacts]) -> dict[str, str]:
    """What people call groups and environments, by id."""
    found = {group.group.id: group.group.name for group in groups}
    return found | {one.id: one.name for group in groups for one in (*group.environments, *group.excluded)}


def _regions(groups: Sequence[GroupFacts]) -> list[str]:
    """All regions that appear in the facts."""
    found: list[Any] = []
    for group in groups:
        found += [fabric.get("region") for fabric in group.cell("rtf.fabrics").value or ()]
        for environment in group.environments:
            found += [app.get("region") for app in group.cell("ch.applications", environment.id).value or ()]
            for region in group.cell("amq.regions", environment.id).value or ():
                found += [region.get("regionId"), region.get("regionName")]
    return [str(region) for region in found if region]


def collectors(source: CollectorContext) -> Sequence[Anypoint]:
    """All Anypoint collectors. Without credentials in the settings, callers have to send their own."""
    urls = platform_urls(source.settings)
    source.trust(urls.base)
    source.trust(urls.store)
    logins = Logins(urls.base, from_settings(source.settings))
    scope = Scope(
        frozenset(source.settings.anypoint_ignore_organizations),
        frozenset(source.settings.anypoint_ignore_environments),
        frozenset(name for name in FETCHERS if name.partition(".")[0] in urls.lacking),
        security=frozenset(source.settings.anypoint_security_policies) or SECURITY,
    )
    return [
        Anypoint(name, spec, logins, urls, scope)
        for name, spec in collector_specs().items()
        if source.settings.anypoint_preview or not spec.preview
    ]
