"""Polls and thresholds from the operator's settings, read when the room opens.

An unknown name may belong to a collector that is not installed any more, so it does not keep the server from starting.
It is logged, because a figure that nobody watches looks like one that is well.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from pentad.jobs.job import Schedule
from pentad.kernel.names import did_you_mean
from pentad.rooms.metrics.collectors.settings import number
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.history.alerts import rule_of
from pentad.rooms.metrics.models import Info

_log = logging.getLogger(__name__)


def polls_of(infos: Iterable[Info], given: Mapping[str, Any]) -> list[Schedule]:
    """How often each collector is polled: its own interval, or the one in the settings under `poll`; 0 is never.

    A scope stands behind a slash, as in `"ch/Root/Sub" = 3600`. The key of a schedule is written the same way.
    """
    known = {info.id: info for info in infos}
    polls = {
        info.id: info.poll_seconds
        for info in known.values()
        if info.ready and info.poll_seconds and info.id not in given
    }
    for name in given:
        collector = name.partition("/")[0]
        seconds = number(given, name, 0.0)
        if collector not in known:
            _log.warning("rooms.metrics.poll names no collector: %s. %s", name, did_you_mean(collector, known) or "")
        elif known[collector].ready:
            polls[name] = seconds
        elif seconds:
            _log.warning("rooms.metrics.poll names a collector that is not set up: %s.", name)
    return [Schedule(seconds, key=name) for name, seconds in polls.items() if seconds > 0]


def judged(catalogue: Catalogue, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The thresholds as they were given, all of them looked at: one that makes no sense is refused."""
    known = {f"{owner}.{metric.key}": metric for owner, metric in catalogue.metrics()}
    for name, rule in given.items():
        if name in known:
            rule_of(known[name], rule)
        else:
            _log.warning("rooms.metrics.thresholds names no metric: %s. %s", name, did_you_mean(name, known) or "")
    return given
