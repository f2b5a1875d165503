"""Queries from URL parameters, as OpenRegister's clients write them.

    ?status=open&price[gte]=5&tags[]=a&tags[]=b&@self[created][gt]=2026-01-01&_order[price]=desc&_limit=10

A leading underscore marks a control parameter or a short metadata name (`_created[gt]`, `_order[_name]`, `_ids`);
unknown ones are reported as ignored. Everything else is a filter, and its text is read as the property's kind.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.query.filters import Operator, ValueReader, build_comparison, read_operator
from pentad.rooms.registers.query.metadata import COLUMNS, HEADINGS, SELF
from pentad.rooms.registers.query.models import And, Filter, Query
from pentad.rooms.registers.query.parser import parse_query
from pentad.rooms.registers.query.query_fields import QueryField, QuerySchema, resolve_field
from pentad.rooms.registers.query.relative_times import has_relative

_CONTROLS: Final = {
    "_limit": "limit",
    "_offset": "offset",
    "_page": "page",
    "_cursor": "cursor",
    "_search": "search",
    "_count": "count",
    "_includeDeleted": "include_deleted",
    "_asOf": "as_of",
}
_SHAPING: Final = frozenset({"_extend", "_unset", "_empty"})
"""Parameters that shape the returned objects without selecting any."""
_UNSUPPORTED: Final = {
    "_fuzzy": "Use _search; a schema whose configuration.search is hybrid is searched by meaning too.",
    "_uses": "Filter by the relation itself: relation=<uuid>.",
    "_relations_contains": "Filter by the relation itself: relation=<uuid>.",
    "_views": "Ask for a saved view by its own address.",
    "_aggregations": "POST the aggregation to search/aggregate.",
    "_updatedSince": "Use _updated[gt].",
}
_LISTS: Final = {"_fields": "fields", "_facets": "facets", "_filter": "filter", "_order": "sort"}
_BARE: Final = {name: control for control, name in (*_CONTROLS.items(), *_LISTS.items())} | {"order": "_order"}
"""Control parameters, by their name in a JSON query."""
_SHORT: Final = frozenset((*COLUMNS, *HEADINGS))
_MOST_PARAMETERS: Final = 500
_BRACKETS: Final = re.compile(r"\[([^\[\]]*)\]")
_NULLS: Final = {"IS NULL": "eq", "IS NOT NULL": "ne"}


def parse_parameters(schema: QuerySchema, pairs: Iterable[tuple[str, str]], now: float) -> Query:
    """Parse the query in a URL's parameters; relative times are relative to `now`."""
    controls: dict[str, Any] = {}
    filters: dict[tuple[str, Operator], list[str]] = {}
    ignored: list[str] = []
    for number, (given, value) in enumerate(pairs):
        if number >= _MOST_PARAMETERS:
            raise InvalidInput(f"The query has more than {_MOST_PARAMETERS} parameters.")
        if given == "_deleted" and value in ("include", "only") and given not in schema.properties:
            _set_once(controls, "deleted", given, value)
            continue
        name = _expand_short_name(schema, given)
        _refuse_bare(schema, name)
        if not name.startswith("_") or name in schema.properties:
            filters.setdefault(_place(schema, name), []).append(value)
        elif not _read_control(controls, name, value) and name.partition("[")[0] not in _SHAPING:
            _refuse_unsupported(name, value)
            ignored.append(name)
    reader = ValueReader(now, text=True)
    conditions = [_condition(resolve_field(schema, name), op, values, reader) for (name, op), values in filters.items()]
    query = parse_query(schema, controls, now, related=True)
    if query.filter is not None:
        conditions.append(query.filter)
    criteria = None if not conditions else conditions[0] if len(conditions) == 1 else And(tuple(conditions))
    written = [*filters.items(), controls.get("filter"), controls.get("as_of")]
    is_relative = query.as_written is not None or any(map(has_relative, filters.values()))
    return replace(
        query, filter=criteria, ignored=tuple(ignored), as_written=repr(written) if is_relative else None
    )  # fmt: skip


def _expand_short_name(schema: QuerySchema, name: str) -> str:
    """Expand `_created[gt]` to `@self[created][gt]`; a property with that name takes precedence."""
    plain, bracket, rest = name.partition("[")
    if not plain.startswith("_") or plain in schema.properties:
        return name
    if plain == "_ids":
        return f"{SELF}[id][in]"
    return f"{SELF}[{plain[1:]}]{bracket}{rest}" if plain[1:] in _SHORT else name


