"""Forms to create, edit and delete objects, generated from the schema.

Every change calls the `objects` tool as the visitor, so rules, validation and history are the same as for every client.
An edit sends only the changed values. If somebody else changed the object meanwhile, nothing is saved: the form comes
back with what the visitor typed, the current values in all other fields, and a list of what changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pentad.kernel.errors import NotFound, PentadError
from pentad.kernel.json_pointer import pointer, steps_of
from pentad.kernel.json_values import as_object
from pentad.kernel.page_values import label
from pentad.kernel.pages import (
    ADD,
    REMOVE,
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
    Table,
    Visit,
)
from pentad.kernel.schema_forms import Suggest, Suggestions, read_form, schema_form
from pentad.rooms.registers.definitions.properties import Property
from pentad.rooms.registers.interface.console.pair_page import PairPage
from pentad.rooms.registers.interface.console.values import Values
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.presentation import present
from pentad.rooms.registers.query.models import AsOf
from pentad.rooms.registers.service import Registers

_TOOL: Final = "objects"
_MOST_OPTIONS: Final = 50
_MOST_CHANGES: Final = 1_000


def edit_link(page: PairPage, stored: StoredObject) -> list[Block]:
    """The link to the form that changes an object, for visitors who may."""
    if not page.may_with("update", stored):
        return []
    return [Links([Cell("Edit", Place((*page.place, stored.uuid, "edit")))], actions=True)]


def delete_form(page: PairPage, stored: StoredObject) -> list[Block]:
    """The form that deletes an object, for visitors who may."""
    if not page.may_with("delete", stored):
        return []
    version = Hidden("version", str(stored.version))
    delete = Form([version], [Button("Delete", kind="bad")], f"{page.path}/{stored.uuid}/delete")
    about = Note("A deleted object can be restored until it is purged.")
    return [Section("Delete it", [about, delete], folded=True)]


async def new_object(registers: Registers, visit: Visit) -> Sheet:
    """The form for a new object."""
    page = await PairPage.open(registers, visit)
    registers.access.check(page.caller, page.pair, "create")
    path = f"{page.path}/new"
    suggest = await _suggestions(page, path)
    form = schema_form(object_schema(page), visit, [Button("Create")], path, suggest=suggest)
    return Sheet(f"New {page.title}", [form], trail=page.trail)


async def create(registers: Registers, visit: Visit) -> Place:
    """Create an object from the form."""
    page = await PairPage.open(registers, visit)
    data = read_form(object_schema(page), visit.fields)
    made = await visit.call(_TOOL, {"action": "create", **page.arguments, "data": data})
    return Place((*page.place, str(_id_of(made))))


async def edit_object(registers: Registers, visit: Visit) -> Sheet:
    """The form with the current object; after a conflict, with what was typed and what others changed."""
    page = await PairPage.open(registers, visit)
    stored = await page.stored()
    registers.access.check_object(page.caller, page.pair, "update", stored)
    path = f"{page.path}/{stored.uuid}/edit"
    suggest = await _suggestions(page, path, page.data(stored))
    conflict = await _conflict(page, stored, path)
    visit = visit if conflict is None else replace(visit, posted="")
    version = visit.typed("version") if conflict is None else ""
    form = schema_form(
        object_schema(page, existing=True),
        visit,
        [Button("Save")],
        path,
        page.data(stored) if conflict is None else conflict.merged,
        extra=[Hidden("version", version or str(stored.version))],
        suggest=suggest,
    )
    told = [] if conflict is None else conflict.blocks(page)
    title = f"Edit {page.name_of(stored)}"
    return Sheet(title, [*told, form], trail=page.trail_to(stored), explains=conflict is not None)


async def save(registers: Registers, visit: Visit) -> Place:
    """Save an object's form; sends only the differences."""
    page = await PairPage.open(registers, visit)
    stored = await page.stored()
    before = page.data(stored)
    after = read_form(object_schema(page, existing=True), visit.fields, before)
    changes = [
        *({"op": "remove", "path": pointer((name,))} for name in before if name not in after),
        *(
            {"op": "add", "path": pointer((name,)), "value": value}
            for name, value in after.items()
            if name not in before or before[name] != value
        ),
    ]
    if changes:
        arguments = {**page.arguments, "id": stored.uuid, "json_patch": changes, **seen_version(visit)}
        await visit.call(_TOOL, {"action": "patch", **arguments})
    return Place((*page.place, stored.uuid))


def object_schema(page: PairPage, *, existing: bool = False) -> dict[str, Any]:
    """The schema of the form: the properties the caller may see, with references as object ids. Computed properties are
    read-only; so are immutable ones in an existing object.
    """
    known = page.properties()
    body = page.pair.schema.body
    return {
        "type": "object",
        "properties": {one.name: _field_schema(one, existing=existing) for one in known},
        "required": [one.name for one in known if one.required],
        "$defs": body.get("$defs") or {},
        "definitions": body.get("definitions") or {},
    }


def _references(page: PairPage) -> list[tuple[str, Property]]:
    return [(name, one) for name, one in page.pair.definition.properties.items() if one.ref is not None]


def seen_version(visit: Visit) -> dict[str, int]:
    """The version the visitor saw, as a tool argument."""
    typed = visit.typed("version")
    return {"if_version": int(typed)} if typed.isdecimal() and len(typed) < 10 else {}


