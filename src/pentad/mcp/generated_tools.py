"""Tools that a room makes at run time for a caller, from the names that a profile lists under `typed`.

A room declares `generated_tools`; a profile says `typed = ["registers:permits/permit"]`. The room returns the tools for
those names that this caller may see. They are called, checked, limited and audited like declared tools. Endpoints whose
profile lists no such names never use this module.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from pentad.kernel.lru import LruCache
from pentad.kernel.names import did_you_mean
from pentad.kernel.principal import Principal
from pentad.mcp.list_pages import ListEntry, Right

if TYPE_CHECKING:
    from pentad.mcp.declarations import Tool
    from pentad.mcp.profiles import Profile
    from pentad.mcp.registry import BoundTool, OpenedRoom

_log: Final = logging.getLogger(__name__)
_MOST_CACHED: Final = 1_000


class Generated(Struct, frozen=True):
    """The tools a room made for a caller. Return the same `Tool` objects as long as they are unchanged."""

    tools: "Sequence[Tool]"
    problems: Mapping[str, str] = field(default_factory=dict[str, str])
    """For each name without tools, the reason."""


Generator = Callable[[Any, Principal, Sequence[str]], Awaitable[Generated]]
"""Receives the room's service, the caller, and the names the profile lists for the room."""


class Source(Struct, frozen=True):
    """A room that generates tools, and the names a profile lists for it."""

    room: str
    service: Any
    generate: Generator
    names: tuple[str, ...]


def generating_rooms(rooms: "Sequence[OpenedRoom]", profile: "Profile") -> list[Source]:
    """The rooms that generate tools for a profile."""
    return [
        Source(opened.room.name, opened.service, opened.room.generated_tools, names)
        for opened in rooms
        if opened.room.generated_tools is not None and (names := profile.typed_in(opened.room.name))
    ]


async def missing_tools(rooms: "Sequence[OpenedRoom]", profile: "Profile", principal: Principal) -> list[str]:
    """Why some of the profile's names give this caller no tools; empty if all do."""
    sources = generating_rooms(rooms, profile)
    known = {source.room for source in sources}
    problems = [
        f"{entry}: {_no_such_room(entry, rooms)}" for entry in profile.typed if entry.partition(":")[0] not in known
    ]
    for source in sources:
        made = await source.generate(source.service, principal, source.names)
        problems += [f"{source.room}:{name}: {why}" for name, why in made.problems.items()]
    return problems


def _no_such_room(entry: str, rooms: "Sequence[OpenedRoom]") -> str:
    offering = [opened.room.name for opened in rooms if opened.room.generated_tools is not None]
    guess = did_you_mean(entry.partition(":")[0], offering)
    return f"No open room of that name generates tools. {guess}".strip()


class _CachedTools(Struct, frozen=True):
    bound: "BoundTool"
    entry: ListEntry


class GeneratedTools:
    """The generated tools of one endpoint.

    `bind` prepares a tool for calls, `entry` makes its list entry, and `is_taken` says whether a declared tool has that
    name.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        bind: "Callable[[Tool, str, Any], BoundTool]",
        entry: "Callable[[BoundTool], dict[str, Any]]",
        is_taken: Callable[[str], bool],
    ) -> None:
        self._sources = sources
        self._bind = bind
        self._entry = entry
        self._is_taken = is_taken
        self._cache = LruCache[int, _CachedTools](_MOST_CACHED)
        self._logged = LruCache[tuple[str, str], bool](_MOST_CACHED)
        self._rooms = LruCache[str, str](_MOST_CACHED)

    def generates_in(self, room: str) -> bool:
        return any(source.room == room for source in self._sources)

    def room_of(self, name: str) -> str | None:
        """The room of a generated tool that some caller has."""
        return self._rooms.get(name)

    async def of(self, principal: Principal) -> "dict[str, BoundTool]":
        """The caller's tools by name, including those it lacks a scope for."""
        return {name: kept.bound for name, kept in (await self._for(principal)).items()}

    async def entries(self, principal: Principal) -> list[ListEntry]:
        """The caller's tools as list entries."""
        return [kept.entry for kept in (await self._for(principal)).values()]

    async def _for(self, principal: Principal) -> dict[str, _CachedTools]:
        found: dict[str, _CachedTools] = {}
        for source in self._sources:
            if not principal.may(source.room, "read"):
                continue
            made = await source.generate(source.service, principal, source.names)
            for name, why in made.problems.items():
                self._log_missing(principal, f"{source.room}:{name}", why)
            for tool in made.tools:
                if tool.name in found or self._is_taken(tool.name):
                    self._log_missing(principal, tool.name, "Another tool has this name.")
                    continue
                found[tool.name] = self._cached(tool, source)
                self._rooms.put(tool.name, source.room)
        return found

    def _cached(self, tool: "Tool", source: Source) -> _CachedTools:
        kept = self._cache.get(id(tool))
        if kept is None or kept.bound.declared is not tool:
            bound = self._bind(tool, source.room, source.service)
            kept = _CachedTools(bound, ListEntry(Right(source.room, tool.action), lambda: self._entry(bound)))
            self._cache.put(id(tool), kept)
        return kept

    def _log_missing(self, principal: Principal, name: str, why: str) -> None:
        """Log the reason for missing tools once per caller; the caller is not told."""
        if self._logged.get((principal.id, name)) is None:
            self._logged.put((principal.id, name), True)
            _log.info("No typed tool for %s of %s. %s", name, principal.id, why)
