"""Resolves names in queries to paths and kinds of values.

Unknown names are refused, with the nearest known ones: a misspelt filter that finds nothing would look like an answer.
Below an object without declared members, any name is allowed.

A name may follow up to three references, forward (`applicant.city`) or backward (`permits.status`). Behind a reference
is another schema, which has to be read from the store. A schema may come without its `relations`; then a name that
leads out of it raises NeedsRelatedSchemas. Most queries never leave their schema.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Protocol

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean, nearest
from pentad.rooms.registers.query.metadata import COLUMNS, HEADINGS, METADATA_NAMES, SELF
from pentad.rooms.registers.query.models import Hop, Hops, Kind, Path

_MOST_LISTED: Final = 30
_LONGEST_NAME: Final = 1_000
_DEEPEST: Final = 32
MOST_HOPS: Final = 3
_UUID: Final[Path] = (SELF, "uuid")

DeclaredKind = Literal["text", "number", "boolean", "date", "moment"]


class NeedsRelatedSchemas(InvalidInput):
    """The name leads out of the schema, or nowhere; only the related schemas can tell."""

    @classmethod
    def of(cls, error: InvalidInput) -> "NeedsRelatedSchemas":
        return cls(error.message, hint=error.hint, details=error.details)


class QueryReference(Protocol):
    """A property that refers to objects, such as `definitions.references.Reference`."""

    @property
    def path(self) -> tuple[str, ...]: ...

    @property
    def many(self) -> bool: ...

    @property
    def embeds(self) -> bool: ...

    @property
    def inversed_by(self) -> str | None: ...

    @property
    def filled(self) -> bool:
        """Whether the property is not stored: the related objects refer back through their property `inversed_by`."""
        ...


@dataclass(frozen=True, slots=True)
class FarSchema:
    """A schema at the other end of a relation. `reference` is its property that refers back, if any."""

    id: int
    schema: "QuerySchema"
    reference: QueryReference | None = None


class Relations(Protocol):
    """The related schemas of a schema that the caller may see."""

    def targets(self, reference: QueryReference) -> Sequence[FarSchema]:
        """The schemas a reference may lead to."""
        ...

    def referring(self, name: str) -> FarSchema | None:
        """The schema whose objects refer to this one's, by a name such as `permits`."""
        ...

    def names(self) -> Iterable[str]:
        """The names `referring` accepts, the best one for each relation."""
        ...


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
        """The properties of objects in a list; empty if they may have any, None if it holds no objects."""
        ...

    @property
    def ref(self) -> QueryReference | None: ...


class QuerySchema(Protocol):
    """What a query needs to know about a schema, such as `definitions.compiled_schema.CompiledSchema`."""

    @property
    def properties(self) -> Mapping[str, QueryProperty]: ...

    @property
    def headings(self) -> Mapping[str, str | None]:
        """The properties used for name, description, summary and image; None for one made by a template."""
        ...

    @property
    def concealed(self) -> frozenset[str]:
        """Metadata that would reveal properties the caller may not query."""
        ...

    @property
    def relations(self) -> Relations | None:
        """The related schemas; None if they were not read."""
        ...


@dataclass(frozen=True, slots=True)
class QueryField:
    """A field of an object. `kind` is None for values of any kind or that do not compare; `many` means an array.

    `lists` are the lists of objects it passes through; the path then starts in an object of the last one. `members` are
    the properties of the object there, or of the objects in its list; None if they may have any. `hops` lead to the
    related object, of `schema`, in which lists and path start. With `is_relation` the field means the related objects
    themselves, with `is_reference` it holds their uuids.
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
    hops: Hops = ()
    is_relation: bool = False
    is_reference: bool = False
    schema: "QuerySchema | None" = field(default=None, compare=False, repr=False)

    @property
    def single(self) -> bool:
        """Whether an object has at most one value in this field."""
        return not self.many and not self.lists and not self.to_many

    @property
    def to_many(self) -> bool:
        """Whether there may be several related objects."""
        return any(hop.to_many for hop in self.hops)

    @property
    def described(self) -> str:
        """The field's type in words, for an error."""
        if self.time:
            return "a time (ISO 8601)"
        one = {
            "text": "text", "number": "a number", "boolean": "true or false", "moment": "a time (ISO 8601)",
            None: "a value",
        }[self.kind]  # fmt: skip
        if self.is_relation:
            return "related objects"
        if self.lists:
            return "in a list of objects"
        return f"an array ({one} each)" if self.many else "an object" if self.holds_object else one


