"""Console pages for registers and views. Those for schemas and objects are in `console`.

Everything is read with the visitor's rights, so pages hide what the visitor may not see.
"""

from collections.abc import Sequence
from typing import Any, Final

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.pages import (
    Action,
    Block,
    Button,
    Cell,
    Code,
    Column,
    Download,
    Facts,
    Form,
    Hint,
    Links,
    Note,
    Page,
    Pager,
    Pages,
    Place,
    Section,
    Sheet,
    Table,
    Text,
    Visit,
    when,
)
from pentad.rooms.registers.interface.console.browse import (
    BROWSE_ACTIONS,
    BROWSE_PAGES,
    FORMATS,
    PAGE_SIZE,
    delete_view,
    objects_of,
)
from pentad.rooms.registers.interface.console.bulk_edit import BULK_ACTIONS, BULK_PAGES
from pentad.rooms.registers.interface.console.definition_forms import (
    DEFINITION_ACTIONS,
    DEFINITION_PAGES,
)
from pentad.rooms.registers.interface.console.import_pages import IMPORT_ACTIONS, IMPORT_PAGES
from pentad.rooms.registers.interface.console.object_forms import OBJECT_ACTIONS, OBJECT_PAGES
from pentad.rooms.registers.interface.console.object_page import OBJECT_PAGE_ACTIONS, ONE_OBJECT, object_anywhere
from pentad.rooms.registers.interface.console.pair_page import (
    COUNT_TO,
    PairPage,
    caller_of,
    count_text,
    may_define,
    objects_text,
)
from pentad.rooms.registers.interface.console.schema_pages import (
    CHANGED,
    MOST_LISTED,
    SCHEMA_ACTIONS,
    SCHEMA_PAGES,
    description_of,
    listed,
)
from pentad.rooms.registers.interface.console.values import Values, as_json
from pentad.rooms.registers.interface.lineage import last_name
from pentad.rooms.registers.interface.organisation_pages import ORGANISATION_ACTIONS, ORGANISATION_PAGES
from pentad.rooms.registers.models import Caller, Pair
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.verbs import FIRST_CONTENT
from pentad.rooms.registers.views.definition import View

_MOST_COUNTED: Final = 50
_COUNT: Final = Query(limit=0, count_to=COUNT_TO)


async def all_registers(registers: Registers, visit: Visit) -> Sheet:
    """The registers the visitor may see."""
    found = await registers.catalogue.registers.list(caller_of(visit), MOST_LISTED)
    rows = [
        (
            Cell(one.title or one.slug, Place((one.id,))),
            description_of(one),
            str(len(one.schemas)),
            when(one.updated_at),
        )
        for one in found
    ]
    columns = ("Register", "What it holds", Column("Schemas", True), CHANGED)
    news = [Cell("New register", Place(("new",))), Cell("New schema", Place(("schemas", "new")))]
    others = [Cell("All schemas", Place(("schemas",))), Cell("Views", Place(("views",)))]
    empty = Hint("You have no registers yet. Create one above, or with", FIRST_CONTENT)
    blocks: list[Block] = [
        Links([*(news if may_define(registers, visit) else []), *others], actions=True),
        Table(columns, rows, empty if may_define(registers, visit) else "You have no registers yet."),
        *listed(len(rows), found.total, "register"),
    ]
    return Sheet("Registers", blocks, lead="Data that fits its schemas, with every change kept.")


async def one_register(registers: Registers, visit: Visit) -> Sheet:
    """A register with its schemas and the number of objects of each."""
    caller = caller_of(visit)
    register = await registers.catalogue.registers.get(caller, visit.path["register"])
    rows: list[tuple[Text, ...]] = []
    for pair in await registers.catalogue.visible_pairs(caller):
        if pair.register.id == register.id and (total := await _count(registers, caller, pair)) is not None:
            title = Cell(pair.schema.title or pair.schema.slug, Place((register.id, pair.schema.id)))
            rows.append((title, description_of(pair.schema), count_text(total)))
    facts = Facts(
        [
            ("Slug", register.slug),
            ("Version", register.version),
            ("Owner", str(register.body.get("owner") or "").removeprefix("user:")),
            ("Created", when(register.created_at)),
            ("Changed", when(register.updated_at)),
        ]
    )
    columns = ("Objects of", "What they are", Column("Objects", True))
    empty = "It has no schemas that you can see."
    actions: list[Text] = []
    if registers.access.defines(caller, register):
        actions.append(Cell("New schema", Place(("schemas", "new"), {"register": str(register.id)})))
        actions.append(Cell("Edit register", Place((register.id, "edit"))))
        empty = "It has no schemas yet. Objects need one: create it, or add an existing one by editing the register."
    return Sheet(
        register.title or register.slug,
        [Links(actions, actions=True), Table(columns, rows, empty), facts],
        lead=description_of(register),
    )


