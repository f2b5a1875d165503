"""Every object knows the version of the schema it was written with."""

from typing import Any

import pytest

from pentad.rooms.registers.models import Operation, Pair, StoredObject
from pentad.rooms.registers.presentation import present
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.objects.making import pair_of
from tests.rooms.registers.opening import ADMIN, WRITER

pytestmark = pytest.mark.anyio


async def versions(registers: Registers, pair: Pair) -> dict[str, str | None]:
    rows = (await registers.objects.find(ADMIN, pair, await registers.objects.query_of(ADMIN, pair, {}))).rows
    return {one.data["name"]: one.schema_version for one in (StoredObject(*row) for row in rows)}


@pytest.mark.requirement("registers:evolution:schema-version")
async def test_an_object_keeps_the_version_until_it_is_written_or_migrated(registers: Registers) -> None:
    pair = await pair_of(registers, "tool", {"name": {"type": "string"}, "worth": {"type": "integer"}})
    made = {name: await registers.objects.create(WRITER, pair, {"name": name}) for name in ("saw", "axe", "awl")}
    await registers.objects.bulk(WRITER, pair, [], atomic=True)
    assert await versions(registers, pair) == {"saw": "0.0.1", "axe": "0.0.1", "awl": "0.0.1"}
    await registers.catalogue.schemas.update(ADMIN, "tool", {"description": "Tools"})
    pair = await registers.catalogue.pair(WRITER, "library", "tool")
    await registers.objects.write(WRITER, pair, Operation("patch", {"worth": 2}, made["axe"].uuid))
    await registers.objects.lock(WRITER, pair, made["saw"].uuid)
    assert await versions(registers, pair) == {"saw": "0.0.1", "axe": "0.0.2", "awl": "0.0.1"}
    steps = [{"step": "default", "property": "worth", "value": 1}]
    change = {"required": ["worth"], "version": "2.0"}
    await registers.catalogue.schemas.update(ADMIN, "tool", change, migration=steps)
    pair = await registers.catalogue.pair(WRITER, "library", "tool")
    assert await versions(registers, pair) == {"saw": "2.0", "axe": "0.0.2", "awl": "2.0"}


@pytest.mark.requirement("registers:evolution:schema-version")
async def test_it_is_shown_where_it_differs_and_can_be_asked_for(registers: Registers) -> None:
    pair = await pair_of(registers, "tool", {"name": {"type": "string"}})
    old = await registers.objects.create(WRITER, pair, {"name": "saw"})
    await registers.catalogue.schemas.update(ADMIN, "tool", {"description": "Tools"})
    pair = await registers.catalogue.pair(WRITER, "library", "tool")
    new = await registers.objects.create(WRITER, pair, {"name": "axe"})
    unknown = await registers.objects.create(WRITER, pair, {"name": "awl"})
    await registers.platform.database.write(
        lambda tx: tx.run("UPDATE objects SET schema_version = NULL WHERE uuid = ?", unknown.uuid)
    )

    async def wire(uuid: str, **options: Any) -> dict[str, Any]:
        stored = await registers.objects.get(WRITER, pair, uuid)
        return present(registers.access, WRITER, pair, stored, **options)["@self"]

    assert (await wire(old.uuid))["schemaVersion"] == "0.0.1"
    assert "schemaVersion" not in await wire(new.uuid)
    assert "schemaVersion" not in await wire(unknown.uuid)
    assert (await wire(new.uuid, prune=False))["schemaVersion"] == "0.0.2"
    assert (await wire(unknown.uuid, prune=False))["schemaVersion"] is None
    assert await wire(new.uuid, fields=["@self.schemaVersion"]) == {"schemaVersion": "0.0.2"}

    async def named(criteria: Any) -> set[str]:
        query = await registers.objects.query_of(WRITER, pair, {"filter": {"@self.schemaVersion": criteria}})
        return {StoredObject(*row).data["name"] for row in (await registers.objects.find(WRITER, pair, query)).rows}

    assert await named("0.0.1") == {"saw"}
    assert await named({"ne": "0.0.2"}) == {"saw", "awl"}
    assert await named({"exists": False}) == {"awl"}
