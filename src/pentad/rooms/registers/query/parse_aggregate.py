"""Aggregations from JSON.

{"metrics": {"n": "count", "worth": {"sum": "price"}}, "group_by": ["status", {"path": "due", "by": "month"}],
 "having": {"n": {"gte": 2}}, "sort": ["-worth"], "limit": 10, "filter": {...}}
"""

import math
from collections.abc import Mapping
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean
from pentad.rooms.registers.query.comparisons import operator
from pentad.rooms.registers.query.filters import parse_filter
from pentad.rooms.registers.query.parse import (
    FURTHEST,
    bounded,
    bucket_of,
    check_members,
    moment_of,
    ordered_kind,
    parse_search,
    timed_kind,
    whole,
)
from pentad.rooms.registers.query.targets import Known, target
from pentad.rooms.registers.query.tree import (
    DEFAULT_GROUPS,
    LARGEST_LIMIT,
    AggregateQuery,
    Function,
    GroupKey,
    Having,
    Metric,
)

FUNCTIONS: Final[tuple[Function, ...]] = ("count", "sum", "avg", "min", "max", "distinct")
_MEMBERS: Final = ("metrics", "group_by", "having", "sort", "limit", "offset", "filter", "search", "as_of")
_MOST_METRICS: Final = 20
_MOST_KEYS: Final = 5


def parse_aggregate(known: Known, raw: Mapping[str, Any]) -> AggregateQuery:
    """An aggregation from its JSON members. Without metrics it counts."""
    check_members(raw, _MEMBERS, "aggregation")
    search, as_of = parse_search(raw.get("search")), moment_of(raw.get("as_of"))
    if as_of is not None and search is not None:
        raise InvalidInput("The past cannot be searched by words.", hint="Use a filter with like or contains.")
    keys = _keys(known, raw.get("group_by"))
    metrics = _metrics(known, raw.get("metrics"))
    names = [*(key.name for key in keys), *(metric.name for metric in metrics)]
    if len(set(names)) < len(names):
        raise InvalidInput("Two figures or groups have one name.", hint="Give each metric a name of its own.")
    return AggregateQuery(
        metrics=metrics,
        filter=parse_filter(known, raw.get("filter")),
        search=search,
        group_by=keys,
        having=_having(metrics, raw.get("having")),
        sort=_sort(names, raw.get("sort")),
        limit=max(1, whole(raw.get("limit"), "limit", DEFAULT_GROUPS, LARGEST_LIMIT)),
        offset=whole(raw.get("offset"), "offset", 0, FURTHEST),
        as_of=as_of,
    )


def _metrics(known: Known, raw: Any) -> tuple[Metric, ...]:
    if raw is None or raw in ({}, []):
        return (Metric("count", "count"),)
    if not isinstance(raw, dict):
        raise InvalidInput("metrics must be an object.", hint='Write {"n": "count", "worth": {"sum": "price"}}.')
    asked = cast("dict[str, Any]", raw)
    bounded(list(asked), _MOST_METRICS, "metrics")
    return tuple(_metric(known, name, how) for name, how in asked.items())


def _metric(known: Known, name: str, how: Any) -> Metric:
    if how == "count":
        return Metric(name, "count")
    said = cast("dict[str, Any]", how) if isinstance(how, dict) else {}
    if len(said) != 1:
        raise InvalidInput(f"metrics.{name[:60]} must be one function.", hint='Write "count" or {"sum": "price"}.')
    (function, path), *_ = said.items()
    if function not in FUNCTIONS:
        guess = did_you_mean(function, FUNCTIONS)
        raise InvalidInput(
            f"There is no function {function[:40]!r}.{' ' + guess if guess else ''}",
            hint=f"Functions are {', '.join(FUNCTIONS)}.",
        )
    if not isinstance(path, str):
        raise InvalidInput(f"metrics.{name[:60]}.{function} takes the name of a property.")
    at = target(known, path)
    kind = ordered_kind(at, f"put into {function}")
    if (kind != "number" and function in ("sum", "avg")) or (kind == "boolean" and function in ("min", "max")):
        raise InvalidInput(f"{function} needs numbers; {at.name} is {at.described}.", hint="Use count or distinct.")
    return Metric(name, function, at.path, kind)


def _keys(known: Known, raw: Any) -> tuple[GroupKey, ...]:
    if raw is None or raw == "":
        return ()
    listed = cast("list[Any]", raw) if isinstance(raw, list) else [raw]
    bounded(listed, _MOST_KEYS, "group_by")
    return tuple(_key(known, one) for one in listed)


def _key(known: Known, raw: Any) -> GroupKey:
    said = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {"path": raw}
    check_members(said, ("path", "by"), "group")
    if not isinstance(said.get("path"), str):
        raise InvalidInput("group_by takes names.", hint='Write ["status"] or [{"path": "due", "by": "month"}].')
    at = target(known, said["path"])
    if said.get("by") is None:
        return GroupKey(at.name, at.path, ordered_kind(at, "grouped by"))
    return GroupKey(at.name, at.path, timed_kind(at), bucket_of(at, said["by"]))


def _having(metrics: tuple[Metric, ...], raw: Any) -> tuple[Having, ...]:
    if raw is None:
        return ()
    numbers = [metric.name for metric in metrics if metric.kind == "number" or metric.function in ("count", "distinct")]
    bounds: list[Having] = []
    for name, how in cast("dict[str, Any]", raw).items() if isinstance(raw, dict) else [("", None)]:
        if name not in numbers or not isinstance(how, dict):
            raise InvalidInput(
                f"having bounds the figures {', '.join(numbers)}; it says {name[:60]!r}.",
                hint='Write {"n": {"gte": 2}}.',
            )
        for sign, value in cast("dict[str, Any]", how).items():
            op = operator(sign)
            if op not in ("eq", "ne", "gt", "gte", "lt", "lte") or not _is_number(value):
                raise InvalidInput(f"having.{name[:60]} compares with a number, by eq, ne, gt, gte, lt or lte.")
            bounds.append(Having(name, op, value))
    return tuple(bounds)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _sort(names: list[str], raw: Any) -> tuple[tuple[str, bool], ...]:
    if raw is None:
        return ()
    listed = cast("list[Any]", raw) if isinstance(raw, list) else [raw]
    bounded(listed, _MOST_KEYS, "sort")
    for one in listed:
        if not isinstance(one, str) or one.removeprefix("-") not in names:
            raise InvalidInput(f"Groups are sorted by {', '.join(names)}.", hint='Write ["-n"].')
    return tuple((one.removeprefix("-"), one.startswith("-")) for one in cast("list[str]", listed))
