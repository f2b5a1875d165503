"""Totals of calls by room, tool and outcome, with a latency histogram, for `/metrics`; and calls and errors by the
hour, for the home page.

They are updated in the same transaction that stores the audit entries, so they cover every process and restart. Times
are whole microseconds, which sum exactly in any order.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pentad.kernel.ports import Rows, Transaction
from pentad.kernel.sql import insert

BOUNDS_US: Final = (
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
)  # fmt: skip
"""Upper bounds of the histogram's buckets; one more bucket holds slower calls."""

_BUCKETS: Final = (*(f"le_{bound}" for bound in BOUNDS_US), "le_more")
_SUMS: Final = ("calls", "total_us", *_BUCKETS)
_COLUMNS: Final = ("room", "tool", "outcome", *_SUMS)
_ADD: Final = (
    insert("call_totals", _COLUMNS)
    + " ON CONFLICT (room, tool, outcome) DO UPDATE SET "
    + ", ".join(f"{name} = call_totals.{name} + excluded.{name}" for name in _SUMS)
)

_TOTALS: Final = f"SELECT {', '.join(_COLUMNS)} FROM call_totals ORDER BY room, tool, outcome"  # noqa: S608  constants

_HOUR: Final = 3600
_KEPT_HOURS: Final = 31 * 24
_ADD_HOUR: Final = (
    "INSERT INTO call_hours (hour, calls, errors) VALUES (?, ?, ?) ON CONFLICT (hour) DO UPDATE SET"
    " calls = call_hours.calls + excluded.calls, errors = call_hours.errors + excluded.errors"
)

CallKey = tuple[str, str, str]
Hours = dict[int, tuple[int, int]]
"""Calls and errors by the number of the hour since 1970."""


@dataclass(frozen=True, slots=True)
class CallTotal:
    """All calls of one tool with one outcome."""

    room: str
    tool: str
    outcome: str
    calls: int
    seconds: float
    buckets: tuple[int, ...]
    """Calls in each bucket of `BOUNDS_US` and in the overflow bucket; not cumulative."""


def grouped(calls: Iterable[tuple[CallKey, int]]) -> dict[CallKey, list[int]]:
    """Sums by key: calls, microseconds, then a count for each bucket."""
    totals: dict[CallKey, list[int]] = {}
    for key, duration_us in calls:
        sums = totals.get(key)
        if sums is None:
            sums = totals[key] = [0] * len(_SUMS)
        sums[0] += 1
        sums[1] += duration_us
        sums[2 + bisect_left(BOUNDS_US, duration_us)] += 1
    return totals


def grouped_by_hour(calls: Iterable[tuple[float, bool]]) -> Hours:
    """Calls and errors in each hour, from the time and failure flag of each call."""
    hours: Hours = {}
    for at, failed in calls:
        hour = int(at) // _HOUR
        counted, errors = hours.get(hour, (0, 0))
        hours[hour] = (counted + 1, errors + failed)
    return hours


def add_hours(tx: Transaction, hours: Hours) -> None:
    """Add to the stored hours, and delete those older than a month."""
    if hours:
        tx.run_many(_ADD_HOUR, [(hour, *hours[hour]) for hour in sorted(hours)])
        tx.run("DELETE FROM call_hours WHERE hour < ?", max(hours) - _KEPT_HOURS)


def read_hours(rows: Rows, now: float, hours: int) -> list[tuple[float, int, int]]:
    """The last hours, oldest first: start time, calls and errors of each."""
    last = int(now) // _HOUR
    sql = "SELECT hour, calls, errors FROM call_hours WHERE hour > ? AND hour <= ?"
    found = {row[0]: (row[1], row[2]) for row in rows.all(sql, last - hours, last)}
    return [(float(hour * _HOUR), *found.get(hour, (0, 0))) for hour in range(last - hours + 1, last + 1)]


def add_totals(tx: Transaction, totals: dict[CallKey, list[int]]) -> None:
    """Add to the stored totals, in key order, so that two processes cannot deadlock."""
    tx.run_many(_ADD, [(*key, *totals[key]) for key in sorted(totals)])


def read_totals(rows: Rows) -> list[CallTotal]:
    """Every total, by room, tool and outcome."""
    found = rows.all(_TOTALS)
    return [CallTotal(row[0], row[1], row[2], row[3], row[4] / 1e6, tuple(row[5:])) for row in found]
