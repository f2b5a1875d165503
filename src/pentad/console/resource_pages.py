"""Finds the console page for a resource, and its name, by its URI. Rooms declare pages for their resources; other
resources are shown as they are read."""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from pentad.app import App
from pentad.console.admin_page import TOOLS
from pentad.kernel.errors import PentadError
from pentad.kernel.pages import Pages, Place
from pentad.kernel.principal import Principal

_NAME: Final = re.compile(r"\{(\w+)\}")
_URI: Final = re.compile(r"([a-z][a-z0-9]*)://[^\s<>\"]+")
_LONGEST: Final = 2_000


class ResourcePages:
    """Finds the page of a resource."""

    def __init__(self, rooms: Mapping[str, Pages[Any]]) -> None:
        self._patterns = [
            (_pattern(uri), tuple(filter(None, path.split("/"))), room)
            for room, pages in rooms.items()
            for uri, path in pages.resources.items()
        ]
        self._schemes = {uri.partition(":")[0] for pages in rooms.values() for uri in pages.resources}

    def find(self, text: str) -> Place | None:
        """The page for a resource; None if the text is not the URI of a resource of this server."""
        if len(text) > _LONGEST or (known := _URI.fullmatch(text)) is None or known[1] not in self._schemes:
            return None
        for pattern, parts, room in self._patterns:
            if (found := pattern.fullmatch(text)) is not None:
                named = {name: unquote(value) for name, value in found.groupdict().items()}
                return Place(tuple(named.get(part.strip("{}"), part) for part in parts), room=room)
        return Place(("resource",), {"uri": text}, TOOLS)


async def resource_name(app: App, caller: Principal, uri: str) -> str:
    """The name of a resource; empty if it has none, or the caller may not read it."""
    try:
        graph = await app.lineage.of(caller, uri, depth=0, most=1)
    except PentadError:
        return ""
    return graph.things[0].label


def _pattern(uri: str) -> re.Pattern[str]:
    """The pattern as a regular expression. A fragment, such as a step of a task, is part of the page."""
    literal = [
        re.escape(part) if number % 2 == 0 else f"(?P<{part}>[^/?#]+)" for number, part in enumerate(_NAME.split(uri))
    ]
    return re.compile("".join(literal) + "(?:#.*)?")
