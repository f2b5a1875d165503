"""A repair workshop: who brought what, what it took to mend it, and what it cost."""

from datetime import date, timedelta
from typing import Any, Final

from pentad.rooms.registers.interface.demo import Scene, Story

_FIRST: Final = (
    "Amina",
    "Bruno",
    "Clara",
    "Dev",
    "Esther",
    "Felix",
    "Greta",
    "Hassan",
    "Iris",
    "Jonas",
    "Keiko",
    "Luis",
)
_LAST: Final = ("Moreau", "Novak", "Osei", "Petersen", "Quist", "Rossi", "Sato", "Turner")
_THINGS: Final = (
    ("bicycle", "gears slip"), ("bicycle", "brakes drag"), ("radio", "no sound on one side"), ("lamp", "loose contact"),
    ("sewing machine", "thread tears"), ("laptop", "does not charge"), ("coffee machine", "leaks"), ("clock", "stops"),
)  # fmt: skip
_PARTS: Final = (
    ("cable", 6.5),
    ("bearing", 12.0),
    ("switch", 4.2),
    ("chain", 24.9),
    ("gasket", 3.1),
    ("battery", 49.0),
)
_FIRST_DAY: Final = date(2026, 1, 5)

CUSTOMER: Final[dict[str, Any]] = {
    "slug": "customer",
    "title": "Customer",
    "required": ["name", "phone"],
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "phone": {"type": "string", "pattern": "^\\+[0-9 ]{6,20}$", "unique": True},
        "email": {"type": "string", "format": "email"},
        "member": {"type": "boolean", "default": False, "facetable": True},
    },
    "configuration": {"objectNameField": "name"},
}
REPAIR: Final[dict[str, Any]] = {
    "slug": "repair",
    "title": "Repair",
    "required": ["ticket", "customer", "thing", "complaint", "received", "status"],
    "properties": {
        "ticket": {"type": "string", "pattern": "^R[0-9]{4}$", "unique": True, "immutable": True},
        "customer": {"$ref": "customer", "onDelete": "RESTRICT"},
        "thing": {"type": "string", "facetable": True},
        "complaint": {"type": "string"},
        "received": {"type": "string", "format": "date", "facetable": {"type": "date_histogram"}},
        "status": {
            "enum": ["waiting", "on the bench", "waiting for parts", "ready", "collected", "beyond repair"],
            "default": "waiting",
            "facetable": True,
        },
        "hours": {"type": "number", "minimum": 0, "default": 0},
        "parts": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "price"],
                "properties": {"name": {"type": "string"}, "price": {"type": "number", "minimum": 0}},
            },
        },
        "total": {"type": "number", "computed": "round(hours * 42 + sum(parts.price), 2)"},
    },
    "configuration": {"objectNameField": "ticket", "search": "hybrid"},
}


async def tell(scene: Scene) -> None:
    """Things come in, are worked on and go home; an agent at the counter keeps the tickets."""
    customers = await scene.create("customer", [_customer(scene, number) for number in range(30)])
    rows = [_repair(scene, number, customers) for number in range(64)]
    repairs = await scene.create("repair", rows)
    bench = scene.by("bench-agent", "work of the day")
    waiting = [uuid for uuid, row in zip(repairs, rows, strict=True) if row["status"] == "waiting"]
    await bench.change("repair", {uuid: {"status": "on the bench"} for uuid in waiting[:6]})
    await bench.change("repair", {uuid: {"status": "ready", "hours": 1.5} for uuid in waiting[:3]})
    await bench.change("repair", {waiting[3]: {"status": "beyond repair", "parts": []}})
    await scene.by("counter-agent", "a second look found the fault").revert("repair", waiting[3], 2)
    await scene.by("counter-agent", "entered twice").delete("repair", [waiting[-1]])


def _customer(scene: Scene, number: int) -> dict[str, Any]:
    first, last = _FIRST[number % len(_FIRST)], _LAST[number * 3 % len(_LAST)]
    return {
        "name": f"{first} {last}",
        "phone": f"+44 7700 {900_100 + number}",
        "email": f"{first}.{last}{number}@example.org".lower(),
        "member": scene.chance.random() < 0.4,
    }


def _repair(scene: Scene, number: int, customers: list[str]) -> dict[str, Any]:
    chance = scene.chance
    thing, complaint = chance.choice(_THINGS)
    statuses = ("collected",) * 6 + ("ready", "waiting for parts", "on the bench", "waiting", "waiting")
    status = "collected" if number < 20 else chance.choice(statuses)
    begun = status not in ("waiting", "waiting for parts")
    return {
        "ticket": f"R{number + 1:04}",
        "customer": chance.choice(customers),
        "thing": thing,
        "complaint": complaint,
        "received": (_FIRST_DAY + timedelta(days=number)).isoformat(),
        "status": status,
        "hours": chance.randint(1, 10) / 4 if begun else 0,
        "parts": [{"name": name, "price": price} for name, price in chance.sample(_PARTS, chance.randint(0, 2))],
    }


STORY: Final = Story(
    {
        "slug": "repair-workshop",
        "title": "Repair workshop",
        "description": "Tickets of a neighbourhood workshop, from the counter to the bench and back.",
    },
    (CUSTOMER, REPAIR),
    tell,
)
