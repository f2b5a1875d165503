"""The recorded history of all collectors: writes snapshots, reads lines, differences, alerts and forecasts.

Numbers are recorded at every poll, texts and lists when they change. A missing or stale number is recorded as a gap
with its reason, and so is time without polls: charts break there instead of falling to zero.
"""

from collections.abc import Callable, Mapping, Sequence
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
    raised_alerts,
    rule_of,
)
from pentad.rooms.metrics.history.changes import (
    Change,
    compare_values,
    largest_first,
    values_of,
    without_explained,
)
from pentad.rooms.metrics.history.collector_health import (
    CollectorHealth,
    PollOutcome,
    last_poll,
    late_after,
    read_health,
    with_lateness,
    write_outcome,
)
from pentad.rooms.metrics.history.forecast import Forecast
from pentad.rooms.metrics.history.history_lines import (
    HistoryLine,
    HistoryLines,
    absence_note,
    earlier_note,
    last_limit,
    line_forecast,
    read_line,
    recorded_groups,
)
from pentad.rooms.metrics.history.recording import (
    FAILED,
    NOT_COLLECTED,
    with_sample,
    with_up_metric,
    write_gaps,
    write_samples,
)
from pentad.rooms.metrics.metric_keys import resolve_keys
from pentad.rooms.metrics.models import Info, Labels, Metric, Snapshot, State
from pentad.rooms.metrics.store import Gap, Series

MOST_SERIES: Final = 50
ALERTS_URI: Final = "metrics://alerts"
DEFAULT_SCOPE: Final = "default"
_GROUP_LABELS: Final = ("businessGroup", "businessGroupId")


class Changes(msgspec.Struct, kw_only=True):
    """What changed between two times, and which collectors have no record of the first."""

    changes: list[Change]
    unrecorded: list[str]


