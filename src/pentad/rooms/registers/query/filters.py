"""The filter language in JSON.

    {"status": "open", "price": {"gte": 5, "lt": 9}, "tags": ["a", "b"], "address.city": {"like": "de%"},
     "or": [{"due": null}, {"not": {"@self.owner": "user:ada"}}]}

Members of one object all have to hold. A list means "one of". Operators and and / or / not may have a dollar sign.
"""

from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.rooms.registers.query.comparisons import OPERATORS, Operator, operator, unknown_operator
from pentad.rooms.registers.query.elements import asked
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.targets import Known, target
from pentad.rooms.registers.query.tree import And, Filter, Not, Or

_DEEPEST: Final = 16
_MOST_PARTS: Final = 500
_LOGIC: Final = ("and", "or", "not")


def parse_filter(known: Known, raw: Any) -> Filter | None:
    """The filter a JSON value means; None for an empty one."""
    if raw is None or raw == {}:
        return None
    return _Reader(known).object(raw, "", 0)


class _Reader:
    """Reads one filter and counts its parts, so that a query cannot be larger than it may."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._parts = 0

    def object(self, raw: Any, prefix: str, depth: int) -> Filter:
        if not isinstance(raw, dict):
            raise InvalidInput(
                f"The filter{' of ' + prefix[:-1] if prefix else ''} must be an object.",
                hint='Write {"property": value} or {"property": {"gte": 5}}.',
            )
        if depth > _DEEPEST:
            raise LimitExceeded(f"The filter is nested deeper than {_DEEPEST} levels.", hint="Flatten it.")
        parts = [self._member(name, value, prefix, depth) for name, value in cast("dict[str, Any]", raw).items()]
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _member(self, name: str, value: Any, prefix: str, depth: int) -> Filter:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise LimitExceeded(f"The filter has more than {_MOST_PARTS} parts.", hint="Ask in several queries.")
        if name.removeprefix("$") in _LOGIC and (name.startswith("$") or prefix + name not in self._known.properties):
            return self._logic(name.removeprefix("$"), value, prefix, depth)
        if name == SELF and not prefix:
            return self.object(value, f"{SELF}.", depth + 1)
        at = target(self._known, prefix + name)
        if not isinstance(value, dict):
            return asked(at, "in" if isinstance(value, list) else "eq", value)
        members = cast("dict[str, Any]", value)
        found: dict[str, Operator] = {key: op for key in members if (op := operator(key)) is not None}
        if len(found) == len(members) and members:
            parts = [asked(at, op, members[key]) for key, op in found.items()]
            return parts[0] if len(parts) == 1 else And(tuple(parts))
        if found or not members or not (at.holds_object or at.kind is None) or at.many:
            stray = next((key for key in members if key not in found), None)
            if stray is None:
                raise InvalidInput(f"{at.name}: an empty object says nothing.", hint=f"Use {', '.join(OPERATORS)}.")
            raise unknown_operator(at.name, stray)
        return self.object(members, f"{prefix}{name}.", depth + 1)

    def _logic(self, word: str, value: Any, prefix: str, depth: int) -> Filter:
        if word == "not":
            return Not(self.object(value, prefix, depth + 1))
        if not isinstance(value, list):
            raise InvalidInput(f"{word!r} takes a list of filters.", hint=f'Write {{"{word}": [{{...}}, {{...}}]}}.')
        parts = tuple(self.object(one, prefix, depth + 1) for one in cast("list[Any]", value))
        return And(parts) if word == "and" else Or(parts)
