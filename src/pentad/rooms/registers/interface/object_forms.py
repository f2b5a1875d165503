"""Forms for objects in the console: create, edit and delete, with the form that the schema describes.

Every change is a call of the `objects` tool, made for the visitor: rules, validation and history are the same as for
every client. An edit sends only what was changed, and fails if somebody else has changed the object meanwhile.
"""

from collections.abc import Mapping
from typing import Any, Final

from pentad.kernel.errors import NotFound, PentadError
from pentad.kernel.pages import (
    Action,
    Block,
    Button,
    Cell,
    Form,
    Hidden,
    Links,
    Note,
    Page,
    Place,
    Section,
    Sheet,
    Visit,
)
from pentad.kernel.schema import pointer
from pentad.kernel.schema_forms import Suggest, Suggestions, read_form, schema_form
from pentad.mcp.rights import check_right
from pentad.rooms.registers.definitions.properties import Property
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.presentation import present
from pentad.rooms.registers.service import Registers

_TOOL: Final = "objects"
_MOST_OPTIONS: Final = 50


def create_link(visit: Visit, pair: Pair) -> list[Block]:
    """The way to the form for a new object, for those who may write."""
    if not visit.principal.may("registers", "write"):
        return []
    return [Links([Cell(f"New {_title(pair)}", Place((pair.register.id, pair.schema.id, "new")))])]


def change_forms(visit: Visit, pair: Pair, stored: StoredObject) -> list[Block]:
    """The ways to edit and delete an object, for those who may write."""
    if not visit.principal.may("registers", "write"):
        return []
    edit = Links([Cell("Edit", Place((pair.register.id, pair.schema.id, stored.uuid, "edit")))])
    version = Hidden("version", str(stored.version))
    delete = Form([version], [Button("Delete", kind="bad")], f"{_path(pair)}/{stored.uuid}/delete")
    about = Note("A deleted object can be restored until it is purged.")
    return [edit, Section("Delete it", [about, delete], folded=True)]


async def new_object(registers: Registers, visit: Visit) -> Sheet:
    """The form for a new object."""
    pair = await _pair(registers, visit)
    check_right(visit.principal, "registers", "write")
    schema = object_schema(registers, _caller(visit), pair)
    suggest = await _suggestions(registers, visit, pair, f"{_path(pair)}/new")
    form = schema_form(schema, visit, [Button("Create")], f"{_path(pair)}/new", suggest=suggest)
    return Sheet(f"New {_title(pair)}", [form], trail=_trail(pair))


async def create(registers: Registers, visit: Visit) -> Place:
    """What the form for a new object does."""
    pair = await _pair(registers, visit)
    data = read_form(object_schema(registers, _caller(visit), pair), visit.fields)
    made = await visit.call(_TOOL, {"action": "create", **_pair_arguments(pair), "data": data})
    return Place((pair.register.id, pair.schema.id, str(_id_of(made))))


async def edit_object(registers: Registers, visit: Visit) -> Sheet:
    """The form with the object as it is."""
    pair = await _pair(registers, visit)
    stored = await registers.objects.get(_caller(visit), pair, visit.path["id"])
    check_right(visit.principal, "registers", "write")
    path = f"{_path(pair)}/{stored.uuid}/edit"
    schema = object_schema(registers, _caller(visit), pair, existing=True)
    version = Hidden("version", visit.typed("version") or str(stored.version))
    suggest = await _suggestions(registers, visit, pair, path)
    value = _data(registers, visit, pair, stored)
    form = schema_form(schema, visit, [Button("Save")], path, value, extra=[version], suggest=suggest)
    name = _name(registers, _caller(visit), pair, stored)
    here = Cell(name, Place((pair.register.id, pair.schema.id, stored.uuid)))
    return Sheet(f"Edit {name}", [form], trail=[*_trail(pair), here])


async def save(registers: Registers, visit: Visit) -> Place:
    """What the form of an object does: it sends the differences."""
    pair = await _pair(registers, visit)
    stored = await registers.objects.get(_caller(visit), pair, visit.path["id"])
    before = _data(registers, visit, pair, stored)
    after = read_form(object_schema(registers, _caller(visit), pair, existing=True), visit.fields, before)
    changes = [
        *({"op": "remove", "path": pointer((name,))} for name in before if name not in after),
        *(
            {"op": "add", "path": pointer((name,)), "value": value}
            for name, value in after.items()
            if name not in before or before[name] != value
        ),
    ]
    here = Place((pair.register.id, pair.schema.id, stored.uuid))
    if changes:
        arguments = {**_pair_arguments(pair), "id": stored.uuid, "json_patch": changes, **_version(visit)}
        await visit.call(_TOOL, {"action": "patch", **arguments})
    return here


async def delete(registers: Registers, visit: Visit) -> Place:
    """What the button for deleting does."""
    pair = await _pair(registers, visit)
    arguments = {**_pair_arguments(pair), "id": visit.path["id"], **_version(visit)}
    await visit.call(_TOOL, {"action": "delete", **arguments})
    return Place((pair.register.id, pair.schema.id))


