"""The objects of a register and schema: filters, facets, order, columns, saved views, exports, and the deleted ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.pages import (
    Action,
    Block,
    Button,
    Cell,
    CheckBox,
    Choice,
    Column,
    Download,
    Facet,
    Facets,
    Form,
    Group,
    Hidden,
    Links,
    Note,
    Option,
    Page,
    Pager,
    Place,
    SearchBox,
    Section,
    Sheet,
    Table,
    Text,
    TextField,
    TimeSlider,
    Visit,
    when,
)
from pentad.rooms.registers.definitions.properties import Property
from pentad.rooms.registers.interface.console.moments import moment_of, moment_text
from pentad.rooms.registers.interface.console.pair_page import COUNT_TO, PairPage, objects_text
from pentad.rooms.registers.interface.console.schema_pages import PROPERTY_COLUMNS, type_of
from pentad.rooms.registers.interface.console.selection import (
    CHANGED,
    COLUMN,
    CONDITIONS,
    METADATA,
    Selection,
    described,
    selection_of,
)
from pentad.rooms.registers.interface.console.values import Values
from pentad.rooms.registers.models import StoredObject
from pentad.rooms.registers.query.models import QueryResult
from pentad.rooms.registers.service import Registers

PAGE_SIZE: Final = 25
_MOST_COLUMNS: Final = 5
_MOST_FACETS: Final = 5
_MOST_DELETED: Final = 200
FORMATS: Final = (("csv", "CSV"), ("xlsx", "Excel"), ("json", "JSON"))


async def objects_of(registers: Registers, visit: Visit) -> Sheet:
    """The objects that the URL selects, one page at a time."""
    page = await PairPage.open(registers, visit)
    try:
        blocks = await _Listing(page, selection_of(page)).blocks()
    except InvalidInput as error:
        if visit.query.get("cursor"):  # an error page, because no condition on this page can be corrected
            raise
        everything = Links([Cell("Show everything", Place(page.place))], actions=True)
        blocks = [Note(error.sentence(), "bad"), everything, _filter_form(page, Selection())]
    about = page.pair.schema.body.get("description")
    lead = about if isinstance(about, str) else ""
    events = None if visit.query.get("as_of") else page.events()
    return Sheet(page.title, blocks, lead=lead, trail=page.trail[:1], events=events)


async def save_view(registers: Registers, visit: Visit) -> Place:
    """Save the current list as a view."""
    page = await PairPage.open(registers, visit)
    selection = selection_of(page)
    columns = {"columns": list(selection.columns)} if selection.columns else {}
    data = {
        "title": visit.typed("title"),
        **page.arguments,
        "query": {**selection.members(), **columns},
        "shared": bool(visit.typed("shared")),
    }
    made = await visit.call("views", {"action": "create", "data": data})
    return Place(("views", str(made["id"])))


async def delete_view(_registers: Registers, visit: Visit) -> Place:
    """Delete one of the visitor's views."""
    await visit.call("views", {"action": "delete", "id": visit.path["view"]})
    return Place(("views",))


async def deleted_objects(registers: Registers, visit: Visit) -> Sheet:
    """The deleted objects that can be restored."""
    page = await PairPage.open(registers, visit)
    query = await registers.objects.query_of(page.caller, page.pair, {"deleted": "only", "limit": _MOST_DELETED})
    found = await registers.objects.find(page.caller, page.pair, query)
    objects = [StoredObject(*row) for row in found.rows]
    names = [(one.uuid, page.name_of(one)) for one in objects]
    table = Table(
        ("Object", "UUID", Column("Changed", short=True)),
        [(name, uuid, when(one.updated_at)) for (uuid, name), one in zip(names, objects, strict=True)],
        "There are no deleted objects.",
    )
    blocks: list[Block] = [table]
    if objects and page.may("delete"):
        choice = Choice("id", "Object", names, required=True)
        blocks.append(Section("Restore one", [Form([choice], [Button("Restore")], f"{page.path}/deleted")]))
    return Sheet("Deleted objects", blocks, trail=page.trail)


async def restore(registers: Registers, visit: Visit) -> Place:
    """Restore a deleted object."""
    page = await PairPage.open(registers, visit)
    await visit.call("objects", {"action": "restore", **page.arguments, "id": visit.typed("id")})
    return Place((*page.place, visit.typed("id")))


