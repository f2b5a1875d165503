"""Finds rooms: installed ones by name, through the entry-point group `pentad.rooms`; any other by import path."""

import importlib
from collections.abc import Sequence
from typing import Any, Final, cast

from pentad.entry_points import entry_points
from pentad.kernel.errors import Misconfigured
from pentad.kernel.names import did_you_mean
from pentad.platform import Room

GROUP: Final = "pentad.rooms"


def installed_rooms() -> list[str]:
    """The names of the rooms of Pentad and of other installed packages."""
    return list(entry_points(GROUP))


def find_rooms(wanted: Sequence[str]) -> list[Room[Any]]:
    """The requested rooms, in that order; by default every installed one."""
    return [find_room(name) for name in (wanted or installed_rooms())]


def find_room(name: str) -> Room[Any]:
    """A room by name (`directory`) or by import path (`my.module:ROOM`)."""
    by_path = ":" in name
    reference = name if by_path else _reference(name)
    module_name, _, attribute = reference.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        hint = "Run from the folder that holds it, or install it." if by_path else "Install its package again."
        raise Misconfigured(f"The room {name!r} cannot be imported: {error}.", hint=hint) from None
    room = getattr(module, attribute, None)
    if not isinstance(room, Room):
        raise Misconfigured(f"{name!r} is not a room.", hint=f"Define {attribute} = Room(...) in {module_name}.")
    found = cast("Room[Any]", room)
    if not by_path and found.name != name:
        raise Misconfigured(
            f"The package of the room {found.name!r} declares it as {name!r}.",
            hint=f"Use the same name in its entry point of {GROUP}.",
        )
    return found


def _reference(name: str) -> str:
    rooms = entry_points(GROUP)
    if name not in rooms:
        guess = did_you_mean(name, rooms)
        raise Misconfigured(
            f"There is no room {name!r}.{' ' + guess if guess else ''}",
            hint=f"Rooms: {', '.join(rooms) or 'none installed'}; a room of your own is named my.module:ROOM.",
        )
    return rooms[name]
