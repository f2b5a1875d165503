"""Fills the room for `pentad demo`: this machine and Pentad as they are, and an organisation with a fortnight's past.

The organisation is told by `demo_organisation`, replayed through the platform's own collectors; it stands in only where
the operator has set no credentials for a real one. Moments lie on a fixed grid and are recorded once, so a second start
adds what is missing since the first and nothing else.
"""

from collections.abc import Sequence
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.collector import collectors
from pentad.rooms.metrics.collectors.anypoint.keeping import KEPT, kept, slim_group
from pentad.rooms.metrics.collectors.anypoint.redaction import redacted
from pentad.rooms.metrics.collectors.contract import Collector, Source, Upstream
from pentad.rooms.metrics.demo_organisation import DAY, ORG, Moment, answer
from pentad.rooms.metrics.model import Fact, Facts, Info, Plan, Snapshot, Wanted
from pentad.rooms.metrics.service import Metrics
from pentad.rooms.metrics.settings import MetricsSettings

FORTNIGHT: Final = 14
EVERY: Final = DAY // 2
_SETTINGS: Final = MetricsSettings(
    anypoint_url="https://anypoint.example.invalid",
    anypoint_org=ORG,
    anypoint_client_id="demo",
    anypoint_client_secret="demo",  # noqa: S106  the demo asks nobody
)
_FIRST_KEY: Final = "applications.production.vcoresTotal"


class Replayed:
    """A collector of the platform that is told everything by the demo's organisation and asks nobody."""

    def __init__(self, real: Collector, began: float) -> None:
        self._real = real
        self._began = began

    @property
    def id(self) -> str:
        return self._real.id

    @property
    def title(self) -> str:
        return self._real.title

    @property
    def aliases(self) -> tuple[str, ...]:
        return self._real.aliases

    def info(self) -> Info:
        return self._real.info()

    def plan(self, wanted: Wanted, known: Facts) -> Plan:
        return self._real.plan(wanted, known)

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        return told(fact, Moment(upstream.clock.now(), self._began))

    def reduce(self, wanted: Wanted, facts: Facts) -> Snapshot:
        return self._real.reduce(wanted, facts)

    def at(self, moment: float) -> Snapshot:
        """The figures of a moment, from nothing but that moment."""
        wanted = Wanted(now=moment)
        facts = Facts(now=moment)
        while plan := self._real.plan(wanted, facts).facts:
            for fact in plan:
                facts.put(fact, told(fact, Moment(moment, self._began)), at=moment)
        return self._real.reduce(wanted, facts)


def told(fact: Fact, moment: Moment) -> Any:
    """A fact of the organisation, cut down as a fetched one is."""
    value = answer(fact, moment)
    if fact.params:
        return redacted(value)
    if fact.name == "hierarchy":
        return slim_group(value)
    fields = KEPT.get(fact.name)
    return value if fields is None else kept(value, fields)


async def fill_demo(metrics: Metrics) -> None:
    """Put the organisation in its place, record what is missing of its fortnight, and take a first look around here."""
    settings: MetricsSettings = metrics.platform.settings
    if not settings.anypoint_client_id and not settings.anypoint_username:
        began = await _began(metrics)
        replayed = [Replayed(one, began) for one in collectors(Source(metrics.platform, _SETTINGS))]
        for one in replayed:
            metrics.catalogue.put(one)
        await _record_fortnight(metrics, replayed)
    for name in ("host", "pentad"):
        await metrics.poll(name)


async def _began(metrics: Metrics) -> float:
    """When the organisation was first looked at: the first moment on record, else a fortnight ago."""
    now = metrics.now()
    found = await metrics.past.lines("ch", [_FIRST_KEY], 0.0, now + 1, scope=ORG)
    on_record = [line.points[0].at for line in found.lines if line.points]
    return min(on_record, default=float(int(now - FORTNIGHT * DAY) // EVERY * EVERY))


async def _record_fortnight(metrics: Metrics, replayed: Sequence[Replayed]) -> None:
    now = metrics.now()
    known = max((one.at for one in await metrics.past.latest("ch", ORG)), default=0.0)
    first = int(now - FORTNIGHT * DAY) // EVERY * EVERY
    for moment in range(first, int(now), EVERY):
        if moment > known:
            await metrics.past.record_all([(one.info(), one.at(float(moment))) for one in replayed])