async def figures(registers: Registers, visit: Visit) -> Sequence[tuple[str, str]]:
    """The number of registers and schemas the visitor may see, and of objects if there are few pairs."""
    caller, catalogue = caller_of(visit), registers.catalogue
    known = [
        ("registers", f"{(await catalogue.registers.list(caller, 0)).total:,}"),
        ("schemas", f"{(await catalogue.schemas.list(caller, 0)).total:,}"),
    ]
    pairs = await catalogue.visible_pairs(caller)
    if len(pairs) > _MOST_COUNTED:
        return known
    counts = [await _count(registers, caller, pair) for pair in pairs]
    more = "+" if COUNT_TO in counts else ""
    return [*known, ("objects", f"{sum(count or 0 for count in counts) - counts.count(COUNT_TO):,}{more}")]


async def all_views(registers: Registers, visit: Visit) -> Sheet:
    """The visitor's own and shared views."""
    caller = caller_of(visit)
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
        for one in found[:MOST_LISTED]
    ]
    columns = ("View", "What it is for", "Objects of", Column("Shared", short=True), CHANGED)
    empty = "You have no views yet. Open a list of objects, filter it, and save it as a view at the bottom."
    return Sheet("Views", [Table(columns, rows, empty), *listed(len(rows), len(found), "view")])


async def one_view(registers: Registers, visit: Visit) -> Sheet:
    """A view's current results, one page at a time, and its definition."""
    caller = caller_of(visit)
    view = await registers.views.get(caller, visit.path["view"])
    here, cursor = ("views", view.id), visit.query.get("cursor") or None
    trail = [Cell("Views", Place(("views",)))]
    wire = await registers.views.described(caller, view)
    definition = Section("The view as JSON", [Code(as_json(wire))], folded=True)
    own = view.principal == visit.principal.id and not visit.principal.read_only
    delete = Form((), [Button("Delete view", kind="bad")], f"/console/registers/views/{view.id}/delete")
    below = [definition, *([Section("Delete it", [delete], folded=True)] if own else [])]
    exports = [
        Cell(f"Export as {text}", Download(f"/api/views/{view.id}/export", {"format": kind})) for kind, text in FORMATS
    ]
    try:
        page = await registers.views.page(caller, view, limit=PAGE_SIZE, cursor=cursor, count_to=COUNT_TO)
    except InvalidInput as error:
        return Sheet(view.title, [Note(error.message, "bad"), *below], lead=view.description, trail=trail)
    columns = page.columns or list(
        dict.fromkeys(name for row in page.rows for name in row if name not in ("@self", "id"))
    )
    listed_by = PairPage(registers, visit, caller, await registers.catalogue.pair(caller, view.register, view.schema))
    values = await Values.of(listed_by, page.rows)
    rows = [_view_row(view, row, columns, values, linked=not page.is_grouped) for row in page.rows]
    heads = [Column(listed_by.named(name), name in page.numeric) for name in columns]
    blocks: list[Block] = [
        *(Note(f"{problem['path']}: {problem['message']}", "bad") for problem in page.problems),
        Table(heads if page.is_grouped else ("", *heads), rows, "It finds nothing."),
        Pager(
            objects_text(page.total),
            Place(here, {"cursor": page.cursor}) if page.cursor else None,
            Place(here) if cursor else None,
        ),
        Links(exports),
        *below,
    ]
    return Sheet(view.title, blocks, lead=view.description, trail=trail)


def _view_row(
    view: View, row: dict[str, Any], columns: Sequence[str], values: Values, *, linked: bool
) -> tuple[Text, ...]:
    texts = tuple(values.text(row.get(name)) for name in columns)
    return (Cell("Open", Place((view.register, view.schema, row["id"]))), *texts) if linked else texts


PAGES: Final[Pages[Registers]] = Pages(
    [
        Page("", all_registers),
        *DEFINITION_PAGES,
        *ORGANISATION_PAGES,
        *SCHEMA_PAGES,
        Page("objects/{uuid}", object_anywhere),
        Page("views", all_views),
        Page("views/{view}", one_view),
        Page("{register}", one_register),
        Page("{register}/{schema}", objects_of),
        *OBJECT_PAGES,
        *BROWSE_PAGES,
        *BULK_PAGES,
        *IMPORT_PAGES,
        ONE_OBJECT,
    ],
    figures,
    [("organisations", "Organisations", "Tenants of the registers, and who belongs to them.")],
    [
        *ORGANISATION_ACTIONS,
        *DEFINITION_ACTIONS,
        *SCHEMA_ACTIONS,
        Action("views/{view}/delete", one_view, delete_view, "views"),
        *OBJECT_ACTIONS,
        *BROWSE_ACTIONS,
        *BULK_ACTIONS,
        *IMPORT_ACTIONS,
        *OBJECT_PAGE_ACTIONS,
    ],
    resources={
        "openregister://registers/{register}": "{register}",
        "openregister://schemas/{schema}": "schemas/{schema}",
        "openregister://objects/{register}/{schema}": "{register}/{schema}",
        "openregister://objects/{register}/{schema}/{id}": "{register}/{schema}/{id}",
        "openregister://views/{view}": "views/{view}",
    },
    gone=last_name,
)


async def _count(registers: Registers, caller: Caller, pair: Pair) -> int | None:
    """The number of visible objects in a pair; None if the visitor may not read it, or it is gone."""
    try:
        return (await registers.objects.find(caller, pair, _COUNT)).total
    except PentadError:
        return None
