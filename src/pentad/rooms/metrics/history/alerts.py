"""Alerts: raised when a value is bad several times in a row, cleared only with a margin.

So a value that swings around its threshold does not raise an alert at every poll. A missing or stale value changes
nothing: no data is not good news. Nor does a partial one, unless it is too high already: the whole sum is higher still.
A metric with a limit and no thresholds is judged by its share of the limit.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, cast

import msgspec
import msgspec.structs

from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import Rows, Transaction
from pentad.rooms.metrics import store
from pentad.rooms.metrics.history.collector_health import UP
from pentad.rooms.metrics.models import Info, Labels, Metric, Snapshot

Level = Literal["ok", "warn", "alarm"]
LEVELS: Final[tuple[Level, ...]] = ("ok", "warn", "alarm")
SHARE_WARN: Final = 85.0
SHARE_ALARM: Final = 95.0


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a value is bad. With `is_floor`, low values are bad. `margin` is a share of the threshold."""

    warn: float | None = None
    alarm: float | None = None
    is_floor: bool = False
    limit: str | None = None
    """The key of the limit whose share in percent is judged instead of the value itself."""
    times: int = 2
    margin: float = 0.05

    def level(self, value: float, margin: float = 0.0) -> Level:
        """The level of a value. To be good, it must be better than the threshold by this margin."""
        for level, threshold in (("alarm", self.alarm), ("warn", self.warn)):
            if threshold is None:
                continue
            slack = abs(threshold) * margin
            if value <= threshold + slack if self.is_floor else value >= threshold - slack:
                return cast("Level", level)
        return "ok"


class AlertState(msgspec.Struct, frozen=True):
    """An alert's level, the pending worse level, and how many times in a row it was seen."""

    level: Level = "ok"
    pending: Level = "ok"
    seen: int = 0


def next_state(state: AlertState, value: float, rule: Rule) -> AlertState:
    """The state after one more value."""
    plain = rule.level(value)
    if _rank(plain) > _rank(state.level):
        seen = state.seen + 1 if _rank(state.pending) > _rank(state.level) else 1
        # Only the mildest of the levels in a row has been seen every time.
        pending = plain if seen == 1 else min(plain, state.pending, key=_rank)
        return AlertState(pending) if seen >= rule.times else AlertState(state.level, pending, seen)
    level_with_margin = rule.level(value, rule.margin)
    return AlertState(min(state.level, level_with_margin, key=_rank))


def _rank(level: Level) -> int:
    return LEVELS.index(level)


def rule_of(metric: Metric, given: Mapping[str, Any] | None = None) -> Rule | None:
    """The rule of a metric, from its catalogue or from the settings; None if it has no thresholds."""
    if metric.kind in ("text", "list"):
        return None
    known = Rule(
        warn=metric.warn, alarm=metric.alarm, is_floor=metric.better == "higher", times=1 if metric == UP else 2
    )
    if metric.warn is None and metric.alarm is None and metric.limit is not None:
        known = Rule(warn=SHARE_WARN, alarm=SHARE_ALARM, limit=metric.limit)
    if given is not None:
        try:
            known = msgspec.convert({**msgspec.structs.asdict(known), **given}, Rule, strict=False)
        except (msgspec.ValidationError, TypeError) as error:
            raise Misconfigured(
                f"rooms.metrics.thresholds of {metric.key} is wrong: {error}.",
                hint="It may have warn, alarm, is_floor, limit, times and margin.",
            ) from None
    return known if known.warn is not None or known.alarm is not None else None


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """A raised alert."""

    collector: str
    scope: str
    key: str
    labels: Labels
    level: Level
    since: float
    value: float | None
    threshold: float | None
    unit: str | None
    checked: float


def check(
    transaction: Transaction, info: Info, snapshot: Snapshot, thresholds: Mapping[str, Any]
) -> list[tuple[str, Level, Level]]:
    """Check a snapshot that was just recorded. Returns the keys whose level changed, with both levels."""
    rules = {
        metric.key: rule
        for metric in info.catalogue
        if metric.kept and (rule := rule_of(metric, thresholds.get(f"{info.id}.{metric.key}"))) is not None
    }
    values = {(one.key, one.labels): one.value for one in snapshot.samples if one.state not in ("stale", "partial")}
    partial = {(one.key, one.labels): one.value for one in snapshot.samples if one.state == "partial"}
    ids = {(one.key, one.labels): one.id for one in store.find_series(transaction, info.id, scope=snapshot.scope)}
    states = _states(transaction, info.id, snapshot.scope)
    changed: list[tuple[str, Level, Level]] = []
    for (key, labels), value in (*values.items(), *partial.items()):
        rule, series = rules.get(key), ids.get((key, labels))
        if rule is None or series is None:
            continue
        judged = _judged_value(rule, value, values.get((rule.limit, labels)) if rule.limit else None)
        if judged is None:
            continue
        before = states.get(series, AlertState())
        is_worse = not rule.is_floor and _rank(rule.level(judged)) > _rank(before.level)
        if (key, labels) in partial and not is_worse:
            continue
        after = next_state(before, judged, rule)
        if series in states or after != before:
            _write(transaction, series, before, after, judged, rule, snapshot.taken_at)
        if before.level != after.level:
            changed.append((key, before.level, after.level))
    return changed


