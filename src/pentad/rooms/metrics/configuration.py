"""Checks the settings for polls, loaders and thresholds against the installed collectors."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from pentad.kernel.errors import Misconfigured, PentadError
from pentad.kernel.names import did_you_mean
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.history.alerts import rule_of
from pentad.rooms.metrics.loaders.destinations import Destinations
from pentad.rooms.metrics.models import Info

_log = logging.getLogger(__name__)


def poll_intervals(infos: Iterable[Info], given: Mapping[str, Any]) -> dict[str, float]:
    """How often each collector is polled: its own interval, or the one in the settings under `poll`; 0 is never.

    A scope follows a slash, as in `"ch/Root/Sub" = 3600`. An unknown name is only logged: it may belong to a collector
    that is no longer installed.
    """
    known = {info.id: info for info in infos}
    polls = {
        info.id: info.poll_seconds
        for info in known.values()
        if info.ready and info.poll_seconds and info.id not in given
    }
    for name, value in given.items():
        collector = name.partition("/")[0]
        seconds = _poll_seconds(name, value)
        if collector not in known:
            _log.warning("rooms.metrics.poll names no collector: %s. %s", name, did_you_mean(collector, known) or "")
        elif known[collector].ready:
            polls[name] = seconds
        elif seconds:
            _log.warning("rooms.metrics.poll names a collector that is not set up: %s.", name)
    return {name: seconds for name, seconds in polls.items() if seconds > 0}


def _poll_seconds(name: str, given: Any) -> float:
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        raise Misconfigured(
            f"rooms.metrics.poll.{name} is not a number.", hint="It is in seconds; 0 is never."
        ) from None
    if not 0 <= seconds < float("inf"):
        raise Misconfigured(f"rooms.metrics.poll.{name} is {seconds:g}.", hint="Use 0 or more.")
    return seconds


def check_loaders(catalogue: Catalogue, destinations: Destinations) -> None:
    """Misconfigured if a loader names a collector that does not exist."""
    for name, one in destinations.scheduled().items():
        for entry in one.collectors:
            try:
                catalogue.find(entry.partition("/")[0])
            except PentadError as error:
                raise Misconfigured(f"rooms.metrics.loaders.{name}: {error.message}", hint=error.hint) from None


def checked_thresholds(catalogue: Catalogue, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The thresholds of the settings; Misconfigured if one is invalid. An unknown metric is only logged."""
    known = {f"{owner}.{metric.key}": metric for owner, metric in catalogue.metrics()}
    for name, rule in given.items():
        if name in known:
            rule_of(known[name], rule)
        else:
            _log.warning("rooms.metrics.thresholds names no metric: %s. %s", name, did_you_mean(name, known) or "")
    return given
