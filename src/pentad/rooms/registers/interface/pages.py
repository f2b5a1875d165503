"""The console's pages: registers, schemas, the objects of a pair, one object with its history, and views.

Everything is read as the visitor, so pages hide what the visitor may not see.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.counts import counted
from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.pages import (
    Block,
    Cell,
    Code,
    Column,
    Facts,
    Hint,
    Links,
    Note,
    Page,
    Pager,
    Pages,
    Place,
    SearchBox,
    Section,
    Sheet,
    Table,
    Text,
    ToolCall,
    Visit,
    when,
)
from pentad.rooms.registers.definitions.properties import Property
from pentad.rooms.registers.interface.object_forms import OBJECT_ACTIONS, OBJECT_PAGES, change_forms, create_link
from pentad.rooms.registers.interface.organisation_pages import ORGANISATION_ACTIONS, ORGANISATION_PAGES
from pentad.rooms.registers.models import Caller, Pair, Register, Schema, StoredObject, prune
from pentad.rooms.registers.objects.change_log import Change
from pentad.rooms.registers.presentation import present
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.verbs import FIRST_CONTENT
from pentad.rooms.registers.views.definition import View

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_WIDEST_NUMBER: Final = 1_000
_MOST_VALUES: Final = 50
_PAGE_SIZE: Final = 25
_MOST_LISTED: Final = 200
_MOST_COUNTED: Final = 50
_MOST_CHANGES: Final = 20
_MOST_COLUMNS: Final = 5
_CHANGING: Final = ("update", "revert", "migrate")
_COUNT: Final = Query(limit=0)
_FIRST_SCHEMA: Final = """pentad call schemas action=create data='{"slug": "book", "title": "Book"}'"""
_FIRST_VIEW: Final = "pentad registers views create TITLE -r REGISTER -s SCHEMA"


async def all_registers(registers: Registers, visit: Visit) -> Sheet:
    """The registers that the visitor may see."""
    found = await registers.catalogue.registers.list(_caller(visit), _MOST_LISTED)
    rows = [
        (Cell(one.title or one.slug, Place((one.id,))), _described(one), str(len(one.schemas)), when(one.updated_at))
        for one in found
    ]
    columns = ("Register", "What it holds", Column("Schemas", True), _CHANGED)
    blocks: list[Block] = [
        Table(columns, rows, Hint("You have no registers yet. Create one with", FIRST_CONTENT)),
        _listed(len(rows), found.total, "register"),
        Links([Cell("All schemas", Place(("schemas",))), Cell("Views", Place(("views",)))]),
    ]
    return Sheet("Registers", blocks, lead="Data that fits its schemas, with every change kept.")


async def all_schemas(registers: Registers, visit: Visit) -> Sheet:
    """The schemas that the visitor may see, in a register or not."""
    found = await registers.catalogue.schemas.list(_caller(visit), _MOST_LISTED)
    rows = [
        (Cell(one.title or one.slug, Place(("schemas", one.id))), _described(one), one.version, when(one.updated_at))
        for one in found
    ]
    table = Table(
        ("Schema", "What it describes", Column("Version", short=True), _CHANGED),
        rows,
        Hint("You have no schemas yet. Create one with", _FIRST_SCHEMA),
    )
    return Sheet("Schemas", [table, _listed(len(rows), found.total, "schema")])


async def one_schema(registers: Registers, visit: Visit) -> Sheet:
    """One schema and its JSON."""
    schema = await registers.catalogue.schemas.get(_caller(visit), visit.path["schema"])
    facts = Facts([("Slug", schema.slug), ("Version", schema.version), ("Changed", when(schema.updated_at))])
    written = Code(_json(prune(schema.wire())))
    trail = [Cell("Schemas", Place(("schemas",)))]
    return Sheet(schema.title or schema.slug, [facts, written], lead=_described(schema), trail=trail)


async def one_register(registers: Registers, visit: Visit) -> Sheet:
    """A register with its schemas and the number of objects of each."""
    caller = _caller(visit)
    register = await registers.catalogue.registers.get(caller, visit.path["register"])
    rows: list[tuple[Text, ...]] = []
    for pair in await registers.catalogue.visible_pairs(caller):
        if pair.register.id == register.id and (total := await _count(registers, caller, pair)) is not None:
            title = Cell(pair.schema.title or pair.schema.slug, Place((register.id, pair.schema.id)))
            rows.append((title, _described(pair.schema), f"{total:,}"))
    facts = Facts(
        [
            ("Slug", register.slug),
            ("Version", register.version),
            ("Owner", str(register.body.get("owner") or "")),
            ("Created", when(register.created_at)),
            ("Changed", when(register.updated_at)),
        ]
    )
    columns = ("Objects of", "What they are", Column("Objects", True))
    return Sheet(
        register.title or register.slug,
        [Table(columns, rows, "It has no schemas that you can see."), facts],
        lead=_described(register),
    )


async def objects_of(registers: Registers, visit: Visit) -> Sheet:
    """The objects of a register and schema, a page at a time, by their main properties."""
    caller = _caller(visit)
    pair = await registers.catalogue.pair(caller, visit.path["register"], visit.path["schema"])
    words, cursor = visit.asked(), visit.query.get("cursor") or None
    members: dict[str, Any] = {"limit": _PAGE_SIZE, "search": words or None, "cursor": cursor}
    query = await registers.objects.query_of(caller, pair, {name: value for name, value in members.items() if value})
    found = await registers.objects.find(caller, pair, query)
    main = _list_properties(registers, caller, pair)
    rows = [_row(registers, caller, pair, StoredObject(*row), main) for row in found.rows]
    here, title = (pair.register.id, pair.schema.id), pair.schema.title or pair.schema.slug
    table = Table(
        ("Object", *(Column(one.title or one.name, one.kind == "number") for one in main), _CHANGED),
        rows,
        "Nothing was found." if words else "There are no objects yet.",
    )
    pager = Pager(
        counted(found.total, "object") if found.total is not None else "",
        Place(here, {"q": words, "cursor": found.cursor}) if found.cursor else None,
        Place(here, {"q": words}) if cursor else None,
    )
    properties = _visible_properties(registers, caller, pair)
    about = Section("Its schema", _schema_blocks(pair.schema, properties), folded=True)
    blocks: list[Block] = [*create_link(visit, pair), SearchBox(f"Search {title}", words), table, pager, about]
    return Sheet(title, blocks, lead=_described(pair.schema), trail=[_register_cell(pair.register)])


async def one_object(registers: Registers, visit: Visit) -> Sheet:
    """An object and its history."""
    caller = _caller(visit)
    pair = await registers.catalogue.pair(caller, visit.path["register"], visit.path["schema"])
    stored = await registers.objects.get(caller, pair, visit.path["id"])
    return await _object_sheet(registers, visit, pair, stored)


async def object_anywhere(registers: Registers, visit: Visit) -> Sheet:
    """An object by its uuid alone, for links from references."""
    caller = _caller(visit)
    return await _object_sheet(registers, visit, *await registers.objects.find_by_uuid(caller, visit.path["uuid"]))


async def figures(registers: Registers, visit: Visit) -> Sequence[tuple[str, str]]:
    """The number of registers and schemas that the visitor may see, and of objects if there are few pairs."""
    caller, catalogue = _caller(visit), registers.catalogue
    known = [
        ("registers", f"{(await catalogue.registers.list(caller, 0)).total:,}"),
        ("schemas", f"{(await catalogue.schemas.list(caller, 0)).total:,}"),
    ]
    pairs = await catalogue.visible_pairs(caller)
    if len(pairs) > _MOST_COUNTED:
        return known
    counts = [await _count(registers, caller, pair) for pair in pairs]
    return [*known, ("objects", f"{sum(count or 0 for count in counts):,}")]


async def all_views(registers: Registers, visit: Visit) -> Sheet:
    """The visitor's views and those shared with it."""
    caller = _caller(visit)
    names = {
        (pair.register.id, pair.schema.id): f"{pair.register.title} — {pair.schema.title}"
        for pair in await registers.catalogue.visible_pairs(caller)
    }
    found = await registers.views.visible(caller)
    rows = [
        (
            Cell(one.title, Place(("views", one.id))),
            one.description,
            names.get((one.register, one.schema), ""),
            "shared" if one.organisation is not None else "",
            when(one.updated_at),
        )
        for one in found[:_MOST_LISTED]
    ]
    columns = ("View", "What it is for", "Objects of", Column("Shared", short=True), _CHANGED)
    empty = Hint("You have no views yet. Save one with", _FIRST_VIEW)
    return Sheet("Views", [Table(columns, rows, empty), _listed(len(rows), len(found), "view")])


