"""Parts of rooms that are served alone, at `/rooms/<room>/<name>/mcp`: they come and go while the server runs.

Nobody learns which parts there are before the front knows who is asking.
"""

import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pentad.kernel.principal import Principal
from pentad.mcp.dispatcher import lacks
from pentad.mcp.exchange import Endpoint
from pentad.platform import OpenRoom

_PATH: Final = re.compile(r"/rooms/([^/]+)/([^/]{1,200})/mcp/?")
_REMEMBERED: Final = 256

MakeEndpoint = Callable[[str, OpenRoom], Endpoint]


@dataclass(frozen=True, slots=True)
class Place:
    """A path that a part may be at, and the way to the part."""

    room: str
    name: str
    part: Callable[[], Awaitable[OpenRoom]]

    @property
    def path(self) -> str:
        return f"/rooms/{self.room}/{self.name}/mcp"


class Parts:
    """Finds the endpoints of parts, and keeps each until its part is another."""

    def __init__(self, rooms: Sequence[OpenRoom], make: MakeEndpoint) -> None:
        self._rooms = {opened.room.name: (opened, opened.room.part) for opened in rooms if opened.room.part}
        self._make = make
        self._made: OrderedDict[str, tuple[OpenRoom, Endpoint]] = OrderedDict()

    def place(self, path: str) -> Place | None:
        """The place a path names, whether or not something is there."""
        if not self._rooms or (match := _PATH.fullmatch(path)) is None:
            return None
        known = self._rooms.get(match[1])
        return None if known is None else Place(match[1], match[2], lambda: known[1](known[0].service, match[2]))

    async def endpoint(self, place: Place, principal: Principal) -> Endpoint:
        """What answers at a place; NotFound says that nothing does."""
        if not principal.may(place.room, "read"):
            raise lacks(principal, place.room, "read")
        part = await place.part()
        made = self._made.get(place.path)
        if made is None or made[0] is not part:
            made = self._made[place.path] = (part, self._make(place.path, part))
            while len(self._made) > _REMEMBERED:
                self._made.popitem(last=False)
        self._made.move_to_end(place.path)
        return made[1]
