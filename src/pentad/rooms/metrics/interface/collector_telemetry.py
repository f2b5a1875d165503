"""The health of collectors as metric families of `/metrics`."""

from collections.abc import Callable, Sequence
from typing import Final

from pentad.platform import MetricFamily
from pentad.rooms.metrics.history.collector_health import CollectorHealth

Read = Callable[[CollectorHealth, float], float | None]

_GAUGES: Final[tuple[tuple[str, str, Read], ...]] = (
    (
        "pentad_collector_up",
        "Whether the last poll of a collector reached its source and polls are not missing: 1 or 0.",
        lambda one, now: 0 if one.state in ("failing", "late") else 1,
    ),
    (
        "pentad_collector_last_success_timestamp_seconds",
        "When a poll of a collector last reached its source.",
        lambda one, now: one.succeeded_at,
    ),
    (
        "pentad_collector_age_seconds",
        "Time since a poll of a collector last reached its source.",
        lambda one, now: None if one.succeeded_at is None else max(0.0, now - one.succeeded_at),
    ),
    ("pentad_collector_poll_duration_seconds", "How long the last poll took.", lambda one, now: one.seconds),
)
_COUNTERS: Final[tuple[tuple[str, str, Read], ...]] = (
    ("pentad_collector_polls", "Polls of a collector.", lambda one, now: one.polls),
    ("pentad_collector_poll_failures", "Polls that did not reach the source.", lambda one, now: one.failures),
    ("pentad_collector_upstream_calls", "Requests that polls sent to the source.", lambda one, now: one.calls),
    (
        "pentad_collector_upstream_throttled",
        "Requests of polls that the source refused because there were too many (HTTP 429).",
        lambda one, now: one.throttled,
    ),
)
_LABELS: Final = ("collector", "scope")


def collector_families(found: Sequence[CollectorHealth], now: float) -> list[MetricFamily]:
    """The families of all collectors that are polled."""
    gauges = [MetricFamily(name, about, "gauge", _LABELS, _samples(found, read, now)) for name, about, read in _GAUGES]
    counters = [
        MetricFamily(name, about, "counter", _LABELS, _samples(found, read, now)) for name, about, read in _COUNTERS
    ]
    facts = [
        ((one.collector, one.scope, state), float(count))
        for one in found
        for state, count in (("ok", one.facts_ok), ("stale", one.facts_stale), ("failed", one.facts_failed))
    ]
    about = "Facts of the last poll of a collector, by outcome."
    return [*gauges, *counters, MetricFamily("pentad_collector_facts", about, "gauge", (*_LABELS, "state"), facts)]


def _samples(found: Sequence[CollectorHealth], read: Read, now: float) -> list[tuple[tuple[str, ...], float]]:
    return [((one.collector, one.scope), float(value)) for one in found if (value := read(one, now)) is not None]