async def one_view(registers: Registers, visit: Visit) -> Sheet:
    """What a view finds now, a page at a time, and its definition."""
    caller = _caller(visit)
    view = await registers.views.get(caller, visit.path["view"])
    here, cursor = ("views", view.id), visit.query.get("cursor") or None
    trail = [Cell("Views", Place(("views",)))]
    wire = await registers.views.described(caller, view)
    definition = Section("The view as JSON", [Code(_json(wire))], folded=True)
    try:
        page = await registers.views.page(caller, view, limit=_PAGE_SIZE, cursor=cursor)
    except InvalidInput as error:
        return Sheet(view.title, [Note(error.message, "bad"), definition], lead=view.description, trail=trail)
    columns = page.columns or list(dict.fromkeys(name for row in page.rows for name in row if name != "@self"))
    rows = [_view_row(view, row, columns, linked=not page.is_grouped) for row in page.rows]
    heads = [Column(name, name in page.numeric) for name in columns]
    blocks: list[Block] = [
        *(Note(f"{problem['path']}: {problem['message']}", "bad") for problem in page.problems),
        Table(heads if page.is_grouped else ("", *heads), rows, "It finds nothing."),
        Pager(
            counted(page.total, "object") if page.total is not None else "",
            Place(here, {"cursor": page.cursor}) if page.cursor else None,
            Place(here) if cursor else None,
        ),
        definition,
    ]
    return Sheet(view.title, blocks, lead=view.description, trail=trail)


