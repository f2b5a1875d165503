"""The health of each collector: the outcome of its last poll, since when, how long it took, how many calls it made.

The rows are in the store, so every process reports the same, no matter which one polled.
"""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec
import msgspec.structs

from pentad.kernel.ports import Rows, Transaction
from pentad.rooms.metrics.models import Metric, Sample

HealthState = Literal["ok", "partial", "failing", "late"]
"""`partial`: some facts failed. `failing`: the source was not reached. `late`: a poll is overdue."""

LATE_INTERVALS: Final = 2.5
LEAST_LATE: Final = 90.0
UP: Final = Metric(
    key="collector.up",
    description="Whether the last poll of this collector reached its source: 1 or 0.",
    formula="1 unless every request of the poll failed",
    better="higher",
    alarm=0,
)
"""A metric of every collector. The first failed poll raises its alert, because a poll already retries."""

_COLUMNS: Final = (
    "collector, scope, series_scope, state, since, tried_at, succeeded_at, seconds, facts_ok, facts_stale,"
    " facts_failed, polls, failures, calls, throttled, problem"
)


class PollOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one poll. `scope` is the requested scope, empty for the default."""

    scope: str
    state: Literal["ok", "partial", "failing"]
    at: float
    seconds: float = 0.0
    facts_ok: int = 0
    facts_stale: int = 0
    facts_failed: int = 0
    calls: int = 0
    throttled: int = 0
    problem: str | None = None

    def sample(self) -> Sample:
        """The outcome as a figure of the collector."""
        return Sample(key=UP.key, value=0 if self.state == "failing" else 1)


class CollectorHealth(msgspec.Struct, frozen=True):
    """The last poll of a collector, and totals of all polls. `since` is when the state began."""

    collector: str
    scope: str
    series_scope: str
    state: HealthState
    since: float
    tried_at: float
    succeeded_at: float | None
    seconds: float
    facts_ok: int
    facts_stale: int
    facts_failed: int
    polls: int
    failures: int
    calls: int
    throttled: int
    problem: str | None

    @property
    def name(self) -> str:
        """The name used in settings: the collector, with its scope after a slash."""
        return f"{self.collector}/{self.scope}" if self.scope else self.collector


def late_after(interval: float) -> float:
    """How many seconds without a poll count as late."""
    return max(LATE_INTERVALS * interval, interval + LEAST_LATE)


def read_health(rows: Rows) -> list[CollectorHealth]:
    """The health of every collector that was ever polled."""
    found = rows.all(f"SELECT {_COLUMNS} FROM metric_collector_health ORDER BY collector, scope")  # noqa: S608  constants
    return [CollectorHealth(*row) for row in found]


def last_poll(rows: Rows, collector: str, scope: str) -> CollectorHealth | None:
    """The last poll of one collector."""
    row = rows.one(
        f"SELECT {_COLUMNS} FROM metric_collector_health WHERE collector = ? AND scope = ?",  # noqa: S608  constants
        collector, scope,
    )  # fmt: skip
    return None if row is None else CollectorHealth(*row)


def write_outcome(
    transaction: Transaction, collector: str, series_scope: str, before: CollectorHealth | None, done: PollOutcome
) -> None:
    """Store the outcome of a poll."""
    has_changed = before is None or before.state != done.state
    has_failed = done.state == "failing"
    transaction.run(
        f"INSERT INTO metric_collector_health ({_COLUMNS})"  # noqa: S608  constants
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (collector, scope) DO UPDATE SET "
        + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS.split(", ")[2:]),
        collector, done.scope, series_scope, done.state,
        done.at if has_changed or before is None else before.since, done.at,
        (before.succeeded_at if before is not None else None) if has_failed else done.at, done.seconds,
        done.facts_ok, done.facts_stale, done.facts_failed,
        (before.polls if before is not None else 0) + 1, (before.failures if before is not None else 0) + has_failed,
        (before.calls if before is not None else 0) + done.calls,
        (before.throttled if before is not None else 0) + done.throttled, done.problem,
    )  # fmt: skip


def with_lateness(
    found: list[CollectorHealth], intervals: Mapping[str, float], now: float
) -> list[CollectorHealth]:  # fmt: skip
    """The health of regularly polled collectors; `late` where a poll is overdue."""
    polled = [one for one in found if one.name in intervals]
    return [
        msgspec.structs.replace(one, state="late", since=one.tried_at + intervals[one.name])
        if now - one.tried_at > late_after(intervals[one.name])
        else one
        for one in polled
    ]
