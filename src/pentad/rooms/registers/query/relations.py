"""Finds the relations in a query, and fills in the rights that apply to each when the query runs."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Final, TypeVar

from pentad.rooms.registers.query.models import (
    AggregateQuery,
    And,
    AnyElement,
    Filter,
    GroupKey,
    Histogram,
    Hop,
    Hops,
    Metric,
    Not,
    Or,
    Path,
    Query,
    Ranges,
    Related,
    Scope,
    Sort,
    Terms,
    filter_paths,
)

_UUID: Final[Path] = ("@self", "uuid")
ScopeOf = Callable[[int], Scope]
"""What the caller may read of a schema, in all registers."""
Q = TypeVar("Q", Query, AggregateQuery)
V = TypeVar("V", bound=Sort | Terms | Ranges | Histogram | GroupKey | Metric)


def bind_relations(query: Q, scope_of: ScopeOf) -> Q:
    """The query with rights and moment of every hop filled in; the same query if there are no hops."""
    if next(related_paths(query), None) is None:
        return query

    def bound(hop: Hop) -> Hop:
        return replace(hop, scope=scope_of(hop.schema), as_of=query.as_of)

    criteria = None if query.filter is None else _bind_filter(query.filter, bound)
    if isinstance(query, AggregateQuery):
        return replace(
            query,
            filter=criteria,
            group_by=tuple(_bind_value(one, bound) for one in query.group_by),
            metrics=tuple(_bind_value(one, bound) for one in query.metrics),
        )
    return replace(
        query,
        filter=criteria,
        sort=tuple(_bind_value(one, bound) for one in query.sort),
        facets=tuple(_bind_value(one, bound) for one in query.facets),
    )


def related_paths(query: Query | AggregateQuery) -> Iterator[tuple[int, Path]]:
    """All paths in related objects that a query names, with the schema of those objects."""
    yield from _paths_in(query.filter)
    values = (*query.group_by, *query.metrics) if isinstance(query, AggregateQuery) else (*query.sort, *query.facets)
    for one in values:
        for hop, further in zip_longest(one.hops, one.hops[1:]):
            yield from _named_by(hop)
            if further is None:
                yield hop.schema, one.path or _UUID
            elif not further.back:
                yield hop.schema, further.lists[0] if further.lists else further.path


def to_many(hops: Hops) -> bool:
    return any(hop.to_many for hop in hops)


def _paths_in(node: Filter | None) -> Iterator[tuple[int, Path]]:
    match node:
        case And() | Or():
            for part in node.parts:
                yield from _paths_in(part)
        case Not() | AnyElement():
            yield from _paths_in(node.part)
        case Related():
            yield from _named_by(node.hop)
            yield from ((node.hop.schema, path) for path in filter_paths(node.part))
            yield from _paths_in(node.part)
        case _:
            return


def _named_by(hop: Hop) -> Iterator[tuple[int, Path]]:
    yield hop.schema, hop.path if hop.back else _UUID


def _bind_filter(node: Filter, bound: Callable[[Hop], Hop]) -> Filter:
    match node:
        case And() | Or():
            return type(node)(tuple(_bind_filter(part, bound) for part in node.parts))
        case Not() | AnyElement():
            return replace(node, part=_bind_filter(node.part, bound))
        case Related():
            return Related(bound(node.hop), _bind_filter(node.part, bound))
        case _:
            return node


def _bind_value(one: V, bound: Callable[[Hop], Hop]) -> V:
    return replace(one, hops=tuple(map(bound, one.hops))) if one.hops else one
