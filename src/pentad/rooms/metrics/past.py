"""What was measured before: recorded after every poll, read back as lines, differences, alerts and forecasts."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import msgspec.structs

from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.mcp.changes import resource_updated
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.engine.keys import resolved
from pentad.rooms.metrics.history import store
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
from pentad.rooms.metrics.history.changes import Change, compared, rates, thinned, total_rise, values_of
from pentad.rooms.metrics.history.forecast import Forecast, forecast
from pentad.rooms.metrics.history.sampling import keep, record
from pentad.rooms.metrics.history.store import Point, Series
from pentad.rooms.metrics.model import Info, Labels, Metric, Scalar, Snapshot, State

MOST_SERIES: Final = 50
ALERTS: Final = "metrics://alerts"
DEFAULT_SCOPE: Final = "default"
_GROUPS: Final = ("businessGroup", "businessGroupId")


class Line(msgspec.Struct, kw_only=True):
    """One series between two moments."""

    series: Series
    metric: Metric | None
    points: list[Point]
    rates: list[tuple[float, float]]
    """What a counter counted each second."""
    rise: float | None
    words: list[tuple[float, Scalar]]
    forecast: Forecast | None
    gaps: list[tuple[float, State]] = msgspec.field(default_factory=list[tuple[float, State]])
    """When there should have been a point and was none, and why."""


class Found(msgspec.Struct, kw_only=True):
    """Some lines; `left_out` is how many more there are."""

    lines: list[Line]
    left_out: int


class Past:
    """The history of all collectors."""

    def __init__(self, database: Database, clock: Clock, catalogue: Catalogue, thresholds: Mapping[str, Any]) -> None:
        self._database = database
        self._clock = clock
        self._catalogue = catalogue
        self._thresholds = thresholds

    async def record(self, info: Info, snapshot: Snapshot) -> int:
        """Keep a snapshot, judge it, and tell who follows it; how many samples were kept."""
        return await record(self._database, info, snapshot, lambda transaction: self._tell(transaction, info, snapshot))

    async def record_all(self, found: Sequence[tuple[Info, Snapshot]]) -> None:
        """The same of several in one transaction."""

        def work(transaction: Transaction) -> None:
            for info, snapshot in found:
                keep(transaction, info, snapshot)
                self._tell(transaction, info, snapshot)

        await self._database.write(work)

    def _tell(self, transaction: Transaction, info: Info, snapshot: Snapshot) -> None:
        if check(transaction, info, snapshot, self._thresholds):
            resource_updated(transaction, ALERTS)
        for scope in {snapshot.scope or DEFAULT_SCOPE, DEFAULT_SCOPE}:
            resource_updated(transaction, address(info.id, scope))

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
        foresee: bool = False,
    ) -> Found:
        """What is known of some keys from `begin` until `end`."""
        if begin >= end:
            raise InvalidInput("The time to look at ends before it begins.", hint="Give an earlier `from`.")
        info = self._catalogue.find(collector).info()
        names = resolved(info, keys)
        metrics = {metric.key: self._judged(info, metric) for metric in info.catalogue}
        now = self._clock.now()

        def work(rows: Rows) -> Found:
            known = store.find_series(rows, info.id, keys=names)
            fitting = [one for one in known if _is_of(one, scope) and _has(one.labels, labels or {})]
            lines = [
                _line(rows, one, metrics.get(one.key), begin, end, step=step, most=most, now=now, foresee=foresee)
                for one in fitting[:MOST_SERIES]
            ]
            return Found(lines=lines, left_out=max(0, len(fitting) - MOST_SERIES))

        return await self._database.read(work)

    async def changes(
        self, collector: str, before: float, after: float, *, scope: str | None = None, keys: Sequence[str] = ()
    ) -> list[Change]:
        """What is not the same at two moments; without a history before the first that is refused."""
        info = self._catalogue.find(collector).info()
        names = set(resolved(info, keys)) if keys else None

        def work(rows: Rows) -> tuple[list[store.Latest], list[store.Latest]]:
            if scope is None:
                _refuse_several(rows, info)
            return store.latest(rows, info.id, at=before), store.latest(rows, info.id, at=after)

        old, new = (
            [one for one in all_of_it if _is_of(one.series, scope)] for all_of_it in await self._database.read(work)
        )
        if not old:
            first = await self._database.read(lambda rows: store.first(rows, info.id))
            since = "Polling keeps it." if first is None else f"The first that was recorded is of {iso(first)}."
            raise NotFound(f"Nothing is known of {info.id!r} from so long ago.", hint=since)
        found = compared(values_of(old), values_of(new))
        return [change for change in found if names is None or change.key in names]

    async def alerts(self, levels: Sequence[Level] = ("warn", "alarm")) -> list[Alert]:
        """What is beyond its threshold, the worst first. What runs up against a limit is told as a share of it."""
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

    def _judged(self, info: Info, metric: Metric) -> Metric:
        """The metric with the thresholds that hold here, which may be the operator's."""
        rule = self._rule(info.id, metric)
        if rule is None or rule.limit is not None:
            return metric
        return msgspec.structs.replace(metric, warn=rule.warn, alarm=rule.alarm)

    async def risen_and_fallen(self, since: float, most: int = 100) -> list[AlertChange]:
        """What became an alert or ceased to be one, the newest first."""
        return await self._database.read(lambda rows: alert_changes(rows, since, most))

    async def scopes(self, collector: str) -> list[str]:
        """Of which scopes of a collector there is a history."""
        return await self._database.read(lambda rows: store.scopes(rows, collector))

    async def latest(self, collector: str, scope: str | None = None) -> list[store.Latest]:
        """The last that was recorded."""
        return await self._database.read(lambda rows: store.latest(rows, collector, scope))


