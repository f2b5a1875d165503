from dataclasses import replace

import notes_room

from pentad.kernel.errors import NotFound
from pentad.kernel.pages import Cell, Page, Pages, Place, Prose, SearchBox, Sheet, Table, Visit
from pentad.kernel.ports import Database


async def all_notes(notes: Database, visit: Visit) -> Sheet:
    asked = visit.asked()
    found = await notes.read(lambda rows: rows.all("SELECT name FROM notes ORDER BY name"))
    table = Table(["Note"], [[Cell(name, Place(("notes", name)))] for (name,) in found if asked in name])
    return Sheet("Notes", [SearchBox("Find a note", asked), table])


async def one_note(notes: Database, visit: Visit) -> Sheet:
    row = await notes.lookup("SELECT text FROM notes WHERE name = ?", visit.path["name"])
    if row is None:
        raise NotFound("There is no such note.", hint="The list has all of them.")
    return Sheet(visit.path["name"], [Prose(row[0])])


PAGES = Pages([Page("", all_notes), Page("notes/{name}", one_note)])
ROOM = replace(notes_room.ROOM, pages=lambda: PAGES)
