"""A register of people, companies, permits and inspections that refer to one another."""

from dataclasses import dataclass
from typing import Any

from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.opening import ADMIN

Body = dict[str, Any]
TEXT: Body = {"type": "string"}
SCHEMAS: dict[str, Body] = {
    "company": {
        "name": TEXT,
        "staff": {"type": "array", "items": {"$ref": "person"}, "inversedBy": "employer"},
    },
    "person": {
        "name": {**TEXT, "unique": True},
        "city": {**TEXT, "facetable": True},
        "income": {"type": "number"},
        "born": {**TEXT, "format": "date"},
        "employer": {**TEXT, "$ref": "company"},
    },
    "permit": {
        "number": {**TEXT, "unique": True},
        "kind": {"enum": ["tree", "house"]},
        "status": {**TEXT, "facetable": True},
        "fee": {"type": "number"},
        "applicant": {**TEXT, "$ref": "person"},
        "witnesses": {"type": "array", "items": {"$ref": "person"}},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"who": {"$ref": "person"}, "n": TEXT}}},
        "free": {"type": "object"},
    },
    "inspection": {"score": {"type": "number"}, "permit": {**TEXT, "$ref": "permit"}},
}
PEOPLE = {
    "Ada": ("Delft", 10, "1980-05-01", "Acme"),
    "Bob": ("Leiden", 20, "1990-01-01", "Acme"),
    "Cas": ("Delft", 30, "1980-12-31", None),
    "Dee": (None, 40, None, None),
}
PERMITS = {
    "P-1": ("Ada", "open", 5, ["Bob", "Cas"]),
    "P-2": ("Ada", "closed", 7, []),
    "P-3": ("Bob", "open", 11, ["Bob"]),
    "P-4": (None, "open", 1, ["Ada", "Cas"]),
}
SCORES = {"P-1": [1, 3], "P-3": [8]}


@dataclass
class Permits:
    """The pairs by schema, and every object by its name or number."""

    registers: Registers
    pairs: dict[str, Pair]
    made: dict[str, StoredObject]

    def uuid(self, name: str) -> str:
        return self.made[name].uuid

    async def find(self, schema: str, caller: Caller = ADMIN, **query: Any) -> list[Any]:
        """The names or numbers of what a query finds, in its order."""
        objects, pair = self.registers.objects, self.pairs[schema]
        found = await objects.find(caller, pair, await objects.query_of(caller, pair, query))
        assert found.total == len(found.rows)
        stored = [StoredObject(*row) for row in found.rows]
        return [one.data.get("name") or one.data.get("number") or one.data.get("score") for one in stored]

    async def facets(self, schema: str, *names: str, caller: Caller = ADMIN, **query: Any) -> dict[str, dict[Any, int]]:
        objects, pair = self.registers.objects, self.pairs[schema]
        asked = await objects.query_of(caller, pair, {"facets": list(names), "limit": 0, **query})
        found = (await objects.find(caller, pair, asked)).facets
        return {name: {one["key"]: one["count"] for one in facet["buckets"]} for name, facet in found.items()}

    async def groups(self, schema: str, caller: Caller = ADMIN, **query: Any) -> list[Body]:
        objects, pair = self.registers.objects, self.pairs[schema]
        return (await objects.aggregate(caller, pair, await objects.aggregate_of(caller, pair, query))).groups


async def make_permits(registers: Registers, more: dict[str, Body] | None = None) -> Permits:
    """Everything above; `more` holds further members of some schemas."""
    catalogue, objects = registers.catalogue, registers.objects
    for slug, properties in SCHEMAS.items():
        body = {"title": slug, "slug": slug, "properties": properties, **(more or {}).get(slug, {})}
        await catalogue.schemas.create(ADMIN, body)
    await catalogue.registers.create(ADMIN, {"title": "City", "slug": "city", "schemas": list(SCHEMAS)})
    pairs = {slug: await catalogue.pair(ADMIN, "city", slug) for slug in SCHEMAS}
    made = {"Acme": await objects.create(ADMIN, pairs["company"], {"name": "Acme"})}
    for name, (city, income, born, employer) in PEOPLE.items():
        data = {
            "name": name, "city": city, "income": income, "born": born, "employer": employer and made[employer].uuid,
        }  # fmt: skip
        given = {key: value for key, value in data.items() if value is not None}
        made[name] = await objects.create(ADMIN, pairs["person"], given)
    for number, (applicant, status, fee, witnesses) in PERMITS.items():
        uuids = [made[one].uuid for one in witnesses]
        data = {
            "number": number, "kind": "tree", "status": status, "fee": fee, "free": {"deep": {"er": number}},
            "witnesses": uuids, "lines": [{"who": uuid, "n": "x"} for uuid in uuids],
        }  # fmt: skip
        if applicant:
            data["applicant"] = made[applicant].uuid
        made[number] = await objects.create(ADMIN, pairs["permit"], data)
        for score in SCORES.get(number, []):
            await objects.create(ADMIN, pairs["inspection"], {"score": score, "permit": made[number].uuid})
    return Permits(registers, pairs, made)
