"""Suggests skills and domains for free text, from the names of the classes and a table of everyday words.

The score is plain arithmetic over words: offline, deterministic, a millisecond or two. A suggestion is confident only
if a word names the class or is associated with it in `associations.txt`; anything less is marked as a guess. Any
meaningful text gets a skill, because a record needs one; it may get no domain. The table names classes by short name,
and a substitute for versions without that class, so one table serves all versions.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from math import log
from typing import Final

from pentad.rooms.directory.oasf.taxonomy import ClassEntry, Taxonomy, taxonomy
from pentad.rooms.directory.oasf.versions import Family
from pentad.search.text import stem as stemmed

_WEIGHTS: Final = {"": 6.0, "~": 3.5, "?": 2.0}
"""Weight of a word by the mark of the class in the table. A hint (`?`) alone is never confident."""
_SUBSTITUTE: Final = 0.9
"""Weight factor for a class that substitutes for another."""
COLUMN: Final = {"skill": 1, "domain": 2}
"""The column of the table for a family; modules have none."""
_WORD: Final = re.compile(r"[A-Za-z0-9À-ÖØ-öø-ɏ]+")
"""Accented letters belong to a word."""
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BRITISH: Final = re.compile(r"(?<=[a-z]{4})is(e|es|ed|er|ers|ing|ation|ations)$")

Phrase = tuple[str, ...]
"""The stems of one or more adjacent words."""


@dataclass(frozen=True, slots=True)
class Association:
    """How strongly a phrase indicates a class."""

    entry: ClassEntry
    weight: float
    strong: bool


@dataclass(frozen=True, slots=True)
class Table:
    """The parsed `associations.txt`."""

    forms: Mapping[str, str]
    lines: tuple[tuple[str, ...], ...]
    substitutes: Mapping[str, tuple[str, ...]]
    stop_words: frozenset[str]
    vague_words: frozenset[str]


def words_of(text: str, *, apart: bool = False) -> list[str]:
    """The words of a text without stop words, in order, in lower case.

    With `apart`, camel case is split: `readFile` is `read` and `file`. Words of the table stay whole.
    """
    stop_words = table().stop_words
    words: list[str] = []
    for word in _WORD.findall(text):
        whole = word.islower() or not apart or word.lower() in _names()
        parts = [word] if whole else _CAMEL.split(word)
        words += [lower for part in parts if (lower := part.lower()) not in stop_words]
    return words


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """The common stem of all forms of a word."""
    plain = _plain(word)
    return table().forms.get(plain, plain)


def associations(classes: Taxonomy) -> dict[Phrase, tuple[Association, ...]]:
    """The associations of each phrase with the classes of a version; longer phrases weigh more."""
    read, column = table(), COLUMN.get(classes.family)
    found: dict[Phrase, dict[ClassEntry, Association]] = {}
    for line in read.lines if column else ():
        linked = list(_associations(classes, line[column or 0].split(), read.substitutes))
        for words in line[0].split(","):
            phrase = tuple(stem(word) for word in words_of(words))
            more = 1 + 0.25 * (len(phrase) - 1)
            known = found.setdefault(phrase, {})
            for one in linked:
                if one.entry not in known or known[one.entry].weight < one.weight * more:
                    known[one.entry] = Association(one.entry, one.weight * more, one.strong)
    return {phrase: tuple(known.values()) for phrase, known in found.items()}


def class_or_substitute(classes: Taxonomy, short: str) -> ClassEntry | None:
    """The class with this short name, or its substitute in this version."""
    return _class_or_substitute(classes, short, table().substitutes)


def _associations(
    classes: Taxonomy, targets: Iterable[str], substitutes: Mapping[str, tuple[str, ...]]
) -> Iterable[Association]:
    for target in targets:
        short = target.rstrip("~?")
        mark = target[len(short) :]
        entry = _class_or_substitute(classes, short, substitutes)
        if entry is not None:
            weight = _WEIGHTS[mark] if entry.short == short else _WEIGHTS[mark] * _SUBSTITUTE
            yield Association(entry, weight, mark != "?")


def _class_or_substitute(
    classes: Taxonomy, short: str, substitutes: Mapping[str, tuple[str, ...]]
) -> ClassEntry | None:
    for name in (short, *substitutes.get(short, ())):
        entry = classes.by_name(name)
        if entry is not None and not entry.grouping and not entry.deprecated:
            return entry
    return None


@cache
def table() -> Table:
    forms: dict[str, str] = {}
    lines: list[tuple[str, ...]] = []
    substitutes: dict[str, tuple[str, ...]] = {}
    words: dict[str, list[str]] = {"-": [], "%": []}
    for line in _lines():
        if line[0] in words:
            words[line[0]] += line[1:].split()
        elif line.startswith("="):
            kept, *others = (_plain(word) for word in line[1:].split())
            forms |= dict.fromkeys(others, kept)
        elif "|" in line:
            lines.append(tuple(part.strip() for part in line.split("|")))
        elif ">" in line:
            short, *others = (part.strip() for part in line.split(">"))
            substitutes[short] = tuple(others)
    return Table(forms, tuple(lines), substitutes, frozenset(words["-"]), frozenset(words["%"]))


@cache
def _lines() -> tuple[str, ...]:
    from importlib.resources import files  # slow to import, so only when the table is needed

    text = (files("pentad.rooms.directory.oasf") / "associations.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


@cache
def _names() -> frozenset[str]:
    return frozenset(word.strip() for line in table().lines for word in line[0].split(","))


@cache
def _unstemmed() -> frozenset[str]:
    return frozenset(word for line in _lines() if line.startswith("!") for word in line[1:].split())


def _plain(word: str) -> str:
    return word if word in _unstemmed() else stemmed(_BRITISH.sub(r"iz\1", word))


MOST_CHARACTERS: Final = 6_000
"""The characters of a text that are read."""

_HEAD: Final = 40
"""The first words count in full: a text says first what it is about."""
_LATER: Final = 0.5
_AGAIN: Final = 0.3
_ABOVE: Final = 0.15
"""Weight of a word that only appears in the caption of a parent class."""
_VAGUE: Final = 0.4
_OUTRIGHT: Final = 8.0
_UNSURE: Final = 0.35
_LAST_RESORT: Final = "workflow_automation"
_BETWEEN: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A class that fits a text, its score (comparable only within one answer), and the words that led to it.

    One that is not confident is a guess for a person to review.
    """

    entry: ClassEntry
    score: float
    words: tuple[str, ...]
    confident: bool = True


