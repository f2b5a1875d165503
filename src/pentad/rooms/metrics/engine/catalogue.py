"""All collectors by id and alias, and the metrics of each."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

from pentad.entry_points import entry_points, load
from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.names import did_you_mean
from pentad.rooms.metrics.collectors.contract import Collector, CollectorContext, Factory
from pentad.rooms.metrics.models import Metric
from pentad.rooms.metrics.settings import COLLECTORS

FIRST: Final = ("arm", "ch", "apma", "ex", "core", "dc", "rtf", "amq", "osv2")
"""The nine ids of the Metrics Toolkit, in its order; all others follow."""


class Catalogue:
    """The collectors of this room."""

    def __init__(self, collectors: Iterable[Collector]) -> None:
        self.collectors: Mapping[str, Collector] = {}
        self._names: dict[str, str] = {}
        self._set(collectors)

    def put(self, collector: Collector) -> None:
        """Add a collector, or replace the one with its id."""
        self._set([*(one for one in self.collectors.values() if one.id != collector.id), collector])

    def _set(self, collectors: Iterable[Collector]) -> None:
        given = {collector.id: collector for collector in collectors}
        order = {name: place for place, name in enumerate(FIRST)}
        self.collectors = {
            name: given[name] for name in sorted(given, key=lambda name: (order.get(name, len(FIRST)), name))
        }
        self._names = {}
        for collector in self.collectors.values():
            for alias in (*collector.aliases, collector.title, collector.id):
                self._names[_folded(alias)] = collector.id

    def ids(self) -> list[str]:
        """All ids, the toolkit's first."""
        return list(self.collectors)

    def find(self, name: str) -> Collector:
        """A collector by id or alias, ignoring case."""
        if (known := self._names.get(_folded(name))) is not None:
            return self.collectors[known]
        guess = did_you_mean(name, [*self.collectors, *self._names])
        raise NotFound(
            f"There is no collector {name[:80]!r}.{' ' + guess if guess else ''}",
            hint=f"Collectors: {', '.join(self.collectors)}.",
        )

    def ready(self, name: str, *, brings_credentials: bool = False) -> Collector:
        """Like `find`, but refused if the collector is not set up, unless the caller sends credentials."""
        collector = self.find(name)
        info = collector.info()
        if not info.ready and not brings_credentials:
            raise InvalidInput(f"The collector {info.id!r} is not set up. {info.missing}".strip())
        return collector

    def metrics(self, collector: str | None = None) -> Iterator[tuple[str, Metric]]:
        """All metrics with their collector's id."""
        chosen = self.collectors.values() if collector is None else (self.find(collector),)
        for one in chosen:
            info = one.info()
            for metric in info.catalogue:
                yield info.id, metric


def _folded(name: str) -> str:
    return name.strip().casefold().replace("_", "-").replace(" ", "-")


BUILT_IN: Final = (
    "pentad.rooms.metrics.collectors.host:collectors",
    "pentad.rooms.metrics.collectors.pentad:collectors",
    "pentad.rooms.metrics.collectors.prometheus:collectors",
    "pentad.rooms.metrics.collectors.postgres:collectors",
    "pentad.rooms.metrics.collectors.http_json:collectors",
    "pentad.rooms.metrics.collectors.anypoint.collector:collectors",
    "pentad.rooms.metrics.collectors.sdlc:collectors",
)

_log = logging.getLogger(__name__)


def find_collectors(source: CollectorContext) -> list[Collector]:
    """All collectors. Of two with the same id the first wins, so plug-ins cannot replace Pentad's own."""
    found: dict[str, Collector] = {}
    for name, factory in _factories():
        for collector in _call_factory(name, factory, source):
            if collector.id in found:
                _log.warning("There are two collectors %r; the one from %s is left out.", collector.id, name)
            else:
                found[collector.id] = collector
    return list(found.values())


def _factories() -> Iterator[tuple[str, Factory]]:
    for name in BUILT_IN:
        yield name, cast("Factory", load(name))
    for name, reference in entry_points(COLLECTORS).items():
        try:
            yield name, cast("Factory", load(reference))
        except Exception as error:  # noqa: BLE001  foreign code; the room opens without it
            _log.warning("The collector %s cannot be loaded: %s.", name, type(error).__name__)


def _call_factory(name: str, factory: Factory, source: CollectorContext) -> Sequence[Collector]:
    if name in BUILT_IN:
        return factory(source)
    try:
        return factory(source)
    except Exception as error:  # noqa: BLE001  foreign code; the room opens without it
        _log.warning("The collector %s cannot be created: %s.", name, type(error).__name__)
        return ()
