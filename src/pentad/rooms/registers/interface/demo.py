"""Fills the room for `pentad demo`: three registers somebody could really have, with a history somebody made.

Everything goes through the service, as a caller would do it, so the demo shows nothing the room cannot do. What is
written is the same every time; a register that is there already is left alone.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any, Final

from pentad.kernel.errors import NotFound
from pentad.kernel.principal import Principal
from pentad.rooms.registers.models import Caller, Operation, Pair

if TYPE_CHECKING:
    from pentad.rooms.registers.service import Registers

_SEED: Final = 1936
_OWNER: Final = Principal("user:admin", "admin", frozenset({"*:*"}))


@dataclass(frozen=True, slots=True)
class Story:
    """A register, its schemas in the order they refer to one another, and what happened in it."""

    register: Mapping[str, Any]
    schemas: Sequence[Mapping[str, Any]]
    tell: "Callable[[Scene], Awaitable[None]]"


@dataclass(slots=True)
class Scene:
    """What a story writes with. `chance` gives every run the same choices."""

    registers: "Registers"
    caller: Caller
    pairs: dict[str, Pair]
    chance: Random = field(default_factory=lambda: Random(_SEED))  # noqa: S311  for choices, not for secrets

    def by(self, agent: str, reason: str) -> "Scene":
        """The same scene, acted by an agent for a stated reason."""
        return replace(self, caller=replace(self.caller, agent=agent, reason=reason))

    async def create(self, schema: str, rows: Sequence[dict[str, Any]]) -> list[str]:
        """The uuids of new objects, in order."""
        operations = [Operation("create", row) for row in rows]
        outcomes = await self.registers.objects.bulk(self.caller, self.pairs[schema], operations, atomic=True)
        return [str(outcome.uuid) for outcome in outcomes]

    async def change(self, schema: str, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Merge changes into objects, by uuid."""
        operations = [Operation("patch", dict(patch), uuid) for uuid, patch in changes.items()]
        await self.registers.objects.bulk(self.caller, self.pairs[schema], operations, atomic=True)

    async def delete(self, schema: str, uuids: Sequence[str]) -> None:
        operations = [Operation("delete", ref=uuid) for uuid in uuids]
        await self.registers.objects.bulk(self.caller, self.pairs[schema], operations, atomic=True)

    async def revert(self, schema: str, uuid: str, version: int) -> None:
        """Bring an object back to what it was at a version."""
        await self.registers.history.revert(self.caller, self.pairs[schema], uuid, version=version)


async def fill_demo(registers: "Registers") -> None:
    """Write the three registers, those that are not there yet."""
    from pentad.rooms.registers.demo_stories import museum, trees, workshop

    caller = Caller(_OWNER, reason="demo data")
    for story in (museum.STORY, trees.STORY, workshop.STORY):
        if not await _exists(registers, caller, str(story.register["slug"])):
            await _tell(registers, caller, story)


async def _exists(registers: "Registers", caller: Caller, slug: str) -> bool:
    try:
        await registers.catalogue.get_register(caller, slug)
    except NotFound:
        return False
    return True


async def _tell(registers: "Registers", caller: Caller, story: Story) -> None:
    catalogue = registers.catalogue
    slugs = [(await catalogue.create_schema(caller, schema)).slug for schema in story.schemas]
    register = await catalogue.create_register(caller, {**story.register, "schemas": slugs})
    pairs = {slug: await catalogue.pair(caller, register.slug, slug) for slug in slugs}
    await story.tell(Scene(registers, caller, pairs))
