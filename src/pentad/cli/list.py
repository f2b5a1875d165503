"""`pentad list`: the tools, resources and prompts of the rooms, as a client sees them."""

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import click

from pentad.kernel.errors import NotFound
from pentad.kernel.names import did_you_mean
from pentad.terminal.client import server_options
from pentad.terminal.launcher import launcher
from pentad.terminal.options import json_option, profile_option
from pentad.terminal.output import print_json, print_table

if TYPE_CHECKING:
    from pentad.app import App
    from pentad.settings.model import Settings
    from pentad.terminal.client import Server, Session, Target

_LISTS: Final = {
    "tools": (("tools/list", "tools"),),
    "resources": (("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")),
    "prompts": (("prompts/list", "prompts"),),
}


@click.command("list")
@click.argument("what", type=click.Choice(list(_LISTS)))
@click.option("--room", metavar="R", help="Only this room.")
@profile_option
@json_option
@server_options("rooms")
def listing(what: str, room: str | None, profile: str | None, as_json: bool, target: "Target") -> None:
    """List tools, resources or prompts.

    Lists everything, or with --profile what a client of that profile sees, or with --url what you see at that address.
    --json prints each entry as a client receives it, including schemas.
    """
    if target.server is not None:
        if room is not None and profile is not None:
            raise click.UsageError("With --url, use --room or --profile.")
        entries = asyncio.run(_entries_there(target, target.server, what, room, profile))
    else:
        entries = asyncio.run(_entries_here(target.settings, what, room, profile or "full"))
    if as_json:
        print_json(entries)
        return
    rows = [(_name(entry), entry["room"] or "", _first_line(entry.get("description") or "")) for entry in entries]
    print_table(("uri" if what == "resources" else "name", "room", "description"), rows, empty=f"There are no {what}.")


def _room_of(settings: "Settings", name: str) -> str:
    """The selected room with that name, as it was given in the settings."""
    from pentad.rooms.finder import find_room, installed_rooms

    if ":" in name:
        return name
    places = {find_room(place).name: place for place in settings.rooms or installed_rooms()}
    if name not in places:
        meant = did_you_mean(name, places) or f"The rooms are {', '.join(places) or 'none'}."
        raise NotFound(f"There is no room {name!r}.", hint=meant)
    return places[name]


async def _entries_here(settings: "Settings", what: str, room: str | None, profile: str) -> list[dict[str, Any]]:
    if room is not None:
        settings = dataclasses.replace(settings, rooms=(_room_of(settings, room),))
    async with launcher().open_app(settings) as app, app.client(app.profile(profile)) as client:
        rooms = _room_by_name(app, what)
        return [{"room": rooms.get(_name(entry)), **entry} for entry in await _listed(client, what)]


async def _entries_there(
    target: "Target", server: "Server", what: str, room: str | None, profile: str | None
) -> list[dict[str, Any]]:
    """List entries of a server. It does not report a tool's room, so the room is known only if just one is listed."""
    if room is not None:
        server = dataclasses.replace(server, url=target.site(f"/rooms/{quote(room, safe='')}/mcp"))
    elif profile is not None:
        server = dataclasses.replace(server, url=target.site(f"/mcp/{quote(profile, safe='')}"))
    async with dataclasses.replace(target, server=server).open() as client:
        return [{"room": room, **entry} for entry in await _listed(client, what)]


async def _listed(client: "Session", what: str) -> list[dict[str, Any]]:
    return [entry for method, key in _LISTS[what] for entry in await client.list_all(method, key)]


def _room_by_name(app: "App", what: str) -> dict[str, str]:
    """The room of each declared tool, resource or prompt. Resources that exist only at run time are not declared."""
    return {
        _name(declared.listing()): opened.room.name for opened in app.rooms for declared in getattr(opened.room, what)
    }


def _name(entry: dict[str, Any]) -> str:
    return str(entry.get("uri") or entry.get("uriTemplate") or entry["name"])


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
