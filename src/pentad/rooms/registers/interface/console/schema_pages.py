"""Schemas: the list, one schema with its properties and history, and an editor that first previews a change."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.clock import to_minute
from pentad.kernel.counts import counted
from pentad.kernel.errors import InvalidInput
from pentad.kernel.pages import (
    CONFIRM,
    Action,
    Block,
    Button,
    Cell,
    Code,
    Column,
    Event,
    Facts,
    Form,
    Hidden,
    Hint,
    Links,
    Note,
    Page,
    Pager,
    Place,
    Section,
    Sheet,
    Table,
    Timeline,
    Visit,
    when,
)
from pentad.kernel.schema_forms import read_form, schema_form
from pentad.kernel.schema_nodes import Schemas, options, types_of
from pentad.rooms.registers.definitions.references import stored_reference
from pentad.rooms.registers.interface.console.pair_page import caller_of, may_define
from pentad.rooms.registers.interface.console.values import as_json
from pentad.rooms.registers.models import Register, Schema, prune
from pentad.rooms.registers.service import Registers

MOST_LISTED: Final = 200
_MOST_VERSIONS: Final = 20
_MOST_VALUES: Final = 12
_DEEPEST_LIST: Final = 2
PROPERTY_COLUMNS: Final = ("Property", "Type", Column("Required", short=True), "What it is")
_TOOL: Final = "schemas"
_NO_SCHEMAS: Final = "You have no schemas yet."
_FIRST_SCHEMA: Final = """pentad call schemas action=create data='{"slug": "book", "title": "Book"}'"""
CHANGED: Final = Column("Changed", short=True)
_DONE: Final[Mapping[str, str]] = {"create": "created", "update": "changed", "patch": "changed", "delete": "deleted"}
_SCHEMAS: Final = Cell("Schemas", Place(("schemas",)))
_TYPES: Final = ["string", "number", "integer", "boolean", "array", "object"]
DEFINITION: Final[dict[str, Any]] = {
    "type": {"enum": _TYPES, "title": "Type"},
    "title": {"type": "string", "title": "Title"},
    "description": {"type": "string", "title": "Description"},
    "format": {"type": "string", "title": "Format", "examples": ["date", "date-time", "email"]},
    "enum": {"type": "array", "title": "Allowed value", "items": {"type": "string"}},
    "facetable": {"type": "boolean", "title": "Facet"},
}
"""The form for one property. Tools support more, such as references."""
_OPERATIONS: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["operations"],
    "properties": {
        "operations": {
            "type": "array",
            "title": "Change",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["op", "property"],
                "properties": {
                    "op": {"enum": ["add", "change", "rename", "drop"], "title": "What to do"},
                    "property": {"type": "string", "title": "Property", "description": "Its name in the objects."},
                    "to": {"type": "string", "title": "New name", "description": "If you rename it."},
                    "definition": {
                        "type": "object",
                        "title": "Definition",
                        "description": "If you add or change it. What is left empty stays as it is.",
                        "properties": DEFINITION,
                    },
                    "required": {"type": "boolean", "title": "Required"},
                    "value": {
                        "title": "Value for existing objects",
                        "description": "Objects without a value get this one.",
                    },
                },
            },
        }
    },
}
"""The form for a schema patch. The tool supports more: nested properties, value maps, the order."""


async def all_schemas(registers: Registers, visit: Visit) -> Sheet:
    """All schemas the visitor may see, whether or not they are in a register."""
    found = await registers.catalogue.schemas.list(caller_of(visit), MOST_LISTED)
    can_define = may_define(registers, visit)
    rows = [
        (
            Cell(one.title or one.slug, Place(("schemas", one.id))),
            description_of(one),
            one.version,
            when(one.updated_at),
        )
        for one in found
    ]
    table = Table(
        ("Schema", "What it describes", Column("Version", short=True), CHANGED),
        rows,
        Hint("You have no schemas yet. Create one above, or with", _FIRST_SCHEMA) if can_define else _NO_SCHEMAS,
    )
    new = [Links([Cell("New schema", Place(("schemas", "new")))], actions=True)] if can_define else []
    return Sheet("Schemas", [*new, table, *listed(len(rows), found.total, "schema")])


async def one_schema(registers: Registers, visit: Visit) -> Sheet:
    """One schema: its properties, how it changed, and its JSON."""
    caller = caller_of(visit)
    schema = await registers.catalogue.schemas.get(caller, visit.path["schema"])
    facts = Facts([("Slug", schema.slug), ("Version", schema.version), ("Changed", when(schema.updated_at))])
    blocks: list[Block] = [facts]
    blocks.append(Section("Properties", [_properties(schema)]))
    if registers.access.defines(caller, schema):
        blocks.insert(0, Links([Cell("Change it", Place(("schemas", schema.id, "edit")))], actions=True))
        history = await registers.catalogue.schemas.history(caller, schema.id, _MOST_VERSIONS, 0)
        events = [_event(one) for one in history.items]
        blocks.append(Section("History", [Timeline(events, "It has not been changed yet.")]))
    blocks.append(Section("The schema as JSON", [Code(as_json(prune(schema.wire())))], folded=True))
    return Sheet(schema.title or schema.slug, blocks, lead=description_of(schema), trail=[_SCHEMAS])


async def edit_schema(registers: Registers, visit: Visit) -> Sheet:
    """The form for changes of a schema."""
    schema = await registers.catalogue.schemas.get(caller_of(visit), visit.path["schema"])
    registers.access.check_define(caller_of(visit), schema)
    return _editor(schema, visit, [Button("Preview")], [])


async def change_schema(registers: Registers, visit: Visit) -> Sheet | Place:
    """Preview the changes; after the preview, apply them."""
    schema = await registers.catalogue.schemas.get(caller_of(visit), visit.path["schema"])
    given = cast("Sequence[Mapping[str, Any]]", read_form(_OPERATIONS, visit.fields).get("operations") or ())
    operations = [_operation(one) for one in given]
    call: dict[str, Any] = {"id": schema.id, "operations": operations}
    if visit.typed("do") == "change":
        await visit.call(_TOOL, {"action": "patch", **call, **seen(visit)})
        return Place(("schemas", schema.id))
    report = await visit.call(_TOOL, {"action": "plan", **call})
    buttons = [Button("Change the schema", "do", "change"), Button("Preview again", kind="plain")]
    return _editor(schema, visit, buttons, _report(report), report)


def _editor(
    schema: Schema,
    visit: Visit,
    buttons: Sequence[Button],
    told: Sequence[Block],
    report: Mapping[str, Any] | None = None,
) -> Sheet:
    token = str((report or {}).get(CONFIRM) or "")
    extra = [Hidden(CONFIRM, token), Hidden("version", schema.version)] if report is not None else []
    path = f"/console/registers/schemas/{schema.id}/edit"
    form: Form = schema_form(_OPERATIONS, visit, buttons, path, extra=extra)
    here = Cell(schema.title or schema.slug, Place(("schemas", schema.id)))
    present = Section("Properties as they are", [_properties(schema)], folded=True)
    delete = delete_section(
        "A schema with objects cannot be deleted. Delete them first.", "schema", f"schemas/{schema.id}", schema.version
    )
    lead = "You see the effect on the objects before anything changes."
    blocks = [*told, form, present, delete]
    return Sheet(f"Change {schema.title or schema.slug}", blocks, lead=lead, trail=[_SCHEMAS, here])


def delete_section(about: str, what: str, path: str, version: str) -> Section:
    """The form that deletes a register or schema."""
    button = Button(f"Delete {what}", kind="bad")
    form = Form([Hidden("version", version)], [button], f"/console/registers/{path}/delete")
    return Section("Delete it", [Note(about), form], folded=True)


async def delete_schema(registers: Registers, visit: Visit) -> None:
    """Delete a schema."""
    schema = await registers.catalogue.schemas.get(caller_of(visit), visit.path["schema"])
    await visit.call(_TOOL, {"action": "delete", "id": schema.id, **seen(visit)})


def seen(visit: Visit) -> dict[str, str]:
    """The version of a register or schema that the visitor saw, and what they confirmed, as tool arguments."""
    given = {"if_version": visit.typed("version"), CONFIRM: visit.typed(CONFIRM)}
    return {name: text for name, text in given.items() if text}


def _operation(one: Mapping[str, Any]) -> dict[str, Any]:
    """One operation as the tool expects it, without unrelated members."""
    taken = {
        "add": ("property", "definition", "required", "value"),
        "change": ("property", "definition", "required", "value"),
        "rename": ("property", "to"),
        "drop": ("property",),
    }
    op = str(one.get("op", ""))
    if op not in taken:
        raise InvalidInput("A change does not say what to do.", hint="Choose add, change, rename or drop.")
    given = {name: one[name] for name in taken[op] if one.get(name) not in (None, "")}
    return {"op": op, **({"definition": {}} if op == "add" else {}), **given}


def _report(report: Mapping[str, Any]) -> list[Block]:
    """Shows the effect of a change, from its plan."""
    failing = int(report.get("failing_after_migration", report.get("failing", 0)) or 0)
    lines = [str(one) for one in cast("Sequence[Any]", report.get("changes") or ())]
    total = int(report.get("total") or 0)
    migrated = cast("Mapping[str, Any]", report.get("migrated") or {})
    blocks: list[Block] = [
        Note(
            f"{counted(failing, 'object')} of {total:,} would break the new schema." if failing
            else "The object fits the new schema." if total == 1
            else f"All {counted(total, 'object')} fit the new schema.",
            "bad" if failing else "good",
        ),
        Section("What changes", [Table(("In the schema",), [(line,) for line in lines], "Nothing changes.")]),
    ]  # fmt: skip
    facts = [("Objects that are migrated", f"{migrated['objects']:,}")] if migrated else []
    for name, words in (("lost", "Values that are lost"), ("orphaned", "Values that stay under an unknown name")):
        found = cast("Mapping[str, Mapping[str, Any]]", report.get(name) or {})
        facts += [(words, f"{one}: {counted(int(about['objects']), 'object')}") for one, about in found.items()]
    if report.get("complete") is False:
        facts.append(("Not counted", str(report.get("reason", ""))))
    samples = cast("Mapping[str, Sequence[Mapping[str, Any]]]", report.get("samples") or {})
    rows = [
        (str(one.get("name") or one.get("uuid") or ""), str(one.get("message") or kind))
        for kind, found in samples.items()
        for one in found
    ]
    if facts:
        blocks.append(Facts(facts))
    return [*blocks, Section("Objects that do not fit", [Table(("Object", "Problem"), rows)])] if rows else blocks


def _event(one: Mapping[str, Any]) -> Event:
    lines = [str(line) for line in cast("Sequence[Any]", one.get("changes") or ())]
    about = [str(one.get(name) or "").removeprefix("user:") for name in ("principal", "agent", "reason")]
    action = str(one.get("action") or "changed")
    title = f"Version {one.get('version', '')}: {_DONE.get(action, action)}"
    at = to_minute(one.get("at"))
    return Event(title, at, about, blocks=[Table(("What changed",), [(line,) for line in lines])] if lines else ())


def _properties(schema: Schema) -> Table:
    body = cast("Mapping[str, Any]", schema.body.get("properties") or {})
    required = cast("Sequence[Any]", schema.body.get("required") or ())
    rows: list[tuple[str, ...]] = []
    for name, one in body.items():
        node: Mapping[str, Any] = cast("Mapping[str, Any]", one) if isinstance(one, Mapping) else {}
        about = str(node.get("description") or node.get("title") or "")
        rows.append((name, type_of(node, schema), "yes" if name in required else "", about))
    return Table(PROPERTY_COLUMNS, rows, "It has no properties yet.")


def type_of(node: Mapping[str, Any], schema: Schema, depth: int = 0) -> str:
    """The type of a property in words."""
    if (target := stored_reference(node.get("$ref"))) is not None:
        return f"reference to {target}"
    found = Schemas(schema.body).resolved(node)
    if found.get("enum"):
        values = [text for _, text in options(found)]
        more = ", …" if len(values) > _MOST_VALUES else ""
        return f"one of {', '.join(values[:_MOST_VALUES])}{more}"
    types = types_of(found)
    if types == ["array"] and isinstance(found.get("items"), Mapping) and depth < _DEEPEST_LIST:
        return f"list: {type_of(found['items'], schema, depth + 1)}"
    words = " or ".join(types) or "anything"
    return f"{words} ({found['format']})" if found.get("format") else words


def description_of(entity: Register | Schema) -> str:
    """The description of a register or schema."""
    found = entity.body.get("description") or entity.body.get("summary")
    return found if isinstance(found, str) else ""


def listed(count: int, total: int, what: str) -> list[Block]:
    """How many of all items a list shows, unless it says that it is empty."""
    some = f"{count:,} of " if count < total else ""
    return [Pager(f"{some}{counted(total, what)}")] if total else []


SCHEMA_PAGES: Final = (
    Page("schemas", all_schemas),
    Page("schemas/{schema}", one_schema),
    Page("schemas/{schema}/edit", edit_schema),
)
SCHEMA_ACTIONS: Final = (
    Action("schemas/{schema}/edit", edit_schema, change_schema, ""),
    Action("schemas/{schema}/delete", edit_schema, delete_schema, "schemas"),
)