class _Listing:
    """The blocks of one list."""

    def __init__(self, page: PairPage, selection: Selection) -> None:
        self._page = page
        self._selection = selection
        self._cursor = page.visit.query.get("cursor") or None

    async def blocks(self) -> list[Block]:
        page, selection = self._page, self._selection
        found = await self._find({"limit": PAGE_SIZE, "cursor": self._cursor})
        objects = [StoredObject(*row) for row in found.rows]
        rows = [page.wire(one) for one in objects]
        values = await Values.of(page, rows)
        columns = self._columns()
        lines = [self._row(values, columns, one, row) for one, row in zip(objects, rows, strict=True)]
        heads = [Column("Object"), *map(self._head, columns), self._sortable(Column("Changed", short=True), CHANGED)]
        empty = "Nothing was found." if selection.is_narrow else "There are no objects yet."
        pager = Pager(
            objects_text(found.total),
            Place(page.place, {**selection.query(), "cursor": found.cursor}) if found.cursor else None,
            Place(page.place, selection.query()) if self._cursor else None,
        )
        return [
            *self._actions(found),
            SearchBox(f"Search {page.title}", selection.words, kept={**selection.query(), "q": ""}),
            Section("Filter and columns", [_filter_form(page, selection)], folded=True),
            self._past(),
            *self._chips(),
            await self._facets(found),
            Table(heads, lines, empty),
            pager,
            Links([self._export(*one) for one in FORMATS]),
            *self._views(),
            Section("Its schema", _schema_blocks(page), folded=True),
        ]

    def _past(self) -> Block:
        """A slider through the past, covering the schema's whole history."""
        page, selection = self._page, self._selection
        now, first = page.registers.now(), page.pair.schema.created_at
        shown = now if not selection.as_of else moment_of(page, selection.as_of, now)
        kept = [Hidden(name, text) for name, text in selection.query().items() if name != "as_of"]
        slider = TimeSlider("as_of", "As it was", min(first, shown), now, min(shown, now))
        form = Form([slider, *kept], [Button("Show", kind="plain")], page.path, method="get", live="main")
        return Section("Go back in time", [form], folded=not selection.as_of)

    async def _find(self, more: Mapping[str, Any]) -> QueryResult:
        members = {**self._selection.members(), **{name: value for name, value in more.items() if value is not None}}
        query = await self._page.registers.objects.query_of(self._page.caller, self._page.pair, members)
        query = replace(query, count_to=COUNT_TO)
        return await self._page.registers.objects.find(self._page.caller, self._page.pair, query)

    def _actions(self, found: QueryResult) -> list[Block]:
        page, selection = self._page, self._selection
        actions: list[Text] = []
        if page.may("create"):
            actions += [Cell(f"New {page.title}", Place((*page.place, "new"))), self._link("Import", "import")]
        if page.may("update") and found.total and not selection.words and not selection.as_of:
            actions.append(Cell("Change all of these", Place((*page.place, "bulk"), selection.query())))
        if page.may("delete"):
            actions.append(self._link("Deleted objects", "deleted"))
        return [Links(actions, actions=True)] if actions else []

    def _link(self, text: str, part: str) -> Cell:
        return Cell(text, Place((*self._page.place, part)))

    def _chips(self) -> list[Block]:
        page, selection = self._page, self._selection
        chips = [
            Cell(f"{described(page, one)} ✕", Place(page.place, selection.without(number).query()))
            for number, one in enumerate(selection.conditions)
        ]
        if selection.as_of:
            moment = moment_text(selection.as_of)
            text = f"{moment[:1].upper()}{moment[1:]} ✕"
            chips.append(Cell(text, Place(page.place, replace(selection, as_of="").query())))
        return [Links(chips)] if chips else []

    async def _facets(self, found: QueryResult) -> Block:
        """Counts of each value. Those of a long list are there at once only if they are indexed, the list is whole, and
        the store keeps its counts; otherwise if the visitor asks."""
        selection, is_asked = self._selection, bool(self._page.visit.query.get("facets"))
        able = [one for one in self._page.properties() if one.facetable or one.enum or one.kind == "boolean"]
        is_short = is_asked or (found.total is not None and found.total < COUNT_TO)
        is_long = not is_short and (selection.is_narrow or found.total == COUNT_TO)
        if selection.as_of or not able or is_long:
            if not able or selection.as_of:
                return Facets(())
            ask = Place(self._page.place, {**selection.query(), "facets": "yes"})
            return Links([Cell("Count the values", ask)])
        counted_ones = [one for one in able if is_short or one.facetable][:_MOST_FACETS]
        if not counted_ones or not found.total:
            return Facets(())
        answer = await self._find({"limit": 0, "facets": [one.name for one in counted_ones]})
        return Facets([self._facet(one, answer.facets.get(one.name) or {}) for one in counted_ones])

    def _facet(self, one: Property, answer: Mapping[str, Any]) -> Facet:
        options: list[Option] = []
        for bucket in cast("Sequence[Mapping[str, Any]]", answer.get("buckets") or ()):
            key = bucket.get("key")
            if key is None:
                continue
            condition = {one.name: {"contains": key}} if one.many else {one.name: key}
            place = Place(self._page.place, self._selection.toggled(condition).query())
            text = Values().plain(key)
            options.append(Option(Cell(text, place), f"{bucket['count']:,}", condition in self._selection.conditions))
        return Facet(self._page.named(one.name), options)

    def _columns(self) -> list[Property]:
        known = {one.name: one for one in self._page.properties()}
        return [known[name] for name in self._selection.columns] or main_properties(self._page)

    def _head(self, one: Property) -> Column:
        head = Column(self._page.named(one.name), one.kind == "number", short=one.kind in ("date", "moment"))
        return self._sortable(head, one.name) if one.kind else head

    def _sortable(self, head: Column, name: str) -> Column:
        """A column header that sorts by its column, or reverses the order if it already does."""
        sort = self._selection.sort
        direction: Literal["", "ascending", "descending"] = (
            "ascending" if sort == name else "descending" if sort == f"-{name}" else ""
        )
        following = f"-{name}" if sort == name else name
        place = Place(self._page.place, replace(self._selection, sort=following).query())
        return replace(head, sort=place, sorted=direction)

    def _row(
        self, values: Values, columns: Sequence[Property], stored: StoredObject, row: Mapping[str, Any]
    ) -> tuple[Text, ...]:
        as_of = {"as_of": self._selection.as_of} if self._selection.as_of else {}
        name = str(row["@self"].get("name") or stored.uuid)
        link = Place((*self._page.place, stored.uuid), as_of)
        cells = (values.text(row.get(one.name)) for one in columns)
        return (Cell(name, link), *cells, when(stored.updated_at))

    def _export(self, kind: str, text: str) -> Cell:
        page = self._page
        query = {"schema": str(page.pair.schema.id), "format": kind, **self._selection.export()}
        return Cell(f"Export as {text}", Download(f"/api/registers/{page.pair.register.id}/export", query))

    def _views(self) -> list[Block]:
        page = self._page
        if page.visit.principal.read_only:
            return []
        kept = [Hidden(name, text) for name, text in self._selection.query().items()]
        form = Form(
            [
                TextField("title", "Title"),
                CheckBox("shared", "Members of my organisation can use it"),
                *kept,
            ],
            [Button("Save view")],
            f"{page.path}/views",
        )
        about = Note("A view keeps the search, the conditions, the order and the columns of this page.")
        views = Links([Cell("Saved views", Place(("views",)))])
        return [Section("Save as a view", [about, form, views], folded=True)]


