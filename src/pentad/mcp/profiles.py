"""Profiles: which tools an endpoint offers, and which of these it lists.

A profile only selects among the tools a caller may use. It changes no rights, except that a read-only profile removes
the right to change anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, Literal

from pentad.kernel.errors import NotFound
from pentad.kernel.names import did_you_mean

if TYPE_CHECKING:  # the settings import this module, and must not import pydantic
    from pentad.mcp.declarations import Tool

Lists = Literal["all", "common", "search"]


@dataclass(frozen=True, slots=True)
class Profile:
    """A selection of tools. These fields are the settings of `[profiles.<name>]`."""

    rooms: tuple[str, ...] = ()
    """Tools of these rooms."""
    tags: tuple[str, ...] = ()
    """Of those, tools with one of these tags."""
    tools: tuple[str, ...] = ()
    """Also these tools, by name or glob. If rooms, tags, tools and typed are all empty, everything is selected."""
    typed: tuple[str, ...] = ()
    """Also the tools that rooms generate from these names, each as `room:name`: `registers:permits/permit`."""
    read_only: bool = False
    """Refuse everything that changes something."""
    output_schemas: bool = False
    """List output schemas and icons."""
    lists: Lists = "all"
    """What `tools/list` shows: all selected tools, the common ones, or none. The rest is found with the search
    tools."""

    def selects(self, room: str, tool: "Tool") -> bool:
        """Whether a tool of that room can be called."""
        if self.names(tool):
            return True
        if (self.tools or self.typed) and not self.rooms and not self.tags:
            return False
        return (not self.rooms or room in self.rooms) and (not self.tags or not tool.tags.isdisjoint(self.tags))

    @property
    def is_selection(self) -> bool:
        """Whether some tools are excluded."""
        return bool(self.rooms or self.tags or self.tools or self.typed)

    def typed_in(self, room: str) -> tuple[str, ...]:
        """The names from which a room generates tools."""
        pairs = (entry.partition(":") for entry in self.typed)
        return tuple(dict.fromkeys(name for named, _, name in pairs if named == room))

    def shows(self, tool: "Tool") -> bool:
        """Whether a selected tool of a room is listed."""
        return self.lists == "all" or (self.lists == "common" and tool.listed == "everywhere")

    def names(self, tool: "Tool") -> bool:
        """Whether the profile selects a tool by its name."""
        return any(fnmatchcase(tool.name, pattern) for pattern in self.tools)

    def __str__(self) -> str:
        parts = [*self.rooms, *(f"#{tag}" for tag in self.tags), *self.tools, *self.typed]
        return " ".join([*parts, *(["(read-only)"] if self.read_only else [])]) or "all"


SEVERAL_ROOMS: Final = Profile(lists="common")
"""The profile of `/mcp`."""
ONE_ROOM: Final = Profile(output_schemas=True)
BUILT_IN: Final[Mapping[str, Profile]] = {
    "core": Profile(lists="search"),
    "full": Profile(output_schemas=True),
    "read-only": Profile(lists="common", read_only=True),
}


def find_profile(name: str, own: Mapping[str, Profile]) -> Profile:
    """A built-in profile or one of the operator's; otherwise NotFound with the known names."""
    profiles = {**BUILT_IN, **own}
    if name not in profiles:
        guess = did_you_mean(name, profiles)
        known = f"Known: {', '.join(sorted(profiles))}."
        raise NotFound(f"There is no profile {name[:100]!r}.", hint=f"{guess} {known}" if guess else known)
    return profiles[name]
