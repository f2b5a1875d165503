"""Chooses skills and domains for an imported record: the ones the caller names, otherwise those its words suggest.

The same record always gets the same classes. A record needs a skill, so if none is clear it gets the nearest one,
marked as a guess. It needs no domain, so domains are never guessed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_list, as_object, as_objects, as_texts, text_or_none
from pentad.kernel.names import did_you_mean
from pentad.rooms.directory.oasf.class_suggestions import suggest
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, taxonomy
from pentad.rooms.directory.translate.class_migration import class_item
from pentad.rooms.directory.translate.envelope import PLACEHOLDER_TEXTS

_MOST: Final = {"skill": 3, "domain": 2}
_NEAR: Final = {"skill": 0.5, "domain": 0.6}
"""The share of the best score that another suggestion needs to be chosen too."""


@dataclass(frozen=True, slots=True)
class Suggested:
    """A class chosen for a record, and the words that suggest it. If not confident, it is a guess to review."""

    family: str
    id: int
    name: str
    score: float
    words: tuple[str, ...]
    confident: bool = True

    def as_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"id": self.id, "name": self.name, "score": self.score, "words": list(self.words)}
        return fields | {"confident": self.confident}

    def advice(self) -> str:
        """The warning about a guess."""
        why = f"only {', '.join(map(repr, self.words[:5]))} may indicate it" if self.words else "no word indicates any"
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
    """Add the classes that a record lacks. Returns those suggested by its words.

    Without `guess` only confident suggestions are taken.
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
    """The text that classifies a record: its name, description, and the names of its tools and skills."""
    name, description = str(record.get("name", "")), str(record.get("description", ""))
    # The namespace says who, not what; placeholder texts say nothing.
    parts = [text for text in (name.rstrip("/").rsplit("/", 1)[-1], description) if text not in PLACEHOLDER_TEXTS]
    for module in as_objects(record.get("modules")) + as_objects(record.get("extensions")):
        data = as_object(module.get("data"))
        card = as_object(data.get("card_data"))
        holders = [data, as_object(data.get("mcp_data")), *as_objects(data.get("servers"))]
        named = [item for holder in holders for item in as_objects(holder.get("tools"))]
        for item in (*named, *as_objects(card.get("skills"))):
            parts += [text for key in ("name", "description") if (text := text_or_none(item.get(key)))]
            parts += as_texts(as_list(item.get("tags")))
    return "\n".join(parts)
