"""The settings of a room as the room receives them, from a table of the configuration file."""

from typing import Any

from pentad.settings.model import Settings
from pentad.settings.rooms import declared_settings, resolve_room


def room_settings(room: str, **table: Any) -> Any:
    return resolve_room(Settings(room_tables={room: table}), room, declared_settings(room)).values
