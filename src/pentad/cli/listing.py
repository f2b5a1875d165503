"""`pentad list`: the tools, resources and prompts of the rooms, as a client sees them."""

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.kernel.errors import NotFound
from pentad.kernel.names import did_you_mean
from pentad.terminal.launcher import launcher
from pentad.terminal.options import json_option, profile_option, settings_options
from pentad.terminal.output import print_json, print_table

if TYPE_CHECKING:
    from pentad.app import App
    from pentad.settings.model import Settings

_LISTS: Final = {
    "tools": (("tools/list", "tools"),),
    "resources": (("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")),
    "prompts": (("prompts/list", "prompts"),),
}


@click.command("list")
@click.argument("what", type=click.Choice(list(_LISTS)))
@click.option("--room", metavar="R", help="Of one room only.")
@profile_option
@json_option
@settings_options("rooms", "data", "database")
def listing(what: str, room: str | None, profile: str | None, as_json: bool, settings: "Settings") -> None:
    """List tools, resources or prompts.

    All of them, or with --profile what a client of that profile sees. --json shows each with everything a client
    receives, including its schema.
    """
    if room is not None:
        settings = dataclasses.replace(settings, rooms=(_room_of(settings, room),))
    entries = asyncio.run(_entries(settings, what, profile or "full"))
    if as_json:
        print_json(entries)
        return
    rows = [(_name(entry), entry["room"] or "", _first_line(entry.get("description") or "")) for entry in entries]
    print_table(("uri" if what == "resources" else "name", "room", "description"), rows, empty=f"There are no {what}.")


def _room_of(settings: "Settings", name: str) -> str:
    """The place of the room of that name, among the open ones."""
    from pentad.rooms.finder import find_room, installed_rooms

    if ":" in name:
        return name
    places = {find_room(place).name: place for place in settings.rooms or installed_rooms()}
    if name not in places:
        meant = did_you_mean(name, places) or f"The rooms are {', '.join(places) or 'none'}."
        raise NotFound(f"There is no room {name!r}.", hint=meant)
    return places[name]


async def _entries(settings: "Settings", what: str, profile: str) -> list[dict[str, Any]]:
    async with launcher().open_app(settings) as app, app.client(app.profile(profile)) as client:
        rooms = _room_by_name(app, what)
        found = [entry for method, key in _LISTS[what] for entry in await client.list_all(method, key)]
        return [{"room": rooms.get(_name(entry)), **entry} for entry in found]


def _room_by_name(app: "App", what: str) -> dict[str, str]:
    """The room of each declared thing; resources that exist only at run time are not declared."""
    return {
        _name(declared.listing()): opened.room.name for opened in app.rooms for declared in getattr(opened.room, what)
    }


def _name(entry: dict[str, Any]) -> str:
    return str(entry.get("uri") or entry.get("uriTemplate") or entry["name"])


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