class MetricHistory:
    """The history of all collectors."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        catalogue: Catalogue,
        thresholds: Mapping[str, Any],
        intervals: Mapping[str, float] | None = None,
        on_alerts: Callable[[Transaction], None] | None = None,
    ) -> None:
        self._on_alerts = on_alerts
        """Called in a transaction that changes alerts."""
        self.intervals = intervals or {}
        """Seconds between polls, by collector, or by collector and scope with a slash between them."""
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

    async def record_poll(self, info: Info, snapshot: Snapshot, done: PollOutcome) -> int:
        """Write the samples and the outcome of a poll. Returns the number of samples written."""

        def work(transaction: Transaction) -> int:
            before = last_poll(transaction, info.id, done.scope)
            self._add_downtime(transaction, info.id, before, done)
            write_outcome(transaction, info.id, snapshot.scope, before, done)
            absent = NOT_COLLECTED if done.state == "ok" else FAILED
            return self._record(transaction, info, with_sample(snapshot, done.sample()), absent)

        return await self._database.write(work)

    async def record_failure(self, info: Info, done: PollOutcome) -> None:
        """Record a poll without any result: a gap begins in every series of its scope.

        A scope that is not polled regularly and was never polled may be a typo, and is ignored."""
        name = f"{info.id}/{done.scope}" if done.scope else info.id

        def work(transaction: Transaction) -> None:
            before = last_poll(transaction, info.id, done.scope)
            if before is None and name not in self.intervals:
                return
            scope = done.scope if before is None else before.series_scope
            self._add_downtime(transaction, info.id, before, done)
            write_outcome(transaction, info.id, scope, before, done)
            missing: dict[int, State] = dict.fromkeys(store.numeric_series(transaction, info.id, scope), FAILED)
            write_gaps(transaction, info.id, scope, set(), missing, done.at)
            snapshot = Snapshot(collector=info.id, scope=scope, as_of=done.at, tree=None, samples=[done.sample()])
            self._record(transaction, info, snapshot)

        await self._database.write(work)

    def _add_downtime(
        self, transaction: Transaction, collector: str, before: CollectorHealth | None, done: PollOutcome
    ) -> None:
        """Add a gap where polls are missing since the last one."""
        interval = self.intervals.get(f"{collector}/{done.scope}" if done.scope else collector)
        if before is None or interval is None or done.at - before.tried_at <= late_after(interval):
            return
        series = store.numeric_series(transaction, collector, before.series_scope)
        known = store.open_gaps(transaction, collector, before.series_scope)
        reasons: dict[int, State] = dict.fromkeys(series - known.keys(), NOT_COLLECTED)
        store.begin_gaps(transaction, reasons, before.tried_at, done.at)

    async def health(self) -> list[CollectorHealth]:
        """The health of every collector that is polled regularly."""
        found = await self._database.read(read_health)
        return with_lateness(found, self.intervals, self._clock.now())

    def _info(self, collector: str) -> Info:
        """A collector with the metric that all of them have."""
        return with_up_metric(self._catalogue.find(collector).info())

    def _record(
        self, transaction: Transaction, info: Info, snapshot: Snapshot, absent: State | None = None
    ) -> int:  # fmt: skip
        info = with_up_metric(info)
        count = write_samples(transaction, info, snapshot, absent)
        if changed := check(transaction, info, snapshot, self._thresholds):
            resource_updated(transaction, ALERTS_URI)
            if self._on_alerts is not None:
                self._on_alerts(transaction)
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
        info = self._info(collector)
        names = resolve_keys(info, keys)
        metrics = {metric.key: self._with_thresholds(info, metric) for metric in info.catalogue}
        now = self._clock.now()

        def work(rows: Rows) -> HistoryLines:
            known = store.find_series(rows, info.id, keys=names)
            matching = [one for one in known if _is_in_scope(one, scope) and has_labels(one.labels, labels or {})]
            late = _late_since(with_lateness(read_health(rows), self.intervals, now), info.id)
            lines = [read_line(rows, one, begin, end, step=step, most=most) for one in matching[:MOST_SERIES]]
            for line in lines:
                metric = metrics.get(line.series.key)
                line.limit = last_limit(rows, line.series, metric, now)
                since = late.get(line.series.scope, end)
                if since < end and not (line.gaps and line.gaps[-1].end is None):
                    line.gaps.append(Gap(since, None, NOT_COLLECTED))
                if with_forecast and line.series.kind == "gauge":
                    found = store.points(rows, line.series.id, begin, end)
                    line.forecast = line_forecast(found, line, metric, now)
            left_out = max(0, len(matching) - MOST_SERIES)
            absence = "" if lines else absence_note(known, scope, labels or {}, [metrics[name] for name in names])
            return HistoryLines(
                begin=begin, end=end, lines=lines, left_out=left_out, notes=earlier_note(lines), absence=absence
            )

        return await self._database.read(work)

    def forecast(self, line: HistoryLine) -> Forecast | None:
        """The forecast of a line, from its points."""
        info = self._info(line.series.collector)
        metric = next((self._with_thresholds(info, one) for one in info.catalogue if one.key == line.series.key), None)
        return line_forecast(line.points, line, metric, self._clock.now())

    def marks(self, lines: Sequence[HistoryLine]) -> list[tuple[str, float]]:
        """The thresholds in force for these lines, if all of them have the same."""
        keys = {(line.series.collector, line.series.key) for line in lines}
        if len(keys) != 1:
            return []
        (collector, key) = keys.pop()
        info = self._info(collector)
        metric = next((one for one in info.catalogue if one.key == key), None)
        if metric is None or metric.kind != "gauge":
            return []
        judged = self._with_thresholds(info, metric)
        found = [(name, level) for name, level in (("warn", judged.warn), ("alarm", judged.alarm)) if level is not None]
        limits = {line.limit for line in lines} if metric.limit else set[float | None]()
        limit = limits.pop() if len(limits) == 1 else None
        return found if limit is None else [*found, ("limit", limit)]

    async def changes(
        self,
        collectors: Sequence[str],
        before: float,
        after: float,
        *,
        scope: str | None = None,
        keys: Sequence[str] = (),
    ) -> Changes:
        """The differences between two times, the largest first: of the named collectors, or of all with a history.

        Refused if none of the named collectors has a record of the first time."""
        infos = [self._info(name) for name in collectors or await self._recorded_collectors()]
        names = _resolved_keys(infos, keys)

        def work(rows: Rows) -> dict[str, tuple[list[store.Latest], list[store.Latest]]]:
            return {
                info.id: (store.latest(rows, info.id, at=before), store.latest(rows, info.id, at=after))
                for info in infos
                if not keys or names[info.id]
            }

        changes: list[Change] = []
        unrecorded: list[str] = []
        recorded = await self._database.read(work)
        if scope is not None:
            every = [one.series for old, new in recorded.values() for one in (*old, *new)]
            _refuse_unknown_scope(scope, every)
        for collector, (old, new) in recorded.items():
            first, last = ([one for one in values if _is_in_scope(one.series, scope)] for values in (old, new))
            if not any(not keys or one.series.key in names[collector] for one in old):
                unrecorded.append(collector)
            found = compare_values(values_of(first), values_of(last)) if old else []
            changes += [
                msgspec.structs.replace(change, collector=collector)
                for change in without_explained(found)
                if not keys or change.key in names[collector]
            ]
        if collectors and not keys and len(unrecorded) == len(infos):
            raise await self._nothing_so_old(infos)
        return Changes(changes=largest_first(changes), unrecorded=unrecorded)

    async def _recorded_collectors(self) -> list[str]:
        known = await self._database.read(store.collectors)
        return [name for name in known if name in self._catalogue.collectors]

    async def _nothing_so_old(self, infos: Sequence[Info]) -> NotFound:
        firsts = [await self._database.read(lambda rows, name=info.id: store.first(rows, name)) for info in infos]
        first = min((at for at in firsts if at is not None), default=None)
        since = "Polls record the history." if first is None else f"The first record is from {iso(first)}."
        named = f" for {', '.join(repr(info.id) for info in infos[:5])}" if infos else ""
        return NotFound(f"There is no record from that time{named}.", hint=since)

    async def at(
        self, collector: str, key: str, moment: float, *, scope: str | None = None
    ) -> list[store.Latest]:  # fmt: skip
        """The values of a key at a moment: the last record of each series by then."""
        info = self._info(collector)
        names = set(resolve_keys(info, [key]))
        found = await self._database.read(lambda rows: store.latest(rows, info.id, at=moment))
        values = [one for one in found if one.series.key in names and _is_in_scope(one.series, scope)]
        if not values:
            raise NotFound(
                f"There is no record of {key[:100]!r} before {iso(moment)}.",
                hint="Polls record the history of figures.",
            )
        return values

    async def alerts(self, levels: Sequence[Level] = ("warn", "alarm")) -> list[Alert]:
        """Metrics beyond their threshold, the worst first. One with a limit is given as a share of it."""
        found = await self._database.read(lambda rows: raised_alerts(rows, levels=levels))
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

    async def alert_changes(
        self, since: float, most: int = 100, metric: tuple[str, str] | None = None
    ) -> list[AlertChange]:
        """Alerts that were raised or cleared, the newest first; of one metric (collector and key), or of all."""
        return await self._database.read(lambda rows: alert_changes(rows, since, most, metric))

    async def is_empty(self) -> bool:
        """Whether no collector has recorded anything yet."""
        return await self._database.read(lambda rows: rows.one("SELECT 1 FROM metric_series LIMIT 1")) is None

    async def has_record_of(self, moment: float, collector: str | None = None) -> bool:
        """Whether anything was recorded before this time, by any collector or by this one."""
        return await self._database.read(lambda rows: store.has_record(rows, moment, collector))

    async def scopes(self, collector: str) -> list[str]:
        """The scopes of a collector that have a history."""
        return await self._database.read(lambda rows: store.scopes(rows, collector))

    async def latest(self, collector: str, scope: str | None = None) -> list[store.Latest]:
        """The values recorded last."""
        return await self._database.read(lambda rows: store.latest(rows, collector, scope))


def figures_uri(collector: str, scope: str) -> str:
    """The address of a collector's figures as a resource."""
    return f"metrics://{collector}/{scope}"


