"""The SQL of the history tables: series, samples, and roll-ups of older samples.

The package `history` decides what is recorded, and for how long.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from pentad.kernel.ports import Row, Rows, Transaction
from pentad.rooms.metrics.models import Kind, Labels, Scalar, State

HOUR: Final = 3_600
DAY: Final = 86_400
_SERIES: Final = "d.id, d.collector, d.scope, d.key, d.labels, d.kind, d.unit"
_SAMPLES: Final = "FROM metric_samples m WHERE m.series = d.id"
_HOURS: Final = f"FROM metric_rollups r WHERE r.series = d.id AND r.step = {HOUR}"
_DAYS: Final = f"FROM metric_rollups r WHERE r.series = d.id AND r.step = {DAY}"
_ROLLUP: Final = "samples, lowest, highest, total, first, last, rise, last_at"


class Series(msgspec.Struct, frozen=True):
    """One metric of one scope with one set of labels, over time."""

    id: int
    collector: str
    scope: str
    key: str
    labels: Labels
    kind: Kind
    unit: str | None


class Point(msgspec.Struct, frozen=True):
    """A summary of the samples in a span of time that begins at `at`; a single sample has the span 0."""

    at: float
    samples: int
    lowest: float
    highest: float
    total: float
    first: float
    last: float
    rise: float
    last_at: float
    span: int = 0

    @property
    def mean(self) -> float:
        return self.total / self.samples


class Latest(msgspec.Struct, frozen=True):
    """The last value of a series at some time."""

    series: Series
    at: float
    value: Scalar
    state: State


def label_text(labels: Labels) -> str:
    return msgspec.json.encode(dict(sorted(labels))).decode()


def sample_point(at: float, value: float) -> Point:
    """One sample as a point."""
    return Point(at, 1, value, value, value, value, value, 0.0, at)


def series_ids(
    transaction: Transaction, collector: str, scope: str, wanted: Mapping[tuple[str, str], tuple[Kind, str | None]]
) -> dict[tuple[str, str], int]:
    """The ids of series by key and label text; new series are created."""
    known = _ids(transaction, collector, scope)
    new = [(collector, scope, key, text, *wanted[key, text]) for key, text in wanted if (key, text) not in known]
    if new:
        transaction.run_many(
            "INSERT INTO metric_series (collector, scope, key, labels, kind, unit) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (collector, scope, key, labels) DO NOTHING",
            new,
        )
        known = _ids(transaction, collector, scope)
    return known


def _ids(rows: Rows, collector: str, scope: str) -> dict[tuple[str, str], int]:
    found = rows.all(
        "SELECT key, labels, id FROM metric_series WHERE collector = ? AND scope = ?", collector, scope
    )  # fmt: skip
    return {(key, text): number for key, text, number in found}


def add_samples(transaction: Transaction, rows: Iterable[Sequence[int | float | str | None]]) -> None:
    """Add rows of series, time, value, text, state; existing ones stay."""
    transaction.run_many(
        "INSERT INTO metric_samples (series, at, value, text, state) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (series, at) DO NOTHING",
        rows,
    )


def find_series(
    rows: Rows, collector: str, *, scope: str | None = None, keys: Sequence[str] | None = None
) -> list[Series]:
    """The series of a collector, of these keys if any are given."""
    sql = f"SELECT {_SERIES} FROM metric_series d WHERE d.collector = ?"  # noqa: S608  constants
    params: list[str] = [collector]
    if scope is not None:
        sql += " AND d.scope = ?"
        params.append(scope)
    found = [_series(row) for row in rows.all(sql + " ORDER BY d.scope, d.key, d.labels", *params)]
    return found if keys is None else [one for one in found if one.key in set(keys)]


def scopes(rows: Rows, collector: str) -> list[str]:
    """The scopes of a collector that have a history."""
    found = rows.all("SELECT DISTINCT scope FROM metric_series WHERE collector = ? ORDER BY scope", collector)
    return [scope for (scope,) in found]


def collectors(rows: Rows) -> list[str]:
    """The collectors that have a history."""
    return [name for (name,) in rows.all("SELECT DISTINCT collector FROM metric_series ORDER BY collector")]


def first(rows: Rows, collector: str) -> float | None:
    """When the history of a collector begins."""
    moments = [
        rows.value(f"SELECT min(({of})) FROM metric_series d WHERE d.collector = ?", collector)  # noqa: S608  own words
        for of in (f"SELECT min(m.at) {_SAMPLES}", f"SELECT min(r.at) {_HOURS}", f"SELECT min(r.at) {_DAYS}")
    ]
    return min((at for at in moments if at is not None), default=None)


def has_record(rows: Rows, moment: float, collector: str | None = None) -> bool:
    """Whether anything was recorded before this time, by any collector or by this one."""
    of = "" if collector is None else "d.collector = ? AND "
    tables = ((_SAMPLES, "m"), (_HOURS, "r"), (_DAYS, "r"))
    recorded = " OR ".join(f"EXISTS (SELECT 1 {table} AND {name}.at <= ?)" for table, name in tables)
    sql = f"SELECT 1 FROM metric_series d WHERE {of}({recorded}) LIMIT 1"  # noqa: S608  own words
    return rows.one(sql, *([] if collector is None else [collector]), *[moment] * len(tables)) is not None


def first_number(rows: Rows, series: int) -> float | None:
    """When the first number of a series was recorded; of a roll-up, when its time begins."""
    moments = [
        rows.value("SELECT min(at) FROM metric_samples WHERE series = ? AND text IS NULL", series),
        rows.value("SELECT min(at) FROM metric_rollups WHERE series = ? AND step = ?", series, HOUR),
        rows.value("SELECT min(at) FROM metric_rollups WHERE series = ? AND step = ?", series, DAY),
    ]
    return min((at for at in moments if at is not None), default=None)


def points(rows: Rows, series: int, begin: float, end: float) -> list[Point]:
    """The points of a series from `begin` to before `end`, oldest first, from samples and roll-ups."""
    rolled = rows.all(
        f"SELECT at, {_ROLLUP}, step FROM metric_rollups"  # noqa: S608  constants
        " WHERE series = ? AND at > ? - step AND at < ? ORDER BY at, step DESC",
        series, begin, end,
    )  # fmt: skip
    raw = rows.all(
        "SELECT at, value FROM metric_samples WHERE series = ? AND at >= ? AND at < ? AND text IS NULL ORDER BY at",
        series, begin, end,
    )  # fmt: skip
    found = [Point(*row) for row in rolled] + [sample_point(at, value) for at, value in raw]
    return sorted(found, key=lambda point: point.at)


class Gap(msgspec.Struct, frozen=True):
    """A stretch of time without a number. It has no end while it lasts."""

    begin: float
    end: float | None
    reason: State


def gaps(rows: Rows, series: int, begin: float, end: float) -> list[Gap]:
    """The gaps of a series that overlap with this time, oldest first. Neighbours with the same reason are one."""
    found = rows.all(
        "SELECT began, ended, reason FROM metric_gaps WHERE series = ? AND began < ? AND (ended IS NULL OR ended > ?)"
        " ORDER BY began",
        series, end, begin,
    )  # fmt: skip
    merged: list[Gap] = []
    for gap in (Gap(*row) for row in found):
        if merged and merged[-1].end == gap.begin and merged[-1].reason == gap.reason:
            merged[-1] = Gap(merged[-1].begin, gap.end, gap.reason)
        else:
            merged.append(gap)
    return merged


def open_gaps(rows: Rows, collector: str, scope: str) -> dict[int, State]:
    """The reasons of the gaps that last, by series."""
    found = rows.all(
        "SELECT g.series, g.reason FROM metric_gaps g JOIN metric_series d ON d.id = g.series"
        " WHERE d.collector = ? AND d.scope = ? AND g.ended IS NULL",
        collector, scope,
    )  # fmt: skip
    return dict(found)


def numeric_series(rows: Rows, collector: str, scope: str) -> set[int]:
    """The ids of the series of a scope that have numbers."""
    found = rows.all(
        "SELECT id FROM metric_series WHERE collector = ? AND scope = ? AND kind IN ('gauge', 'counter')",
        collector, scope,
    )  # fmt: skip
    return {series for (series,) in found}


def begin_gaps(transaction: Transaction, reasons: Mapping[int, State], at: float, until: float | None = None) -> None:
    """Begin gaps, or add them whole if `until` is given."""
    transaction.run_many(
        "INSERT INTO metric_gaps (series, began, ended, reason) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (series, began) DO NOTHING",
        [(series, at, until, reason) for series, reason in reasons.items()],
    )


def end_gaps(transaction: Transaction, series: Iterable[int], at: float) -> None:
    """End the gaps of these series that last. A gap that began at this very moment was none."""
    ids = [(at, one) for one in series]
    transaction.run_many("UPDATE metric_gaps SET ended = ? WHERE series = ? AND ended IS NULL", ids)
    transaction.run_many("DELETE FROM metric_gaps WHERE began = ? AND series = ? AND ended <= began", ids)


def texts(rows: Rows, series: int, begin: float, end: float) -> list[tuple[float, Scalar]]:
    """The values of a text series, at each time it changed."""
    found = rows.all(
        "SELECT at, text FROM metric_samples WHERE series = ? AND at >= ? AND at < ? AND text IS NOT NULL ORDER BY at",
        series, begin, end,
    )  # fmt: skip
    return [(at, msgspec.json.decode(text)) for at, text in found]


def latest_texts(rows: Rows, collector: str, scope: str) -> dict[int, str]:
    """The last values of the text series of a scope, as JSON, by series id."""
    found = rows.all(
        "SELECT m.series, m.text FROM metric_series d JOIN metric_samples m ON m.series = d.id"
        " AND m.at = (SELECT max(x.at) FROM metric_samples x WHERE x.series = d.id AND x.text IS NOT NULL)"
        " WHERE d.collector = ? AND d.scope = ? AND d.kind IN ('text', 'list') AND m.text IS NOT NULL",
        collector, scope,
    )  # fmt: skip
    return dict(found)


def samples_at(rows: Rows, collector: str, scope: str, at: float) -> list[Row]:
    """The numbers recorded at exactly that time: key, labels as text, scope, unit, value."""
    return rows.all(
        "SELECT d.key, d.labels, d.scope, d.unit, m.value FROM metric_samples m JOIN metric_series d ON d.id = m.series"
        " WHERE m.at = ? AND d.collector = ? AND d.scope = ? AND m.value IS NOT NULL ORDER BY d.key, d.labels",
        at, collector, scope,
    )  # fmt: skip


def latest(rows: Rows, collector: str, scope: str | None = None, at: float | None = None) -> list[Latest]:
    """The last value of each series at that time, or now; in a gap there is none, and the state is its reason."""
    moment = float("9e15") if at is None else at
    where = "d.collector = ?" + ("" if scope is None else " AND d.scope = ?")
    params = [collector] if scope is None else [collector, scope]
    fresh = rows.all(
        f"SELECT {_SERIES}, m.at, m.value, m.text, m.state FROM metric_series d JOIN metric_samples m"  # noqa: S608  own columns
        " ON m.series = d.id AND m.at = (SELECT max(x.at) FROM metric_samples x WHERE x.series = d.id AND x.at <= ?)"
        f" WHERE {where} ORDER BY d.scope, d.key, d.labels",
        moment, *params,
    )  # fmt: skip
    rolled = rows.all(
        f"SELECT {_SERIES}, m.last_at, m.last, NULL, 'ok' FROM metric_series d JOIN metric_rollups m"  # noqa: S608  own columns
        " ON m.series = d.id AND m.last_at = (SELECT max(x.last_at) FROM metric_rollups x"
        "   WHERE x.series = d.id AND x.last_at <= ?)"
        f" WHERE {where} ORDER BY d.scope, d.key, d.labels, m.step",
        moment, *params,
    )  # fmt: skip
    found = {row[0]: _latest(row) for row in rolled}
    found.update({row[0]: _latest(row) for row in fresh})
    missing = rows.all(
        f"SELECT {_SERIES}, g.began, NULL, NULL, g.reason FROM metric_series d JOIN metric_gaps g ON g.series = d.id"  # noqa: S608  own columns
        f" AND g.began <= ? AND (g.ended IS NULL OR g.ended > ?) WHERE {where}",
        moment, moment, *params,
    )  # fmt: skip
    for one in map(_latest, missing):
        value = found.get(one.series.id)
        if value is None or value.at < one.at or (value.at == one.at and moment > one.at):
            found[one.series.id] = one
    return sorted(found.values(), key=lambda one: (one.series.scope, one.series.key, one.series.labels))


def _series(row: Row) -> Series:
    labels: Labels = tuple(msgspec.json.decode(row[4], type=dict[str, str]).items())
    return Series(row[0], row[1], row[2], row[3], labels, row[5], row[6])


def _latest(row: Row) -> Latest:
    at, value, text, state = row[7:]
    return Latest(_series(row), at, msgspec.json.decode(text) if text is not None else value, state)
