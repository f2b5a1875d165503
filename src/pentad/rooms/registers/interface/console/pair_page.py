"""The base of every page about the objects of a register and schema: the visitor, the pair, and the breadcrumbs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pentad.kernel.errors import PentadError
from pentad.kernel.page_values import label
from pentad.kernel.pages import Cell, Name, Place, Visit
from pentad.rooms.registers.access.authorization import Right
from pentad.rooms.registers.definitions.properties import Property
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.presentation import present
from pentad.rooms.registers.service import Registers

COUNT_TO: Final = 5_001
"""Pages stop counting here, unless counts are cached: counting 100,000 objects takes longer than the rest of a page."""


def count_text(total: int) -> str:
    """A number of objects. One that may have stopped at the limit says so."""
    return f"{total - 1:,}+" if total == COUNT_TO else f"{total:,}"


def objects_text(total: int | None) -> str:
    """How many objects a list has; empty if that is not known."""
    return "" if total is None else "1 object" if total == 1 else f"{count_text(total)} objects"


def caller_of(visit: Visit) -> Caller:
    return Caller(visit.principal, visit.browser)


def is_allowed(check: Callable[[], None]) -> bool:
    """Whether an access check passes. Pages offer nothing that would be refused."""
    try:
        check()
    except PentadError:
        return False
    return True


def may_define(registers: Registers, visit: Visit) -> bool:
    """Whether the visitor may create registers and schemas."""
    return is_allowed(lambda: registers.access.check_define(caller_of(visit), None))


@dataclass(frozen=True, slots=True)
class PairPage:
    """One request for a page about the objects of a register and schema."""

    registers: Registers
    visit: Visit
    caller: Caller
    pair: Pair

    @classmethod
    async def open(cls, registers: Registers, visit: Visit) -> "PairPage":
        caller = caller_of(visit)
        pair = await registers.catalogue.pair(caller, visit.path["register"], visit.path["schema"])
        return cls(registers, visit, caller, pair)

    @property
    def title(self) -> str:
        return self.pair.schema.title or self.pair.schema.slug

    @property
    def place(self) -> tuple[int, int]:
        """The path segments of the pair."""
        return self.pair.register.id, self.pair.schema.id

    @property
    def path(self) -> str:
        return f"/console/registers/{self.pair.register.id}/{self.pair.schema.id}"

    @property
    def arguments(self) -> dict[str, Any]:
        """The pair as tool arguments."""
        return {"register": self.pair.register.id, "schema": self.pair.schema.id}

    @property
    def trail(self) -> list[Cell]:
        register = Cell(self.pair.register.title or self.pair.register.slug, Place((self.pair.register.id,)))
        return [register, Cell(self.title, Place(self.place))]

    def events(self, uuid: str = "*") -> dict[str, str]:
        """The filter for events about these objects, or one of them."""
        return {"room": "registers", "subject": f"openregister://objects/{self.place[0]}/{self.place[1]}/{uuid}"}

    def trail_to(self, stored: StoredObject) -> list[Cell]:
        return [*self.trail, Cell(self.name_of(stored), Place((*self.place, stored.uuid)))]

    def may(self, right: Right) -> bool:
        """Whether the visitor has a right on any object of the pair."""
        return is_allowed(lambda: self.registers.access.check(self.caller, self.pair, right))

    def may_with(self, right: Right, stored: StoredObject) -> bool:
        """Whether the visitor has a right on this object."""
        return is_allowed(lambda: self.registers.access.check_object(self.caller, self.pair, right, stored))

    def properties(self) -> list[Property]:
        """The properties the visitor may see."""
        hidden = self.registers.access.hidden(self.caller, self.pair)
        return [one for name, one in self.pair.definition.properties.items() if name not in hidden]

    def wire(self, stored: StoredObject) -> dict[str, Any]:
        """An object as JSON, limited to what the visitor may read."""
        return present(self.registers.access, self.caller, self.pair, stored)

    def data(self, stored: StoredObject) -> dict[str, Any]:
        """The declared properties of an object that the visitor may read."""
        declared = self.pair.definition.properties
        return {name: value for name, value in self.wire(stored).items() if name != "@self" and name in declared}

    def name_of(self, stored: StoredObject) -> str:
        return str(self.wire(stored)["@self"].get("name") or stored.uuid)

    def named(self, name: str) -> str | Name:
        """A property's title; without one, its name in readable form."""
        known = self.pair.definition.properties.get(name)
        return (known.title if known is not None else None) or Name(name, label(name) or name)

    def label(self, name: str) -> str:
        """The same as text."""
        found = self.named(name)
        return found if isinstance(found, str) else found.label

    async def stored(self) -> StoredObject:
        """The object in the path."""
        return await self.registers.objects.get(self.caller, self.pair, self.visit.path["id"])
