"""`/metrics` for Prometheus: the totals of all calls, over every process and restart, and this process's own state."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from prometheus_client.core import CollectorRegistry, CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from pentad.access.audit import AuditTrail
from pentad.access.call_totals import BOUNDS_US, CallTotal

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
_LABELS: Final = ("room", "tool", "outcome")


class _Calls(Collector):
    def __init__(self, totals: Sequence[CallTotal], trail: AuditTrail) -> None:
        self._totals = totals
        self._trail = trail

    def collect(self) -> Iterable[Metric]:
        yield self._latencies()
        yield GaugeMetricFamily(
            "pentad_audit_waiting", "Audit entries of this process not stored yet.", value=self._trail.waiting()
        )
        yield CounterMetricFamily(
            "pentad_audit_dropped", "Audit entries this process had to give up.", value=self._trail.dropped
        )

    def _latencies(self) -> Metric:
        family = HistogramMetricFamily(
            "pentad_call_seconds", "Calls by room, tool and outcome, with how long they took.", labels=_LABELS
        )
        for total in self._totals:
            family.add_metric((total.room, total.tool, total.outcome), list(_cumulative(total)), total.seconds)
        return family


def exposition(totals: Sequence[CallTotal], trail: AuditTrail) -> str:
    """The text Prometheus reads."""
    registry = CollectorRegistry()
    registry.register(_Calls(totals, trail))
    return generate_latest(registry).decode("utf-8")


def _cumulative(total: CallTotal) -> Iterator[tuple[str, float]]:
    seen = 0
    for bound, count in zip((*BOUNDS_US, None), total.buckets, strict=True):
        seen += count
        yield ("+Inf" if bound is None else repr(bound / 1_000_000), seen)
