"""A change of a schema, tried or made, tells its author nothing of objects and properties that it may not read."""

from typing import Any

import pytest

from pentad.kernel.errors import Conflict, Forbidden, PentadError
from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import ADMIN, WRITER

pytestmark = pytest.mark.anyio

SALARY: dict[str, Any] = {"type": "integer", "authorization": {"read": ["admin"], "update": ["admin"]}}
NAME: dict[str, Any] = {"type": "string"}
ONLY_OPEN: dict[str, Any] = {
    "read": [{"group": "writer", "match": {"open": True}}], "create": ["writer"],
}  # fmt: skip


async def people(registers: Registers, **body: Any) -> Pair:
    """A schema that the writer made, and may define."""
    properties = {"name": NAME, "open": {"type": "boolean"}, "salary": SALARY}
    await registers.catalogue.schemas.create(
        WRITER, {"title": "Person", "slug": "person", "properties": properties, **body}
    )
    await registers.catalogue.registers.create(WRITER, {"title": "Staff", "slug": "staff", "schemas": ["person"]})
    return await registers.catalogue.pair(ADMIN, "staff", "person")


def wanted(**changes: Any) -> dict[str, Any]:
    return {"properties": {"name": NAME, "open": {"type": "boolean"}, "salary": SALARY, **changes}}


async def outcome(work: Any) -> str:
    try:
        found = await work
    except PentadError as error:
        return f"{type(error).__name__} {error.as_json()}"
    return str(found.as_json() if hasattr(found, "as_json") else "changed")


@pytest.mark.requirement("registers:oracles:preflight")
@pytest.mark.parametrize(
    "probe",
    [
        {"properties": {**wanted()["properties"], "salary": {**SALARY, "maximum": 4999}}},
        {"properties": {**wanted()["properties"], "salary": {**SALARY, "enum": [5000]}}},
        {"properties": wanted()["properties"], "required": ["salary"]},
        {
            **wanted(),
            "if": {"properties": {"salary": {"minimum": 4999}}, "required": ["salary"]},
            "then": {"required": ["note"]},
        },
        {**wanted(), "anyOf": [{"properties": {"salary": {"maximum": 4999}}}, {"required": ["note"]}]},
    ],
)
async def test_a_hidden_value_cannot_be_found_by_bisection(registers: Registers, probe: dict[str, Any]):
    await people(registers)
    said: list[list[str]] = []
    for data in ({"name": "Ada", "salary": 5000}, {"name": "Ada", "salary": 1}, {"name": "Ada"}):
        pair = await registers.catalogue.pair(ADMIN, "staff", "person")
        made = await registers.objects.create(ADMIN, pair, data)
        said.append(
            [
                await outcome(registers.catalogue.schemas.preflight(WRITER, "person", probe)),
                await outcome(registers.catalogue.schemas.update(WRITER, "person", probe)),
            ]
        )
        await registers.objects.delete(ADMIN, pair, made.uuid)
    assert said[0] == said[1]
    assert said[0][0] == said[2][0], "nor whether there is a value"


@pytest.mark.requirement("registers:oracles:preflight")
async def test_hidden_objects_are_neither_counted_nor_tried(registers: Registers):
    pair = await people(registers, authorization=ONLY_OPEN)
    await registers.objects.create(ADMIN, pair, {"name": "seen", "open": True})
    probe = wanted(name={"type": "string", "maxLength": 2})
    alone = await registers.catalogue.schemas.preflight(WRITER, "person", probe)
    for number in range(3):
        await registers.objects.create(ADMIN, pair, {"name": f"hidden {number}", "open": False})
    report = await registers.catalogue.schemas.preflight(WRITER, "person", probe)
    assert report.as_json() == alone.as_json()
    assert (report.total, report.failing, report.complete) == (1, 1, False)
    assert report.as_json()["reason"] == "Objects and properties that you may not read were not looked at."
    whole = await registers.catalogue.schemas.preflight(ADMIN, "person", probe)
    assert (whole.total, whole.failing, whole.complete) == (4, 4, True)
    assert "reason" not in whole.as_json()
    with pytest.raises(Conflict, match="1 of 1 object"):
        await registers.catalogue.schemas.update(WRITER, "person", probe)


@pytest.mark.requirement("registers:oracles:evolution")
async def test_what_hidden_objects_have_to_fit_is_not_their_readers_to_change(registers: Registers):
    pair = await people(registers, authorization=ONLY_OPEN)
    await registers.objects.create(ADMIN, pair, {"name": "a long name", "open": False})
    said = [
        await outcome(registers.catalogue.schemas.update(WRITER, "person", wanted(name={**NAME, "maxLength": most})))
        for most in (3, 300)
    ]
    assert said[0] == said[1], "whether the hidden object would fit is not told"
    with pytest.raises(Forbidden, match="not visible to you"):
        await registers.catalogue.schemas.update(WRITER, "person", wanted(name={**NAME, "unique": True}))
    told = await registers.catalogue.schemas.update(WRITER, "person", {"description": "Who works here", **wanted()})
    assert told.body["description"] == "Who works here"
    await registers.catalogue.schemas.update(ADMIN, "person", wanted(name={**NAME, "maxLength": 300}))


@pytest.mark.requirement("registers:oracles:evolution")
async def test_visible_properties_can_be_changed_beside_hidden_ones(registers: Registers):
    pair = await people(registers)
    await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 5000})
    await registers.catalogue.schemas.update(WRITER, "person", wanted(name={**NAME, "maxLength": 30}))
    with pytest.raises(Conflict, match="1 of 1 object"):
        await registers.catalogue.schemas.update(WRITER, "person", wanted(name={**NAME, "maxLength": 2}))


@pytest.mark.requirement("registers:oracles:evolution")
async def test_a_soft_schema_cannot_be_made_unique_to_compare_hidden_values(registers: Registers):
    pair = await people(registers, hardValidation=False)
    for _ in range(2):
        await registers.objects.create(ADMIN, pair, {"name": "Ada", "salary": 5000})
    with pytest.raises(Forbidden):
        await registers.catalogue.schemas.update(WRITER, "person", wanted(salary={**SALARY, "unique": True}))
