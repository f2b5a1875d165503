from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pydantic import BaseModel, Field

from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Database, Transaction
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.changes import resource_updated
from pentad.mcp.declarations import resource, tool
from pentad.platform import Platform, Room


class Note(Arguments):
    name: str = Field(pattern="^[a-z]+$", description="What the note is called.")
    text: str = Field(description="What it says.")


class Names(BaseModel):
    names: list[str]


@tool("write_note", destructive=False, idempotent=True)
async def write_note(arguments: Note, call: Call[Database]) -> str:
    """Keeps a note under a name, replacing the previous one."""

    def work(transaction: Transaction) -> None:
        transaction.run("DELETE FROM notes WHERE name = ?", arguments.name)
        transaction.run("INSERT INTO notes (name, text) VALUES (?, ?)", arguments.name, arguments.text)
        resource_updated(transaction, f"notes://{arguments.name}")

    await call.service.write(work)
    return f"Kept as notes://{arguments.name}."


@tool("list_notes", read_only=True)
async def list_notes(call: Call[Database]) -> Names:
    """Lists the names of all notes."""
    rows = await call.service.read(lambda rows: rows.all("SELECT name FROM notes ORDER BY name"))
    return Names(names=[name for (name,) in rows])


@resource("notes://{name}", name="note", mime_type="text/plain")
async def note(name: str, call: Call[Database]) -> str:
    """The text of one note."""
    if (row := await call.service.lookup("SELECT text FROM notes WHERE name = ?", name)) is None:
        raise NotFound(f"There is no note {name!r}.", hint="`list_notes` lists the names.")
    return row[0]


@asynccontextmanager
async def open_notes(platform: Platform) -> AsyncGenerator[Database]:
    yield platform.database


ROOM = Room(
    name="notes",
    title="Notes",
    instructions="Use write_note to keep something, list_notes to see what is kept.",
    open=open_notes,
    tools=[write_note, list_notes],
    resources=[note],
    schema="notes_schema",
)
