"""The recorded history of all collectors: writes snapshots, reads lines, differences, alerts and forecasts.

Numbers are recorded every time, texts and lists when they change. A number that is missing, or stale, is recorded as a
gap with its reason, so that a chart breaks off there instead of falling to zero.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import msgspec.structs

from pentad.events.outbox import emit
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.mcp.changes import resource_updated
from pentad.rooms.metrics import store
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.history.alerts import (
    Alert,
    AlertChange,
    Level,
    Rule,
    alert_changes,
    check,
    rule_of,
    standing_alerts,
)
from pentad.rooms.metrics.history.changes import Change, compare_values, downsample, rates, total_rise, values_of
from pentad.rooms.metrics.history.forecast import Forecast, forecast
from pentad.rooms.metrics.metric_keys import resolve_keys
from pentad.rooms.metrics.models import Info, Kind, Labels, Metric, Sample, Scalar, Snapshot, State
from pentad.rooms.metrics.store import Point, Series

MOST_SERIES: Final = 50
MOST_SAMPLES: Final = 100_000
ALERTS_URI: Final = "metrics://alerts"
DEFAULT_SCOPE: Final = "default"
_GROUP_LABELS: Final = ("businessGroup", "businessGroupId")
_LIMIT_SECONDS: Final = 30 * 86_400
"""How far back the last known value of a limit may be."""

Row = tuple[int, float, float | None, str | None, str]


class HistoryLine(msgspec.Struct, kw_only=True):
    """One series in a period."""

    series: Series
    points: list[Point] = msgspec.field(default_factory=list[Point])
    rates: list[tuple[float, float]] = msgspec.field(default_factory=list[tuple[float, float]])
    """For a counter: its increase per second."""
    rise: float | None = None
    texts: list[tuple[float, Scalar]] = msgspec.field(default_factory=list[tuple[float, Scalar]])
    forecast: Forecast | None = None
    gaps: list[tuple[float, State]] = msgspec.field(default_factory=list[tuple[float, State]])
    """When a point is missing, and why."""


class HistoryLines(msgspec.Struct, kw_only=True):
    """Some lines; `left_out` is how many more there are."""

    lines: list[HistoryLine]
    left_out: int


class MetricHistory:
    """The history of all collectors."""

    def __init__(self, database: Database, clock: Clock, catalogue: Catalogue, thresholds: Mapping[str, Any]) -> None:
        self._database = database
        self._clock = clock
        self._catalogue = catalogue
        self._thresholds = thresholds

    async def record(self, info: Info, snapshot: Snapshot) -> int:
        """Write a snapshot, check its thresholds and notify subscribers; returns the number of samples written."""
        return await self._database.write(lambda transaction: self._record(transaction, info, snapshot))

    async def record_all(self, snapshots: Sequence[tuple[Info, Snapshot]]) -> None:
        """The same for several snapshots in one transaction."""

        def work(transaction: Transaction) -> None:
            for info, snapshot in snapshots:
                self._record(transaction, info, snapshot)

        await self._database.write(work)

    def _record(self, transaction: Transaction, info: Info, snapshot: Snapshot) -> int:
        count = write_samples(transaction, info, snapshot)
        if changed := check(transaction, info, snapshot, self._thresholds):
            resource_updated(transaction, ALERTS_URI)
        uri = figures_uri(info.id, snapshot.scope or DEFAULT_SCOPE)
        for key, before, after in changed:
            emit(transaction, "metrics", "alert.changed", [uri], data={"key": key, "before": before, "after": after})
        for scope in {snapshot.scope or DEFAULT_SCOPE, DEFAULT_SCOPE}:
            resource_updated(transaction, figures_uri(info.id, scope))
        return count

    async def lines(
        self,
        collector: str,
        keys: Sequence[str],
        begin: float,
        end: float,
        *,
        scope: str | None = None,
        labels: Mapping[str, str] | None = None,
        step: int | None = None,
        most: int = 200,
        with_forecast: bool = False,
    ) -> HistoryLines:
        """The series of some keys from `begin` until `end`."""
        if begin >= end:
            raise InvalidInput("The period ends before it begins.", hint="Give an earlier `from`.")
        info = self._catalogue.find(collector).info()
        names = resolve_keys(info, keys)
        metrics = {metric.key: self._with_thresholds(info, metric) for metric in info.catalogue}
        now = self._clock.now()

        def work(rows: Rows) -> HistoryLines:
            known = store.find_series(rows, info.id, keys=names)
            matching = [one for one in known if _is_in_scope(one, scope) and _has_labels(one.labels, labels or {})]
            lines = [_line(rows, one, begin, end, step=step, most=most) for one in matching[:MOST_SERIES]]
            if with_forecast:
                for line in lines:
                    if line.series.kind == "gauge":
                        line.forecast = _forecast(rows, line.series, metrics.get(line.series.key), begin, end, now)
            return HistoryLines(lines=lines, left_out=max(0, len(matching) - MOST_SERIES))

        return await self._database.read(work)

    async def changes(
        self, collector: str, before: float, after: float, *, scope: str | None = None, keys: Sequence[str] = ()
    ) -> list[Change]:
        """What differs between two times; refused if nothing was recorded before the first."""
        info = self._catalogue.find(collector).info()
        names = set(resolve_keys(info, keys)) if keys else None

        def work(rows: Rows) -> tuple[list[store.Latest], list[store.Latest]]:
            if scope is None:
                _refuse_several_scopes(rows, info)
            return store.latest(rows, info.id, at=before), store.latest(rows, info.id, at=after)

        old, new = (
            [one for one in values if _is_in_scope(one.series, scope)] for values in await self._database.read(work)
        )
        if not old:
            first = await self._database.read(lambda rows: store.first(rows, info.id))
            since = "Polling keeps it." if first is None else f"The first that was recorded is of {iso(first)}."
            raise NotFound(f"Nothing was recorded for {info.id!r} so long ago.", hint=since)
        found = compare_values(values_of(old), values_of(new))
        return [change for change in found if names is None or change.key in names]

    async def at(
        self, collector: str, key: str, moment: float, *, scope: str | None = None
    ) -> list[store.Latest]:  # fmt: skip
        """The values of a key at a moment: of each series the last that was recorded by then."""
        info = self._catalogue.find(collector).info()
        names = set(resolve_keys(info, [key]))
        found = await self._database.read(lambda rows: store.latest(rows, info.id, at=moment))
        values = [one for one in found if one.series.key in names and _is_in_scope(one.series, scope)]
        if not values:
            raise NotFound(
                f"Nothing was recorded of {key[:100]!r} by {iso(moment)}.", hint="Polling keeps a history of figures."
            )
        return values[:MOST_SERIES]

    async def alerts(self, levels: Sequence[Level] = ("warn", "alarm")) -> list[Alert]:
        """Metrics beyond their threshold, the worst first. One with a limit is given as a share of it."""
        found = await self._database.read(lambda rows: standing_alerts(rows, levels=levels))
        metrics = {(owner, metric.key): metric for owner, metric in self._catalogue.metrics()}
        return [
            msgspec.structs.replace(one, unit="%")
            if self._is_share(one.collector, metrics.get((one.collector, one.key)))
            else one
            for one in found
        ]

    def _rule(self, collector: str, metric: Metric) -> Rule | None:
        return rule_of(metric, self._thresholds.get(f"{collector}.{metric.key}"))

    def _is_share(self, collector: str, metric: Metric | None) -> bool:
        return metric is not None and (rule := self._rule(collector, metric)) is not None and rule.limit is not None

    def _with_thresholds(self, info: Info, metric: Metric) -> Metric:
        """The metric with the thresholds in force here, which may be the operator's."""
        rule = self._rule(info.id, metric)
        if rule is None or rule.limit is not None:
            return metric
        return msgspec.structs.replace(metric, warn=rule.warn, alarm=rule.alarm)

    async def alert_changes(self, since: float, most: int = 100) -> list[AlertChange]:
        """Alerts that were raised or cleared, the newest first."""
        return await self._database.read(lambda rows: alert_changes(rows, since, most))

    async def is_empty(self) -> bool:
        """Whether no collector has recorded anything yet."""
        return await self._database.read(lambda rows: rows.one("SELECT 1 FROM metric_series LIMIT 1")) is None

    async def scopes(self, collector: str) -> list[str]:
        """The scopes of a collector that have a history."""
        return await self._database.read(lambda rows: store.scopes(rows, collector))

    async def latest(self, collector: str, scope: str | None = None) -> list[store.Latest]:
        """The values recorded last."""
        return await self._database.read(lambda rows: store.latest(rows, collector, scope))


