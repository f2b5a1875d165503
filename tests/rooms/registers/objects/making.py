"""Short ways to make registers and schemas that refer to one another."""

from typing import Any

from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import ADMIN


async def pair_of(registers: Registers, schema: str, properties: dict[str, Any], **body: Any) -> Pair:
    """A schema with these properties in the register `library`, which is made if need be."""
    catalogue = registers.catalogue
    made = await catalogue.schemas.create(ADMIN, {"title": schema, "slug": schema, "properties": properties, **body})
    known = {register.slug: register for register in await catalogue.registers.list(ADMIN)}
    if "library" not in known:
        await catalogue.registers.create(ADMIN, {"title": "Library", "schemas": [made.id]})
    else:
        await catalogue.registers.update(ADMIN, "library", {"schemas": [*known["library"].schemas, made.id]})
    return await registers.catalogue.pair(ADMIN, "library", schema, "create")


def reference(target: str, on_delete: str | None = None, **more: Any) -> dict[str, Any]:
    """A property that points at an object of another schema."""
    found: dict[str, Any] = {"type": "string", "$ref": target, **more}
    return found if on_delete is None else {**found, "onDelete": on_delete}
