from dataclasses import replace

import notes_room

from pentad.kernel.errors import Forbidden, NotFound
from pentad.kernel.pages import (
    Action,
    Button,
    Cell,
    Form,
    Page,
    Pages,
    Place,
    Prose,
    SearchBox,
    Sheet,
    Table,
    Visit,
)
from pentad.kernel.ports import Database


async def all_notes(notes: Database, visit: Visit) -> Sheet:
    asked = visit.asked()
    found = await notes.read(lambda rows: rows.all("SELECT name FROM notes ORDER BY name"))
    table = Table(["Note"], [[Cell(name, Place(("notes", name)))] for (name,) in found if asked in name])
    return Sheet("Notes", [SearchBox("Find a note", asked), table])


async def one_note(notes: Database, visit: Visit) -> Sheet:
    name = visit.path["name"]
    row = await notes.lookup("SELECT text FROM notes WHERE name = ?", name)
    if row is None:
        raise NotFound("There is no such note.", hint="Pick a note from the list.")
    delete = Form((), [Button("Delete note", kind="bad")], f"/console/notes/notes/{name}/delete")
    return Sheet(name, [Prose(row[0]), delete])


async def delete_note(notes: Database, visit: Visit) -> None:
    if not visit.principal.may("notes", "write"):
        raise Forbidden("You may not delete notes.", hint="Ask an administrator for notes:write.")
    await notes.write(lambda transaction: transaction.run("DELETE FROM notes WHERE name = ?", visit.path["name"]))


PAGES = Pages(
    [Page("", all_notes), Page("notes/{name}", one_note)],
    actions=[Action("notes/{name}/delete", one_note, delete_note, then="")],
)
ROOM = replace(notes_room.ROOM, pages=lambda: PAGES)
