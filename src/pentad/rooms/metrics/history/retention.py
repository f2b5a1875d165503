"""Rolls up old samples: to hours after some days, to days after some months.

Each point in time is stored in one form only. A roll-up has the number, minimum, maximum, sum, first and last of its
samples, and the increase of a counter. Gaps stay as they are. The work is done in slices of a few hundred series and
one hour or day, so that no other transaction waits for long. An interrupted slice is simply repeated.
"""

import math
from typing import Final

import msgspec

from pentad.kernel.ports import Database, Transaction
from pentad.rooms.metrics.history.changes import merge_points
from pentad.rooms.metrics.store import DAY, HOUR, Point, sample_point

SERIES_AT_ONCE: Final = 500


class Retention(msgspec.Struct, frozen=True):
    """How many days each form is stored."""

    raw_days: float = 7
    hour_days: float = 90
    day_days: float = 1_825


async def roll_up_all(database: Database, retention: Retention, now: float) -> int:
    """Roll up and delete everything that is due. Returns the number of slices."""
    slices = 0
    raw_until = _whole(now - retention.raw_days * DAY, HOUR)
    while await database.write(lambda tx: roll_samples(tx, raw_until)):
        slices += 1
    hours_until = _whole(now - retention.hour_days * DAY, DAY)
    while await database.write(lambda tx: roll_hours(tx, hours_until)):
        slices += 1
    await database.write(lambda tx: drop(tx, now - retention.day_days * DAY))
    return slices


def roll_samples(transaction: Transaction, until: float) -> bool:
    """Roll up one slice of samples before `until` to hours; False if there is none."""
    oldest = transaction.value("SELECT min(at) FROM metric_samples WHERE at < ? AND text IS NULL", until)
    if oldest is None:
        return False
    begin = _whole(oldest, HOUR)
    end = begin + HOUR
    span = _series_of(
        transaction,
        "SELECT DISTINCT series FROM metric_samples WHERE at >= ? AND at < ? AND text IS NULL ORDER BY series LIMIT ?",
        begin,
        end,
    )
    rows = transaction.all(
        "SELECT series, at, value FROM metric_samples WHERE at >= ? AND at < ? AND text IS NULL"
        " AND series >= ? AND series <= ? ORDER BY series, at",
        begin, end, *span,
    )  # fmt: skip
    by_series: dict[int, list[Point]] = {}
    for series, at, value in rows:
        by_series.setdefault(series, []).append(sample_point(at, value))
    _add(transaction, by_series, begin, HOUR)
    transaction.run(
        "DELETE FROM metric_samples WHERE at >= ? AND at < ? AND text IS NULL AND series >= ? AND series <= ?",
        begin, end, *span,
    )  # fmt: skip
    return True


def roll_hours(transaction: Transaction, until: float) -> bool:
    """Roll up one slice of hours before `until` to days; False if there is none."""
    oldest = transaction.value("SELECT min(at) FROM metric_rollups WHERE step = ? AND at < ?", HOUR, until)
    if oldest is None:
        return False
    begin = _whole(oldest, DAY)
    end = begin + DAY
    span = _series_of(
        transaction,
        "SELECT DISTINCT series FROM metric_rollups WHERE at >= ? AND at < ? AND step = 3600 ORDER BY series LIMIT ?",
        begin,
        end,
    )
    rows = transaction.all(
        "SELECT series, at, samples, lowest, highest, total, first, last, rise, last_at FROM metric_rollups"
        " WHERE step = ? AND at >= ? AND at < ? AND series >= ? AND series <= ? ORDER BY series, at",
        HOUR, begin, end, *span,
    )  # fmt: skip
    by_series: dict[int, list[Point]] = {}
    for series, *rest in rows:
        by_series.setdefault(series, []).append(Point(*rest))
    _add(transaction, by_series, begin, DAY)
    transaction.run(
        "DELETE FROM metric_rollups WHERE step = ? AND at >= ? AND at < ? AND series >= ? AND series <= ?",
        HOUR, begin, end, *span,
    )  # fmt: skip
    return True


def drop(transaction: Transaction, before: float) -> None:
    """Delete everything older than `before`, except the last text of each text series."""
    transaction.run("DELETE FROM metric_rollups WHERE step = ? AND at < ?", DAY, before)
    transaction.run("DELETE FROM metric_gaps WHERE ended < ?", before)
    transaction.run("DELETE FROM metric_alert_changes WHERE at < ?", before)
    transaction.run(
        "DELETE FROM metric_samples WHERE at < ? AND text IS NOT NULL AND at <"
        " (SELECT max(x.at) FROM metric_samples x WHERE x.series = metric_samples.series AND x.text IS NOT NULL)",
        before,
    )


def _series_of(transaction: Transaction, sql: str, begin: float, end: float) -> tuple[int, int]:
    found = [series for (series,) in transaction.all(sql, begin, end, SERIES_AT_ONCE)]
    return found[0], found[-1]


def _add(transaction: Transaction, by_series: dict[int, list[Point]], begin: float, step: int) -> None:
    """Store roll-ups. Samples that arrived late are merged into the existing one."""
    rows: list[tuple[float, ...]] = []
    for series, some in by_series.items():
        stored = transaction.one(
            "SELECT at, samples, lowest, highest, total, first, last, rise, last_at FROM metric_rollups"
            " WHERE series = ? AND step = ? AND at = ?",
            series, step, begin,
        )  # fmt: skip
        whole = sorted([Point(*stored), *some], key=lambda point: point.last_at) if stored is not None else some
        point = merge_points(whole, at=begin, span=step)
        rows.append(
            (series, step, begin, point.samples, point.lowest, point.highest, point.total, point.first, point.last,
             point.rise, point.last_at)
        )  # fmt: skip
    transaction.run_many(
        "INSERT INTO metric_rollups (series, step, at, samples, lowest, highest, total, first, last, rise, last_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (series, step, at) DO UPDATE SET"
        " samples = excluded.samples, lowest = excluded.lowest, highest = excluded.highest, total = excluded.total,"
        " first = excluded.first, last = excluded.last, rise = excluded.rise, last_at = excluded.last_at",
        rows,
    )


def _whole(at: float, step: int) -> float:
    return float(math.floor(at / step) * step)
