"""The collectors of the platform: twelve, and the benefits.

They are of one family, so what one has fetched the others need not fetch.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.collectors.anypoint import hosts, tree
from pentad.rooms.metrics.collectors.anypoint.asking import (
    LEADS,
    STRUCTURE,
    Read,
    Scope,
    known_groups,
    left_out,
    needed,
)
from pentad.rooms.metrics.collectors.anypoint.catalogue import CATALOGUES
from pentad.rooms.metrics.collectors.anypoint.differences import FAILED, NO_ENVIRONMENTS, differences
from pentad.rooms.metrics.collectors.anypoint.facts import FETCHERS, RAW, Wire, fetched
from pentad.rooms.metrics.collectors.anypoint.keeping import TTLS
from pentad.rooms.metrics.collectors.anypoint.known import SECURITY, Known
from pentad.rooms.metrics.collectors.anypoint.legacy import is_passed_over, legacy
from pentad.rooms.metrics.collectors.anypoint.login import HINT, NEEDED, Logins, from_settings
from pentad.rooms.metrics.collectors.anypoint.parts import PARTS, Part, takes
from pentad.rooms.metrics.collectors.anypoint.raw import raw
from pentad.rooms.metrics.collectors.anypoint.selecting import refuse_unknown_environments, refuse_unknown_regions
from pentad.rooms.metrics.collectors.anypoint.whole import Drawing, errors, head, rooted
from pentad.rooms.metrics.collectors.contract import Collector, Source, Upstream
from pentad.rooms.metrics.model import Difference, Fact, Facts, Info, Metric, Plan, Sample, Snapshot, Wanted

FAMILY: Final = "anypoint"
SECRETS: Final = ("anypoint_client_secret", "anypoint_password")
SETTINGS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        name: {"type": "string", "description": about}
        for name, about in {
            "anypoint_url": "One address for all product APIs; by default the vendor's own.",
            "anypoint_plane": "us, eu or gov, where no address is given; with one, gov or private says what is there.",
            "anypoint_object_store_url": "Where the object store's statistics are, if elsewhere.",
            "anypoint_client_id": "A connected app.",
            "anypoint_client_secret": "Its secret.",
            "anypoint_username": "A user, where there is no connected app.",
            "anypoint_password": "The user's password.",
            "anypoint_org": "The business group to begin at when a question names none.",
            "anypoint_ignore_organizations": "Ids of groups to leave out, between commas.",
            "anypoint_ignore_environments": "Ids of environments to leave out, between commas.",
            "anypoint_security_policies": "The policies that make an API secure, between commas, if not the usual.",
        }.items()
    },
}
_ID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Anypoint:
    """One of them."""

    def __init__(self, part: Part, logins: Logins, places: hosts.Places, scope: Scope) -> None:
        self._part = part
        self._logins = logins
        self._places = places
        self._scope = scope
        self._read = Read()
        self._catalogue = CATALOGUES[part.id]
        self._metrics = {metric.key: metric for metric in self._catalogue}

    @property
    def id(self) -> str:
        return self._part.id

    @property
    def title(self) -> str:
        return self._part.title

    @property
    def aliases(self) -> tuple[str, ...]:
        return self._part.aliases

    def info(self) -> Info:
        part = self._part
        return Info(
            id=part.id, title=part.title, description=part.description, catalogue=self._catalogue, root=part.root,
            takes=takes(part),
            settings=SETTINGS, secrets=SECRETS, family=FAMILY, ttl=60.0, ttls=TTLS,
            structure=STRUCTURE, leads=LEADS, needs_bg=not self._logins.own.org,
            ready=self._logins.own.complete, missing=f"{NEEDED} {HINT}",
        )  # fmt: skip

    def plan(self, wanted: Wanted, known: Facts) -> Plan:
        scope, (top, bg) = self._scoped(wanted), self._start(wanted)
        hierarchy = Fact("hierarchy", (top,), scope.params)
        if hierarchy not in known:
            return Plan((hierarchy,))
        names = self._names(wanted)
        facts: list[Fact] = []
        skipped: list[tuple[Fact, str]] = []
        total = 1
        for group in known_groups(scope, wanted, known, top, bg, self._read):
            for fact in needed(group, names, environments="environments" in names or wanted.compat == "legacy"):
                total += 1
                if fact not in known:
                    facts.append(fact)
            skipped += left_out(group, names)
        return Plan(tuple(facts), calls=total, skipped=tuple(skipped))

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        login = self._logins.login(upstream.credentials)
        return await fetched(Wire(fact, upstream, login, self._places))

    def reduce(self, wanted: Wanted, facts: Facts) -> Snapshot:
        groups = self.groups(wanted, facts)
        self._refuse_unknown(wanted, groups, facts)
        problems = list(facts.problems().values())
        samples: list[Sample] = []
        found: list[dict[str, Any]] = []
        differing: list[Difference] = []
        for group in groups:
            entry = head(group.group, wanted.now)
            told = errors(group.group, problems)
            if wanted.raw:
                found.append({**entry, **raw(group, self._names(wanted)), "errors": told})
            elif wanted.compat == "legacy":
                theirs = legacy(self._part, group)
                found.append({**entry, **theirs})
                right = self._figures(wanted, group, [])
                labels = (("businessGroup", group.group.name), ("businessGroupId", group.group.id))
                lost = FAILED if told else NO_ENVIRONMENTS if is_passed_over(group) else None
                differing += differences(right, theirs, labels, lost)
            else:
                found.append({**entry, **self._figures(wanted, group, samples), "errors": told})
        scope = wanted.bg or (groups[0].group.id if groups else "")
        return Snapshot(
            collector=self.id, scope=scope, as_of=wanted.now, tree=found, samples=samples, differences=differing
        )

    def groups(self, wanted: Wanted, facts: Facts) -> list[Known]:
        """The groups the question is about, with what is known of them."""
        top, bg = self._start(wanted)
        return known_groups(self._scoped(wanted), wanted, facts, top, bg, self._read)

    def _figures(self, wanted: Wanted, group: Known, samples: list[Sample]) -> dict[str, Any]:
        drawing = Drawing(self._wanted_metrics(wanted), group.group)
        tree = rooted(self._part.root, drawing.drawn(dict(self._part.build(group))))
        samples += drawing.samples
        return {**tree, "states": drawing.states} if drawing.states else tree

    def _wanted_metrics(self, wanted: Wanted) -> dict[str, Metric]:
        return {key: metric for key, metric in self._metrics.items() if wanted.wants(key)}

    def _names(self, wanted: Wanted) -> frozenset[str]:
        """The names of all facts the wanted keys need."""
        metrics = self._catalogue if wanted.raw else self._wanted_metrics(wanted).values()
        return frozenset(name for metric in metrics for name in metric.facts)

    def _scoped(self, wanted: Wanted) -> Scope:
        return replace(self._scope, params=RAW) if wanted.raw else self._scope

    def _start(self, wanted: Wanted) -> tuple[str, str | None]:
        """The group whose hierarchy is fetched, and which group of it is meant if not the first."""
        own = self._logins.credentials(wanted.credentials).org
        if wanted.bg is None:
            if not own:
                raise InvalidInput(
                    "No business group is named.", hint="Give `bg`, or set PENTAD_ANYPOINT_ORG to the id of one."
                )
            return own, None
        if not own or wanted.bg == own or _ID.fullmatch(wanted.bg):
            return wanted.bg, None
        return own, wanted.bg

    def _refuse_unknown(self, wanted: Wanted, groups: Sequence[Known], facts: Facts) -> None:
        if wanted.environments and all(group.environments_cell.value is not None for group in groups):
            params = self._scoped(wanted).params
            answers = [facts.value(Fact("environments", (group.group.id,), params), ()) for group in groups]
            refuse_unknown_environments(
                [one for answer in answers for one in tree.environments(answer)], wanted.environments
            )
        if wanted.regions:
            refuse_unknown_regions(_regions(groups), wanted.regions)


def _regions(groups: Sequence[Known]) -> list[str]:
    """All regions anything was seen in."""
    found: list[Any] = []
    for group in groups:
        found += [fabric.get("region") for fabric in group.cell("rtf.fabrics").value or ()]
        for environment in group.environments:
            found += [app.get("region") for app in group.cell("ch.applications", environment.id).value or ()]
            for region in group.cell("amq.regions", environment.id).value or ():
                found += [region.get("regionId"), region.get("regionName")]
    return [str(region) for region in found if region]


def collectors(source: Source) -> Sequence[Collector]:
    """All of them; without credentials in the settings they answer those who bring their own."""
    places = hosts.places(source.settings)
    source.trust(places.base)
    source.trust(places.store)
    logins = Logins(places.base, from_settings(source.settings))
    scope = Scope(
        frozenset(source.settings.anypoint_ignore_organizations),
        frozenset(source.settings.anypoint_ignore_environments),
        frozenset(name for name in FETCHERS if name.partition(".")[0] in places.lacking),
        security=frozenset(source.settings.anypoint_security_policies) or SECURITY,
    )
    return [Anypoint(part, logins, places, scope) for part in PARTS.values()]