def _late_since(found: Sequence[CollectorHealth], collector: str) -> dict[str, float]:
    """By scope of series, since when polls of a collector are missing."""
    return {one.series_scope: one.tried_at for one in found if one.collector == collector and one.state == "late"}


def has_labels(labels: Labels, wanted: Mapping[str, str]) -> bool:
    """Whether the labels include all wanted ones, ignoring case."""
    given = {name.casefold(): text.casefold() for name, text in labels}
    return all(given.get(name.casefold()) == text.casefold() for name, text in wanted.items())


def _is_in_scope(series: Series, scope: str | None) -> bool:
    """Whether a series belongs to this scope, or to the business group of this name or id inside another."""
    if scope is None or series.scope == scope:
        return True
    wanted = scope.casefold()
    return any(name in _GROUP_LABELS and text.casefold() == wanted for name, text in series.labels)


def _refuse_unknown_scope(scope: str, known: Sequence[Series]) -> None:
    """Refuse a business group without any record: "nothing changed" would be wrong."""
    if known and not any(_is_in_scope(one, scope) for one in known):
        raise NotFound(
            f"There is no record of the business group {scope[:80]!r}.",
            hint=f"The history has: {', '.join(recorded_groups(known)) or 'no groups'}.",
        )


def _resolved_keys(infos: Sequence[Info], keys: Sequence[str]) -> dict[str, frozenset[str]]:
    """The catalogue keys that these keys match, by collector. At least one of the collectors has to know them."""
    found: dict[str, frozenset[str]] = {}
    for info in infos:
        try:
            found[info.id] = frozenset(resolve_keys(info, keys)) if keys else frozenset()
        except InvalidInput:
            if len(infos) == 1 or (info is infos[-1] and not any(found.values())):
                raise
            found[info.id] = frozenset()
    return found