def address(collector: str, scope: str) -> str:
    """Where the figures of a collector are read and followed."""
    return f"metrics://{collector}/{scope}"


def _has(labels: Labels, wanted: Mapping[str, str]) -> bool:
    given = {name.casefold(): text.casefold() for name, text in labels}
    return all(given.get(name.casefold()) == text.casefold() for name, text in wanted.items())


def _is_of(series: Series, scope: str | None) -> bool:
    """Whether a series is of this scope, or of the business group of this name or id within one."""
    if scope is None or series.scope == scope:
        return True
    wanted = scope.casefold()
    return any(name in _GROUPS and text.casefold() == wanted for name, text in series.labels)


def _refuse_several(rows: Rows, info: Info) -> None:
    known = store.scopes(rows, info.id)
    if len(known) > 1:
        raise InvalidInput(
            f"There is a history of {len(known)} scopes of {info.id!r}.",
            hint=f"Give `bg`, one of: {', '.join(known[:10])}.",
        )


def _line(
    rows: Rows,
    series: Series,
    metric: Metric | None,
    begin: float,
    end: float,
    *,
    step: int | None,
    most: int,
    now: float,
    foresee: bool,
) -> Line:
    if series.kind in ("text", "list"):
        words = store.texts(rows, series.id, begin, end)
        return Line(series=series, metric=metric, points=[], rates=[], rise=None, words=words[-most:], forecast=None)
    found = store.points(rows, series.id, begin, end)
    counts = series.kind == "counter"
    points = thinned(found, most, step)
    return Line(
        series=series,
        metric=metric,
        points=points,
        rates=rates(points) if counts else [],
        rise=total_rise(found) if counts else None,
        words=[],
        forecast=_foreseen(rows, series, metric, found, now) if foresee and not counts else None,
        gaps=store.gaps(rows, series.id, begin, end),
    )


def _foreseen(rows: Rows, series: Series, metric: Metric | None, found: Sequence[Point], now: float) -> Forecast | None:
    limit = None
    if metric is not None and metric.limit is not None:
        sides = store.find_series(rows, series.collector, scope=series.scope, keys=[metric.limit])
        beside = [one for one in sides if one.labels == series.labels]
        last = store.points(rows, beside[0].id, now - 86_400 * 30, now + 1) if beside else []
        limit = last[-1].last if last else None
    elif metric is not None:
        limit = metric.alarm if metric.alarm is not None else metric.warn
    is_floor = metric is not None and metric.better == "higher" and metric.limit is None
    return forecast([(point.last_at, point.last) for point in found], limit, now, is_floor=is_floor)
