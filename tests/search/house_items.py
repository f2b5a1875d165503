"""Five thousand generated items in three rooms, among which the questions of `house_questions.json` look for theirs."""

import itertools
from typing import Any, Final

from benchmarks.directory.workload import coined, record

RECORDS: Final = range(2_500)
MATERIALS: Final = (
    "bronze", "cast iron", "brass", "teak", "aluminium", "rubber", "oak", "steel", "copper", "nylon", "lead", "ash",
    "tin", "glass", "canvas", "hemp", "slate", "zinc", "cork", "felt",
)  # fmt: skip
PARTS: Final = (
    "rudder pin", "bilge pump", "porthole", "grating", "mast step", "fender", "hatch", "winch drum", "cleat", "valve",
)  # fmt: skip
SHIPS: Final = ("Kestrel", "Heron", "Bittern", "Osprey", "Plover", "Curlew", "Avocet", "Dunlin", "Egret", "Gannet")
ACTS: Final = ("summarise", "translate", "proofread", "draft", "file")
PAPERS: Final = (
    "minutes",
    "tariff",
    "tender",
    "statute",
    "petition",
    "timetable",
    "inventory",
    "lease",
    "report",
    "map",
)
BODIES: Final = (
    "pilots' guild", "ferry company", "shipyard", "museum friends", "fish market", "rowing club", "harbour board",
    "customs office", "sailmakers", "lighthouse trust",
)  # fmt: skip


def records() -> list[dict[str, Any]]:
    """Records of agents; each has a word of its own."""
    return [record(number) for number in RECORDS]


def spare_parts() -> list[dict[str, str]]:
    """Objects: every part of every material for every ship."""
    every = itertools.product(PARTS, MATERIALS, SHIPS)
    return [
        {"name": f"{part}, {material}, {ship}", "note": f"Shelf {number % 90}; fits the {ship} alone."}
        for number, (part, material, ship) in enumerate(every)
    ]


def requests() -> list[str]:
    """Tasks: everything that can be done with every paper of every body."""
    every = itertools.product(ACTS, PAPERS, BODIES)
    return [f"Please {act} the {paper} of the {body}." for act, paper, body in every]


def question(text: str) -> str:
    """A question with the own word of the record it names."""
    before, sign, rest = text.partition("{coined:")
    number, _, after = rest.partition("}")
    return f"{before}{coined(int(number))}{after}" if sign else text


def is_right(wanted: str, title: str, text: str) -> bool:
    """Whether an item is the one a question asks for: its title or text has the words."""
    if wanted.startswith("coined:"):
        return coined(int(wanted.removeprefix("coined:"))) in text
    return wanted.lower() in title.lower() or wanted.lower() in text.lower()
