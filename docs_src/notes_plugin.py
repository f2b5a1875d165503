from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import click
import notes_pages

from pentad.jobs.job import Job, JobRun
from pentad.kernel.ports import Database
from pentad.platform import Platform
from pentad.settings.model import RoomSettings, setting
from pentad.terminal.client import Target, server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table
from pentad.terminal.verbs import Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesSettings(RoomSettings):
    welcome: str | None = setting(None, "The text of a note that everybody finds.", variables=("NOTES_GREETING",))


@asynccontextmanager
async def open_notes(platform: Platform) -> AsyncGenerator[Database]:
    settings: NotesSettings = platform.settings
    if settings.welcome is not None:
        await platform.database.write(lambda tx: platform.jobs.enqueue(tx, "notes.greet", {"text": settings.welcome}))
    yield platform.database


async def greet(notes: Database, run: JobRun) -> None:
    upsert = "INSERT INTO notes (name, text) VALUES ('welcome', ?) ON CONFLICT (name) DO UPDATE SET text = ?"
    await notes.write(lambda tx: tx.run(upsert, run.payload["text"], run.payload["text"]))


@click.group()
def notes() -> None:
    """List notes."""


@notes.command("list")
@json_option
@server_options()
def list_notes(as_json: bool, target: Target) -> None:
    """List the names of all notes."""
    names = target.call_tool("list_notes", {}, "notes")["names"]
    if as_json:
        print_json(names)
    else:
        print_table(["name"], [[name] for name in names], empty="There are no notes.")


ROOM = replace(
    notes_pages.ROOM,
    open=open_notes,
    settings=NotesSettings,
    jobs=[Job("notes.greet", greet)],
    cli={"notes": Verb("notes_plugin:notes", "List notes.")},
)
