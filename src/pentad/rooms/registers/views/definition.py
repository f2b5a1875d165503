"""Views: their stored form, and the meaning of their queries under a schema.

A view's query has the members of an object query, and `columns` or `aggregate`. It is parsed on every use, so its
problems always reflect the current schema and what the caller may read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.names import did_you_mean
from pentad.kernel.principal import Action, Principal
from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.query.models import AggregateQuery, Query
from pentad.rooms.registers.query.parser import parse_aggregate, parse_query
from pentad.rooms.registers.query.query_fields import NeedsRelatedSchemas, QuerySchema
from pentad.rooms.registers.query.relations import related_paths
from pentad.rooms.registers.views.columns import Column, RelatedColumn, parse_columns, schemas_used

T = TypeVar("T")

MEMBERS: Final = (
    *("filter", "search", "sort", "columns", "limit", "aggregate", "fields", "facets", "as_of"),
    *("count", "offset", "page", "deleted", "include_deleted"),
)
"""The allowed members of a view's query."""
DEFAULT_ROWS: Final = 100
"""The page size of a view without a limit."""
_FOR_AGGREGATES: Final = ("filter", "search", "as_of", "limit", "offset")
_HIDDEN_COLUMN: Final = "This column shows something that does not exist, or that you may not read."
_HIDDEN_PART: Final = "This part of the view names something that does not exist, or that you may not read."


