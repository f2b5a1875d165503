"""Fills the room for `pentad demo`: the loans of a museum, the trees of a city, permits to fell some of them, and the
tickets of a repair workshop.

`demo_registers.json` has four registers with their schemas and the steps of their history. The steps use the service
like any caller, so the demo shows only what the room can do. Existing registers are left alone.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from pentad.kernel.errors import NotFound
from pentad.kernel.principal import Principal
from pentad.rooms.registers.models import Caller, Operation

if TYPE_CHECKING:
    from pentad.rooms.registers.service import Registers

_OWNER: Final = Principal("user:admin", "admin", frozenset({"*:*"}))


class DemoObject(msgspec.Struct):
    """An object in a step, by its number within its schema. `version` is the version to revert to."""

    number: int
    data: dict[str, Any] | None = None
    version: int | None = None


class DemoStep(msgspec.Struct):
    """One action on some objects. In the data, `{"$object": [schema, number]}` refers to another object."""

    action: Literal["create", "patch", "delete", "revert"]
    schema: str
    objects: list[DemoObject]
    agent: str | None = None
    reason: str = "demo data"


class DemoRegister(msgspec.Struct):
    """A register, its schemas in the order of their references, and its history."""

    register: dict[str, Any]
    schemas: list[dict[str, Any]]
    steps: list[DemoStep]


async def fill_demo(registers: "Registers") -> None:
    """Create the registers that do not exist yet."""
    from importlib.resources import files  # slow to import

    text = (files("pentad.rooms.registers.interface") / "demo_registers.json").read_bytes()
    for story in msgspec.json.decode(text, type=list[DemoRegister]):
        try:
            await registers.catalogue.registers.get(Caller(_OWNER), story.register["slug"])
        except NotFound:
            await _write(registers, story)


async def _write(registers: "Registers", story: DemoRegister) -> None:
    caller = Caller(_OWNER, reason="demo data")
    slugs = [(await registers.catalogue.schemas.create(caller, schema)).slug for schema in story.schemas]
    register = await registers.catalogue.registers.create(caller, {**story.register, "schemas": slugs})
    uuids: dict[tuple[str, int], str] = {}
    for step in story.steps:
        caller = Caller(_OWNER, step.agent, reason=step.reason)
        pair = await registers.catalogue.pair(caller, register.slug, step.schema)
        names = [(step.schema, one.number) for one in step.objects]
        if step.action == "revert":
            for name, one in zip(names, step.objects, strict=True):
                await registers.history.revert(caller, pair, uuids[name], version=one.version)
            continue
        operations = [
            Operation(step.action, one.data and _resolved(one.data, uuids), uuids.get(name))
            for name, one in zip(names, step.objects, strict=True)
        ]
        outcomes = await registers.objects.bulk(caller, pair, operations, atomic=True)
        uuids.update(zip(names, (str(outcome.uuid) for outcome in outcomes), strict=True))


def _resolved(data: Mapping[str, Any], uuids: Mapping[tuple[str, int], str]) -> dict[str, Any]:
    """The data with uuids in place of references to other objects of the demo."""
    found = dict(data)
    for name, value in data.items():
        match value:
            case {"$object": [str(schema), int(number)]}:
                found[name] = uuids[schema, number]
            case _:
                pass
    return found
