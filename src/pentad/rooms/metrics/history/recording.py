"""Writes snapshots to the history: a sample for each value, a gap for each missing one.

A partial value is missing here: next to whole ones it would look as if the figure had fallen.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
import msgspec.structs

from pentad.kernel.ports import Transaction
from pentad.rooms.metrics import store
from pentad.rooms.metrics.history.collector_health import UP
from pentad.rooms.metrics.models import Info, Kind, Metric, Sample, Snapshot, State

MOST_SAMPLES: Final = 100_000
"""The most samples of one poll, as they are written in one transaction. A poll with more is `partial`."""
FAILED: Final[State] = "failed"
NOT_COLLECTED: Final[State] = "not_collected"
_NOT_RECORDED: Final[frozenset[State]] = frozenset({"stale", "partial"})

Row = tuple[int, float, float | None, str | None, str]


def write_samples(transaction: Transaction, info: Info, snapshot: Snapshot, absent: State | None = None) -> int:
    """Write the samples of a snapshot; returns their number.

    If the snapshot is complete, `absent` is the reason recorded for known series that are not in it."""
    metrics = {metric.key: metric for metric in info.catalogue}
    samples: dict[tuple[str, str], Sample] = {}
    for sample in snapshot.samples[:MOST_SAMPLES]:
        metric = metrics.get(sample.key)
        if metric is None or metric.kept:
            samples[sample.key, store.label_text(sample.labels)] = sample
    kinds: dict[tuple[str, str], tuple[Kind, str | None]] = {
        name: (_kind(metrics.get(name[0]), sample), sample.unit) for name, sample in samples.items()
    }
    ids = store.series_ids(transaction, snapshot.collector, snapshot.scope, kinds)
    known = store.latest_texts(transaction, snapshot.collector, snapshot.scope)
    rows: list[Row] = []
    numbers: set[int] = set()
    missing: dict[int, State] = {}
    at = snapshot.taken_at
    for name, sample in samples.items():
        series, value = ids[name], sample.value
        if isinstance(value, (int, float)) and sample.state not in _NOT_RECORDED:
            rows.append((series, at, float(value), None, sample.state))
            numbers.add(series)
        elif isinstance(value, (int, float)) or (value is None and kinds[name][0] in ("gauge", "counter")):
            missing[series] = sample.state if sample.state != "ok" else NOT_COLLECTED
        elif value is None or sample.state in _NOT_RECORDED:
            continue
        elif known.get(series) != (text := msgspec.json.encode(value).decode()):
            rows.append((series, at, None, text, sample.state))
    store.add_samples(transaction, rows)
    if absent is not None:
        known_numbers = store.numeric_series(transaction, snapshot.collector, snapshot.scope)
        missing |= dict.fromkeys(known_numbers - numbers - missing.keys(), absent)
    write_gaps(transaction, snapshot.collector, snapshot.scope, numbers, missing, at)
    return len(rows)


def write_gaps(
    transaction: Transaction, collector: str, scope: str, numbers: set[int], missing: Mapping[int, State], at: float
) -> None:
    """End the gaps of series with a number, and begin gaps in series without one."""
    lasting = store.open_gaps(transaction, collector, scope)
    changed = {series for series, reason in lasting.items() if missing.get(series, reason) != reason}
    store.end_gaps(transaction, (numbers & lasting.keys()) | changed, at)
    store.begin_gaps(transaction, {one: missing[one] for one in missing if lasting.get(one) != missing[one]}, at)


def with_sample(snapshot: Snapshot, sample: Sample) -> Snapshot:
    """A snapshot with one more sample, the first, so that it is recorded even if the others are too many."""
    return msgspec.structs.replace(snapshot, samples=[sample, *snapshot.samples])


def with_up_metric(info: Info) -> Info:
    """A collector with the metric that all of them have."""
    return info if UP in info.catalogue else msgspec.structs.replace(info, catalogue=(*info.catalogue, UP))


def _kind(metric: Metric | None, sample: Sample) -> Kind:
    if isinstance(sample.value, str):
        return "text"
    if isinstance(sample.value, list):
        return "list"
    return metric.kind if metric is not None else "gauge"