def resolve_field(schema: QuerySchema, name: str, *, before: str = "", passed: int = 0) -> QueryField:
    """The field for a dotted name; InvalidInput, with the nearest names, if the schema does not have it.

    `before` is the part of the name that leads to the schema, through `passed` references.
    """
    if len(name) > _LONGEST_NAME or name.count(".") > _DEEPEST:
        raise InvalidInput(f"The name {name[:60]!r}... is too long.", hint=f"At most {_LONGEST_NAME} characters.")
    if name == SELF or name.startswith(f"{SELF}."):
        return _metadata(schema, name, before)
    steps = name.split(".")
    if not schema.properties:
        return QueryField(before + name, tuple(steps), None)
    found = _below(before + name, (), schema.properties, steps)
    if isinstance(found, QueryField):
        return found
    refused: InvalidInput | None = None
    for hop, far, rest in _ways_out(schema, name, before, found):
        if passed == MOST_HOPS:
            raise InvalidInput(
                f"{(before + name)[:80]!r} passes through more than {MOST_HOPS} references.",
                hint="Start from a schema that is nearer.",
            )
        try:
            return _beyond(hop, far, name, before, rest, passed)
        except InvalidInput as error:  # a reference may lead to one of several schemas
            refused = refused or error
    raise refused or _unknown(name, schema, before)


@dataclass(frozen=True, slots=True)
class NamePart:
    """The part of a name that belongs to one schema; `path` is the property's path, None for anything else.

    For a name that leads back to a referring schema, `back` has that schema and the path of its reference.
    """

    schema: int
    text: str
    path: tuple[str, ...] | None
    back: tuple[int, Path] | None = None


def name_parts(schema: QuerySchema, here: int, name: str) -> list[NamePart]:
    """The parts of a name, split by schema; `here` is the first schema's id. Raises like `resolve_field`."""
    at = resolve_field(schema, name)
    if name == SELF or name.startswith(f"{SELF}.") or not schema.properties:
        return [NamePart(here, name, None)]
    found = _below(name, (), schema.properties, name.split("."))
    if isinstance(found, QueryField):
        return [NamePart(here, name, _declared_path(schema.properties, name.split(".")))]
    hop, far, rest = next(way for way in _ways_out(schema, name, "", found) if way[0] == at.hops[0])
    own = name.removesuffix(rest).removesuffix(".")
    path = None if found is None else _declared_path(schema.properties, own.split("."))
    back = (hop.schema, hop.path) if found is None else None
    return [NamePart(here, own, path, back), *(name_parts(far.schema, hop.schema, rest) if rest else ())]


def _declared_path(declared: Mapping[str, QueryProperty], steps: Sequence[str]) -> tuple[str, ...]:
    """The declared properties a name passes through, each a member of the one before."""
    for count in range(len(steps), 0, -1):
        name = ".".join(steps[:count])
        if (facts := declared.get(name)) is not None:
            return (name, *_declared_path(facts.children, steps[count:]))
    return ()


def resolve_related(
    schema: QuerySchema, name: str, *, before: str = "", passed: int = 0
) -> tuple[Hops, QuerySchema]:  # fmt: skip
    """The hops to the related objects that a name means, and their schema."""
    found = resolve_field(schema, f"{name}.{SELF}.uuid", before=before, passed=passed)
    return found.hops, found.schema or schema


