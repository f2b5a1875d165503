"""A town office: persons apply for permits, and permits are inspected."""

from dataclasses import dataclass, field
from typing import Any

from pentad.rooms.registers.models import Caller, Pair
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import ADMIN

PERSON: dict[str, Any] = {
    "name": {"type": "string"},
    "city": {"type": "string"},
    "income": {"type": "number"},
    "tags": {"type": "array", "items": {"type": "string"}},
}
PERMIT: dict[str, Any] = {
    "number": {"type": "string"},
    "fee": {"type": "number"},
    "status": {"type": "string"},
    "urgent": {"type": "boolean"},
    "decided": {"type": "string", "format": "date"},
    "at": {"type": "string", "format": "date-time"},
    "applicant": {"type": "string", "$ref": "person"},
}
INSPECTION: dict[str, Any] = {
    "score": {"type": "integer"},
    "permit": {"type": "string", "$ref": "permit"},
    "inspectors": {"type": "array", "items": {"type": "string", "$ref": "person"}},
}
SCHEMAS = {"person": PERSON, "permit": PERMIT, "inspection": INSPECTION}


@dataclass
class Office:
    registers: Registers
    pairs: dict[str, Pair] = field(default_factory=dict[str, Pair])

    async def make(self, kind: str, caller: Caller = ADMIN, **data: Any) -> str:
        return (await self.registers.objects.create(caller, self.pairs[kind], data)).uuid

    async def rows(self, kind: str, columns: list[Any], caller: Caller = ADMIN, **query: Any) -> list[dict[str, Any]]:
        """What a view with these columns shows, without the uuids."""
        view = await self.registers.views.create(caller, self.pairs[kind], "View", {"columns": columns, **query})
        page = await self.registers.views.run(caller, view.id)
        await self.registers.views.delete(caller, view.id)
        return [{name: value for name, value in row.items() if name != "id"} for row in page.rows]

    async def change(self, kind: str, **changes: Any) -> None:
        await self.registers.catalogue.schemas.update(ADMIN, kind, changes)
        self.pairs[kind] = await self.registers.catalogue.pair(ADMIN, "office", kind)


async def open_office(registers: Registers) -> Office:
    for slug, properties in SCHEMAS.items():
        await registers.catalogue.schemas.create(ADMIN, {"title": slug, "slug": slug, "properties": properties})
    await registers.catalogue.registers.create(ADMIN, {"title": "Office", "slug": "office", "schemas": list(SCHEMAS)})
    office = Office(registers)
    for slug in SCHEMAS:
        office.pairs[slug] = await registers.catalogue.pair(ADMIN, "office", slug)
    return office


async def fill(office: Office) -> dict[str, str]:
    """Ada has three permits, Bob one, Eve none. Bob and Eve inspect two of Ada's."""
    made: dict[str, str] = {}
    for name, city, income in (("Ada", "Delft", 100), ("Bob", "Leiden", 50), ("Eve", "Delft", 70)):
        made[name] = await office.make("person", name=name, city=city, income=income, tags=[name.lower()])
    for number, who, fee, status, decided in (
        ("P-1", "Ada", 10, "open", "2026-01-05"),
        ("P-2", "Ada", 25.5, "closed", "2026-03-01"),
        ("P-3", "Ada", None, "open", "2026-02-01"),
        ("P-4", "Bob", 7, "open", "2026-01-01"),
    ):
        fees: dict[str, Any] = {} if fee is None else {"fee": fee}
        made[number] = await office.make(
            "permit", number=number, status=status, decided=decided, at=f"{decided}T10:00:00+01:00",
            applicant=made[who], urgent=fee is None, **fees,
        )  # fmt: skip
    for permit, score in (("P-1", 3), ("P-1", 5), ("P-2", 9)):
        await office.make("inspection", permit=made[permit], score=score, inspectors=[made["Bob"], made["Eve"]])
    return made