@dataclass(frozen=True, slots=True)
class _Conflict:
    """An edit of a version that is no longer current. `merged` is what the form shows: what the visitor typed, and
    current values elsewhere.
    """

    before: Mapping[str, Any]
    typed: Mapping[str, Any]
    now: Mapping[str, Any]
    merged: Mapping[str, Any]

    def blocks(self, page: PairPage) -> list[Block]:
        values = Values()
        rows = [
            (
                page.label(name),
                values.plain(self.before.get(name)),
                values.plain(self.now.get(name)),
                values.plain(self.typed.get(name)) if self.typed.get(name) != self.before.get(name) else "",
            )
            for name in {**self.before, **self.now}
            if self.before.get(name) != self.now.get(name)
        ]
        about = (
            "Somebody changed this object while you edited it. Nothing was saved. Your changes are in the form, with"
        )
        return [
            Note(f"{about} their values everywhere else. Save again to keep yours.", "bad"),
            Table(("Property", "It was", "It is now", "You wrote"), rows, "Your values differ from none of theirs."),
        ]


async def _conflict(page: PairPage, stored: StoredObject, path: str) -> _Conflict | None:
    """The conflict if the form was for an older version, otherwise None."""
    visit, seen = page.visit, seen_version(page.visit).get("if_version")
    if visit.posted != path or seen is None or seen == stored.version or ADD in visit.fields or REMOVE in visit.fields:
        return None
    before = await _version(page, stored, seen) or {}
    typed = read_form(object_schema(page, existing=True), visit.fields, before)
    now = page.data(stored)
    mine = {name for name in {**before, **typed} if before.get(name) != typed.get(name)}
    theirs = {name: value for name, value in now.items() if name not in mine}
    return _Conflict(before, typed, now, {**theirs, **{name: typed[name] for name in mine if name in typed}})


async def _version(page: PairPage, stored: StoredObject, version: int) -> dict[str, Any] | None:
    """The data of an older version; None if the visitor cannot read it."""
    since = min(max(stored.version - version, 0) + 1, _MOST_CHANGES)
    changes = await page.registers.history.of(page.caller, page.pair, stored.uuid, since)
    found = next((one for one in changes if one.version == version), None)
    if found is None:
        return None
    try:
        old = await page.registers.objects.get(page.caller, page.pair, stored.uuid, as_of=AsOf(change=found.seq))
    except PentadError:
        return None  # the version was deleted, or the visitor may not see it
    return page.data(old)


def _field_schema(one: Property, *, existing: bool) -> dict[str, Any]:
    node = _titled(one.name, one.definition)
    if one.computed is not None or (existing and one.immutable):
        node["readOnly"] = True
    if one.ref is None:
        return node
    about = {name: node[name] for name in ("title", "description", "readOnly") if name in node}
    text = {"type": "string"}
    return {**about, "type": "array", "items": text} if one.many else {**about, **text}


def _titled(name: str, node: Mapping[str, Any]) -> dict[str, Any]:
    """A schema in which every property has a title that people can read."""
    return {"title": label(name) or name, **_titled_members(node)}


def _titled_members(node: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(node)
    if members := as_object(node.get("properties")):
        found["properties"] = {name: _titled(name, as_object(inner)) for name, inner in members.items()}
    if items := as_object(node.get("items")):
        found["items"] = _titled_members(items)
    return found


async def _suggestions(page: PairPage, path: str, data: Mapping[str, Any] | None = None) -> Suggest:
    """Objects to refer to, by name, and those that the object's `data` refers to. A field requests this page again with
    the text typed so far."""
    references = _references(page)
    held = await Values.of(page, [{name: (data or {}).get(name) for name, _ in references}])
    present = [(uuid, cell.text) for uuid, cell in held.links.items()]
    found: dict[str, Suggestions] = {}
    for name, one in references:
        if one.ref is not None:
            words = next((text for at, text in page.visit.query.items() if _property_of(at) == name), "")
            options = await _objects(page.registers, page.caller, one.ref.target, words[:200])
            found[name] = Suggestions(options if words else list(dict([*options, *present]).items()), path)
    return lambda at, _node: found.get(_property_of(at))


async def _objects(registers: Registers, caller: Caller, target: int | str, words: str) -> list[tuple[str, str]]:
    options: list[tuple[str, str]] = []
    for pair in await registers.catalogue.visible_pairs(caller):
        if target not in (pair.schema.id, str(pair.schema.id), pair.schema.slug, pair.schema.uuid):
            continue
        try:
            members = {"limit": _MOST_OPTIONS, **({"search": words} if words else {})}
            query = await registers.objects.query_of(caller, pair, members)
            found = await registers.objects.find(caller, pair, replace(query, count=False))
        except PentadError:
            continue  # the caller may not list them; an id can still be typed
        objects = [StoredObject(*row) for row in found.rows]
        options += [(one.uuid, _name(registers, caller, pair, one)) for one in objects]
    return options[:_MOST_OPTIONS]


def _name(registers: Registers, caller: Caller, pair: Pair, stored: StoredObject) -> str:
    return str(present(registers.access, caller, pair, stored)["@self"].get("name") or stored.uuid)


def _property_of(at: str) -> str:
    """The property a pointer leads into."""
    return steps_of(at)[0] if at.startswith("/") else ""


def _id_of(made: Mapping[str, Any]) -> Any:
    own: Mapping[str, Any] = made.get("@self") or {}
    found: Any = made.get("id") or own.get("id")
    if found is None:
        raise NotFound("The object was created, but its id is not known.", hint="Find it in the list.")
    return found


OBJECT_PAGES: Final = (
    Page("{register}/{schema}/new", new_object),
    Page("{register}/{schema}/{id}/edit", edit_object),
)
OBJECT_ACTIONS: Final = (
    Action("{register}/{schema}/new", new_object, create, ""),
    Action("{register}/{schema}/{id}/edit", edit_object, save, ""),
)