@dataclass(frozen=True, slots=True)
class _Crossing:
    """A name that leads out of its schema: through the reference at a path, then along the remaining steps."""

    path: Path
    reference: QueryReference
    steps: Sequence[str]
    many: bool
    lists: tuple[Path, ...] = ()


def _ways_out(
    schema: QuerySchema, name: str, before: str, found: _Crossing | None
) -> Iterator[tuple[Hop, FarSchema, str]]:
    """Where a name may lead: the hop, the schema behind it, and the rest of the name."""
    if schema.relations is None and found is not None:
        raise NeedsRelatedSchemas(
            f"{(before + name)[:80]!r} belongs to a related object, and only the object's own properties can be named"
            " here.",
            hint="Use it in filter, sort, facets or aggregate; extend shows related objects.",
        )
    if schema.relations is None:
        raise NeedsRelatedSchemas.of(_unknown(name, schema, before))
    if found is None:
        steps = name.split(".")
        for count in range(len(steps), 0, -1):
            if (far := schema.relations.referring(".".join(steps[:count]))) is not None:
                yield _back(far), far, ".".join(steps[count:])
        return
    rest, reference = ".".join(found.steps), found.reference
    for far in schema.relations.targets(reference):
        if not reference.filled:
            yield Hop(far.id, found.path, found.many, lists=found.lists, embeds=reference.embeds), far, rest
        elif (back := far.schema.properties.get(reference.inversed_by or "")) is not None and back.ref is not None:
            yield _back(replace(far, reference=back.ref)), far, rest


def _back(far: FarSchema) -> Hop:
    assert far.reference is not None  # noqa: S101  it is what the schema was found by
    return Hop(far.id, far.reference.path, far.reference.many, back=True)


def _beyond(hop: Hop, far: FarSchema, name: str, before: str, rest: str, passed: int) -> QueryField:
    """The field behind a hop, found with the rest of the name."""
    if not rest:
        return QueryField(before + name, _UUID, "text", hops=(hop,), is_relation=True, schema=far.schema)
    here = before + name.removesuffix(rest)
    found = resolve_field(far.schema, rest, before=here, passed=passed + 1)
    return replace(found, name=before + name, hops=(hop, *found.hops), schema=found.schema or far.schema)


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


def _metadata(schema: QuerySchema, name: str, before: str) -> QueryField:
    asked = name.removeprefix(SELF).removeprefix(".")
    if asked in HEADINGS:
        return _heading(schema, before + name, asked)
    column = COLUMNS.get(asked)
    if column is None or asked in schema.concealed:
        names = [f"{SELF}.{one}" for one in (*COLUMNS, *HEADINGS) if one not in schema.concealed]
        close = nearest(name, names)
        guess = f" Did you mean {close[0]!r}?" if close else ""
        raise InvalidInput(f"There is no metadata {name[:80]!r}.{guess}", hint=f"There is {', '.join(names)}.")
    return QueryField(before + name, (SELF, asked), column.kind, time=column.time)


def _heading(schema: QuerySchema, name: str, asked: str) -> QueryField:
    """A heading is queried through the property it comes from. An object without a name uses its uuid as name."""
    if asked not in schema.headings and asked == "name":
        return QueryField(name, (SELF, "uuid"), "text")
    source = schema.headings.get(asked)
    found = None if source is None else _below(name, (), schema.properties, source.split("."))
    if not isinstance(found, QueryField):
        why = "is made from a template" if asked in schema.headings else "is not taken from any property"
        raise InvalidInput(f"{name} {why}, so it cannot be queried.", hint="Query the properties themselves.")
    return found


def _below(
    name: str, path: Path, declared: Mapping[str, QueryProperty], steps: Sequence[str]
) -> QueryField | _Crossing | None:
    """A property name may contain dots, so the longest declared one wins."""
    for count in range(len(steps), 0, -1):
        facts = declared.get(".".join(steps[:count]))
        if facts is not None:
            here = (*path, ".".join(steps[:count]))
            return _inside(name, here, facts, steps[count:])
    return None


