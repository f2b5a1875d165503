"""Queries as a caller may put them: over the properties it may see, and no others."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.query.models import AggregateQuery, Query
from pentad.rooms.registers.query.parser import parse_aggregate, parse_query
from pentad.rooms.registers.query.query_fields import QueryProperty, QuerySchema
from pentad.rooms.registers.query.url_parameters import parse_parameters


@dataclass(frozen=True, slots=True)
class Visible:
    """The part of a schema a caller may see."""

    properties: Mapping[str, QueryProperty]
    headings: Mapping[str, str | None]
    concealed: frozenset[str]


def visible(access: AccessRules, caller: Caller, pair: Pair) -> QuerySchema:
    """What the caller may name in a query on the pair; what is hidden is as unknown as what does not exist.

    Words may be searched whatever is hidden: what not everybody may read is not in the index.
    """
    hidden = access.hidden(caller, pair)
    if not hidden:
        return pair.definition
    rest = {name: facts for name, facts in pair.definition.properties.items() if name not in hidden}
    if not rest:
        raise InvalidInput(f"{pair.label} has no property you may query.", hint="Get objects by their uuid.")
    sources = pair.definition.headings
    hiding = pair.definition.headings_from(hidden)
    return Visible(rest, {name: source for name, source in sources.items() if name not in hiding}, hiding)


def query_of(access: AccessRules, caller: Caller, pair: Pair, raw: Mapping[str, Any]) -> Query:
    """A query from JSON members."""
    return parse_query(visible(access, caller, pair), raw)


def parameters_of(access: AccessRules, caller: Caller, pair: Pair, pairs: Iterable[tuple[str, str]]) -> Query:
    """A query from the parameters of a URL."""
    return parse_parameters(visible(access, caller, pair), pairs)


def aggregate_of(access: AccessRules, caller: Caller, pair: Pair, raw: Mapping[str, Any]) -> AggregateQuery:
    """An aggregation from JSON members."""
    return parse_aggregate(visible(access, caller, pair), raw)


def hidden_in(
    access: AccessRules, caller: Caller, pair_of: Callable[[int, int], Pair]
) -> Callable[[StoredObject], frozenset[str] | None] | None:
    """What of a stored object the caller may not be told: properties, or (None) all of it. None: nothing is hidden."""
    if access.is_free(caller):
        return None

    def hidden(stored: StoredObject) -> frozenset[str] | None:
        pair = pair_of(stored.register, stored.schema)
        seen = access.sees_object(caller, pair, stored)
        return access.hidden(caller, pair, stored.data, stored.owner) if seen else None

    return hidden
