"""Rooms are found by name or by import path; Pentad's own go through the same door as everybody's."""

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any, cast

import pentad.rooms
from pentad.kernel.errors import Misconfigured
from pentad.kernel.names import did_you_mean
from pentad.platform import Room


def built_in() -> list[str]:
    """The rooms this installation has, by name."""
    return sorted(module.name for module in pkgutil.iter_modules(pentad.rooms.__path__) if module.ispkg)


def find_rooms(wanted: Sequence[str]) -> list[Room[Any]]:
    """The rooms asked for, in that order; all of Pentad's own when none is."""
    return [find_room(name) for name in (wanted or built_in())]


def find_room(name: str) -> Room[Any]:
    """A room by name (`directory`) or by import path (`my.module:ROOM`)."""
    module_name, _, attribute = name.partition(":")
    if not attribute:
        if module_name not in built_in():
            known = ", ".join(built_in()) or "none installed"
            guess = did_you_mean(module_name, built_in())
            raise Misconfigured(
                f"There is no room {name!r}.{' ' + guess if guess else ''}",
                hint=f"Rooms: {known}; a room of your own is named my.module:ROOM.",
            )
        module_name, attribute = f"pentad.rooms.{module_name}.room", "ROOM"
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        hint = "Run from the folder that holds it, or install it."
        raise Misconfigured(f"The room {name!r} cannot be imported: {error}.", hint=hint) from None
    room = getattr(module, attribute, None)
    if not isinstance(room, Room):
        raise Misconfigured(f"{name!r} is not a room.", hint=f"Define {attribute} = Room(...) in {module_name}.")
    return cast("Room[Any]", room)
