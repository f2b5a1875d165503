"""Resolves a name in a query to a path and the kind of its values.

Unknown names are refused with the nearest ones: a misspelt filter that finds nothing would look like an answer. Below
an object without declared members, any name is allowed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Protocol

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean, nearest
from pentad.rooms.registers.query.metadata import COLUMNS, HEADINGS, METADATA_NAMES, SELF
from pentad.rooms.registers.query.models import Kind, Path

_MOST_LISTED: Final = 30
_LONGEST_NAME: Final = 1_000
_DEEPEST: Final = 32

DeclaredKind = Literal["text", "number", "boolean", "date", "moment"]


class QueryProperty(Protocol):
    """What a query needs to know about a property, such as `definitions.properties.Property`."""

    @property
    def types(self) -> Sequence[str]: ...

    @property
    def kind(self) -> DeclaredKind | None: ...

    @property
    def item_kind(self) -> DeclaredKind | None: ...

    @property
    def children(self) -> Mapping[str, "QueryProperty"]: ...

    @property
    def elements(self) -> Mapping[str, "QueryProperty"] | None:
        """The properties of the objects in a list, empty if they may have any; None if it holds no objects."""
        ...


class QuerySchema(Protocol):
    """What a query needs to know about a schema, such as `definitions.compiled_schema.CompiledSchema`."""

    @property
    def properties(self) -> Mapping[str, QueryProperty]: ...

    @property
    def headings(self) -> Mapping[str, str | None]:
        """By which property objects have a name, description, summary, image; None where a template makes it."""
        ...

    @property
    def concealed(self) -> frozenset[str]:
        """Metadata that would reveal something about properties the caller may not query."""
        ...


@dataclass(frozen=True, slots=True)
class QueryField:
    """A field of an object. `kind` None: values of any kind, or none that compare. `many`: an array of `kind`.

    `lists` are the lists of objects on the way; the path then starts in an object of the last one. `members` are the
    properties of the object there, or of the objects in its list; None if they may have any.
    """

    name: str
    path: Path
    kind: Kind | None
    many: bool = False
    time: bool = False
    holds_object: bool = False
    lists: tuple[Path, ...] = ()
    members: Mapping[str, QueryProperty] | None = field(default=None, compare=False, repr=False)
    date: bool = False
    """Whether its texts are dates."""

    @property
    def single(self) -> bool:
        """Whether an object has at most one value there."""
        return not self.many and not self.lists

    @property
    def described(self) -> str:
        """The field's type in words, for an error."""
        if self.time:
            return "a time (ISO 8601)"
        one = {
            "text": "text", "number": "a number", "boolean": "true or false", "moment": "a time (ISO 8601)",
            None: "a value",
        }[self.kind]  # fmt: skip
        if self.lists:
            return "in a list of objects"
        return f"an array ({one} each)" if self.many else "an object" if self.holds_object else one


def resolve_field(schema: QuerySchema, name: str) -> QueryField:
    """The place a dotted name means; InvalidInput with the nearest names for one the schema does not have."""
    if len(name) > _LONGEST_NAME or name.count(".") > _DEEPEST:
        raise InvalidInput(f"The name {name[:60]!r}... is too long.", hint=f"At most {_LONGEST_NAME} characters.")
    if name == SELF or name.startswith(f"{SELF}."):
        return _metadata(schema, name)
    if not schema.properties:
        return QueryField(name, tuple(name.split(".")), None)
    found = _below(name, (), schema.properties, name.split("."))
    if found is None:
        raise _unknown(name, schema)
    return found


def is_metadata(name: str) -> bool:
    """Whether a field name is metadata. Raises InvalidInput for an unknown name below `@self`."""
    first, _, rest = name.partition(".")
    if first == SELF and rest and rest.partition(".")[0] not in METADATA_NAMES:
        names = [f"{SELF}.{one}" for one in METADATA_NAMES]
        guess = did_you_mean(name, names)
        raise InvalidInput(
            f"There is no metadata {name[:80]!r}.{' ' + guess if guess else ''}",
            hint=f"There is {', '.join(names[:12])} and more.",
        )
    return first == SELF


def _metadata(schema: QuerySchema, name: str) -> QueryField:
    asked = name.removeprefix(SELF).removeprefix(".")
    if asked in HEADINGS:
        return _heading(schema, name, asked)
    column = COLUMNS.get(asked)
    if column is None or asked in schema.concealed:
        names = [f"{SELF}.{one}" for one in (*COLUMNS, *HEADINGS) if one not in schema.concealed]
        close = nearest(name, names)
        guess = f" Did you mean {close[0]!r}?" if close else ""
        raise InvalidInput(f"There is no metadata {name[:80]!r}.{guess}", hint=f"There is {', '.join(names)}.")
    return QueryField(name, (SELF, asked), column.kind, time=column.time)


