"""Fills the room for `pentad demo`: this machine and Pentad as they are, and an organisation with two weeks of history.

`demo_organisation.json` holds the platform's answers about that organisation, an orchard with a press. The platform's
own collectors read them. They are used only if the operator set no credentials for a real organisation. Snapshots have
fixed times and are recorded once, so a second start adds only the missing ones.

The answers depend on the time alone. In the file, `$grow` is a number that grows evenly over sixty days, `$busy` one
that follows the hours and the week, `$ago` a time before now, `$first` the first entries of a list, and `$started` the
status of an application of which more and more are started.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, NamedTuple, cast

import msgspec

from pentad.rooms.metrics.collectors.anypoint.collector import collectors
from pentad.rooms.metrics.collectors.anypoint.response_projection import FIELDS, project, project_group, redact
from pentad.rooms.metrics.collectors.contract import CollectorContext, ListsItems, Upstream
from pentad.rooms.metrics.models import Fact, Facts, Info, Item, Plan, Query, Snapshot
from pentad.rooms.metrics.service import Metrics
from pentad.rooms.metrics.settings import MetricsSettings

ORG: Final = "a0000000-0000-4000-8000-00000000d001"
DAY: Final = 86_400
HISTORY_DAYS: Final = 14
EVERY: Final = DAY // 2
_GROWTH_DAYS: Final = 60
_SATURDAY: Final = 5
_SETTINGS: Final = MetricsSettings(
    anypoint_url="https://anypoint.example.invalid",
    anypoint_org=ORG,
    anypoint_client_id="demo",
    anypoint_client_secret="demo",  # noqa: S106  the demo asks nobody
)
_FIRST_KEY: Final = "applications.production.vcoresTotal"


class Moment(NamedTuple):
    """A time, and when the demo's history began."""

    at: float
    began: float

    def grow(self, low: float, high: float) -> float:
        """Grows evenly over sixty days; a third of the way is done when the history begins."""
        share = 1 / 3 + (self.at - self.began) / (_GROWTH_DAYS * DAY) * 2 / 3
        return low + (high - low) * min(max(share, 0.0), 1.0)

    def busy(self, least: float, most: float) -> float:
        """Follows the hours of the day and is low at weekends."""
        hour = math.sin((self.at % DAY / DAY - 0.25) * 2 * math.pi) / 2 + 0.5
        week = 0.4 if datetime.fromtimestamp(self.at, UTC).weekday() >= _SATURDAY else 1.0
        return least + (most - least) * hour * week


@cache
def _answers() -> Mapping[str, Mapping[str, Any]]:
    """By fact name: answers by the part of the scope they are about, `*` for all others."""
    from importlib.resources import files  # slow to import

    return msgspec.json.decode(files("pentad.rooms.metrics.interface").joinpath("demo_organisation.json").read_bytes())


def platform_answer(fact: Fact, moment: Moment) -> Any:
    """The platform's whole answer for a fact."""
    answers = _answers().get(fact.name, {})
    part = next((part for part in reversed(fact.scope) if part in answers), "*")
    return _rendered(answers.get(part, []), moment)


def _rendered(node: Any, moment: Moment) -> Any:
    if isinstance(node, list):
        return [_rendered(entry, moment) for entry in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    match cast("dict[str, Any]", node):
        case {"$grow": [low, high]}:
            return int(moment.grow(low, high))
        case {"$busy": [least, most], **more}:
            return int(moment.busy(least, most) * more.get("times", 1))
        case {"$ago": seconds}:
            at = datetime.fromtimestamp(moment.at - seconds, UTC)
            return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case {"$first": count, "of": entries}:
            return _rendered(entries[: _rendered(count, moment)], moment)
        case {"$started": [number, total]}:
            started = math.ceil(moment.grow(0.2, 1.4) * total)
            return "STARTED" if number < started else "UNDEPLOYED"
        case members:
            return {name: _rendered(value, moment) for name, value in members.items()}


def projected_answer(fact: Fact, moment: Moment) -> Any:
    """A fact of the organisation, reduced like a fetched one."""
    value = platform_answer(fact, moment)
    if fact.params:
        return redact(value)
    if fact.name == "hierarchy":
        return project_group(value)
    fields = FIELDS.get(fact.name)
    return value if fields is None else project(value, fields)


class ReplayedCollector:
    """A collector of the platform that reads the demo's facts instead of sending requests."""

    def __init__(self, real: ListsItems, began: float) -> None:
        self._real = real
        self._began = began
        self.id, self.title, self.aliases = real.id, real.title, real.aliases

    def info(self) -> Info:
        return self._real.info()

    def plan(self, query: Query, known: Facts) -> Plan:
        return self._real.plan(query, known)

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        return projected_answer(fact, Moment(upstream.clock.now(), self._began))

    def reduce(self, query: Query, facts: Facts) -> Snapshot:
        return self._real.reduce(query, facts)

    def item_keys(self) -> Sequence[str]:
        return self._real.item_keys()

    def items(self, query: Query, facts: Facts) -> Sequence[Item]:
        return self._real.items(query, facts)

    def snapshot_at(self, at: float) -> Snapshot:
        """The figures at a time; they depend on nothing else."""
        query, facts = Query(now=at), Facts(now=at)
        while plan := self._real.plan(query, facts).facts:
            for fact in plan:
                facts.put(fact, projected_answer(fact, Moment(at, self._began)), at=at)
        return self._real.reduce(query, facts)


async def fill_demo(metrics: Metrics) -> None:
    """Install the organisation, record the missing part of its history, and poll the local collectors once."""
    settings: MetricsSettings = metrics.platform.settings
    if not settings.anypoint_client_id and not settings.anypoint_username:
        began = await _history_begin(metrics)
        replayed = [ReplayedCollector(one, began) for one in collectors(CollectorContext(metrics.platform, _SETTINGS))]
        for one in replayed:
            metrics.catalogue.put(one)
        await _record_history(metrics, replayed)
    for name in ("host", "pentad"):
        await metrics.poll(name)


async def _history_begin(metrics: Metrics) -> float:
    """When the recorded history begins, else two weeks ago."""
    now = metrics.now()
    found = await metrics.history.lines("ch", [_FIRST_KEY], 0.0, now + 1, scope=ORG)
    recorded = [line.points[0].at for line in found.lines if line.points]
    return min(recorded, default=float(_first_time(now)))


def _first_time(now: float) -> int:
    return int(now - HISTORY_DAYS * DAY) // EVERY * EVERY


async def _record_history(metrics: Metrics, replayed: Sequence[ReplayedCollector]) -> None:
    now = metrics.now()
    known = max((one.at for one in await metrics.history.latest("ch", ORG)), default=0.0)
    for at in range(_first_time(now), int(now), EVERY):
        if at > known:
            await metrics.history.record_all([(one.info(), one.snapshot_at(float(at))) for one in replayed])