def _inside(name: str, path: Path, facts: QueryProperty, steps: Sequence[str]) -> QueryField | _Crossing | None:
    many, reference = "array" in facts.types, facts.ref
    if not steps:
        if reference is not None and reference.filled:
            return _Crossing(path, reference, (), reference.many)
        declared = facts.item_kind if many else facts.kind
        members = facts.elements if many else facts.children
        return QueryField(
            name, path, _kind(declared), many=many, holds_object="object" in facts.types, members=members or None,
            date=declared == "date", is_reference=reference is not None,
        )  # fmt: skip
    if many:
        found = _in_list(name, path, facts, steps)
        if found is not None:
            return found
    if facts.children:
        found = _below(name, path, facts.children, steps)
        if found is not None or reference is None:
            return found
    if reference is not None:
        return _Crossing(path, reference, steps, reference.many)
    if "object" in facts.types or (not facts.types and facts.kind is None):
        return QueryField(name, (*path, *steps), None)
    return None


def _in_list(name: str, path: Path, facts: QueryProperty, steps: Sequence[str]) -> QueryField | _Crossing | None:
    """A place in one element of a list, by position, or in any of its objects."""
    elements = facts.elements
    if steps[0].isascii() and steps[0].isdigit() and len(steps[0]) < 10:
        place: Path = (*path, int(steps[0]))
        if facts.ref is not None and steps[1:]:
            return _Crossing(place, facts.ref, steps[1:], many=False)
        if elements and steps[1:]:
            return _below(name, place, elements, steps[1:])
        if steps[1:] and facts.item_kind is not None:
            return None
        return QueryField(name, (*place, *steps[1:]), None if steps[1:] else _kind(facts.item_kind))
    if elements is None or (facts.ref is not None and not elements):
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
    if not isinstance(found, QueryField):
        guess = did_you_mean(name, at.members)
        raise InvalidInput(
            f"{at.name} has no member {name[:80]!r}.{' ' + guess if guess else ''}",
            hint=f"It has {', '.join(list(at.members)[:_MOST_LISTED])}.",
        )
    return found


def _kind(declared: DeclaredKind | None) -> Kind | None:
    return "text" if declared == "date" else declared


def _unknown(name: str, schema: QuerySchema, before: str) -> InvalidInput:
    names = _names(schema.properties)
    if schema.relations is not None:
        names += schema.relations.names()
    close = [before + one for one in _nearest(name, names)]
    shown = ", ".join(names[:_MOST_LISTED]) + (f" and {len(names) - _MOST_LISTED} more" if names[_MOST_LISTED:] else "")
    guess = f" Did you mean {' or '.join(repr(one) for one in close)}?" if close else ""
    where = f"There is no {(before + name)[:80]!r}: the schema behind {before[:-1][:80]!r}" if before else "The schema"
    return InvalidInput(
        f"{where} has no property {name[:80]!r}.{guess}",
        hint=f"It has {shown}; metadata is under {SELF}, as in {SELF}.created.",
        details={"property": (before + name)[:200], "nearest": close, "properties": names[:_MOST_LISTED]},
    )


def _nearest(name: str, names: Sequence[str]) -> list[str]:
    if name in COLUMNS or name in HEADINGS:
        return [f"{SELF}.{name}"]
    close = nearest(name, names, limit=3)
    first, _, rest = name.partition(".")
    if rest and first in names:
        return close or [first]
    if not rest or any("." in one for one in close):
        return close
    return [f"{one}.{rest}" for one in nearest(first, names, limit=3)] or close


def _names(declared: Mapping[str, QueryProperty], prefix: str = "", depth: int = 0) -> list[str]:
    names: list[str] = []
    for name, facts in declared.items():
        names.append(prefix + name)
        if depth < 3 and len(names) < 1_000:
            names += _names({**facts.children, **(facts.elements or {})}, f"{prefix}{name}.", depth + 1)
    return names
