"""`/metrics` for Prometheus: the totals of all calls over all processes and restarts, this process's state, and what
rooms add."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from prometheus_client.core import CollectorRegistry, CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from pentad.access.audit import AuditTrail
from pentad.access.call_totals import BOUNDS_US, CallTotal
from pentad.platform import MetricFamily

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
_EXPOSED_US: Final = frozenset({1_000, 2_500, 10_000, 25_000, 100_000, 250_000, 1_000_000, 2_500_000, 10_000_000})
"""The exposed buckets: each is one line per tool. They are cumulative, so leaving some out does no harm."""


class _Calls(Collector):
    def __init__(self, totals: Sequence[CallTotal], trail: AuditTrail, families: Sequence[MetricFamily]) -> None:
        self._totals = totals
        self._trail = trail
        self._families = families

    def collect(self) -> Iterable[Metric]:
        yield self._counts()
        yield self._latencies()
        yield GaugeMetricFamily(
            "pentad_audit_waiting", "Audit entries of this process not stored yet.", value=self._trail.waiting()
        )
        yield CounterMetricFamily(
            "pentad_audit_dropped", "Audit entries this process dropped.", value=self._trail.dropped
        )
        for one in self._families:
            family_type = CounterMetricFamily if one.kind == "counter" else GaugeMetricFamily
            family = family_type(one.name, one.about, labels=one.labels)
            for labels, value in one.samples:
                family.add_metric(labels, value)
            yield family

    def _counts(self) -> Metric:
        family = CounterMetricFamily(
            "pentad_calls", "Calls by room, tool and outcome.", labels=("room", "tool", "outcome")
        )
        for total in self._totals:
            family.add_metric((total.room, total.tool, total.outcome), total.calls)
        return family

    def _latencies(self) -> Metric:
        """Not by outcome: a histogram for each would fill most of the page and say little more."""
        family = HistogramMetricFamily("pentad_call_seconds", "How long calls took.", labels=("room", "tool"))
        by_tool: dict[tuple[str, str], list[CallTotal]] = {}
        for total in self._totals:
            by_tool.setdefault((total.room, total.tool), []).append(total)
        for labels, totals in by_tool.items():
            buckets = [sum(counts) for counts in zip(*(total.buckets for total in totals), strict=True)]
            family.add_metric(labels, list(_cumulative(buckets)), sum(total.seconds for total in totals))
        return family


def exposition(totals: Sequence[CallTotal], trail: AuditTrail, families: Sequence[MetricFamily] = ()) -> str:
    """The text Prometheus reads."""
    registry = CollectorRegistry()
    registry.register(_Calls(totals, trail, families))
    return generate_latest(registry).decode("utf-8")


def _cumulative(buckets: Sequence[int]) -> Iterator[tuple[str, float]]:
    seen = 0
    for bound, count in zip((*BOUNDS_US, None), buckets, strict=True):
        seen += count
        if bound is None or bound in _EXPOSED_US:
            yield ("+Inf" if bound is None else repr(bound / 1_000_000), seen)