def figures_uri(collector: str, scope: str) -> str:
    """The address of a collector's figures as a resource."""
    return f"metrics://{collector}/{scope}"


def write_samples(transaction: Transaction, info: Info, snapshot: Snapshot) -> int:
    """Write the samples of a snapshot; returns how many there were to write."""
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
    for name, sample in samples.items():
        row = _row(ids[name], kinds[name][0], sample, snapshot.taken_at, known)
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


def _has_labels(labels: Labels, labels_wanted: Mapping[str, str]) -> bool:
    given = {name.casefold(): text.casefold() for name, text in labels}
    return all(given.get(name.casefold()) == text.casefold() for name, text in labels_wanted.items())


def _is_in_scope(series: Series, scope: str | None) -> bool:
    """Whether a series belongs to this scope, or to the business group of this name or id inside another."""
    if scope is None or series.scope == scope:
        return True
    labels_wanted = scope.casefold()
    return any(name in _GROUP_LABELS and text.casefold() == labels_wanted for name, text in series.labels)


def _refuse_several_scopes(rows: Rows, info: Info) -> None:
    known = store.scopes(rows, info.id)
    if len(known) > 1:
        raise InvalidInput(
            f"{len(known)} scopes of {info.id!r} have a history.",
            hint=f"Give `bg`, one of: {', '.join(known[:10])}.",
        )


def _line(rows: Rows, series: Series, begin: float, end: float, *, step: int | None, most: int) -> HistoryLine:
    if series.kind in ("text", "list"):
        return HistoryLine(series=series, texts=store.texts(rows, series.id, begin, end)[-most:])
    found = store.points(rows, series.id, begin, end)
    is_counter = series.kind == "counter"
    points = downsample(found, most, step)
    return HistoryLine(
        series=series,
        points=points,
        rates=rates(points) if is_counter else [],
        rise=total_rise(found) if is_counter else None,
        gaps=store.gaps(rows, series.id, begin, end),
    )


def _forecast(
    rows: Rows, series: Series, metric: Metric | None, begin: float, end: float, now: float
) -> Forecast | None:
    limit = None
    if metric is not None and metric.limit is not None:
        others = store.find_series(rows, series.collector, scope=series.scope, keys=[metric.limit])
        limits = [one for one in others if one.labels == series.labels]
        last = store.points(rows, limits[0].id, now - _LIMIT_SECONDS, now + 1) if limits else []
        limit = last[-1].last if last else None
    elif metric is not None:
        limit = metric.alarm if metric.alarm is not None else metric.warn
    is_floor = metric is not None and metric.better == "higher" and metric.limit is None
    points = store.points(rows, series.id, begin, end)
    return forecast([(point.last_at, point.last) for point in points], limit, now, is_floor=is_floor)