def main_properties(page: PairPage) -> list[Property]:
    """The properties shown as columns: plain values, required ones first."""
    named = page.pair.definition.headings.get("name")
    plain = [
        one
        for one in page.properties()
        if one.kind and one.visible and not one.hide_on_collection and one.name != named
    ]
    return sorted(plain, key=lambda one: not one.required)[:_MOST_COLUMNS]


def _filter_form(page: PairPage, selection: Selection) -> Form:
    """The form to add a condition, choose a time, and choose columns."""
    able = [(one.name, page.label(one.name)) for one in page.properties() if one.kind or one.item_kind]
    shown = selection.columns or [one.name for one in main_properties(page)]
    boxes = [
        CheckBox(f"{COLUMN}{one.name}", page.label(one.name), checked=one.name in shown) for one in page.properties()
    ]
    kept = {name: text for name, text in selection.query().items() if name in ("q", "filter", "sort")}
    return Form(
        [
            Choice("property", "Property", [("", "—"), *able, *METADATA.items()]),
            Choice("op", "Condition", CONDITIONS),
            TextField("value", "Value", required=False),
            TextField("as_of", "As of", selection.as_of, required=False, placeholder="2026-01-31"),
            Group("Columns", boxes),
            *(Hidden(name, text) for name, text in kept.items()),
        ],
        [Button("Apply")],
        page.path,
        method="get",
    )


def _schema_blocks(page: PairPage) -> list[Block]:
    rows = [
        (
            one.name,
            type_of(one.definition, page.pair.schema),
            "yes" if one.required else "",
            one.description or one.title or "",
        )
        for one in page.properties()
    ]
    whole = Links([Cell("The whole schema", Place(("schemas", page.pair.schema.id)))])
    return [Table(PROPERTY_COLUMNS, rows), whole]


BROWSE_PAGES: Final = (Page("{register}/{schema}/deleted", deleted_objects),)
BROWSE_ACTIONS: Final = (
    Action("{register}/{schema}/views", objects_of, save_view, ""),
    Action("{register}/{schema}/deleted", deleted_objects, restore, ""),
)