def _heading(schema: QuerySchema, name: str, asked: str) -> QueryField:
    """A heading is queried through the property it comes from. An object without a name is named by its uuid."""
    if asked not in schema.headings and asked == "name":
        return QueryField(name, (SELF, "uuid"), "text")
    source = schema.headings.get(asked)
    found = None if source is None else _below(name, (), schema.properties, source.split("."))
    if found is None:
        why = "is made from a template" if asked in schema.headings else "is not taken from any property"
        raise InvalidInput(f"{name} {why}, so it cannot be queried.", hint="Query the properties themselves.")
    return found


def _below(name: str, path: Path, declared: Mapping[str, QueryProperty], steps: Sequence[str]) -> QueryField | None:
    """A name may itself have dots, so the longest that is declared wins."""
    for count in range(len(steps), 0, -1):
        facts = declared.get(".".join(steps[:count]))
        if facts is not None:
            here = (*path, ".".join(steps[:count]))
            return _inside(name, here, facts, steps[count:])
    return None


def _inside(name: str, path: Path, facts: QueryProperty, steps: Sequence[str]) -> QueryField | None:
    if not steps:
        many = "array" in facts.types
        declared = facts.item_kind if many else facts.kind
        members = facts.elements if many else facts.children
        holds_object = "object" in facts.types
        return QueryField(
            name, path, _kind(declared), many=many, holds_object=holds_object, members=members or None,
            date=declared == "date",
        )  # fmt: skip
    if "array" in facts.types:
        found = _in_list(name, path, facts, steps)
        if found is not None:
            return found
    if facts.children:
        return _below(name, path, facts.children, steps)
    if "object" in facts.types or not facts.types:
        return QueryField(name, (*path, *steps), None)
    return None


def _in_list(name: str, path: Path, facts: QueryProperty, steps: Sequence[str]) -> QueryField | None:
    """A place in one element of a list, by its number, or in any of its objects."""
    elements = facts.elements
    if steps[0].isascii() and steps[0].isdigit() and len(steps[0]) < 10:
        place: Path = (*path, int(steps[0]))
        if elements and steps[1:]:
            return _below(name, place, elements, steps[1:])
        return QueryField(name, (*place, *steps[1:]), None if steps[1:] else _kind(facts.item_kind))
    if elements is None:
        return None
    found = _below(name, (), elements, steps) if elements else QueryField(name, tuple(steps), None)
    return None if found is None else replace(found, lists=(path, *found.lists))


def resolve_member(at: QueryField, name: str) -> QueryField:
    """Resolve a member of the object at a field, or of the objects in its list; its path starts in that object."""
    inner = f"{at.name}.{name}"
    if at.members is None:
        return QueryField(inner, (name,), None)
    facts = at.members.get(name)
    found = None if facts is None else _inside(inner, (name,), facts, ())
    if found is None:
        guess = did_you_mean(name, at.members)
        raise InvalidInput(
            f"{at.name} has no member {name[:80]!r}.{' ' + guess if guess else ''}",
            hint=f"It has {', '.join(list(at.members)[:_MOST_LISTED])}.",
        )
    return found


def _kind(declared: DeclaredKind | None) -> Kind | None:
    return "text" if declared == "date" else declared


def _unknown(name: str, schema: QuerySchema) -> InvalidInput:
    names = _names(schema.properties)
    close = [f"{SELF}.{name}"] if name in COLUMNS or name in HEADINGS else nearest(name, names, limit=3)
    shown = ", ".join(names[:_MOST_LISTED]) + (f" and {len(names) - _MOST_LISTED} more" if names[_MOST_LISTED:] else "")
    guess = f" Did you mean {' or '.join(repr(one) for one in close)}?" if close else ""
    return InvalidInput(
        f"The schema has no property {name[:80]!r}.{guess}",
        hint=f"It has {shown}; metadata is under {SELF}, as in {SELF}.created.",
        details={"property": name[:200], "nearest": close, "properties": names[:_MOST_LISTED]},
    )


def _names(declared: Mapping[str, QueryProperty], prefix: str = "", depth: int = 0) -> list[str]:
    names: list[str] = []
    for name, facts in declared.items():
        names.append(prefix + name)
        if depth < 3 and len(names) < 1_000:
            names += _names({**facts.children, **(facts.elements or {})}, f"{prefix}{name}.", depth + 1)
    return names