def _view_row(view: View, row: dict[str, Any], columns: Sequence[str], *, linked: bool) -> tuple[Text, ...]:
    values = tuple(_value(row.get(name)) for name in columns)
    return (Cell("Open", Place((view.register, view.schema, row["id"]))), *values) if linked else values


PAGES: Final[Pages[Registers]] = Pages(
    [
        Page("", all_registers),
        *ORGANISATION_PAGES,
        Page("schemas", all_schemas),
        Page("schemas/{schema}", one_schema),
        Page("objects/{uuid}", object_anywhere),
        Page("views", all_views),
        Page("views/{view}", one_view),
        Page("{register}", one_register),
        Page("{register}/{schema}", objects_of),
        *OBJECT_PAGES,
        Page("{register}/{schema}/{id}", one_object),
    ],
    figures,
    [("organisations", "Organisations", "Tenants of the registers, and who belongs to them.")],
    [*ORGANISATION_ACTIONS, *OBJECT_ACTIONS],
)
_CHANGED: Final = Column("Changed", short=True)


async def _object_sheet(registers: Registers, visit: Visit, pair: Pair, stored: StoredObject) -> Sheet:
    caller = _caller(visit)
    wire = present(registers.access, caller, pair, stored)
    metadata = cast("dict[str, Any]", wire["@self"])
    about = [
        ("Uuid", stored.uuid),
        ("Version", str(stored.version)),
        ("Owner", stored.owner),
        ("Organisation", stored.organisation),
        ("Created", when(stored.created_at)),
        ("Changed", when(stored.updated_at)),
        ("Lineage", Cell("What made it", Place(query={"uri": stored.uri}, room="lineage"))),
    ]
    changes = await registers.history.of(caller, pair, stored.uuid, _MOST_CHANGES)
    rows = [await _change(registers, caller, pair, one) for one in changes]
    columns = (
        Column("Version", True),
        Column("What", short=True),
        Column("When", short=True),
        "Who",
        "With",
        "Reason",
        "Changes",
    )
    return Sheet(
        str(metadata.get("name") or stored.uuid),
        [
            object_facts(pair, wire),
            *change_forms(visit, pair, stored),
            Section("History", [Table(columns, rows)]),
            Section("About the object", [Facts(about)]),
            Section("The object as JSON", [Code(_json(wire))], folded=True),
        ],
        trail=[
            _register_cell(pair.register),
            Cell(pair.schema.title or pair.schema.slug, Place((pair.register.id, pair.schema.id))),
        ],
    )


def object_facts(pair: Pair, wire: Mapping[str, Any]) -> Facts:
    """The properties of an object, for a page and for a view."""
    uuid = wire.get("@self", {}).get("id")
    data = {name: value for name, value in wire.items() if name != "@self" and not (name == "id" and value == uuid)}
    return Facts([(_label(pair, name), _value(value)) for name, value in data.items()])


def object_table(
    registers: Registers, caller: Caller, pair: Pair, rows: Sequence[Mapping[str, Any]], fields: Sequence[str] | None
) -> Table:
    """Objects as a tool gave them, each with the call that shows it; groups of an aggregation as they are."""
    if fields is None and all("@self" in row for row in rows):
        main = [
            (one.name, Column(one.title or one.name, one.kind == "number"))
            for one in _list_properties(registers, caller, pair)
        ]
    else:
        names = dict.fromkeys(name for row in rows for name in row if name not in ("@self", "id"))
        main = [(name, Column(_label(pair, name))) for name in names]
    shown = [(*_object_cell(pair, row), *(_value(row.get(name)) for name, _ in main)) for row in rows]
    head = ("Object",) if any("@self" in row or "id" in row for row in rows) else ()
    return Table((*head, *(column for _, column in main)), shown, "Nothing was found.")


