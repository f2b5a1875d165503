"""Which part of a filter an index answers, so that the statement can be written for it.

SQLite has no statistics, takes every column of an index for equally selective, and would as soon walk the index over
whole pairs as look a value up in the property's own. PostgreSQL has none of partial indexes, takes every list and range
for a large one, and would walk along the ids until it has met enough.
"""

from pentad.rooms.registers.query.tree import And, Compare, Filter, In, Instant, Scope


def looks_up(scope: Scope, wanted: Filter | None) -> bool:
    """Whether some part that must hold is answered by the index of a property."""
    match wanted:
        case And():
            return any(looks_up(scope, part) for part in wanted.parts)
        case Compare(op="eq" | "gt" | "gte" | "lt" | "lte") | In(negated=False):
            return wanted.path in scope.indexed
        case _:
            return False


def value_looked_up(scope: Scope, wanted: Filter | None) -> Compare | None:
    """The part that asks for one value of an indexed property, if there is one."""
    for part in wanted.parts if isinstance(wanted, And) else (wanted,):
        if isinstance(part, Compare) and part.op == "eq" and part.value is not None and part.path in scope.indexed:
            return part
    return None


def may_find_few(scope: Scope, wanted: Filter | None) -> bool:
    """Whether a list or a range is answered by the index of a property."""
    match wanted:
        case And():
            return any(may_find_few(scope, part) for part in wanted.parts)
        case Compare(op="gt" | "gte" | "lt" | "lte") | In(negated=False):
            return wanted.path in scope.indexed
        case _:
            return False


def listed_look_up(scope: Scope, wanted: Filter | None) -> tuple[In, Filter | None] | None:
    """The list of texts, of numbers or of moments that is to be looked up one by one, and the rest of the filter.

    None where there is none, or where a single value is looked up anyway.
    """
    parts = wanted.parts if isinstance(wanted, And) else (wanted,) if wanted is not None else ()
    if any(isinstance(part, Compare) and part.op == "eq" and part.path in scope.indexed for part in parts):
        return None
    for place, part in enumerate(parts):
        if isinstance(part, In) and not part.negated and part.path in scope.indexed and _of_one_kind(part):
            rest = (*parts[:place], *parts[place + 1 :])
            return part, And(rest) if rest else None
    return None


def _of_one_kind(wanted: In) -> bool:
    texts = sum(isinstance(value, str) and "\0" not in value for value in wanted.values)
    numbers = sum(isinstance(value, int | float) and not isinstance(value, bool) for value in wanted.values)
    moments = sum(isinstance(value, Instant) for value in wanted.values)
    return bool(wanted.values) and len(wanted.values) in (texts, numbers, moments)
