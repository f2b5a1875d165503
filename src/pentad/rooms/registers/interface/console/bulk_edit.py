"""Bulk edits: a plan for the objects on the page is previewed, then committed or dropped. It can be undone later."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from pentad.kernel.counts import counted
from pentad.kernel.errors import InvalidInput
from pentad.kernel.pages import (
    Action,
    Block,
    Button,
    Cell,
    Column,
    Facts,
    Form,
    Hidden,
    Note,
    Page,
    Place,
    Section,
    Sheet,
    Table,
    Text,
    Visit,
)
from pentad.kernel.schema_forms import read_form, schema_form
from pentad.rooms.registers.interface.console.object_forms import object_schema
from pentad.rooms.registers.interface.console.pair_page import COUNT_TO, PairPage, count_text
from pentad.rooms.registers.interface.console.selection import Selection, described, filter_text, selection_of
from pentad.rooms.registers.interface.console.values import Values
from pentad.rooms.registers.models import StoredObject
from pentad.rooms.registers.objects.plans import MOST_OPERATIONS, Plan
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers

_TOOL: Final = "objects"
_MOST_ROWS: Final = 200


async def bulk_form(registers: Registers, visit: Visit) -> Sheet:
    """The form. Its values replace those of every selected object."""
    page = await PairPage.open(registers, visit)
    registers.access.check(page.caller, page.pair, "update")
    selection = selection_of(page)
    total = await _total(page, selection)
    schema = _optional_schema(page)
    kept = [Hidden("filter", filter_text(selection.filter))]
    form = schema_form(schema, visit, [Button("Preview")], f"{page.path}/bulk", extra=kept)
    chosen = " and ".join(described(page, one) for one in selection.conditions) or "all of them"
    few = [] if total <= MOST_OPERATIONS else [Note(f"At most {MOST_OPERATIONS:,} can be changed at once.", "bad")]
    about = Facts([("Which", chosen), ("How many", count_text(total))])
    lead = "The values you fill in replace those of all these objects. You see a preview first."
    return Sheet(f"Change {page.title}", [about, *few, form], lead=lead, trail=page.trail)


async def make_plan(registers: Registers, visit: Visit) -> Place:
    """Plan the change."""
    page = await PairPage.open(registers, visit)
    data = read_form(_optional_schema(page), visit.fields)
    if not data:
        raise InvalidInput("Nothing is filled in.", hint="Fill in the values that the objects should have.")
    chosen = selection_of(page).filter or {}
    made = await visit.call(_TOOL, {"action": "plan", **page.arguments, "filter": dict(chosen), "data": data})
    return _place(page, str(made["id"]))


async def one_plan(registers: Registers, visit: Visit) -> Sheet:
    """A plan: what each object would become, or became."""
    page = await PairPage.open(registers, visit)
    plan = await registers.plans.get(page.caller, visit.path["plan"])
    rows = await _rows(page, plan)
    failed = sum(row.get("error") is not None for row in plan.preview)
    path = f"{page.path}/plans/{plan.id}"
    columns = ("Object", Column("Result", short=True), "Changes", *(["Problem"] if failed else []))
    number = counted(len(plan.preview), "object")
    shown = f": the first {_MOST_ROWS:,} of {number}" if len(plan.preview) > _MOST_ROWS else ""
    blocks: list[Block] = []
    if plan.state == "open" and plan.valid:
        said = f"Nothing is written yet. {number} would be changed."
        blocks += [Note(said), Form([], [Button(f"Change {number}")], f"{path}/commit")]
    elif plan.state == "open":
        said = f"Nothing is written: {counted(failed, 'object')} would break a rule. Correct the values and try again."
        blocks.append(Note(said, "bad"))
    elif plan.state == "committed":
        done = Note(f"Done: {number} changed.", "good")
        blocks += [done, Form([], [Button("Undo all of it", kind="plain")], f"{path}/undo")]
    else:
        blocks.append(Note("It was undone."))
    rows = [row[: len(columns)] for row in rows]
    blocks.append(Section(f"Changes{shown}", [Table(columns, rows)]))
    return Sheet("Planned change", blocks, trail=page.trail)


async def commit(registers: Registers, visit: Visit) -> Place:
    """Commit the plan."""
    return await _with_plan(registers, visit, "commit")


async def undo(registers: Registers, visit: Visit) -> Place:
    """Undo the plan."""
    return await _with_plan(registers, visit, "undo")


async def _with_plan(registers: Registers, visit: Visit, action: str) -> Place:
    page = await PairPage.open(registers, visit)
    await visit.call(_TOOL, {"action": action, **page.arguments, "plan": visit.path["plan"]})
    return _place(page, visit.path["plan"])


def _place(page: PairPage, plan: str) -> Place:
    return Place((*page.place, "plans", plan))


def _optional_schema(page: PairPage) -> dict[str, Any]:
    """The schema of an object, with no property required and no defaults, because an empty field changes nothing."""
    schema = object_schema(page, existing=True)
    properties: dict[str, dict[str, Any]] = schema["properties"]
    without = {name: {key: value for key, value in one.items() if key != "default"} for name, one in properties.items()}
    return {**schema, "required": [], "properties": without}


async def _total(page: PairPage, selection: Selection) -> int:
    members = {**selection.members(), "limit": 0}
    query: Query = await page.registers.objects.query_of(page.caller, page.pair, members)
    return (await page.registers.objects.find(page.caller, page.pair, replace(query, count_to=COUNT_TO))).total or 0


async def _rows(page: PairPage, plan: Plan) -> list[tuple[Text, ...]]:
    first = sorted(plan.preview, key=lambda row: row.get("error") is None)[:_MOST_ROWS]
    related = await page.registers.objects.related(page.caller, [row["uuid"] for row in first if row.get("uuid")])
    return [_row(page, row, related.get(row.get("uuid") or "")) for row in first]


def _row(page: PairPage, row: Mapping[str, Any], found: tuple[Any, StoredObject] | None) -> tuple[Text, ...]:
    values = Values()
    uuid = str(row.get("uuid") or "")
    name = Cell(page.name_of(found[1]), Place((*page.place, uuid))) if found is not None else uuid
    changes = [
        f"{page.label(str(one.get('path', '')).strip('/'))}: {values.plain(one.get('was')) or 'empty'} → "
        f"{values.plain(one.get('value')) or 'empty'}"
        for one in cast("list[Mapping[str, Any]]", row.get("diff") or [])
    ]
    error = cast("Mapping[str, Any]", row.get("error") or {})
    return name, str(row.get("status", "")), "; ".join(changes), str(error.get("message") or "")


BULK_PAGES: Final = (
    Page("{register}/{schema}/bulk", bulk_form),
    Page("{register}/{schema}/plans/{plan}", one_plan),
)
BULK_ACTIONS: Final = (
    Action("{register}/{schema}/bulk", bulk_form, make_plan, ""),
    Action("{register}/{schema}/plans/{plan}/commit", one_plan, commit, ""),
    Action("{register}/{schema}/plans/{plan}/undo", one_plan, undo, ""),
)
