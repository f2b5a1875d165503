"""Runs views: returns one page of what a view finds, with the caller's rights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.access.rules import is_admin
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.presentation import present
from pentad.rooms.registers.query.filters import parse_filter
from pentad.rooms.registers.query.models import LARGEST_LIMIT, And, Filter
from pentad.rooms.registers.query.pagination import offset_of
from pentad.rooms.registers.views.columns import Column, RelatedColumn, reads_metadata, row_values
from pentad.rooms.registers.views.definition import ParsedView, View, parse_view

if TYPE_CHECKING:
    from pentad.rooms.registers.access.rules import AccessRules
    from pentad.rooms.registers.catalogue.catalogue import Catalogue
    from pentad.rooms.registers.objects.service import Objects


@dataclass(frozen=True, slots=True)
class ViewPage:
    """Part of a view's results. `columns` is None if the rows are whole objects."""

    view: View
    rows: list[dict[str, Any]]
    columns: Sequence[str] | None = None
    numeric: frozenset[str] = frozenset()
    total: int | None = None
    cursor: str | None = None
    facets: Mapping[str, Any] = field(default_factory=dict[str, Any])
    problems: Sequence[Mapping[str, Any]] = ()
    uses: frozenset[int] = frozenset()
    """The other schemas that the view reads."""
    cursor_after: Callable[[int], str] | None = None
    """Makes the cursor after the first rows, for callers that use fewer of them."""

    @property
    def is_grouped(self) -> bool:
        """Whether the rows are groups of objects."""
        return self.view.query.get("aggregate") is not None

    def answer(self) -> dict[str, Any]:
        """The results with their details. Followers are notified when this changes."""
        answer: dict[str, Any] = {"results": self.rows}
        if self.total is not None:
            answer["total"] = self.total
        if self.columns is not None:
            answer["columns"] = list(self.columns)
        if self.facets:
            answer["facets"] = self.facets
        return {**answer, "problems": list(self.problems)} if self.problems else answer

    def wire(self) -> dict[str, Any]:
        """The answer with the name of its view."""
        body = {"id": self.view.id, "title": self.view.title, "uri": self.view.uri, **self.answer()}
        return body if self.cursor is None else {**body, "cursor": self.cursor}


class ViewRunner:
    """Runs views for callers who may use them."""

    def __init__(self, clock: Clock, catalogue: "Catalogue", objects: "Objects", access: "AccessRules") -> None:
        self._clock = clock
        self._catalogue = catalogue
        self._objects = objects
        self._access = access

    async def parsed(self, caller: Caller, view: View) -> tuple[Pair, ParsedView]:
        """The view, parsed for the caller."""
        pair = await self._catalogue.pair(caller, view.register, view.schema)
        now = self._clock.now()
        return pair, await self._objects.parsed(caller, pair, lambda schema: parse_view(schema, view.query, now))

    async def page(
        self,
        caller: Caller,
        view: View,
        *,
        more: Mapping[str, Any] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        count_to: int | None = None,
    ) -> ViewPage:
        """One page of a view that the caller may use. The total is exact up to `count_to`."""
        pair, parsed = await self.parsed(caller, view)
        problems = problems_for(caller, pair, view, parsed)
        if not parsed.runnable:
            first = next(problem for problem in problems if not problem["path"].startswith("/query/columns/"))
            raise InvalidInput(
                f"The view {view.title!r} cannot be run: {first['message']}",
                hint="Its owner can change it. Get the view to see what is wrong.",
                details={"problems": problems},
            )
        now = self._clock.now()
        within = await self._objects.parsed(caller, pair, lambda schema: parse_filter(schema, more, now))
        if parsed.aggregate is not None:
            found = await self._groups(caller, pair, view, parsed, within, limit, cursor)
        else:
            found = await self._objects_page(caller, pair, view, parsed, within, limit, cursor, count_to)
        return replace(found, problems=problems, uses=parsed.uses)

    async def _objects_page(
        self,
        caller: Caller,
        pair: Pair,
        view: View,
        parsed: ParsedView,
        within: Filter | None,
        limit: int | None,
        cursor: str | None,
        count_to: int | None,
    ) -> ViewPage:
        query = parsed.query
        assert query is not None  # noqa: S101  a runnable view without groups has one
        query = replace(query, filter=_both(query.filter, within), count_to=count_to)
        if limit is not None:
            query = replace(query, limit=min(limit, LARGEST_LIMIT))
        if cursor is not None:
            query = replace(query, cursor=cursor, offset=0)
        found = await self._objects.find(caller, pair, query)
        objects = [StoredObject(*row) for row in found.rows]
        if parsed.columns is None:
            rows = [present(self._access, caller, pair, stored, fields=query.fields) for stored in objects]
            names, numeric = None, frozenset[str]()
        else:
            rows = await self._rows(caller, pair, parsed.columns, objects)
            names = [column.name for column in parsed.columns]
            numeric = frozenset(column.name for column in parsed.columns if column.numeric)
        return ViewPage(
            view, rows, names, numeric, found.total, found.cursor, found.facets, cursor_after=found.cursor_after
        )

    async def _rows(
        self, caller: Caller, pair: Pair, columns: Sequence[Column], objects: Sequence[StoredObject]
    ) -> list[dict[str, Any]]:
        now, whole = self._clock.now(), reads_metadata(columns)
        related = [column for column in columns if isinstance(column, RelatedColumn)]
        values = await self._objects.related_values(caller, [column.value for column in related], objects)
        rows: list[dict[str, Any]] = []
        for stored in objects:
            data = self._access.readable(caller, pair, stored.data, stored.owner)
            metadata: Mapping[str, Any] = {"id": stored.uuid}
            if whole:
                metadata = present(self._access, caller, pair, stored, fields=("@self",))["@self"]
            far = {
                column.name: column.empty if (value := found.get(stored.uuid)) is None else value
                for column, found in zip(related, values, strict=True)
            }
            rows.append(row_values(columns, data, metadata, far, now))
        return rows

    async def _groups(
        self,
        caller: Caller,
        pair: Pair,
        view: View,
        parsed: ParsedView,
        within: Filter | None,
        limit: int | None,
        cursor: str | None,
    ) -> ViewPage:
        query = parsed.aggregate
        assert query is not None  # noqa: S101  the caller has looked
        query = replace(query, filter=_both(query.filter, within))
        if limit is not None:
            query = replace(query, limit=max(1, min(limit, LARGEST_LIMIT)))
        if cursor is not None:
            query = replace(query, offset=offset_of(cursor))
        found = await self._objects.aggregate(caller, pair, query)
        start = query.offset
        names = [*(key.name for key in query.group_by), *(metric.name for metric in query.metrics)]
        return ViewPage(
            view,
            found.groups,
            names,
            frozenset(metric.name for metric in query.metrics),
            cursor=str(start + len(found.groups)) if found.more else None,
            cursor_after=lambda shown: str(start + shown),
        )


def owns(caller: Caller, view: View) -> bool:
    """Whether the caller may see the whole definition of a view and change it."""
    return view.principal == caller.principal.id or is_admin(caller.principal)


def problems_for(caller: Caller, pair: Pair, view: View, parsed: ParsedView) -> list[dict[str, Any]]:
    """A view's problems, worded for the caller."""
    whole = owns(caller, view)
    return [problem.wire() if whole else problem.masked(pair) for problem in parsed.problems]


def _both(first: Filter | None, second: Filter | None) -> Filter | None:
    if first is None or second is None:
        return first or second
    return And((first, second))