@dataclass(frozen=True, slots=True)
class _Named:
    """The stems of a class's names (caption and short name) and of the captions of its parents."""

    entry: ClassEntry
    names: tuple[frozenset[str], ...]
    above: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Index:
    classes: Taxonomy
    by_stem: dict[str, tuple[_Named, ...]]
    rarity: dict[str, float]
    captions: dict[str, ClassEntry]
    phrases: dict[Phrase, tuple[Association, ...]]
    longest: dict[str, int]
    """The length of the longest phrase that begins with a stem."""


@dataclass(slots=True)
class _Evidence:
    score: float = 0.0
    sure: bool = False
    words: dict[str, None] = field(default_factory=dict[str, None])


@dataclass(frozen=True, slots=True)
class _Text:
    """A parsed text: its words and stems in order, and the first word and weight of each stem."""

    words: tuple[str, ...]
    stems: tuple[str, ...]
    weights: dict[str, tuple[str, float]]


def suggest(text: str, version: str, family: Family, limit: int = 5) -> list[Suggestion]:
    """The classes that fit a text best: confident ones first, then guesses, each by score."""
    index = _index(taxonomy(version, family))
    parsed = _read(text[:MOST_CHARACTERS])
    found: dict[ClassEntry, _Evidence] = {}
    _by_name(index, parsed, found)
    _by_association(index, parsed, found)
    _by_caption(index, text[:MOST_CHARACTERS], found)
    ranked = [Suggestion(entry, round(one.score, 4), tuple(one.words), one.sure) for entry, one in found.items()]
    ranked.sort(key=lambda suggestion: (not suggestion.confident, -suggestion.score, suggestion.entry.name))
    if not ranked and family == "skill" and (parsed.words or not text.isascii()):
        entry = class_or_substitute(index.classes, _LAST_RESORT)
        ranked = [] if entry is None else [Suggestion(entry, 0.0, (), confident=False)]
    return ranked[:limit]


def _read(text: str) -> _Text:
    words = tuple(words_of(text, apart=True))
    stems = tuple(stem(word) for word in words)
    weights: dict[str, tuple[str, float]] = {}
    counts: dict[str, int] = {}
    for place, (word, part) in enumerate(zip(words, stems, strict=True)):
        counts[part] = counts.get(part, 0) + 1
        weights.setdefault(part, (word, 1.0 if place < _HEAD else _LATER))
    return _Text(words, stems, {part: (w, x * (1 + _AGAIN * log(counts[part]))) for part, (w, x) in weights.items()})


