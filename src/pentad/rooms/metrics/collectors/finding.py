"""Collectors are found by the entry-point group `pentad.collectors`; Pentad's own are made the same way.

Somebody else's collector that cannot be loaded is reported and left out: the others still answer.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Final, cast

from pentad.entry_points import entry_points, load
from pentad.rooms.metrics.collectors.contract import Collector, Factory, Source
from pentad.rooms.metrics.settings import COLLECTORS

OWN: Final = (
    "pentad.rooms.metrics.collectors.host:collectors",
    "pentad.rooms.metrics.collectors.pentad:collectors",
    "pentad.rooms.metrics.collectors.prometheus:collectors",
    "pentad.rooms.metrics.collectors.postgres:collectors",
    "pentad.rooms.metrics.collectors.http_json:collectors",
    "pentad.rooms.metrics.collectors.anypoint.collector:collectors",
    "pentad.rooms.metrics.collectors.sdlc.collector:collectors",
)

_log = logging.getLogger(__name__)


def find_collectors(source: Source) -> list[Collector]:
    """Everything that can collect here; of two with the same id the first counts, so Pentad's own cannot be taken."""
    found: dict[str, Collector] = {}
    for name, factory in _factories():
        for collector in _made(name, factory, source):
            if collector.id in found:
                _log.warning("There are two collectors %r; the one of %s is left out.", collector.id, name)
            else:
                found[collector.id] = collector
    return list(found.values())


def _factories() -> Iterator[tuple[str, Factory]]:
    for name in OWN:
        yield name, cast("Factory", load(name))
    for name, reference in entry_points(COLLECTORS).items():
        try:
            yield name, cast("Factory", load(reference))
        except Exception as error:  # noqa: BLE001  foreign code; the room opens without it
            _log.warning("The collector %s cannot be loaded: %s.", name, type(error).__name__)


def _made(name: str, factory: Factory, source: Source) -> Sequence[Collector]:
    if name in OWN:
        return factory(source)
    try:
        return factory(source)
    except Exception as error:  # noqa: BLE001  foreign code; the room opens without it
        _log.warning("The collector %s cannot be made: %s.", name, type(error).__name__)
        return ()
