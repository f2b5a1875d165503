"""Realistic records to fill a directory with, always the same for a number."""

from functools import cache
from random import Random
from typing import Any, Final

from pentad.rooms.directory.oasf.taxonomy import ClassEntry, taxonomy
from pentad.rooms.directory.oasf.versions import Family

RARE: Final = 60
"""The number of records with the rare skill and rare versions, regardless of the store's size."""

_FIRST: Final = ("quiet", "amber", "swift", "copper", "silent", "northern", "gentle", "bright", "hollow", "scarlet")
_SECOND: Final = ("heron", "ledger", "falcon", "harbor", "lantern", "meadow", "comet", "anvil", "orchid", "compass")
_ACTS: Final = ("summarises", "translates", "classifies", "plans", "monitors", "reviews", "answers", "extracts")
_THINGS: Final = ("contracts", "invoices", "support tickets", "images", "logs", "clinical notes", "source code", "maps")
_TIERS: Final = ("gold", "silver", "bronze")
_SYLLABLES: Final = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo", "xe", "ju")


def coined(number: int) -> str:
    """A word that only this record has."""
    return "".join(_SYLLABLES[(number >> shift) & 15] for shift in (20, 16, 12, 8, 4, 0))


def name(number: int) -> str:
    return f"example.org/{_FIRST[number % 10]}-{_SECOND[number // 10 % 10]}-{number:07d}"


def rare_skill() -> ClassEntry:
    """The skill that only the first records have."""
    return _classes("skill")[-1]


def record(number: int) -> dict[str, Any]:
    """A record with everything that people search by."""
    chance = Random(number)
    skills, domains = _classes("skill"), _classes("domain")
    chosen = {skills[int((len(skills) - 1) * chance.random() ** 3)] for _ in range(chance.randint(1, 3))}
    if number < RARE:
        chosen.add(skills[-1])
    minor, patch, tens, second = chance.randint(0, 9), chance.randint(0, 9), chance.randint(10, 19), chance.random()
    return {
        "schema_version": "1.1.0",
        "name": name(number),
        "version": f"90.0.{number}" if number < RARE else f"{number % 5}.{minor}.{patch}",
        "description": f"An agent that {chance.choice(_ACTS)} {chance.choice(_THINGS)} for teams of any size; known"
        f" inside as {coined(number)}.",
        "authors": [f"Team {chance.randint(1, 400)} <team@example.org>"],
        "created_at": f"2026-0{chance.randint(1, 9)}-{tens}T08:30:{int(10 + second * 50)}Z",
        "skills": [{"id": entry.id, "name": entry.name} for entry in sorted(chosen, key=lambda entry: entry.id)],
        "domains": [{"id": entry.id, "name": entry.name} for entry in chance.sample(domains, 2)],
        "locators": [{"type": "container_image", "urls": [f"https://images.example.org/{number}"]}],
        "annotations": {"tier": chance.choice(_TIERS), "region": f"r{chance.randint(1, 30)}"},
    }


def complete(number: int) -> dict[str, Any]:
    """The same record with an A2A card of three skills; about 3 KB."""
    plain = record(number)
    skills = [
        {
            "id": f"{act}-{thing.replace(' ', '-')}",
            "name": f"{act.capitalize()} {thing}",
            "description": f"Takes {thing} as text or by their address, {act} them and says how sure it is of each.",
            "tags": [act, *thing.split()],
            "examples": [f"Here are the {thing} of last week.", f"Which of these {thing} need a person?"],
        }
        for act, thing in zip(_ACTS[number % 5 :][:3], _THINGS[number % 6 :][:3], strict=False)
    ]
    card = {
        "protocolVersion": "0.3.0",
        "name": plain["name"].rpartition("/")[2],
        "description": plain["description"],
        "url": f"https://agents.example.org/{number}",
        "preferredTransport": "JSONRPC",
        "version": plain["version"],
        "provider": {"organization": "Example", "url": "https://example.org"},
        "capabilities": {"streaming": True, "pushNotifications": number % 2 == 0},
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["text/plain"],
        "skills": skills,
    }
    module = {"id": 203, "name": "integration/a2a", "data": {"card_data": card, "card_schema_version": "v0.3.0"}}
    return {**plain, "modules": [module]}


@cache
def _classes(family: Family) -> tuple[ClassEntry, ...]:
    return tuple(entry for entry in taxonomy("1.1.0", family).all if not entry.grouping)
