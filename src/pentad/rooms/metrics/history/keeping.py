"""The history as the room uses it: record an answer and judge it, and ask about the past of a collector.

history = History(database, clock, thresholds, Retention())
await history.record(answer)
lines = await history.lines("host", ["cpu.percent"], begin, end, most=200)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from pentad.kernel.clock import Clock
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.metrics.engine.answering import Answer
from pentad.rooms.metrics.history import store
from pentad.rooms.metrics.history.alerts import (
    Alert,
    AlertChange,
    Level,
    alert_changes,
    check,
    standing_alerts,
)
from pentad.rooms.metrics.history.changes import Change, compared, rates, thinned, values_of
from pentad.rooms.metrics.history.forecast import Forecast, forecast
from pentad.rooms.metrics.history.retention import Retention, tidy
from pentad.rooms.metrics.history.sampling import keep
from pentad.rooms.metrics.history.store import Latest, Point, Series
from pentad.rooms.metrics.model import Info, Labels, Metric, Scalar, Snapshot


class Line(msgspec.Struct, frozen=True):
    """A series over some time: its points, or what it said where it is of words."""

    series: Series
    points: list[Point]
    words: list[tuple[float, Scalar]]

    def rates(self) -> list[tuple[float, float]]:
        """What a counter counted each second."""
        return rates(self.points)


class Outlook(msgspec.Struct, frozen=True):
    """The forecast of one series against its limit."""

    series: Series
    forecast: Forecast


class History:
    """What was measured, in the store."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        thresholds: Mapping[str, Any] | None = None,
        retention: Retention | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._thresholds = thresholds or {}
        self.retention = retention or Retention()

    async def record(
        self, answer: Answer, beside: Callable[[Transaction, Snapshot], None] | None = None
    ) -> list[tuple[str, Level, Level]]:
        """Keep an answer and judge it, with what else belongs into the same transaction; the alerts that changed."""
        return await self.record_snapshot(answer.info, answer.snapshot, beside)

    async def record_snapshot(
        self, info: Info, snapshot: Snapshot, beside: Callable[[Transaction, Snapshot], None] | None = None
    ) -> list[tuple[str, Level, Level]]:
        """The same for a snapshot by itself."""

        def work(transaction: Transaction) -> list[tuple[str, Level, Level]]:
            keep(transaction, info, snapshot)
            changed = check(transaction, info, snapshot, self._thresholds)
            if beside is not None:
                beside(transaction, snapshot)
            return changed

        return await self._database.write(work)

    async def lines(
        self,
        collector: str,
        keys: Sequence[str] | None,
        begin: float,
        end: float,
        *,
        scope: str | None = None,
        labels: Labels = (),
        most: int = 200,
        step: int | None = None,
        most_series: int = 50,
    ) -> list[Line]:
        """The series of these keys that have all of these labels, from `begin` to before `end`."""

        def work(rows: Rows) -> list[Line]:
            chosen = [
                one
                for one in store.find_series(rows, collector, scope=scope, keys=keys)
                if set(labels) <= set(one.labels)
            ]
            return [_line(rows, one, begin, end, most, step) for one in chosen[:most_series]]

        return await self._database.read(work)

    async def latest(self, collector: str, scope: str | None = None, at: float | None = None) -> list[Latest]:
        """The last values known at a moment, or now."""
        return await self._database.read(lambda rows: store.latest(rows, collector, scope, at))

    async def scopes(self, collector: str) -> list[str]:
        """The scopes there is a history of."""
        return await self._database.read(lambda rows: store.scopes(rows, collector))

    async def changes(
        self, collector: str, begin: float, end: float | None = None, scope: str | None = None
    ) -> list[Change]:
        """What differs between two moments."""

        def work(rows: Rows) -> list[Change]:
            before = values_of(store.latest(rows, collector, scope, begin))
            return compared(before, values_of(store.latest(rows, collector, scope, end)))

        return await self._database.read(work)

    async def outlooks(
        self, info: Info, *, scope: str | None = None, keys: Sequence[str] | None = None, days: float = 30
    ) -> list[Outlook]:
        """For each metric that has a limit, or that is named: where it leads; the soonest to reach it first."""
        now = self._clock.now()
        metrics = {
            metric.key: metric
            for metric in info.catalogue
            if metric.kind == "gauge" and (metric.key in keys if keys is not None else metric.limit is not None)
        }

        def work(rows: Rows) -> list[Outlook]:
            limits = {(one.series.scope, one.series.key, one.series.labels): one.value for one in
                      store.latest(rows, info.id, scope)}  # fmt: skip
            found: list[Outlook] = []
            for one in store.find_series(rows, info.id, scope=scope, keys=list(metrics)):
                points = store.points(rows, one.id, now - days * store.DAY, now + 1)
                said = _outlook(metrics[one.key], one, points, limits, now)
                if said is not None:
                    found.append(Outlook(one, said))
            return found

        found = await self._database.read(work)
        return sorted(found, key=lambda outlook: outlook.forecast.reached_at or float("inf"))

    async def alerts(self, levels: Sequence[Level] = ("warn", "alarm")) -> list[Alert]:
        """The alerts that stand."""
        return await self._database.read(lambda rows: standing_alerts(rows, levels=levels))

    async def alert_changes(self, since: float, most: int = 100) -> list[AlertChange]:
        """What rose and fell."""
        return await self._database.read(lambda rows: alert_changes(rows, since, most))

    async def tidy(self) -> int:
        """Roll up and drop what is old."""
        return await tidy(self._database, self.retention, self._clock.now())


def _line(rows: Rows, one: Series, begin: float, end: float, most: int, step: int | None) -> Line:
    if one.kind in ("text", "list"):
        return Line(one, [], store.texts(rows, one.id, begin, end)[-most:])
    return Line(one, thinned(store.points(rows, one.id, begin, end), most, step), [])


def _outlook(
    metric: Metric, one: Series, points: Sequence[Point], limits: Mapping[tuple[str, str, Labels], Scalar], now: float
) -> Forecast | None:
    limit = limits.get((one.scope, metric.limit, one.labels)) if metric.limit is not None else metric.alarm
    number = float(limit) if isinstance(limit, (int, float)) else None
    return forecast(
        [(point.last_at, point.mean) for point in points], number, now, is_floor=metric.better == "higher"
    )  # fmt: skip