@dataclass(frozen=True, slots=True)
class View:
    """`query` is JSON; `scopes` are the rights the owner had when saving it; `uses` are the other schemas it reads.

    With an `organisation`, it is shared with the members; otherwise it is private to the owner.
    """

    id: str
    slug: str
    principal: str
    organisation: str | None
    title: str
    description: str
    register: int
    schema: int
    query: dict[str, Any]
    scopes: frozenset[str]
    user: str | None
    uses: frozenset[int]
    digest: bytes
    created_at: float
    updated_at: float
    version: int = 1

    @property
    def uri(self) -> str:
        return f"openregister://views/{self.id}"

    @property
    def saved_owner(self) -> Principal:
        """The owner with the rights it had when saving the view; for a shared view, without administrator rights.

        Followers are notified if they see what this caller sees, and members do not see what administrators see.
        """
        owner = Principal(self.principal, self.principal, self.scopes, user=self.user)
        if self.organisation is None:
            return owner
        actions: tuple[Action, ...] = ("read", "write")
        scopes = frozenset(f"registers:{action}" for action in actions if owner.may("registers", action))
        return Principal(self.principal, self.principal, scopes, user=self.user)

    @property
    def has_limit(self) -> bool:
        """Whether the owner set the number of rows or groups per page."""
        return any(part.get("limit") is not None for part in (self.query, self.query.get("aggregate") or {}))

    def wire(self) -> dict[str, Any]:
        return {
            "id": self.id, "slug": self.slug, "title": self.title, "description": self.description,
            "register": self.register, "schema": self.schema, "query": self.query, "uri": self.uri,
            "owner": self.principal, "shared": self.organisation is not None, "created": iso(self.created_at),
            "updated": iso(self.updated_at), "version": self.version,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ViewProblem:
    """A part of a view that does not fit the schema, or that the caller may not read."""

    part: str
    error: InvalidInput | LimitExceeded
    column: int | None = None
    """The column's position, if the problem concerns one column; the others can still be shown."""

    def wire(self) -> dict[str, Any]:
        """The full message, for callers who may see the whole definition."""
        known = {name: self.error.details[name] for name in ("property", "nearest") if self.error.details.get(name)}
        return {"path": self._path, "rule": self._rule, "message": self.error.message, **known}

    def masked(self, pair: Pair) -> dict[str, Any]:
        """The problem without names, except properties of the view's own schema, which the caller can see anyway."""
        said = self.error.details.get("property")
        known = {"property": said} if said in pair.definition.properties else {}
        message = _HIDDEN_PART if self.column is None else _HIDDEN_COLUMN
        return {"path": self._path, "rule": self._rule, "message": message, **known}

    @property
    def _path(self) -> str:
        steps = ("query", self.part, "" if self.column is None else str(self.column))
        return "".join(f"/{step}" for step in steps if step)

    @property
    def _rule(self) -> str:
        return "unknown" if "property" in self.error.details else "invalid"


@dataclass(frozen=True, slots=True)
class ParsedView:
    """A view's query, parsed with a schema; `query` and `aggregate` are both None if it cannot run."""

    query: Query | None
    aggregate: AggregateQuery | None
    columns: tuple[Column, ...] | None
    problems: tuple[ViewProblem, ...]

    @property
    def runnable(self) -> bool:
        return all(problem.column is not None for problem in self.problems)

    @property
    def uses(self) -> frozenset[int]:
        """The other schemas it reads through relations."""
        query = self.query or self.aggregate
        named = () if query is None else (schema for schema, _ in related_paths(query))
        return frozenset(named) | schemas_used(self.columns or ())


def parse_view(schema: QuerySchema, raw: Mapping[str, Any], now: float) -> ParsedView:
    """Parse a view's query and find all its problems; relative times count from `now`."""
    problems = _unfit_members(raw)
    if problems:
        return ParsedView(None, None, None, tuple(problems))
    columns: tuple[Column, ...] | None = None
    if raw.get("columns") is not None:
        try:
            parsed, errors = parse_columns(schema, raw["columns"], now)
            columns = tuple(parsed)
            problems = [ViewProblem("columns", one.error, one.index) for one in errors]
        except NeedsRelatedSchemas:  # the related schemas have to be read first
            raise
        except (InvalidInput, LimitExceeded) as error:
            problems = [ViewProblem("columns", error)]
    if raw.get("as_of") is not None and any(isinstance(column, RelatedColumn) for column in columns or ()):
        error = InvalidInput("Columns through relations show the present only.", hint="Leave out as_of.")
        problems.append(ViewProblem("as_of", error))
    rest = {name: value for name, value in raw.items() if name not in ("columns", "aggregate")}
    if raw.get("aggregate") is None:
        query, found = _parse_parts(
            lambda members: parse_query(schema, {"limit": DEFAULT_ROWS, **members}, now), rest, ""
        )
        return ParsedView(query, None, columns, (*problems, *found))
    figures = dict(raw["aggregate"])
    aggregate, found = _parse_parts(
        lambda members: parse_aggregate(schema, {**members, **figures}, now), rest, "aggregate"
    )
    return ParsedView(None, aggregate, None, (*problems, *found))


def _unfit_members(raw: Mapping[str, Any]) -> list[ViewProblem]:
    """Problems for members that a view's query cannot have, or that cannot be combined."""
    problems: list[ViewProblem] = []
    for name in raw:
        if name == "cursor":
            error = InvalidInput("A view has no cursor: it always starts at the first row.")
            problems.append(ViewProblem(name, error))
        elif name not in MEMBERS:
            guess = did_you_mean(name, MEMBERS)
            error = InvalidInput(
                f"The query of a view has no member {name[:60]!r}.{' ' + guess if guess else ''}",
                hint=f"It has {', '.join(MEMBERS)}.",
            )
            problems.append(ViewProblem(name[:60], error))
    if raw.get("columns") is not None and raw.get("fields") is not None:
        error = InvalidInput("A view has columns or fields, not both.", hint="Leave out fields.")
        problems.append(ViewProblem("fields", error))
    if raw.get("aggregate") is not None:
        if not isinstance(raw["aggregate"], dict):
            error = InvalidInput("aggregate must be an object.", hint='Write {"group_by": ["status"]}.')
            problems.append(ViewProblem("aggregate", error))
        for name in raw:
            if name in MEMBERS and name not in (*_FOR_AGGREGATES, "aggregate") and raw[name] is not None:
                error = InvalidInput(f"A view with aggregate has no {name}.", hint="Its rows are the groups.")
                problems.append(ViewProblem(name, error))
    return problems


def _parse_parts(
    parse: Callable[[Mapping[str, Any]], T], members: Mapping[str, Any], whole: str
) -> tuple[T | None, Sequence[ViewProblem]]:
    """The parsed query, or None and a problem for each member that cannot be parsed."""
    given = {name: value for name, value in members.items() if value is not None}
    try:
        return parse(given), ()
    except NeedsRelatedSchemas:
        raise
    except (InvalidInput, LimitExceeded) as error:
        unfit = ViewProblem(whole, error)
    problems: list[ViewProblem] = []
    for name, value in {"": None, **given}.items():
        try:
            parse({name: value} if name else {})
        except (InvalidInput, LimitExceeded) as error:
            problems.append(ViewProblem(name or whole, error))
            if not name:
                break
    return None, problems or [unfit]
