"""Everyday words and the classes they speak for, read from `associations.txt` at first use and fitted to a version.

The table names classes by short name, the best there is in any version; where a version has no such class, the table
also says what stands in for it, so one table serves all versions.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from pentad.rooms.directory.oasf.taxonomy import ClassEntry, Taxonomy
from pentad.search.text import stem as stemmed

_WEIGHTS: Final = {"": 6.0, "~": 3.5, "?": 2.0}
"""By the mark of a class in the table: what a word says for it. A hint alone makes nobody sure."""
_INSTEAD: Final = 0.9
"""How much less a word says for a class that only stands in for another."""
COLUMN: Final = {"skill": 1, "domain": 2}
"""Which column of the table is whose; modules have none."""
_WORD: Final = re.compile(r"[A-Za-z0-9À-ÖØ-öø-ɏ]+")
"""A letter with an accent is part of a word: the rest of the word is none."""
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BRITISH: Final = re.compile(r"(?<=[a-z]{4})is(e|es|ed|er|ers|ing|ation|ations)$")
_COMMON: Final = """
a about above agent all also an and any are as at be by can do does for from get given has have how i in into is it its
mcp more my new no not of on one or our out server servers so such than that the their them then these they this to
tool tools up use used user users uses using via was we what when which who will with you your
"""
_STOP: Final = frozenset(_COMMON.split())

Phrase = tuple[str, ...]
"""The stems of one word or of several that stand together."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a phrase says for a class."""

    entry: ClassEntry
    weight: float
    strong: bool


@dataclass(frozen=True, slots=True)
class Table:
    """The table as it is written: forms of words, lines of three columns, and what stands in for what."""

    forms: Mapping[str, str]
    lines: tuple[tuple[str, ...], ...]
    instead: Mapping[str, tuple[str, ...]]


def words_of(text: str, *, apart: bool = False) -> list[str]:
    """The words of a text that may say something, in order, in lower case.

    With `apart`, names run together are taken apart: `readFile` is `read` and `file`. A name of the table stays whole.
    """
    words: list[str] = []
    for word in _WORD.findall(text):
        whole = word.islower() or not apart or word.lower() in _names()
        parts = [word] if whole else _CAMEL.split(word)
        words += [lower for part in parts if (lower := part.lower()) not in _STOP]
    return words


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """What all forms of a word have in common."""
    plain = _plain(word)
    return table().forms.get(plain, plain)


def associations(classes: Taxonomy) -> dict[Phrase, tuple[Said, ...]]:
    """What each phrase of the table says for the classes of a version; a longer phrase says more."""
    read, column = table(), COLUMN.get(classes.family)
    found: dict[Phrase, dict[ClassEntry, Said]] = {}
    for line in read.lines if column else ():
        said = list(_said(classes, line[column or 0].split(), read.instead))
        for words in line[0].split(","):
            phrase = tuple(stem(word) for word in words_of(words))
            more = 1 + 0.25 * (len(phrase) - 1)
            known = found.setdefault(phrase, {})
            for one in said:
                if one.entry not in known or known[one.entry].weight < one.weight * more:
                    known[one.entry] = Said(one.entry, one.weight * more, one.strong)
    return {phrase: tuple(known.values()) for phrase, known in found.items()}


def standing_for(classes: Taxonomy, short: str) -> ClassEntry | None:
    """The class of that short name, or what stands in for it in this version."""
    return _standing(classes, short, table().instead)


def _said(classes: Taxonomy, targets: Iterable[str], instead: Mapping[str, tuple[str, ...]]) -> Iterable[Said]:
    for target in targets:
        short = target.rstrip("~?")
        mark = target[len(short) :]
        entry = _standing(classes, short, instead)
        if entry is not None:
            weight = _WEIGHTS[mark] if entry.short == short else _WEIGHTS[mark] * _INSTEAD
            yield Said(entry, weight, mark != "?")


def _standing(classes: Taxonomy, short: str, instead: Mapping[str, tuple[str, ...]]) -> ClassEntry | None:
    for name in (short, *instead.get(short, ())):
        entry = classes.by_name(name)
        if entry is not None and not entry.grouping and not entry.deprecated:
            return entry
    return None


@cache
def table() -> Table:
    forms: dict[str, str] = {}
    lines: list[tuple[str, ...]] = []
    instead: dict[str, tuple[str, ...]] = {}
    for line in _lines():
        if line.startswith("="):
            kept, *others = (_plain(word) for word in line[1:].split())
            forms |= dict.fromkeys(others, kept)
        elif "|" in line:
            lines.append(tuple(part.strip() for part in line.split("|")))
        elif ">" in line:
            short, *others = (part.strip() for part in line.split(">"))
            instead[short] = tuple(others)
    return Table(forms, tuple(lines), instead)


@cache
def _lines() -> tuple[str, ...]:
    from importlib.resources import files  # slow to import, and not needed before the table is

    text = (files("pentad.rooms.directory.oasf") / "associations.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


@cache
def _names() -> frozenset[str]:
    return frozenset(word.strip() for line in table().lines for word in line[0].split(","))


@cache
def _as_they_are() -> frozenset[str]:
    return frozenset(word for line in _lines() if line.startswith("!") for word in line[1:].split())


def _plain(word: str) -> str:
    return word if word in _as_they_are() else stemmed(_BRITISH.sub(r"iz\1", word))