def _object_cell(pair: Pair, row: Mapping[str, Any]) -> tuple[Text, ...]:
    about: Mapping[str, Any] = row.get("@self") or {}
    uuid = about.get("id") or row.get("id")
    if not isinstance(uuid, str):
        return ()
    call = ToolCall("objects", {"action": "get", "register": pair.register.id, "schema": pair.schema.id, "id": uuid})
    return (Cell(str(about.get("name") or uuid), Place((pair.register.id, pair.schema.id, uuid)), call),)


async def _change(registers: Registers, caller: Caller, pair: Pair, one: Change) -> tuple[str, ...]:
    """One line of the history, with the differences if they are known."""
    differences: list[str] = []
    if one.action in _CHANGING and one.version > 1:
        try:
            differences = (await registers.history.diff(caller, pair, one.uuid, one.version - 1, one.version))[
                "changes"
            ]
        except PentadError:
            differences = []  # one of the two versions is a deletion, or was purged
    who = (one.principal, one.agent or "", one.reason or "")
    return (str(one.version), one.action, when(one.at), *who, " ".join(differences[:5]))


async def _count(registers: Registers, caller: Caller, pair: Pair) -> int | None:
    """The number of objects of a pair that the visitor may see; None if it may not, or the pair is gone."""
    try:
        return (await registers.objects.find(caller, pair, _COUNT)).total
    except PentadError:
        return None


def _caller(visit: Visit) -> Caller:
    return Caller(visit.principal, visit.browser)


def _register_cell(register: Register) -> Cell:
    return Cell(register.title or register.slug, Place((register.id,)))


def _described(entity: Register | Schema) -> str:
    found = entity.body.get("description") or entity.body.get("summary")
    return found if isinstance(found, str) else ""


def _listed(count: int, total: int, what: str) -> Pager:
    some = f"{count:,} of " if count < total else ""
    return Pager(f"{some}{counted(total, what)}")


def _visible_properties(registers: Registers, caller: Caller, pair: Pair) -> list[Property]:
    """The properties that the visitor may know of."""
    hidden = registers.access.hidden(caller, pair)
    return [one for name, one in pair.definition.properties.items() if name not in hidden]


def _list_properties(registers: Registers, caller: Caller, pair: Pair) -> list[Property]:
    """The properties for the columns of a list: plain values, required ones first."""
    named = pair.definition.headings.get("name")
    plain = [
        one
        for one in _visible_properties(registers, caller, pair)
        if one.kind and one.visible and not one.hide_on_collection and one.name != named
    ]
    return sorted(plain, key=lambda one: not one.required)[:_MOST_COLUMNS]


def _row(
    registers: Registers, caller: Caller, pair: Pair, stored: StoredObject, main: Sequence[Property]
) -> tuple[Text, ...]:
    wire = present(registers.access, caller, pair, stored)
    name = str(wire["@self"].get("name") or stored.uuid)
    link = Place((pair.register.id, pair.schema.id, stored.uuid))
    return (Cell(name, link), *(_value(wire.get(one.name)) for one in main), when(stored.updated_at))


def _label(pair: Pair, name: str) -> str:
    known = pair.definition.properties.get(name)
    return (known.title if known is not None else None) or name


def _schema_blocks(schema: Schema, properties: Sequence[Property]) -> list[Block]:
    rows = [
        (one.name, _type(one), "yes" if one.required else "", one.description or one.title or "") for one in properties
    ]
    whole = Links([Cell("The whole schema", Place(("schemas", schema.id)))])
    return [Table(("Property", "Type", "Required", "What it is"), rows), whole]


def _type(one: Property) -> str:
    types = " or ".join(one.value_types) or "anything"
    if one.ref is not None:
        types = f"{'references' if one.many else 'reference'} to {one.ref.target}"
    return f"{types} ({one.format})" if one.format else types


def _value(value: Any) -> Text:
    """A property's value for people: references and URLs are links, objects are JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return _list(cast("list[Any]", value))
    return _json(value) if isinstance(value, dict) else _number(value)


def _json(value: Any) -> str:
    """JSON with line breaks."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except ValueError:
        return "This value has a number too large to show here."


def _text(text: str) -> Text:
    if _UUID.fullmatch(text):
        return Cell(text, Place(("objects", text)))
    return Cell(text, text) if text.startswith(("http://", "https://")) else text


def _list(values: Sequence[Any]) -> Text:
    if len(values) == 1:
        return _value(values[0])
    if all(isinstance(one, str | int | float) for one in values):
        rest = f" and {len(values) - _MOST_VALUES:,} more" if len(values) > _MOST_VALUES else ""
        return ", ".join(_plain(one) for one in values[:_MOST_VALUES]) + rest
    return _json(list(values))


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    if isinstance(value, int) and value.bit_length() > _WIDEST_NUMBER:
        return "a very large number"
    return str(value)