def _judged_value(rule: Rule, value: Any, limit: Any) -> float | None:
    if not isinstance(value, (int, float)):
        return None
    if rule.limit is None:
        return float(value)
    return 100.0 * value / limit if isinstance(limit, (int, float)) and limit > 0 else None


def _states(rows: Rows, collector: str, scope: str) -> dict[int, AlertState]:
    found = rows.all(
        "SELECT a.series, a.level, a.pending, a.seen FROM metric_alerts a JOIN metric_series d ON d.id = a.series"
        " WHERE d.collector = ? AND d.scope = ?",
        collector, scope,
    )  # fmt: skip
    return {series: AlertState(level, pending, seen) for series, level, pending, seen in found}


def _write(
    transaction: Transaction, series: int, before: AlertState, after: AlertState, value: float, rule: Rule, at: float
) -> None:
    threshold = rule.alarm if after.level == "alarm" else rule.warn
    transaction.run(
        "INSERT INTO metric_alerts (series, level, pending, seen, since, value, limit_at, checked)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (series) DO UPDATE SET level = excluded.level,"
        " pending = excluded.pending, seen = excluded.seen, value = excluded.value, limit_at = excluded.limit_at,"
        " checked = excluded.checked,"
        " since = CASE WHEN metric_alerts.level = excluded.level THEN metric_alerts.since ELSE excluded.since END",
        series, after.level, after.pending, after.seen, at, value, threshold, at,
    )  # fmt: skip
    if before.level != after.level:
        transaction.run(
            "INSERT INTO metric_alert_changes (series, at, before, after, value) VALUES (?, ?, ?, ?, ?)",
            series, at, before.level, after.level, value,
        )  # fmt: skip


def raised_alerts(rows: Rows, *, levels: Iterable[Level] = ("warn", "alarm")) -> list[Alert]:
    """The alerts of these levels, the worst first, then the newest."""
    chosen = set(levels)
    found = rows.all(
        "SELECT d.collector, d.scope, d.key, d.labels, a.level, a.since, a.value, a.limit_at, d.unit, a.checked"
        " FROM metric_alerts a JOIN metric_series d ON d.id = a.series ORDER BY a.since DESC, d.id"
    )
    alerts = [
        Alert(
            collector=row[0], scope=row[1], key=row[2],
            labels=tuple(msgspec.json.decode(row[3], type=dict[str, str]).items()),
            level=row[4], since=row[5], value=row[6], threshold=row[7], unit=row[8], checked=row[9],
        )
        for row in found
        if row[4] in chosen
    ]  # fmt: skip
    return sorted(alerts, key=lambda alert: -_rank(alert.level))


class AlertChange(msgspec.Struct, frozen=True, kw_only=True):
    """An alert that was raised or cleared."""

    collector: str
    scope: str
    key: str
    labels: Labels
    at: float
    before: Level
    after: Level
    value: float | None


def alert_changes(
    rows: Rows, since: float, most: int = 100, metric: tuple[str, str] | None = None
) -> list[AlertChange]:
    """The alerts raised and cleared since then, newest first; of one `metric` (collector and key), or of all."""
    one = "" if metric is None else " AND d.collector = ? AND d.key = ?"
    found = rows.all(
        "SELECT d.collector, d.scope, d.key, d.labels, c.at, c.before, c.after, c.value FROM metric_alert_changes c"  # noqa: S608  constants
        f" JOIN metric_series d ON d.id = c.series WHERE c.at >= ?{one} ORDER BY c.at DESC, c.id DESC LIMIT ?",
        since, *(metric or ()), most,
    )  # fmt: skip
    return [
        AlertChange(
            collector=row[0], scope=row[1], key=row[2],
            labels=tuple(msgspec.json.decode(row[3], type=dict[str, str]).items()),
            at=row[4], before=row[5], after=row[6], value=row[7],
        )
        for row in found
    ]  # fmt: skip
