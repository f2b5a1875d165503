"""Turns answers into rows for `row_query.py`: figures with their labels and limits, or the items they count.

Most figures exist for a group and again for each of its environments. A query uses one level, so sums count once.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec.structs

from pentad.rooms.metrics.engine.query_engine import Answer
from pentad.rooms.metrics.engine.row_query import METRIC, STATE, UNIT, VALUE, Row
from pentad.rooms.metrics.loaders.prometheus_text import level_of
from pentad.rooms.metrics.models import Info, Item, Labels, Metric, Query

FIGURE_COLUMNS: Final = (VALUE, UNIT, STATE)
ITEM_COLUMNS: Final = (STATE,)
"""Columns that rows have only if they are needed."""
_TYPES: Final = {"production": "Production", "sandbox": "Sandbox"}


def with_limits(info: Info, query: Query) -> Query:
    """The query with the figures that limit those it asks for."""
    if query.keys is None:
        return query
    asked = set(query.keys)
    limits = {metric.limit for metric in info.catalogue if metric.key in asked and metric.limit}
    keys = tuple(metric.key for metric in info.catalogue if metric.key in asked | limits)
    return msgspec.structs.replace(query, keys=keys)


def figure_rows(answer: Answer, keys: Collection[str]) -> list[Row]:
    """One row per figure of these keys."""
    metrics = {metric.key: metric for metric in answer.info.catalogue}
    values = {(sample.key, sample.labels): sample.value for sample in answer.snapshot.samples}
    rows: list[Row] = []
    for sample in answer.snapshot.samples:
        if sample.key in keys:
            row = _named(answer.info.id, sample.key, sample.labels)
            row[VALUE] = sample.value
            level = level_of(sample.labels)
            row |= _share(metrics.get(sample.key), sample.value, sample.labels, values)
            row |= {UNIT: sample.unit} if sample.unit else {}
            row |= {"level": level} if level else {}
            rows.append(row if sample.state == "ok" else {**row, STATE: sample.state})
    return rows


def item_rows(info: Info, items: Iterable[Item]) -> list[Row]:
    """One row per item."""
    rows: list[Row] = []
    for item in items:
        row: Row = {"name": item.name, "kind": item.kind, **_named(info.id, item.key, item.labels)}
        row |= {name: value for name, value in item.details.items() if value is not None}
        rows.append(row if item.state == "ok" else {**row, STATE: item.state})
    return rows


def _named(collector: str, key: str, labels: Labels) -> Row:
    steps = key.split(".")
    kind = next((_TYPES[step] for step in steps if step in _TYPES), None)
    metric = ".".join(step for step in steps if step not in _TYPES)
    typed = {"environmentType": kind} if kind else {}
    return {"collector": collector, METRIC: metric, "key": key, **typed, **dict(labels)}


def _share(
    metric: Metric | None, value: Any, labels: Labels, values: Mapping[tuple[str, Labels], Any]
) -> Row:  # fmt: skip
    """The limit of a figure, and its share of it."""
    limit = values.get((metric.limit, labels)) if metric is not None and metric.limit else None
    if not isinstance(limit, int | float):
        return {}
    if not isinstance(value, int | float) or not limit:
        return {"limit": limit}
    return {"limit": limit, "percent": round(100 * value / limit, 1)}


def at_one_level(rows: Sequence[Row], named: Collection[str], level: str | None) -> list[Row]:
    """The rows of one level per key: the given level, the one that the named columns imply, or that of groups."""
    by_key: dict[str, list[Row]] = {}
    for row in rows:
        by_key.setdefault(row["key"], []).append(row)
    kept: list[Row] = []
    for some in by_key.values():
        chosen = level or _implied_level(some, named)
        kept += some if chosen is None else [row for row in some if row.get("level") == chosen]
    return kept


def _implied_level(rows: Sequence[Row], named: Collection[str]) -> str | None:
    there = {row.get("level") for row in rows}
    if "environmentName" in named and "environment" in there:
        return "environment"
    if "id" in named and "region" in there:
        return "region"
    if "environmentType" in named and "environmentType" not in rows[0] and "environment" in there:
        return "environment"
    return "group" if "group" in there else None
