"""Which of the rooms' own applications answers at a path: the one whose path is the longest start of it."""

from collections.abc import Mapping, Sequence

from pentad.gateway.noting import noted_call
from pentad.mcp.dispatcher import Record
from pentad.platform import Door, OpenRoom


class Doors:
    """Finds doors by path; `/x` and `/x/` are the same."""

    def __init__(self, doors: Mapping[str, Door]) -> None:
        self._doors = dict(doors)

    def find(self, path: str) -> Door | None:
        if not self._doors:
            return None
        while path:
            if (door := self._doors.get(path)) is not None:
                return door
            path = path.rpartition("/")[0]
        return None


def room_doors(rooms: Sequence[OpenRoom], record: Record) -> dict[str, Door]:
    """The doors of all rooms by path, their calls noted in the audit trail."""
    found: dict[str, Door] = {}
    for opened in rooms:
        if opened.room.doors is None:
            continue
        for path, door in opened.room.doors(opened.service).items():
            serve = noted_call(door.serve, opened.room.name, path, record)
            found[path] = Door(serve, door.is_public, door.refuse)
    return found
