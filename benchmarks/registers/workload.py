"""The same objects for every server: 20 properties, some 860 bytes, made from their number alone."""

import json
from datetime import date, timedelta
from random import Random
from typing import Any, Final

STATUSES: Final = ("open", "active", "paused", "done", "archived")
CATEGORIES: Final = ("north", "south", "east", "west", "centre", "harbour", "airport", "hills")
_WORDS: Final = (
    "amber", "basin", "copper", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty", "kelp", "ledger",
    "maple", "north", "orchard", "pier", "quarry", "river", "slate", "timber", "upland", "valley", "willow", "yarrow",
)  # fmt: skip
_FIRST_DAY: Final = date(2020, 1, 1)

PROPERTIES: Final[dict[str, Any]] = {
    "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{8}$", "x-index": True},
    "title": {"type": "string", "minLength": 1, "maxLength": 200},
    "description": {"type": "string", "maxLength": 2000},
    "status": {"type": "string", "enum": list(STATUSES), "facetable": True},
    "category": {"type": "string", "enum": list(CATEGORIES), "facetable": True},
    "priority": {"type": "integer", "minimum": 1, "maximum": 5, "x-index": True},
    "score": {"type": "number", "minimum": 0, "maximum": 1000},
    "amount": {"type": "number", "minimum": 0},
    "active": {"type": "boolean"},
    "email": {"type": "string", "format": "email"},
    "website": {"type": "string", "format": "uri"},
    "external_id": {"type": "string", "format": "uuid"},
    "opened": {"type": "string", "format": "date"},
    "changed": {"type": "string", "format": "date-time"},
    "phone": {"type": "string", "pattern": "^\\+[0-9]{6,15}$"},
    "postcode": {"type": "string", "pattern": "^[0-9]{5}$"},
    "tags": {"type": "array", "items": {"type": "string", "maxLength": 40}, "maxItems": 10},
    "measures": {"type": "array", "items": {"type": "number"}, "maxItems": 10},
    "address": {
        "type": "object",
        "required": ["street", "city"],
        "properties": {
            "street": {"type": "string"},
            "city": {"type": "string"},
            "number": {"type": "integer", "minimum": 1},
        },
    },
    "reviewer": {"type": ["string", "null"]},
}
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["code", "title", "status", "category", "priority"],
    "properties": PROPERTIES,
}
INDEXED: Final = {"code": "text", "status": "text", "category": "text", "priority": "number"}
"""What every server has an index on, where it can have one."""


def code(number: int) -> str:
    """The one property no two objects share."""
    return f"{'ABCDEFGH'[number % 8]}{'KLMN'[number % 4]}-{number:08}"


def record(number: int) -> dict[str, Any]:
    """The object of a number."""
    chance = Random(number)
    words = chance.sample(_WORDS, 12)
    return {
        "code": code(number),
        "title": f"{words[0].capitalize()} {words[1]} {number}",
        "description": " ".join(chance.choices(_WORDS, k=40)),
        "status": STATUSES[number % 5],
        "category": chance.choice(CATEGORIES),
        "priority": 1 + number % 5,
        "score": round(chance.uniform(0, 1000), 3),
        "amount": round(chance.uniform(0, 50_000), 2),
        "active": number % 3 != 0,
        "email": f"{words[2]}.{words[3]}{number}@example.org",
        "website": f"https://{words[4]}.example.org/{words[5]}/{number}",
        "external_id": f"{number:08x}-1f0e-4c3b-9a2d-{chance.getrandbits(48):012x}",
        "opened": (_FIRST_DAY + timedelta(days=number % 2000)).isoformat(),
        "changed": f"{(_FIRST_DAY + timedelta(days=number % 2100)).isoformat()}T08:30:00Z",
        "phone": f"+49{chance.randrange(10**8, 10**9)}",
        "postcode": f"{chance.randrange(10_000, 99_999)}",
        "tags": words[6:9],
        "measures": [round(chance.uniform(0, 10), 2) for _ in range(5)],
        "address": {"street": f"{words[9]} road", "city": words[10], "number": chance.randint(1, 200)},
        "reviewer": None if number % 4 else words[11],
    }


def encoded(first: int, count: int) -> list[bytes]:
    """The JSON of some objects."""
    return [json.dumps(record(number), separators=(",", ":")).encode() for number in range(first, first + count)]
