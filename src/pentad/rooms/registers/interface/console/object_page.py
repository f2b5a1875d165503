"""One object, now or in the past: values, files, and history, showing what each change did and letting visitors
revert.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from pentad.kernel.counts import counted
from pentad.kernel.errors import NotFound
from pentad.kernel.pages import (
    FILE_NAME,
    Action,
    Block,
    Button,
    Cell,
    Choice,
    Code,
    Column,
    Download,
    Event,
    Facts,
    FileField,
    Form,
    Hidden,
    Links,
    Note,
    Page,
    Pager,
    Place,
    Section,
    Sheet,
    Table,
    TextField,
    Timeline,
    TimeSlider,
    Visit,
    when,
)
from pentad.rooms.registers.interface.console.differences import differences
from pentad.rooms.registers.interface.console.moments import moment_of, moment_text
from pentad.rooms.registers.interface.console.object_blocks import object_facts
from pentad.rooms.registers.interface.console.object_forms import delete_form, edit_link, seen_version
from pentad.rooms.registers.interface.console.pair_page import PairPage, caller_of
from pentad.rooms.registers.interface.console.values import Values, as_json
from pentad.rooms.registers.models import StoredObject
from pentad.rooms.registers.objects import change_log
from pentad.rooms.registers.objects.change_log import Change
from pentad.rooms.registers.query.datetimes import parse_as_of
from pentad.rooms.registers.service import Registers

_MOST_CHANGES: Final = 20
_FIRST: Final = "create"
_GONE: Final = ("delete", "purge")
_DONE: Final[Mapping[str, str]] = {
    "create": "created", "update": "changed", "revert": "set back", "migrate": "migrated", "delete": "deleted",
    "restore": "restored", "purge": "erased", "lock": "locked", "unlock": "unlocked",
}  # fmt: skip
"""The wording for each action of a change."""


async def one_object(registers: Registers, visit: Visit) -> Sheet:
    """An object of a register and schema."""
    page = await PairPage.open(registers, visit)
    asked = visit.asked("as_of", 100)
    moment = parse_as_of(asked, registers.now()) if asked else None
    stored = await registers.objects.get(page.caller, page.pair, visit.path["id"], as_of=moment)
    return await _object_sheet(page, stored, asked)


async def object_anywhere(registers: Registers, visit: Visit) -> Sheet:
    """An object by its uuid alone, for links from references."""
    caller = caller_of(visit)
    pair, stored = await registers.objects.find_by_uuid(caller, visit.path["uuid"])
    return await _object_sheet(PairPage(registers, visit, caller, pair), stored, "")


async def delete(registers: Registers, visit: Visit) -> Place:
    """Delete the object."""
    page = await PairPage.open(registers, visit)
    await _call(page, "delete", seen_version(visit))
    return Place(page.place)


async def revert(registers: Registers, visit: Visit) -> Place:
    """Revert to a version."""
    page = await PairPage.open(registers, visit)
    to = visit.typed("to")
    await _call(page, "revert", {"version": int(to) if to.isdecimal() else None, **seen_version(visit)})
    return _here(page)


async def undo(registers: Registers, visit: Visit) -> Place:
    """Undo the last change."""
    page = await PairPage.open(registers, visit)
    await _call(page, "undo", seen_version(visit))
    return _here(page)


async def attach(registers: Registers, visit: Visit) -> Place:
    """Attach a file."""
    page = await PairPage.open(registers, visit)
    name = visit.typed("name") or visit.fields.get(f"{FILE_NAME}file", "").replace("\\", "/").rpartition("/")[2]
    given = {"name": name, "base64": visit.fields.get("file", "")}
    await _call(page, "write", given, tool="attachments")
    return _here(page)


async def detach(registers: Registers, visit: Visit) -> Place:
    """Delete an attached file."""
    page = await PairPage.open(registers, visit)
    await _call(page, "delete", {"name": visit.typed("name")}, tool="attachments")
    return _here(page)


async def _call(page: PairPage, action: str, given: Mapping[str, Any], tool: str = "objects") -> None:
    await page.visit.call(tool, {"action": action, **page.arguments, "id": page.visit.path["id"], **given})


def _here(page: PairPage) -> Place:
    return Place((*page.place, page.visit.path["id"]))


async def _object_sheet(page: PairPage, stored: StoredObject, as_of: str) -> Sheet:
    wire = page.wire(stored)
    values = await Values.of(page, [wire])
    about = [
        ("UUID", stored.uuid),
        ("Version", str(stored.version)),
        ("Owner", (stored.owner or "").removeprefix("user:")),
        ("Organisation", stored.organisation),
        ("Created", when(stored.created_at)),
        ("Changed", when(stored.updated_at)),
        ("Lineage", Cell("What made it", Place(query={"uri": stored.uri}, room="lineage"))),
    ]
    now = Links([Cell("See it as it is now", Place((*page.place, stored.uuid)))], actions=True)
    then = [Note(f"This is the object {moment_text(as_of)}: version {stored.version}."), now]
    return Sheet(
        page.name_of(stored),
        [
            *(then if as_of else edit_link(page, stored)),
            object_facts(page, wire, values),
            *([] if as_of else await _files(page, stored)),
            await _history(page, stored),
            *([] if as_of else delete_form(page, stored)),
            Section("About the object", [Facts(about)]),
            Section("The object as JSON", [Code(as_json(wire))], folded=True),
        ],
        trail=page.trail,
        events=None if as_of else page.events(stored.uuid),
    )


async def _history(page: PairPage, stored: StoredObject) -> Section:
    """The changes, newest first. Writers can revert to each."""
    cursor = page.visit.query.get("changes")
    before = change_log.position(cursor)[1] if cursor else None
    changes = await page.registers.history.of(page.caller, page.pair, stored.uuid, _MOST_CHANGES, before)
    try:
        current = await page.registers.objects.get(page.caller, page.pair, stored.uuid)
    except NotFound:  # the object was deleted meanwhile
        current = stored
    can_write = page.may_with("update", current)
    values = await Values.of(page, [row for one in changes for row in _sides(one)])
    events = [_event(page, current, one, values, can_write=can_write) for one in changes]
    here = (*page.place, stored.uuid)
    following = Place(here, {"changes": changes[-1].cursor}) if len(changes) == _MOST_CHANGES else None
    pager = [Pager("", following, Place(here) if cursor else None)] if following or cursor else []
    at, asked = page.registers.now(), page.visit.query.get("as_of", "")
    shown = next((one.at for one in changes if f"change:{one.seq}" == asked), None)
    shown = shown or (moment_of(page, asked, at) if asked else at)
    slider = TimeSlider(
        "as_of", "As it was", min(stored.created_at, shown), at, min(shown, at), marks=[one.at for one in changes]
    )
    path = f"{page.path}/{stored.uuid}"
    moment = Form([slider], [Button("Show", kind="plain")], path, method="get", live="main")
    return Section("History", [moment, Timeline(events), *pager], anchor="history")


def _event(page: PairPage, current: StoredObject, one: Change, values: Values, *, can_write: bool) -> Event:
    link = Place((*page.place, one.uuid), {"as_of": f"change:{one.seq}"}) if one.action not in _GONE else None
    blocks: list[Block] = []
    if can_write and one.version == current.version and one.action != _FIRST:
        seen = Hidden("version", str(current.version))
        blocks.append(Form([seen], [Button("Undo this change", kind="plain")], f"{page.path}/{one.uuid}/undo"))
    elif can_write and one.version < current.version and one.action not in _GONE:
        fields = [Hidden("to", str(one.version)), Hidden("version", str(current.version))]
        button = Button(f"Go back to version {one.version}", kind="plain")
        blocks.append(Form(fields, [button], f"{page.path}/{one.uuid}/revert"))
    about = [one.principal.removeprefix("user:"), one.agent or "", one.reason or ""]
    changes = () if one.action == _FIRST else differences(page, one.changed or {}, values)
    return Event(
        Cell(f"Version {one.version}: {_DONE.get(one.action, one.action)}", link), when(one.at), about, changes, blocks
    )


def _sides(change: Change) -> list[dict[str, Any]]:
    """The values before and after a change."""
    pairs = {
        path: cast("Mapping[str, Any]", one) for path, one in (change.changed or {}).items() if isinstance(one, dict)
    }
    return [{path: one.get(side) for path, one in pairs.items()} for side in ("old", "new")]


async def _files(page: PairPage, stored: StoredObject) -> list[Block]:
    """The attached files; visitors who may change the object also get forms to add and delete files."""
    files = await page.registers.attachments.list(stored)
    can_write = page.may_with("update", stored)
    if not files and not can_write:
        return []
    api = f"/api/objects/{page.pair.register.id}/{page.pair.schema.id}/{stored.uuid}/files"
    rows = [(Cell(one.name, Download(f"{api}/{one.name}")), f"{one.size:,}", when(one.modified_at)) for one in files]
    table = Table(("File", Column("Bytes", True), Column("Changed", short=True)), rows, "No files are attached.")
    if not can_write:
        return [Section("Files", [table])]
    path = f"{page.path}/{stored.uuid}/files"
    fields = [
        FileField("file", "File", required=True),
        TextField("name", "Name", hint="If it should have another name than the file.", required=False),
    ]
    add = Section("Attach a file", [Form(fields, [Button("Attach")], path)], folded=True)
    names = [(one.name, one.name) for one in files]
    gone = Form([Choice("name", "File", names)], [Button("Delete file", kind="bad")], f"{path}/delete")
    forms = [add, Section("Delete a file", [gone], folded=True)] if files else [add]
    return [Section("Files" if not files else counted(len(files), "file").capitalize(), [table, *forms])]


_HERE: Final = "{register}/{schema}/{id}"
ONE_OBJECT: Final = Page(_HERE, one_object)
OBJECT_PAGE_ACTIONS: Final = (
    Action(f"{_HERE}/delete", one_object, delete, ""),
    Action(f"{_HERE}/revert", one_object, revert, ""),
    Action(f"{_HERE}/undo", one_object, undo, ""),
    Action(f"{_HERE}/files", one_object, attach, ""),
    Action(f"{_HERE}/files/delete", one_object, detach, ""),
)
