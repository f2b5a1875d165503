"""Authorization blocks of registers, schemas and properties. Pure.

    {"read": ["public"], "update": ["writer", {"group": "authenticated", "match": {"assignee": {"$eq": "$userId"}}}]}

The rights create, read, update and delete apply to objects. `define` applies to the register or schema itself: it takes
only groups, and properties do not have it. A grant names a group and, optionally, conditions on the object. This module
decides what a block means for given groups and data; `rules.py` knows who is in which groups, and holds the rules for
owners, administrators and organisations.

Conditions compare like filters: a property declared as date-time is compared as a point in time.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean
from pentad.rooms.registers.query.datetimes import datetime_key, parse_instant
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.models import And, Compare, Exists, Filter, In, Instant, Not, Or, Path
from pentad.rooms.registers.query.query_fields import QueryField, QuerySchema, resolve_field

Right = Literal["create", "read", "update", "delete"]
RIGHTS: Final[tuple[Right, ...]] = ("create", "read", "update", "delete")
Grantable = Right | Literal["define"]
DEFINE: Final = "define"
Comparison = Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "exists"]
COMPARISONS: Final[tuple[Comparison, ...]] = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "exists")
PUBLIC: Final = "public"
AUTHENTICATED: Final = "authenticated"
_MOST_GRANTS: Final = 100
_MISSING: Final = object()

Variables = Mapping[str, str]
"""The values of `$userId` and `$organisation`."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Compares one property of an object with a value."""

    path: Path
    comparison: Comparison
    value: Any

    def holds(self, data: Mapping[str, Any], variables: Variables) -> bool:
        """Whether an object meets the condition. Types matter: 1 is neither "1" nor true. Null counts as missing."""
        found = _at(data, self.path)
        expected = _substituted(self.value, variables)
        match self.comparison:
            case "exists":
                return (found is not _MISSING and found is not None) is bool(expected)
            case "eq":
                return _same(found, expected)
            case "ne":
                return not _same(found, expected)
            case "in":
                return any(_same(found, one) for one in expected)
            case "nin":
                return not any(_same(found, one) for one in expected)
            case _:
                return _ordered(found, expected, self.comparison)

    @property
    def names_caller(self) -> bool:
        """Whether the condition depends on the caller."""
        return _substituted(self.value, {"$userId": ""}) != self.value

    def as_filter(self, variables: Variables) -> Filter:
        """The same condition as a filter for the store."""
        if self.path[0] == SELF:  # the store would read the name as metadata
            return And(()) if self.holds({}, variables) else Or(())
        expected = _substituted(self.value, variables)
        match self.comparison:
            case "exists":
                return Exists(self.path, bool(expected))
            case "in":
                return In(self.path, tuple(expected), False)
            case "nin":
                return Not(In(self.path, tuple(expected), False))
            case "ne":
                return Not(Compare(self.path, "eq", expected))
            case _:
                return Compare(self.path, self.comparison, expected)


@dataclass(frozen=True, slots=True)
class Grant:
    """A group and the conditions under which it has the right."""

    group: str
    match: tuple[Condition, ...] = ()

    def asks_about(self, names: Collection[str]) -> bool:
        """Whether a condition tests one of these properties."""
        return any(condition.path[0] in names for condition in self.match)


@dataclass(frozen=True, slots=True)
class Block:
    """The authorization block of a register, schema or property. It restricts only the rights it names."""

    grants: Mapping[Grantable, tuple[Grant, ...]]

    def covers(self, right: Grantable) -> bool:
        return right in self.grants

    def given(self, right: Grantable, groups: frozenset[str]) -> tuple[Grant, ...]:
        """The grants that give a right to one of the caller's groups."""
        return tuple(grant for grant in self.grants.get(right, ()) if grant.group in groups)

    def gives_all(self, right: Grantable, groups: frozenset[str]) -> bool:
        """Whether this block gives the caller the right on every object."""
        return not self.covers(right) or any(not grant.match for grant in self.given(right, groups))


NOTHING: Final = Block({})


def read_block(
    raw: Any, where: str, known: QuerySchema | None = None, *, strict: bool = False, of_property: bool = False
) -> Block:
    """Read a block from JSON, for objects of a known schema; InvalidInput says what is wrong and where.

    With `strict`, comparing a date-time with something else is an error; otherwise such a condition matches no object.
    """
    if not raw:
        return NOTHING
    rights: tuple[Grantable, ...] = RIGHTS if of_property else (*RIGHTS, DEFINE)
    if not isinstance(raw, dict):
        raise InvalidInput(f"{where}: authorization must be an object.", hint=f"Its keys are {', '.join(rights)}.")
    grants: dict[Grantable, tuple[Grant, ...]] = {}
    for name, listed in cast("dict[str, Any]", raw).items():
        if name not in rights:
            guess = did_you_mean(name, rights)
            raise InvalidInput(
                f"{where}: authorization has no right {name[:80]!r}.{' ' + guess if guess else ''}",
                hint=f"Rights are {', '.join(rights)}.",
            )
        if not isinstance(listed, list) or len(cast("list[Any]", listed)) > _MOST_GRANTS:
            raise InvalidInput(
                f"{where}: authorization.{name} must be a list of at most {_MOST_GRANTS} groups or rules.",
                hint='Write ["public"], or [{"group": "writer", "match": {"status": {"$eq": "open"}}}].',
            )
        if listed:
            reader = _Reader(f"{where}: authorization.{name}", known, strict)
            given = grants[cast("Grantable", name)] = tuple(reader.grant(one) for one in cast("list[Any]", listed))
            if name == DEFINE and any(grant.match for grant in given):
                raise InvalidInput(
                    f"{where}: authorization.define has a rule with conditions.",
                    hint="Name groups alone: a definition is not about one object.",
                )
    return Block(grants)


