"""A museum's loans: works that travel, the houses they go to, and what each journey is insured for."""

from datetime import date, timedelta
from typing import Any, Final

from pentad.rooms.registers.interface.demo import Scene, Story

_HOUSES: Final = (
    ("Stadtmuseum Halle", "Halle", "DE"), ("Musée des Ateliers", "Nantes", "FR"), ("Harbour Gallery", "Bristol", "GB"),
    ("Museo del Telar", "Girona", "ES"), ("Kunsthuis Noord", "Groningen", "NL"), ("Galerie Lind", "Malmö", "SE"),
    ("Pinakothek am Hang", "Graz", "AT"), ("Casa delle Carte", "Trieste", "IT"),
)  # fmt: skip
_ARTISTS: Final = ("Ida Brandt", "Josef Kaminsky", "Lotte Aerts", "Pere Vidal", "Maud Sinclair", "Anna Lindqvist")
_SUBJECTS: Final = ("Harbour", "Orchard", "Woman reading", "Winter road", "Weavers", "Bridge", "Market", "Still life")
_TIMES: Final = ("in the morning", "after rain", "in blue", "from memory", "with figures")
_TECHNIQUES: Final = ("oil", "watercolour", "print", "drawing", "textile")
_FIRST_DAY: Final = date(2025, 1, 13)

HOUSE: Final[dict[str, Any]] = {
    "slug": "house",
    "title": "House",
    "description": "A museum or gallery that lends or borrows.",
    "required": ["name", "city", "country"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "unique": True},
        "city": {"type": "string", "facetable": True},
        "country": {"type": "string", "pattern": "^[A-Z]{2}$", "facetable": True},
        "registrar": {"type": "string", "format": "email"},
        "climate_controlled": {"type": "boolean", "default": True},
    },
    "configuration": {"objectNameField": "name"},
}
ARTWORK: Final[dict[str, Any]] = {
    "slug": "artwork",
    "title": "Artwork",
    "description": "A work of the collection.",
    "required": ["inventory", "title", "artist", "technique"],
    "properties": {
        "inventory": {"type": "string", "pattern": "^[0-9]{4}\\.[0-9]{3}$", "unique": True, "immutable": True},
        "title": {"type": "string", "minLength": 1},
        "artist": {"type": "string", "facetable": True},
        "year": {"type": "integer", "minimum": 1500, "maximum": 2030, "x-index": True},
        "technique": {"enum": list(_TECHNIQUES), "facetable": True},
        "value": {"type": "number", "minimum": 0, "description": "Insurance value in euros."},
        "condition": {"enum": ["sound", "fragile", "in restoration"], "default": "sound", "facetable": True},
        "size": {
            "type": "object",
            "properties": {"height_cm": {"type": "number"}, "width_cm": {"type": "number"}},
        },
        "label": {"type": "string", "computed": "concat(artist, ', ', title, ' (', text(year), ')')"},
    },
    "configuration": {"objectNameField": "label"},
}
LOAN: Final[dict[str, Any]] = {
    "slug": "loan",
    "title": "Loan",
    "description": "One work at one house for some time.",
    "required": ["number", "artwork", "borrower", "from", "until", "status"],
    "properties": {
        "number": {"type": "string", "unique": True},
        "artwork": {"$ref": "artwork", "onDelete": "RESTRICT"},
        "borrower": {"$ref": "house", "onDelete": "RESTRICT"},
        "from": {"type": "string", "format": "date", "x-index": True},
        "until": {"type": "string", "format": "date"},
        "status": {"enum": ["requested", "agreed", "travelling", "on show", "returned"], "facetable": True},
        "insured": {"type": "number", "minimum": 0},
        "premium": {"type": "number", "computed": "round(insured * 0.002, 2)"},
        "couriers": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "notes": {"type": "string"},
    },
    "configuration": {"objectNameField": "number"},
}


async def tell(scene: Scene) -> None:
    """Works are catalogued, lent and come home; one value was mistyped and is put right again."""
    houses = await scene.create("house", [_house(*facts) for facts in _HOUSES])
    works = [_artwork(scene, number) for number in range(48)]
    artworks = await scene.create("artwork", works)
    lent = [_loan(scene, number, artworks, houses, works) for number in range(36)]
    loans = await scene.create("loan", lent)
    registrar = scene.by("registrar-desk", "condition reports after the transport")
    await registrar.change("artwork", {artworks[number]: {"condition": "fragile"} for number in (3, 11, 27)})
    home = [uuid for uuid, loan in zip(loans, lent, strict=True) if loan["status"] == "travelling"]
    await registrar.change("loan", {uuid: {"status": "on show"} for uuid in home[:4]})
    valuer = scene.by("valuation-agent", "yearly valuation")
    await valuer.change("artwork", {artworks[5]: {"value": 9_900_000.0}})
    await scene.by("registrar-desk", "that value had a digit too many").revert("artwork", artworks[5], 1)
    withdrawn = [uuid for uuid, loan in zip(loans, lent, strict=True) if loan["status"] == "requested"]
    await scene.by("registrar-desk", "request withdrawn by the borrower").delete("loan", withdrawn[:2])


def _house(name: str, city: str, country: str) -> dict[str, Any]:
    return {
        "name": name,
        "city": city,
        "country": country,
        "registrar": f"loans@{city.lower().replace('ö', 'oe')}.example",
        "climate_controlled": city not in ("Girona", "Trieste"),
    }


def _artwork(scene: Scene, number: int) -> dict[str, Any]:
    chance = scene.chance
    return {
        "inventory": f"{1900 + number * 2}.{chance.randint(1, 999):03}",
        "title": f"{_SUBJECTS[number % len(_SUBJECTS)]} {_TIMES[number // len(_SUBJECTS) % len(_TIMES)]}",
        "artist": chance.choice(_ARTISTS),
        "year": chance.randint(1870, 1968),
        "technique": chance.choice(_TECHNIQUES),
        "value": float(chance.randint(8, 900) * 1_000),
        "size": {"height_cm": float(chance.randint(20, 180)), "width_cm": float(chance.randint(20, 220))},
    }


def _loan(
    scene: Scene, number: int, artworks: list[str], houses: list[str], works: list[dict[str, Any]]
) -> dict[str, Any]:
    chance = scene.chance
    start = _FIRST_DAY + timedelta(days=14 * number)
    statuses = ("returned",) * 20 + ("on show",) * 6 + ("travelling",) * 5 + ("agreed",) * 2 + ("requested",) * 3
    which = chance.randrange(len(artworks))
    return {
        "number": f"L-{2025 + number // 26}-{number + 1:03}",
        "artwork": artworks[which],
        "borrower": chance.choice(houses),
        "from": start.isoformat(),
        "until": (start + timedelta(days=chance.randint(60, 240))).isoformat(),
        "status": statuses[number],
        "insured": works[which]["value"],
        "couriers": chance.sample(["R. Okafor", "M. Hahn", "S. Pires", "T. Dahl"], chance.randint(0, 2)),
    }


STORY: Final = Story(
    {
        "slug": "museum-loans",
        "title": "Museum loans",
        "description": "Works of a small museum and where they travel.",
    },
    (HOUSE, ARTWORK, LOAN),
    tell,
)
