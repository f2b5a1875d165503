"""Chooses skills and domains for an imported record: those the caller names, else those its own words suggest.

The words are compared with the taxonomy, so the same record always gets the same classes. A record needs a skill: where
none is clear it gets the nearest one, told as a guess. It needs no domain, and gets none by guessing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean
from pentad.rooms.directory.oasf.suggest import suggest
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, taxonomy
from pentad.rooms.directory.translate.carried_classes import class_item
from pentad.rooms.directory.translate.envelope import UNWRITTEN
from pentad.rooms.directory.translate.shapes import items_of, mapping_of, objects_of, text_of, texts_of

_MOST: Final = {"skill": 3, "domain": 2}
_NEAR: Final = {"skill": 0.5, "domain": 0.6}
"""How near to the best a suggestion must be to be taken as well."""


@dataclass(frozen=True, slots=True)
class Suggested:
    """A class that was chosen for a record, and the words that speak for it. Not confident: a guess to be reviewed."""

    family: str
    id: int
    name: str
    score: float
    words: tuple[str, ...]
    confident: bool = True

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"id": self.id, "name": self.name, "score": self.score, "words": list(self.words)}
        return told | {"confident": self.confident}

    def advice(self) -> str:
        """What to tell about a guess."""
        why = (
            f"only {', '.join(map(repr, self.words[:5]))} may speak for it" if self.words else "no word speaks for any"
        )
        return f"The {self.family} {self.name!r} is a guess to be reviewed: {why}."


def enrich(
    record: dict[str, Any],
    version: str,
    skills: Sequence[str],
    domains: Sequence[str],
    *,
    by_words: bool = True,
    guess: bool = True,
) -> list[Suggested]:
    """Give a record the classes it lacks; returns those that were suggested by its words.

    Without `guess` only classes its words clearly speak for are taken.
    """
    chosen: list[Suggested] = []
    families: tuple[tuple[Literal["skill", "domain"], Sequence[str]], ...] = (("skill", skills), ("domain", domains))
    for family, named in families:
        if family == "domain" and version == "0.3.1":
            record.pop("domains", None)
            continue
        if named:
            entries = [_entry(name, family, version) for name in named]
            record[f"{family}s"] = [class_item(entry, family, version) for entry in dict.fromkeys(entries)]
        elif by_words and not record.get(f"{family}s"):
            found = _suggested(words_of(record), family, version, guess=guess and family == "skill")
            record[f"{family}s"] = [class_item(entry, family, version) for entry, _ in found]
            chosen += [one for _, one in found]
    return chosen


def _entry(name: str, family: Literal["skill", "domain"], version: str) -> ClassEntry:
    classes = taxonomy(version, family)
    digits = name.isascii() and name.isdigit() and len(name) < 12
    entry = classes.by_id(int(name)) if digits else classes.by_name(name)
    if entry is None or entry.grouping:
        usable = [one.short for one in classes.all if not one.grouping]
        why = "only groups other classes" if entry else "is unknown"
        raise InvalidInput(
            f"the {family} {name[:80]!r} {why} in OASF {version}", hint=did_you_mean(name.rsplit("/", 1)[-1], usable)
        )
    return entry


def _suggested(
    text: str, family: Literal["skill", "domain"], version: str, *, guess: bool
) -> list[tuple[ClassEntry, Suggested]]:
    found = suggest(text, version, family, limit=_MOST[family])
    near = [one for one in found if one.confident and one.score >= found[0].score * _NEAR[family]]
    taken = near or (found[:1] if guess else [])
    return [
        (one.entry, Suggested(family, one.entry.id, one.entry.name, one.score, one.words, one.confident))
        for one in taken
    ]


def words_of(record: dict[str, Any]) -> str:
    """The text a record is classified by: its name, its description, and what its tools and skills are called."""
    name, description = str(record.get("name", "")), str(record.get("description", ""))
    # the namespace says who, not what; what nobody wrote says nothing
    parts = [text for text in (name.rstrip("/").rsplit("/", 1)[-1], description) if text not in UNWRITTEN]
    for module in objects_of(record.get("modules")) + objects_of(record.get("extensions")):
        data = mapping_of(module.get("data"))
        card = mapping_of(data.get("card_data"))
        holders = [data, mapping_of(data.get("mcp_data")), *objects_of(data.get("servers"))]
        named = [item for holder in holders for item in objects_of(holder.get("tools"))]
        for item in (*named, *objects_of(card.get("skills"))):
            parts += [text for key in ("name", "description") if (text := text_of(item.get(key)))]
            parts += texts_of(items_of(item.get("tags")))
    return "\n".join(parts)