def _read_control(controls: dict[str, Any], name: str, value: str) -> bool:
    """Read one control parameter; False if it is not one. Lists may come in several parts."""
    plain = name.partition("[")[0]
    if plain in _CONTROLS:
        _set_once(controls, _CONTROLS[plain], plain, value)
        return True
    member = _LISTS.get(plain)
    if member is None:
        return False
    inner: list[str] = _BRACKETS.findall(name)
    given = _json(name, value) if value.lstrip().startswith(("{", "[")) else None
    if member == "sort":
        order = {_sorted_by(inner): value} if inner and inner[0] else _order(name, value if given is None else given)
        controls.setdefault("sort", {}).update(order)
    elif member == "facets":
        controls.setdefault("facets", {}).update(_facets(name, value if given is None else given))
    elif member == "filter" and given is not None:
        controls["filter"] = {"$and": [controls["filter"], given]} if "filter" in controls else given
    else:  # OpenRegister's clients also select fields with `_filter`
        controls.setdefault("fields", []).extend(_names(name, value if given is None else given))
    return True


def _set_once(controls: dict[str, Any], member: str, parameter: str, value: str) -> None:
    if member in controls:
        raise InvalidInput(f"{parameter} is there more than once.", hint="Send it once.")
    controls[member] = value


def _names(parameter: str, given: Any) -> list[str]:
    """Comma-separated names, or a JSON list of names."""
    if isinstance(given, str):
        return [one.strip() for one in given.split(",") if one.strip()]
    if not isinstance(given, list) or not all(isinstance(one, str) for one in cast("list[Any]", given)):
        raise InvalidInput(f"{parameter} must be names.", hint="Write them with commas between them.")
    return cast("list[str]", given)


def _facets(parameter: str, given: Any) -> dict[str, Any]:
    if isinstance(given, dict):
        return cast("dict[str, Any]", given)
    return dict.fromkeys(_names(parameter, given))


def _order(parameter: str, given: Any) -> dict[str, Any]:
    """A sort order: `-price,name` as text or a JSON list, or a JSON object with the direction of each name."""
    if isinstance(given, dict):
        return cast("dict[str, Any]", given)
    names = _names(parameter, given)
    return {_sorted_by([one.removeprefix("-")]): "desc" if one.startswith("-") else "asc" for one in names}


def _refuse_bare(schema: QuerySchema, name: str) -> None:
    """Refuse names like `filter`: without the underscore it would filter by a property with that name."""
    plain = name.partition("[")[0].partition(".")[0]
    if plain in _BARE and plain not in schema.properties:
        raise InvalidInput(
            f"There is no property {plain!r} to filter by.",
            hint=f"Write {_BARE[plain]}, or the property itself: status=open, price[gte]=5.",
        )


def _refuse_unsupported(name: str, value: str) -> None:
    """Refuse an unsupported OpenRegister parameter that selects objects: ignoring it would return wrong ones."""
    instead = _UNSUPPORTED.get(name.partition("[")[0])
    if instead is not None and value.lower() not in ("", "0", "false", "no"):
        raise InvalidInput(f"{name[:80]} is not known here.", hint=instead)


def _sorted_by(inner: list[str]) -> str:
    by = ".".join(inner)
    return f"{SELF}.{by[1:]}" if by.startswith("_") and by[1:] in _SHORT else by


def _json(name: str, value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise InvalidInput(f"{name} is not valid JSON.", hint="Write it as JSON, URL-encoded.") from None


def _place(schema: QuerySchema, name: str) -> tuple[str, Operator]:
    """The dotted name and operator in `a[b][gte]`; a property with exactly that name takes precedence."""
    if name in schema.properties:
        return name, "eq"
    plain = name.partition("[")[0]
    inner: list[str] = _BRACKETS.findall(name)
    op: Operator = "eq"
    if inner and inner[-1] == "":
        inner.pop()
        op = "in"
    if inner and (found := read_operator(inner[-1])) is not None and ".".join((plain, *inner)) not in schema.properties:
        op = found
        inner.pop()
    return ".".join((plain, *inner)), op


def _condition(at: QueryField, op: Operator, values: list[str], reader: ValueReader) -> Filter:
    if len(values) == 1 and op == "eq" and values[0] in _NULLS:
        return build_comparison(at, "eq" if _NULLS[values[0]] == "eq" else "ne", None, reader)
    if op in ("in", "nin"):
        return build_comparison(at, op, values if len(values) > 1 else values[0], reader)
    if op in ("eq", "ne") and len(values) > 1:
        return build_comparison(at, "in" if op == "eq" else "nin", values, reader)
    parts = tuple(build_comparison(at, op, value, reader) for value in values)
    return parts[0] if len(parts) == 1 else And(parts)
