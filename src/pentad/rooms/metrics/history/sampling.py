"""From a snapshot to rows of the history: what is worth keeping, and under which series.

Numbers are kept each time, words and lists when they changed. A number that could not be had is kept as a gap with its
reason, so that a chart breaks off there instead of falling to zero; so is an older one that stands in for it.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from pentad.kernel.ports import Database, Transaction
from pentad.rooms.metrics.history import store
from pentad.rooms.metrics.model import Info, Kind, Metric, Sample, Snapshot

MOST_SAMPLES: Final = 100_000

Row = tuple[int, float, float | None, str | None, str]


async def record(
    database: Database,
    info: Info,
    snapshot: Snapshot,
    beside: Callable[[Transaction], None] | None = None,
) -> int:
    """Keep a snapshot, and do what is to be done in the same transaction; how many samples it had to keep."""

    def work(transaction: Transaction) -> int:
        count = keep(transaction, info, snapshot)
        if beside is not None:
            beside(transaction)
        return count

    return await database.write(work)


def keep(transaction: Transaction, info: Info, snapshot: Snapshot) -> int:
    """The same, within a transaction."""
    metrics = {metric.key: metric for metric in info.catalogue}
    wanted: dict[tuple[str, str], Sample] = {}
    for sample in snapshot.samples[:MOST_SAMPLES]:
        metric = metrics.get(sample.key)
        if metric is None or metric.kept:
            wanted[sample.key, store.label_text(sample.labels)] = sample
    kinds: dict[tuple[str, str], tuple[Kind, str | None]] = {
        name: (_kind(metrics.get(name[0]), sample), sample.unit) for name, sample in wanted.items()
    }
    ids = store.series_ids(transaction, snapshot.collector, snapshot.scope, kinds)
    known = _words(transaction, snapshot)
    rows: list[Row] = []
    for name, sample in wanted.items():
        row = _row(ids[name], kinds[name][0], sample, snapshot.as_of, known)
        if row is not None:
            rows.append(row)
    store.add_samples(transaction, rows)
    return len(rows)


def _row(series: int, kind: Kind, sample: Sample, at: float, known: Mapping[int, str]) -> Row | None:
    value = sample.value
    is_number = isinstance(value, (int, float))
    if is_number and sample.state != "stale":
        return series, at, float(value), None, sample.state
    if is_number or value is None:
        return (series, at, None, None, sample.state) if kind in ("gauge", "counter") else None
    text = msgspec.json.encode(value).decode()
    return None if known.get(series) == text else (series, at, None, text, sample.state)


def _kind(metric: Metric | None, sample: Sample) -> Kind:
    if isinstance(sample.value, str):
        return "text"
    if isinstance(sample.value, list):
        return "list"
    return metric.kind if metric is not None else "gauge"


def _words(transaction: Transaction, snapshot: Snapshot) -> dict[int, str]:
    """What the series of words said last."""
    found = transaction.all(
        "SELECT m.series, m.text FROM metric_series d JOIN metric_samples m ON m.series = d.id"
        " AND m.at = (SELECT max(x.at) FROM metric_samples x WHERE x.series = d.id AND x.text IS NOT NULL)"
        " WHERE d.collector = ? AND d.scope = ? AND d.kind IN ('text', 'list') AND m.text IS NOT NULL",
        snapshot.collector, snapshot.scope,
    )  # fmt: skip
    return dict(found)