def object_schema(registers: Registers, caller: Caller, pair: Pair, *, existing: bool = False) -> dict[str, Any]:
    """The schema of the form: what the caller may know of, with references as the ids of objects. What is computed,
    and in an existing object what never changes, is read-only."""
    hidden = registers.access.hidden(caller, pair)
    known = {name: one for name, one in pair.definition.properties.items() if name not in hidden}
    properties = {name: _field_schema(one, existing=existing) for name, one in known.items()}
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name, one in known.items() if one.required],
        "$defs": pair.schema.body.get("$defs") or {},
        "definitions": pair.schema.body.get("definitions") or {},
    }


def _field_schema(one: Property, *, existing: bool) -> dict[str, Any]:
    node = dict(one.definition)
    if one.computed is not None or (existing and one.immutable):
        node["readOnly"] = True
    if one.ref is None:
        return node
    about = {name: node[name] for name in ("title", "description", "readOnly") if name in node}
    text = {"type": "string"}
    return {**about, "type": "array", "items": text} if one.many else {**about, **text}


async def _suggestions(registers: Registers, visit: Visit, pair: Pair, path: str) -> Suggest:
    """Objects to refer to, by name. A field asks this page again with what was typed so far."""
    found: dict[str, Suggestions] = {}
    for name, one in pair.definition.properties.items():
        if one.ref is not None:
            words = next((text for at, text in visit.query.items() if _property_of(at) == name), "")
            found[name] = Suggestions(await _objects(registers, _caller(visit), one.ref.target, words[:200]), path)
    return lambda at, _node: found.get(_property_of(at))


async def _objects(registers: Registers, caller: Caller, target: int | str, words: str) -> list[tuple[str, str]]:
    options: list[tuple[str, str]] = []
    for pair in await registers.catalogue.visible_pairs(caller):
        if target not in (pair.schema.id, str(pair.schema.id), pair.schema.slug, pair.schema.uuid):
            continue
        try:
            members = {"limit": _MOST_OPTIONS, **({"search": words} if words else {})}
            query = await registers.objects.query_of(caller, pair, members)
            found = await registers.objects.find(caller, pair, query)
        except PentadError:
            continue  # the caller may not list them; an id can still be typed
        objects = [StoredObject(*row) for row in found.rows]
        options += [(one.uuid, _name(registers, caller, pair, one)) for one in objects]
    return options[:_MOST_OPTIONS]


def _name(registers: Registers, caller: Caller, pair: Pair, stored: StoredObject) -> str:
    return str(present(registers.access, caller, pair, stored)["@self"].get("name") or stored.uuid)


def _property_of(at: str) -> str:
    """The property that a pointer is in."""
    return at[1:].partition("/")[0].replace("~1", "/").replace("~0", "~") if at.startswith("/") else ""


def _data(registers: Registers, visit: Visit, pair: Pair, stored: StoredObject) -> dict[str, Any]:
    wire = present(registers.access, _caller(visit), pair, stored)
    return {name: value for name, value in wire.items() if name != "@self" and name in pair.definition.properties}


def _id_of(made: Mapping[str, Any]) -> Any:
    own: Mapping[str, Any] = made.get("@self") or {}
    found: Any = made.get("id") or own.get("id")
    if found is None:
        raise NotFound("The object was created, but its id is not known.", hint="Find it in the list.")
    return found


def _version(visit: Visit) -> dict[str, int]:
    typed = visit.typed("version")
    return {"if_version": int(typed)} if typed.isdecimal() and len(typed) < 10 else {}


def _pair_arguments(pair: Pair) -> dict[str, Any]:
    return {"register": pair.register.id, "schema": pair.schema.id}


async def _pair(registers: Registers, visit: Visit) -> Pair:
    return await registers.catalogue.pair(_caller(visit), visit.path["register"], visit.path["schema"])


def _caller(visit: Visit) -> Caller:
    return Caller(visit.principal, visit.browser)


def _path(pair: Pair) -> str:
    return f"/console/registers/{pair.register.id}/{pair.schema.id}"


def _title(pair: Pair) -> str:
    return pair.schema.title or pair.schema.slug


def _trail(pair: Pair) -> list[Cell]:
    register = Cell(pair.register.title or pair.register.slug, Place((pair.register.id,)))
    return [register, Cell(_title(pair), Place((pair.register.id, pair.schema.id)))]


OBJECT_PAGES: Final = (
    Page("{register}/{schema}/new", new_object),
    Page("{register}/{schema}/{id}/edit", edit_object),
)
OBJECT_ACTIONS: Final = (
    Action("{register}/{schema}/new", new_object, create, ""),
    Action("{register}/{schema}/{id}/edit", edit_object, save, ""),
    Action("{register}/{schema}/{id}/delete", edit_object, delete, ""),
)
