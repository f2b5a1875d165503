"""A city's street trees: what stands where, and what the inspectors found. Anybody may read it."""

from datetime import date, timedelta
from typing import Any, Final

from pentad.rooms.registers.interface.demo import Scene, Story

_SPECIES: Final = (
    ("Small-leaved lime", "Tilia cordata", 25, "medium"), ("London plane", "Platanus x hispanica", 30, "high"),
    ("Norway maple", "Acer platanoides", 22, "low"), ("Horse chestnut", "Aesculus hippocastanum", 25, "low"),
    ("Field maple", "Acer campestre", 15, "high"), ("Honey locust", "Gleditsia triacanthos", 20, "high"),
    ("Hornbeam", "Carpinus betulus", 20, "medium"), ("Wild cherry", "Prunus avium", 18, "medium"),
    ("Silver birch", "Betula pendula", 22, "low"), ("Ginkgo", "Ginkgo biloba", 25, "high"),
)  # fmt: skip
_STREETS: Final = (
    "Mill Lane",
    "Station Road",
    "Castle Street",
    "Ferry Quay",
    "Orchard Avenue",
    "Northgate",
    "The Green",
)
_DISTRICTS: Final = ("Old Town", "Riverside", "North", "Hillside")
_FINDINGS: Final = ("dead wood in the crown", "bark damage by traffic", "roots lift the pavement", "fungus at the base")
_FIRST_DAY: Final = date(2025, 3, 3)

SPECIES: Final[dict[str, Any]] = {
    "slug": "species",
    "title": "Species",
    "required": ["name", "botanical_name"],
    "properties": {
        "name": {"type": "string", "unique": True},
        "botanical_name": {"type": "string", "unique": True},
        "height_m": {"type": "number", "minimum": 1, "description": "How tall it grows in a street."},
        "drought_tolerance": {"enum": ["low", "medium", "high"], "facetable": True},
    },
    "configuration": {"objectNameField": "name"},
    "authorization": {"read": ["public"]},
}
TREE: Final[dict[str, Any]] = {
    "slug": "tree",
    "title": "Tree",
    "required": ["number", "species", "street", "district", "planted"],
    "properties": {
        "number": {"type": "string", "pattern": "^T-[0-9]{5}$", "unique": True, "immutable": True},
        "species": {"$ref": "species", "onDelete": "RESTRICT"},
        "street": {"type": "string", "x-index": True},
        "district": {"enum": list(_DISTRICTS), "facetable": True},
        "planted": {"type": "string", "format": "date", "facetable": {"type": "date_histogram"}},
        "planted_year": {"type": "integer", "computed": "year(planted)"},
        "trunk_cm": {"type": "number", "minimum": 1, "maximum": 800},
        "health": {"enum": ["good", "fair", "poor", "dead"], "default": "good", "facetable": True},
        "inspections": {"type": "array", "items": {"$ref": "inspection"}, "inversedBy": "tree"},
        "position": {
            "type": "object",
            "required": ["latitude", "longitude"],
            "properties": {
                "latitude": {"type": "number", "minimum": -90, "maximum": 90},
                "longitude": {"type": "number", "minimum": -180, "maximum": 180},
            },
        },
    },
    "configuration": {"objectNameField": "number"},
    "authorization": {"read": ["public"]},
}
INSPECTION: Final[dict[str, Any]] = {
    "slug": "inspection",
    "title": "Inspection",
    "required": ["tree", "on", "inspector", "risk"],
    "properties": {
        "tree": {"$ref": "tree", "onDelete": "CASCADE"},
        "on": {"type": "string", "format": "date", "x-index": True},
        "inspector": {"type": "string", "facetable": True},
        "risk": {"type": "integer", "minimum": 1, "maximum": 5, "facetable": True},
        "findings": {"type": "array", "items": {"type": "string"}},
        "action": {"enum": ["none", "prune", "watch", "fell"], "default": "none", "facetable": True},
        "next": {"type": "string", "format": "date", "computed": "add_days(on, 365 if risk < 3 else 90)"},
    },
    "authorization": {"read": ["public"]},
}


async def tell(scene: Scene) -> None:
    """Trees are planted and inspected; some are ill, one is felled, and one was noted dead by mistake."""
    species = await scene.create("species", [_species(*facts) for facts in _SPECIES])
    trees = await scene.create("tree", [_tree(scene, number, species) for number in range(140)])
    inspections = [_inspection(scene, number, trees) for number in range(160)]
    await scene.create("inspection", inspections)
    inspector = scene.by("inspection-app", "spring inspection")
    ill = list(dict.fromkeys(row["tree"] for row in inspections if row["risk"] >= 4))
    await inspector.change("tree", {uuid: {"health": "poor"} for uuid in ill[:18]})
    await inspector.change("tree", {trees[7]: {"health": "dead"}})
    await scene.by("tree-officer", "T-00008 was mistaken for its neighbour").revert("tree", trees[7], 1)
    await scene.by("tree-officer", "felled after the storm").delete("tree", [ill[0]])


def _species(name: str, botanical_name: str, height: int, tolerance: str) -> dict[str, Any]:
    return {"name": name, "botanical_name": botanical_name, "height_m": height, "drought_tolerance": tolerance}


def _tree(scene: Scene, number: int, species: list[str]) -> dict[str, Any]:
    chance = scene.chance
    planted = date(1955, 11, 1) + timedelta(days=chance.randint(0, 25_000))
    return {
        "number": f"T-{number + 1:05}",
        "species": chance.choice(species),
        "street": chance.choice(_STREETS),
        "district": chance.choice(_DISTRICTS),
        "planted": planted.isoformat(),
        "trunk_cm": round(8 + (2025 - planted.year) * chance.uniform(0.8, 2.4), 1),
        "position": {
            "latitude": round(51.44 + chance.uniform(-0.03, 0.03), 5),
            "longitude": round(-2.59 + chance.uniform(-0.05, 0.05), 5),
        },
    }


def _inspection(scene: Scene, number: int, trees: list[str]) -> dict[str, Any]:
    chance = scene.chance
    risk = chance.choices((1, 2, 3, 4, 5), (40, 30, 15, 10, 5))[0]
    return {
        "tree": chance.choice(trees),
        "on": (_FIRST_DAY + timedelta(days=number)).isoformat(),
        "inspector": chance.choice(("N. Abara", "J. Whitlock", "P. Castellan")),
        "risk": risk,
        "findings": chance.sample(_FINDINGS, min(risk - 1, 3)),
        "action": ("none", "none", "watch", "prune", "fell")[risk - 1],
    }


STORY: Final = Story(
    {
        "slug": "street-trees",
        "title": "Street trees",
        "description": "The trees of a city's streets and their inspections, open to everybody.",
        "authorization": {"read": ["public"]},
    },
    (SPECIES, TREE, INSPECTION),
    tell,
)