def is_public(raw: Any) -> bool:
    """Whether a block lets everybody read at least some objects."""
    listed = cast("dict[str, Any]", raw).get("read") if isinstance(raw, dict) else None
    groups = [
        cast("dict[str, Any]", one).get("group") if isinstance(one, dict) else one
        for one in (cast("list[Any]", listed) if isinstance(listed, list) else [])
    ]
    return PUBLIC in groups


def any_of(grants: Sequence[Grant], variables: Variables) -> Filter | None:
    """Matches objects that any of the grants covers; None matches all."""
    if any(not grant.match for grant in grants):
        return None
    parts = [And(tuple(condition.as_filter(variables) for condition in grant.match)) for grant in grants]
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the grants of one right."""

    where: str
    known: QuerySchema | None
    strict: bool

    def grant(self, raw: Any) -> Grant:
        if isinstance(raw, str) and raw:
            return Grant(raw)
        if not isinstance(raw, dict):
            raise InvalidInput(
                f"{self.where}: a grant is a group's name or a rule.", hint='A rule: {"group": ..., "match": ...}.'
            )
        rule = cast("dict[str, Any]", raw)
        group = rule.get("group", AUTHENTICATED)
        match = rule.get("match", {})
        if not isinstance(group, str) or not isinstance(match, dict) or set(rule) - {"group", "match"}:
            raise InvalidInput(f"{self.where}: a rule has a group (text) and a match (object), nothing else.")
        conditions = [
            condition
            for name, expected in cast("dict[str, Any]", match).items()
            for condition in self._conditions(name, expected)
        ]
        return Grant(group, tuple(conditions))

    def _conditions(self, name: str, expected: Any) -> list[Condition]:
        at = self._place(name)
        if not isinstance(expected, dict):
            return [self._condition(at, "in" if isinstance(expected, list) else "eq", expected)]
        if not expected:
            raise InvalidInput(
                f"{self.where}: match.{name} has no condition.", hint='Write {"status": {"$eq": "open"}}.'
            )
        found: list[Condition] = []
        for written, value in cast("dict[str, Any]", expected).items():
            comparison = written.removeprefix("$")
            if comparison not in COMPARISONS:
                raise InvalidInput(
                    f"{self.where}: match.{name} uses {written[:40]!r}.",
                    hint=f"Comparisons are {', '.join('$' + one for one in COMPARISONS)}.",
                )
            found.append(self._condition(at, comparison, value))
        return found

    def _place(self, name: str) -> QueryField:
        """Find the property in the schema. A register's block may name properties that only other schemas have."""
        plain = QueryField(name, tuple(name.split(".")), None)
        if self.known is None or plain.path[0] == SELF:
            return plain
        try:
            found = resolve_field(self.known, name)
        except InvalidInput:
            return plain
        return found if found.single else plain

    def _condition(self, at: QueryField, comparison: Comparison, value: Any) -> Condition:
        if comparison in ("in", "nin"):
            fits = isinstance(value, list) and all(_is_plain(one) for one in cast("list[Any]", value))
        elif comparison == "exists":
            fits = isinstance(value, bool)
        elif comparison in ("eq", "ne"):
            fits = _is_plain(value)
        else:
            fits = isinstance(value, str | int | float) and not isinstance(value, bool)
        if not fits:
            raise InvalidInput(f"{self.where}: match.{at.name} has a value that ${comparison} cannot compare with.")
        if at.kind == "moment" and comparison != "exists":
            return self._timed(at, comparison, value)
        return Condition(at.path, comparison, value)

    def _timed(self, at: QueryField, comparison: Comparison, value: Any) -> Condition:
        """A condition on a date-time. A value that is not a time never matches."""
        times: list[Instant | None] = []
        for one in cast("list[Any]", value) if isinstance(value, list) else [value]:
            try:
                times.append(None if one is None else parse_instant(one, f"{self.where}: match.{at.name}"))
            except InvalidInput:
                if self.strict:
                    raise
        if comparison in ("gt", "gte", "lt", "lte") and times:
            return Condition(at.path, comparison, times[0])
        return Condition(at.path, "nin" if comparison in ("ne", "nin") else "in", times)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _substituted(value: Any, variables: Variables) -> Any:
    if isinstance(value, str):
        return variables.get(value, value)
    return [_substituted(one, variables) for one in cast("list[Any]", value)] if isinstance(value, list) else value


def _at(data: Mapping[str, Any], path: Path) -> Any:
    node: Any = data
    for part in path:
        if isinstance(part, int):
            elements = cast("list[Any]", node) if isinstance(node, list) else []
            node = elements[part] if part < len(elements) else _MISSING
        else:
            node = cast("dict[str, Any]", node).get(part, _MISSING) if isinstance(node, dict) else _MISSING
    return node


def _kind(value: Any) -> str:
    if value is None or value is _MISSING:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "text" if isinstance(value, str) else "other"


def _same(found: Any, expected: Any) -> bool:
    if isinstance(expected, Instant):
        return isinstance(found, str) and datetime_key(found) == expected.key
    kind = _kind(expected)
    return _kind(found) == kind and (kind == "null" or found == expected)


def _ordered(found: Any, expected: Any, comparison: Comparison) -> bool:
    if isinstance(expected, Instant):
        found, expected = datetime_key(found) if isinstance(found, str) else None, expected.key
    if _kind(found) != _kind(expected):
        return False
    if isinstance(found, str):
        found, expected = found.encode("utf-8"), expected.encode("utf-8")
    match comparison:
        case "gt":
            return found > expected
        case "gte":
            return found >= expected
        case "lt":
            return found < expected
        case _:
            return found <= expected
