"""Forms for new registers and schemas, and for an existing register. A new schema can be added to a register right
away."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.pages import Action, Button, Cell, Hidden, Page, Place, Sheet, Visit
from pentad.kernel.schema_forms import MISSING, Suggest, Suggestions, read_form, schema_form
from pentad.rooms.registers.interface.console.pair_page import caller_of
from pentad.rooms.registers.interface.console.schema_pages import DEFINITION, MOST_LISTED, delete_section, seen
from pentad.rooms.registers.models import Register
from pentad.rooms.registers.service import Registers

_NEW_REGISTER: Final = "/console/registers/new"
_NEW_SCHEMA: Final = "/console/registers/schemas/new"
_TEXT: Final = {"type": "string"}
_REGISTER: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["title"],
    "properties": {
        "title": {**_TEXT, "title": "Title"},
        "description": {**_TEXT, "title": "Description", "description": "What the register holds."},
        "schemas": {
            "type": "array",
            "title": "Schemas",
            "description": "Its objects have one of these schemas.",
            "items": _TEXT,
        },
    },
}
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["title", "properties"],
    "properties": {
        "title": {**_TEXT, "title": "Title", "description": "What one object is, such as Book."},
        "description": {**_TEXT, "title": "Description"},
        "register": {**_TEXT, "title": "Register", "description": "Where its objects go. You can choose one later."},
        "properties": {
            "type": "array",
            "title": "Properties",
            "minItems": 1,
            "items": {
                "type": "object",
                "title": "Property",
                "required": ["name", "type"],
                "properties": {
                    "name": {**_TEXT, "title": "Name", "description": "Its name in the objects, such as published_on."},
                    **DEFINITION,
                    "required": {"type": "boolean", "title": "Required"},
                },
            },
        },
    },
}


async def new_register(registers: Registers, visit: Visit) -> Sheet:
    """The form for a new register."""
    registers.access.check_define(caller_of(visit), None)
    suggest = await _schemas(registers, visit)
    form = schema_form(_REGISTER, visit, [Button("Create register")], _NEW_REGISTER, suggest=suggest)
    return Sheet("New register", [form], lead="A register holds objects that fit its schemas.")


async def edit_register(registers: Registers, visit: Visit) -> Sheet:
    """The form for an existing register."""
    register = await _own_register(registers, visit)
    path = f"/console/registers/{register.id}/edit"
    suggest = await _schemas(registers, visit)
    version = Hidden("version", register.version)
    form = schema_form(
        _REGISTER, visit, [Button("Save")], path, _data(register), extra=[version], suggest=suggest
    )  # fmt: skip
    about = "A register with objects cannot be deleted. Delete them first. Its schemas stay."
    delete = delete_section(about, "register", str(register.id), register.version)
    title = register.title or register.slug
    return Sheet(f"Edit {title}", [form, delete], trail=[Cell(title, Place((register.id,)))])


async def save_register(registers: Registers, visit: Visit) -> Place:
    """Save the form of a register; sends only the differences."""
    register = await _own_register(registers, visit)
    before = _data(register)
    after = read_form(_REGISTER, visit.fields, before)
    data = {name: after.get(name) for name in ("title", "description") if after.get(name) != before.get(name)}
    was, now = (cast("list[str]", one.get("schemas") or []) for one in (before, after))
    changed = {"schemas": [one for one in now if one not in was], "detach": [one for one in was if one not in now]}
    data |= {name: ids for name, ids in changed.items() if ids}
    if data:
        await visit.call("registers", {"action": "update", "id": register.id, "data": data, **seen(visit)})
    return Place((register.id,))


async def delete_register(registers: Registers, visit: Visit) -> None:
    """Delete a register."""
    register = await _own_register(registers, visit)
    await visit.call("registers", {"action": "delete", "id": register.id, **seen(visit)})


async def _own_register(registers: Registers, visit: Visit) -> Register:
    """The register in the path, if the visitor may change it."""
    register = await registers.catalogue.registers.get(caller_of(visit), visit.path["register"])
    registers.access.check_define(caller_of(visit), register)
    return register


def _data(register: Register) -> dict[str, Any]:
    """A register as its form shows it."""
    data = {"title": register.title, "description": register.body.get("description")}
    return {**{name: text for name, text in data.items() if text}, "schemas": list(map(str, register.schemas))}


async def _schemas(registers: Registers, visit: Visit) -> Suggest:
    found = await registers.catalogue.schemas.list(caller_of(visit), MOST_LISTED)
    return _suggest("/schemas/", [(str(one.id), one.title or one.slug) for one in found])


async def create_register(_registers: Registers, visit: Visit) -> Place:
    """Create a register from the form."""
    made = await visit.call("registers", {"action": "create", "data": read_form(_REGISTER, visit.fields)})
    return Place((str(made["id"]),))


async def new_schema(registers: Registers, visit: Visit) -> Sheet:
    """The form for a new schema."""
    caller = caller_of(visit)
    registers.access.check_define(caller, None)
    found = await registers.catalogue.registers.list(caller, MOST_LISTED)
    options = [(str(one.id), one.title or one.slug) for one in found if registers.access.defines(caller, one)]
    suggest = _suggest("/register", options)
    value = {"register": visit.asked("register", 100)} if visit.query.get("register") else MISSING
    form = schema_form(_SCHEMA, visit, [Button("Create schema")], _NEW_SCHEMA, value, suggest=suggest)
    trail = [Cell("Schemas", Place(("schemas",)))]
    lead = "A schema says which properties objects have. Forms, tools and the API follow it at once."
    return Sheet("New schema", [form], lead=lead, trail=trail)


async def create_schema(registers: Registers, visit: Visit) -> Place:
    """Create a schema from the form, and add it to the chosen register."""
    given = read_form(_SCHEMA, visit.fields)
    chosen = str(given.pop("register", "") or "")
    register = await registers.catalogue.registers.get(caller_of(visit), chosen) if chosen else None
    if register is not None:
        registers.access.check_define(caller_of(visit), register)
    made = await visit.call("schemas", {"action": "create", "data": {**given, **_properties(given)}})
    if register is None:
        return Place(("schemas", str(made["id"])))
    data = {"schemas": [*register.schemas, made["id"]]}
    await visit.call("registers", {"action": "update", "id": register.id, "data": data})
    return Place((str(register.id),))


def _properties(given: Mapping[str, Any]) -> dict[str, Any]:
    """The members `properties` and `required` of a schema."""
    rows = cast("Sequence[Mapping[str, Any]]", given.get("properties") or ())
    found = {str(one.get("name", "")): {key: one[key] for key in DEFINITION if one.get(key)} for one in rows}
    return {"properties": found, "required": [str(one.get("name", "")) for one in rows if one.get("required")]}


def _suggest(beginning: str, options: Sequence[tuple[str, str]]) -> Suggest:
    found = Suggestions(options)
    return lambda at, _node: found if at.startswith(beginning) else None


DEFINITION_PAGES: Final = (
    Page("new", new_register),
    Page("schemas/new", new_schema),
    Page("{register}/edit", edit_register),
)
DEFINITION_ACTIONS: Final = (
    Action("new", new_register, create_register, ""),
    Action("schemas/new", new_schema, create_schema, ""),
    Action("{register}/edit", edit_register, save_register, ""),
    Action("{register}/delete", edit_register, delete_register, ""),
)
