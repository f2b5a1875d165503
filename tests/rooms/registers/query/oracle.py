"""What a query means, in plain Python over plain objects: the referee between the two dialects."""

import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

from pentad.rooms.registers.query.models import (
    AggregateQuery,
    And,
    AnyElement,
    Bucket,
    Compare,
    Contains,
    Empty,
    Exists,
    Facet,
    Filter,
    Histogram,
    Hop,
    Hops,
    In,
    Instant,
    Kind,
    Like,
    Metric,
    Not,
    Or,
    Path,
    Query,
    Ranges,
    Related,
    Scalar,
    Scope,
    Sort,
    Terms,
)


@dataclass(frozen=True, slots=True)
class Thing:
    """An object as the tests put it into the store."""

    id: int
    uuid: str
    register: int
    schema: int
    version: int
    data: dict[str, Any]
    slug: str | None
    owner: str
    organisation: str
    created: float
    updated: float
    deleted: str | None = None


def found(things: Sequence[Thing], scope: Scope, query: Query) -> list[Thing]:
    """All objects a query asks for, in its order; its limit is not looked at."""
    chosen = within(things, scope, include_deleted=query.include_deleted)
    chosen = [thing for thing in chosen if query.filter is None or holds(query.filter, thing, things)]
    return sorted(chosen, key=functools.cmp_to_key(lambda a, b: _order(query.sort, a, b, things)))


def within(things: Sequence[Thing], scope: Scope, *, include_deleted: bool = False) -> list[Thing]:
    return [
        thing
        for thing in things
        if (scope.register is None or thing.register == scope.register)
        and (not scope.schemas or thing.schema in scope.schemas)
        and (scope.rule is None or holds(scope.rule, thing))
        and (include_deleted or thing.deleted is None)
    ]


def related(thing: Thing, hops: Hops, things: Sequence[Thing]) -> list[Thing]:
    """The things at the end of some hops, each once."""
    here = [thing]
    for hop in hops:
        here = list({far.id: far for near in here for far in _over(near, hop, things)}.values())
    return here


def _over(thing: Thing, hop: Hop, things: Sequence[Thing]) -> list[Thing]:
    assert hop.scope is not None
    readable = within(things, hop.scope)
    if not hop.back:
        return [far for far in readable if far.uuid in _references(thing, hop)]
    return [far for far in readable if thing.uuid in _references(far, hop)]


def _references(thing: Thing, hop: Hop) -> list[Any]:
    path = hop.path[:-1] if hop.path[-1] == "*" else hop.path
    value = at(thing, path)
    if not hop.many:
        return [value]
    return value if isinstance(value, list) else []


def values(thing: Thing, hops: Hops, path: Path, kind: Kind, things: Sequence[Thing]) -> list[Any]:
    """The values of a kind at a path in the related things."""
    found = [typed(at(far, path), kind) for far in related(thing, hops, things)]
    return [value for value in found if value is not None]


def holds(wanted: Filter, thing: Thing, things: Sequence[Thing] = ()) -> bool:  # noqa: C901  a case for each node
    match wanted:
        case And():
            return all(holds(part, thing, things) for part in wanted.parts)
        case Or():
            return any(holds(part, thing, things) for part in wanted.parts)
        case Not():
            return not holds(wanted.part, thing, things)
        case Related():
            return any(holds(wanted.part, far, things) for far in _over(thing, wanted.hop, things))
        case Compare():
            return _compare(at(thing, wanted.path), wanted.op, wanted.value)
        case In():
            value = at(thing, wanted.path)
            return any(_same(value, one) for one in wanted.values) is not wanted.negated
        case Exists():
            return (at(thing, wanted.path) is not None) is wanted.expected
        case Like():
            value = at(thing, wanted.path)
            return isinstance(value, str) and _shape(wanted.pattern).fullmatch(value) is not None
        case Empty():
            value = at(thing, wanted.path)
            return value == [] if wanted.holds == "array" else value == {}
        case AnyElement():
            value = at(thing, wanted.path)
            objects = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
            return any(holds(wanted.part, replace(thing, data=one), things) for one in objects)
        case Contains():
            value = at(thing, wanted.path)
            if isinstance(value, list):
                return any(_same(one, wanted.value) for one in value)
            return isinstance(value, str) and isinstance(wanted.value, str) and _low(wanted.value) in _low(value)


