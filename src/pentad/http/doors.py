"""Which of the rooms' own applications answers at a path: the one whose path is the longest start of it."""

from collections.abc import Mapping

from pentad.platform import Door


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
