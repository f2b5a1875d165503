"""Queries as a caller may put them: over the properties it may see, and no others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.models import Caller, Pair
from pentad.rooms.registers.query.parameters import parse_parameters
from pentad.rooms.registers.query.parse import parse_query
from pentad.rooms.registers.query.parse_aggregate import parse_aggregate
from pentad.rooms.registers.query.targets import Declared, Known
from pentad.rooms.registers.query.tree import AggregateQuery, Query


@dataclass(frozen=True, slots=True)
class Visible:
    """The part of a schema a caller may see."""

    properties: Mapping[str, Declared]


def visible(access: AccessRules, caller: Caller, pair: Pair, *, searching: bool = False) -> Known:
    """What the caller may name in a query on the pair; what is hidden is as unknown as what does not exist."""
    hidden = access.hidden(caller, pair)
    if not hidden:
        return pair.definition
    if searching:
        raise InvalidInput(
            f"{pair.label} has properties hidden from you, which a search by words would look into.",
            hint="Use a filter with like or contains on what you may see.",
        )
    rest = {name: facts for name, facts in pair.definition.properties.items() if name not in hidden}
    if not rest:
        raise InvalidInput(f"{pair.label} has no property you may query.", hint="Get objects by their uuid.")
    return Visible(rest)


def query_of(access: AccessRules, caller: Caller, pair: Pair, raw: Mapping[str, Any]) -> Query:
    """A query from JSON members."""
    return parse_query(visible(access, caller, pair, searching=bool(raw.get("search"))), raw)


def parameters_of(access: AccessRules, caller: Caller, pair: Pair, pairs: Iterable[tuple[str, str]]) -> Query:
    """A query from the parameters of a URL."""
    given = list(pairs)
    searching = any(name == "_search" and value for name, value in given)
    return parse_parameters(visible(access, caller, pair, searching=searching), given)


def aggregate_of(access: AccessRules, caller: Caller, pair: Pair, raw: Mapping[str, Any]) -> AggregateQuery:
    """An aggregation from JSON members."""
    return parse_aggregate(visible(access, caller, pair, searching=bool(raw.get("search"))), raw)