def at(thing: Thing, path: Path) -> Any:
    """The value at a path; None for null and for nothing."""
    if path[0] == "@self":
        return getattr(thing, "uuid" if path[1] == "id" else str(path[1]))
    value: Any = thing.data
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def typed(value: Any, kind: Kind) -> Any:
    if kind == "moment":
        return moment(value)
    return value if _kind(value) == kind else None


@dataclass(frozen=True, slots=True, order=True)
class When:
    """A moment; told as the text in UTC."""

    seconds: Fraction

    @property
    def text(self) -> str:
        whole = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=math.floor(self.seconds))
        digits = f"{int(self.seconds % 1 * 10**18):018d}".rstrip("0")
        return f"{whole.replace(tzinfo=None).isoformat()}{'.' if digits else ''}{digits}Z"


def moment(value: Any) -> When | None:
    """The moment a text of the generator says; by the calendar of Python's own."""
    shape = r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})"
    found = re.fullmatch(shape, value) if isinstance(value, str) else None
    if found is None:
        return None
    try:
        whole = datetime.fromisoformat(found[1] + found[3].replace("Z", "+00:00"))
    except ValueError:
        return None
    seconds = (whole - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    return When(seconds + Fraction(int(found[2] or 0), 10 ** len(found[2] or "")))


def told(value: Any) -> Any:
    return value.text if isinstance(value, When | Instant) else value


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else "null" if value is None else "other"


def _same(value: Any, wanted: Scalar) -> bool:
    if isinstance(wanted, Instant):
        return moment(value) is not None and moment(value) == moment(wanted.text)
    return _kind(value) == _kind(wanted) and value == wanted


def _compare(value: Any, op: str, wanted: Scalar) -> bool:
    if op in ("eq", "ne"):
        return _same(value, wanted) is (op == "eq")
    bound: Any = wanted
    if isinstance(wanted, Instant):
        value, bound = moment(value), moment(wanted.text)
        if value is None:
            return False
    elif _kind(value) != _kind(wanted) or _kind(wanted) not in ("text", "number"):
        return False
    tests: dict[str, Callable[[Any, Any], bool]] = {
        "gt": lambda a, b: a > b,
        "gte": lambda a, b: a >= b,
        "lt": lambda a, b: a < b,
        "lte": lambda a, b: a <= b,
    }
    return tests[op](value, bound)


def _low(text: str) -> str:
    return "".join(character.lower() if character.isascii() else character for character in text)


def _shape(pattern: str) -> re.Pattern[str]:
    written, characters = "", iter(pattern)
    for character in characters:
        if character == "\\":
            written += _letter(next(characters, "\\"))
        else:
            written += {"%": ".*", "_": "."}.get(character) or _letter(character)
    return re.compile(written, re.DOTALL)


def _letter(character: str) -> str:
    if character.isascii() and character.isalpha():
        return f"[{character.lower()}{character.upper()}]"
    return re.escape(character)


def _order(sort: Sequence[Sort], a: Thing, b: Thing, things: Sequence[Thing]) -> int:
    for key in sort:
        left, right = (next(iter(values(one, key.hops, key.path, key.kind, things)), None) for one in (a, b))
        if left == right:
            continue
        if left is None or right is None:
            return 1 if left is None else -1
        return (1 if left > right else -1) * (-1 if key.descending else 1)
    return (a.id - b.id) * (-1 if sort and sort[-1].descending else 1)


def facet(things: Sequence[Thing], asked: Facet, everything: Sequence[Thing] = ()) -> dict[str, Any]:
    match asked:
        case Terms():
            counts: Counter[Any] = Counter()
            for thing in things:
                if asked.hops:
                    counts.update(set(values(thing, asked.hops, asked.path, asked.kind, everything)))
                    continue
                value = at(thing, asked.path)
                found = (
                    {typed(one, asked.kind) for one in value if _kind(one) != "other"}
                    if (asked.many and isinstance(value, list))
                    else {None if asked.many else typed(value, asked.kind)}
                )
                counts.update(one for one in found if one is not None)
            ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
            buckets = [{"key": told(key), "count": count} for key, count in ordered[: asked.size]]
            return {"type": "terms", "buckets": buckets, "more": len(ordered) > asked.size}
        case Histogram():
            labels = Counter(
                label for thing in things if (label := bucket(day_at(thing, asked.path, asked.kind), asked.bucket))
            )
            latest = sorted(labels.items())[-asked.size :]
            buckets = [{"key": key, "count": count} for key, count in latest]
            return {"type": "histogram", "by": asked.bucket, "buckets": buckets, "more": len(labels) > asked.size}
        case Ranges():
            found = [one for thing in things for one in values(thing, asked.hops, asked.path, asked.kind, everything)]
            edges: list[Any] = [None, *asked.bounds, None]
            return {
                "type": "ranges",
                "buckets": [
                    {"from": told(low), "to": told(high), "count": sum(_inside(value, low, high) for value in found)}
                    for low, high in itertools.pairwise(edges)
                ],
            }


def _inside(value: Any, low: Any, high: Any) -> bool:
    low, high = (moment(one.text) if isinstance(one, Instant) else one for one in (low, high))
    return (low is None or value >= low) and (high is None or value < high)


def day_at(thing: Thing, path: Path, kind: Kind) -> Any:
    value = at(thing, path)
    if kind == "moment":
        found = moment(value)
        return None if found is None else found.text
    return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d") if path[0] == "@self" else value


def bucket(value: Any, by: Bucket) -> str | None:
    if not isinstance(value, str) or not re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        return None
    year, month, day = value[:4], value[5:7], value[8:10]
    if year == "0000" or not "01" <= month <= "12" or not "01" <= day <= "31":
        return None
    if by == "week":
        iso = (date(int(year), int(month), 1) + timedelta(days=int(day) - 1)).isocalendar()
        return f"{iso.year:04d}-W{iso.week:02d}"
    labels = {"day": value[:10], "month": value[:7], "quarter": f"{year}-Q{(int(month) + 2) // 3}", "year": year}
    return labels[by]


def groups(
    things: Sequence[Thing], query: AggregateQuery, everything: Sequence[Thing] = ()
) -> list[dict[str, Any]]:  # fmt: skip
    """All groups in order of their keys; having, sort and limit are looked at by the test."""
    found: dict[tuple[Any, ...], list[Thing]] = {} if query.group_by else {(): []}
    for thing in things:
        keys = [
            {bucket(day_at(thing, one.path, one.kind), one.bucket)}
            if one.bucket
            else set(values(thing, one.hops, one.path, one.kind, everything)) or {None}
            for one in query.group_by
        ]
        for key in itertools.product(*keys):
            found.setdefault(key, []).append(thing)
    ordered = sorted(found.items(), key=lambda pair: [(one is None, one if one is not None else 0) for one in pair[0]])
    return [
        {
            **{one.name: told(value) for one, value in zip(query.group_by, key, strict=True)},
            **{metric.name: figure(members, metric, everything) for metric in query.metrics},
        }
        for key, members in ordered
    ]


def figure(things: Sequence[Thing], metric: Metric, everything: Sequence[Thing] = ()) -> Any:
    if metric.path is None:
        return len(things)
    found = [one for thing in things for one in values(thing, metric.hops, metric.path, metric.kind, everything)]
    match metric.function:
        case "count":
            return len(found)
        case "distinct":
            return len(set(found))
        case "sum":
            return sum(found) if found else None
        case "avg":
            return sum(found) / len(found) if found else None
        case "min":
            return told(min(found, default=None))
        case "max":
            return told(max(found, default=None))


def close(one: Any, other: Any) -> bool:
    """Averages are rounded in other places."""
    return math.isclose(one, other, rel_tol=1e-12) if isinstance(other, float) and one is not None else one == other
