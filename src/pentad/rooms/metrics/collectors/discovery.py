"""Finds collectors: Pentad's own, and plug-ins in the entry-point group `pentad.collectors`.

A plug-in that cannot be loaded is logged and left out; the others still answer.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Final, cast

from pentad.entry_points import entry_points, load
from pentad.rooms.metrics.collectors.contract import Collector, CollectorContext, Factory
from pentad.rooms.metrics.settings import COLLECTORS

BUILT_IN: Final = (
    "pentad.rooms.metrics.collectors.host:collectors",
    "pentad.rooms.metrics.collectors.pentad:collectors",
    "pentad.rooms.metrics.collectors.prometheus:collectors",
    "pentad.rooms.metrics.collectors.postgres:collectors",
    "pentad.rooms.metrics.collectors.http_json:collectors",
    "pentad.rooms.metrics.collectors.anypoint.collector:collectors",
    "pentad.rooms.metrics.collectors.sdlc.collector:collectors",
)

_log = logging.getLogger(__name__)


def find_collectors(source: CollectorContext) -> list[Collector]:
    """All collectors. Of two with the same id the first wins, so plug-ins cannot replace Pentad's own."""
    found: dict[str, Collector] = {}
    for name, factory in _factories():
        for collector in _made(name, factory, source):
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


def _made(name: str, factory: Factory, source: CollectorContext) -> Sequence[Collector]:
    if name in BUILT_IN:
        return factory(source)
    try:
        return factory(source)
    except Exception as error:  # noqa: BLE001  foreign code; the room opens without it
        _log.warning("The collector %s cannot be made: %s.", name, type(error).__name__)
        return ()