def _by_name(index: _Index, parsed: _Text, found: dict[ClassEntry, _Evidence]) -> None:
    """Score the words of a class's own names. Vague words count only next to a specific one, or all together."""
    vague = _vague()
    reached = {named.entry: named for part in parsed.weights for named in index.by_stem.get(part, ())}
    for entry, named in reached.items():
        best, sure, matched = 0.0, False, frozenset[str]()
        for name in named.names:
            hit = name & parsed.weights.keys()
            specific = name - vague
            whole = hit == name and (len(name) > 1 or bool(specific))
            if not whole and not hit & specific:
                continue
            named_fully = whole or hit >= specific
            score = sum(_worth(index, parsed, part) for part in sorted(hit)) * (0.4 + 0.6 * len(hit) / len(name))
            score *= 1.0 if named_fully else _UNSURE
            if (named_fully, score) > (sure, best):
                best, sure, matched = score, named_fully, hit
        if matched:
            more = sum(_worth(index, parsed, part) for part in sorted(named.above & parsed.weights.keys()))
            words = dict.fromkeys(parsed.weights[part][0] for part in sorted(matched, key=parsed.stems.index))
            found[entry] = _Evidence(best + _ABOVE * more, sure, words)


def _by_association(index: _Index, parsed: _Text, found: dict[ClassEntry, _Evidence]) -> None:
    """Score associated phrases, the longest first: the words of a phrase are not counted again one by one."""
    place = 0
    seen: set[Phrase] = set()
    while place < len(parsed.stems):
        phrase = _phrase_at(index, parsed.stems, place)
        if phrase and phrase not in seen:
            seen.add(phrase)
            weight = max(parsed.weights[part][1] for part in phrase)
            for one in index.phrases[phrase]:
                evidence = found.setdefault(one.entry, _Evidence())
                evidence.score += one.weight * weight
                evidence.sure = evidence.sure or one.strong
                evidence.words |= dict.fromkeys(parsed.weights[part][0] for part in phrase)
        place += max(1, len(phrase))


def _by_caption(index: _Index, text: str, found: dict[ClassEntry, _Evidence]) -> None:
    """A line that is exactly a caption or a name, such as a tag, means that class, however vague its words."""
    for line in text.splitlines():
        spaced = _spaced(line)
        entry = index.captions.get(spaced)
        if entry is not None:
            evidence = found.setdefault(entry, _Evidence())
            evidence.score += _OUTRIGHT
            evidence.sure = True
            evidence.words |= dict.fromkeys(spaced.split())


def _spaced(text: str) -> str:
    return " ".join(_BETWEEN.split(text.lower())).strip()


def _phrase_at(index: _Index, stems: Phrase, place: int) -> Phrase:
    for length in range(index.longest.get(stems[place], 0), 0, -1):
        phrase = stems[place : place + length]
        if phrase in index.phrases:
            return phrase
    return ()


def _worth(index: _Index, parsed: _Text, part: str) -> float:
    """Words that fewer classes share are worth more."""
    return parsed.weights[part][1] * index.rarity[part] * (_VAGUE if part in _vague() else 1.0)


@cache
def _vague() -> frozenset[str]:
    return frozenset(stem(word) for word in table().vague_words)


@cache
def _index(classes: Taxonomy) -> _Index:
    named = tuple(_named(classes, entry) for entry in classes.all if not entry.grouping and not entry.deprecated)
    by_stem: dict[str, list[_Named]] = {}
    uses: dict[str, int] = {}
    for one in named:
        own = frozenset[str]().union(*one.names)
        for part in own:
            by_stem.setdefault(part, []).append(one)
        for part in own | one.above:
            uses[part] = uses.get(part, 0) + 1
    rarity = {part: log(1 + len(named) / count) for part, count in uses.items()}
    captions: dict[str, ClassEntry] = {}
    for one in named:
        for text in (one.entry.caption, one.entry.short):
            if " " in (spaced := _spaced(text)):  # a single word may be the name of a tool
                captions.setdefault(spaced, one.entry)
    phrases = associations(classes)
    longest: dict[str, int] = {}
    for phrase in phrases:
        longest[phrase[0]] = max(len(phrase), longest.get(phrase[0], 0))
    by = {part: tuple(ones) for part, ones in by_stem.items()}
    return _Index(classes, by, rarity, captions, phrases, longest)


def _named(classes: Taxonomy, entry: ClassEntry) -> _Named:
    names = {frozenset(stem(word) for word in words_of(text)) for text in (entry.caption, entry.short)}
    above = frozenset(stem(word) for parent in classes.parents(entry) for word in words_of(parent.caption))
    # Sorted, because the order of a set differs between processes.
    return _Named(entry, tuple(sorted((name for name in names if name), key=sorted)), above)
