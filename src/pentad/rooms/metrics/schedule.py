"""What the operator's settings say of polls and thresholds, read when the room opens.

A name that means nothing here may belong to a collector that is not installed any more, so it is no reason not to
start; but it is said, since a figure that is silently not watched looks like one that is well.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from pentad.kernel.names import did_you_mean
from pentad.rooms.metrics.collectors.settings import number
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.history.alerts import rule_of
from pentad.rooms.metrics.history.polling import Job
from pentad.rooms.metrics.model import Info

_log = logging.getLogger(__name__)


def jobs_of(infos: Iterable[Info], given: Mapping[str, Any]) -> list[Job]:
    """What is polled how often: each collector as it says itself, or as `poll` of the settings says; 0 is never.

    A scope stands behind a slash, as in `"ch/Root/Sub" = 3600`.
    """
    known = {info.id: info for info in infos}
    jobs = {
        (info.id, ""): info.poll_seconds
        for info in known.values()
        if info.ready and info.poll_seconds and info.id not in given
    }
    for name in given:
        collector, _, scope = name.partition("/")
        seconds = number(given, name, 0.0)
        if collector not in known:
            _log.warning("rooms.metrics.poll names no collector: %s. %s", name, did_you_mean(collector, known) or "")
        elif known[collector].ready:
            jobs[collector, scope] = seconds
        elif seconds:
            _log.warning("rooms.metrics.poll names a collector that is not set up: %s.", name)
    return [Job(collector, scope, seconds) for (collector, scope), seconds in jobs.items() if seconds > 0]


def judged(catalogue: Catalogue, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The thresholds as they were given, all of them looked at: one that makes no sense is refused."""
    known = {f"{owner}.{metric.key}": metric for owner, metric in catalogue.metrics()}
    for name, rule in given.items():
        if name in known:
            rule_of(known[name], rule)
        else:
            _log.warning("rooms.metrics.thresholds names no metric: %s. %s", name, did_you_mean(name, known) or "")
    return given
